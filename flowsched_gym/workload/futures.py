"""Episodes that are the same up to now and go on with other flows."""

from dataclasses import replace

import numpy as np

from flowsched_gym.workload.link_changes import LinkChanges
from flowsched_gym.workload.workload import Workload

__all__ = ["with_future"]


def with_future(past: Workload, future: Workload, now: float) -> Workload:
    """Joins the flows of an episode that have arrived with those of another one that arrive later.

    Args:
        past: The flows of the episode.
        future: The flows of the other one.
        now: Time in s; a flow that arrives at it has arrived.

    Returns:
        The flows, the later ones with ids after those of the past. Links change likewise.
    """
    kept, new = past.arrival_time <= now, future.arrival_time > now
    if not new.any() and kept.all():
        return past
    first_id = int(past.flow_id.max(initial=-1)) + 1
    columns = {}
    for name in ("source", "destination", "size", "arrival_time", "deadline_span", "task_id"):
        columns[name] = np.concatenate([getattr(past, name)[kept], getattr(future, name)[new]])
    flow_id = np.concatenate([past.flow_id[kept], first_id + np.arange(np.count_nonzero(new))])
    return replace(past, flow_id=flow_id, link_changes=_changes(past, future, now), **columns)


def _changes(past: Workload, future: Workload, now: float) -> LinkChanges | None:
    """Joins the changes of links up to now with those to come; a link that is down comes up when it would have."""
    rows = {
        each: list(zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True))
        for each in (past, future)
        if (changes := each.link_changes) is not None
    }
    if not rows:
        return None
    before = [row for row in rows.get(past, ()) if row[0] <= now]
    is_up = {link: up for _, link, up in before}
    after = [row for row in rows.get(past, ()) if row[0] > now and row[2] and not is_up.get(row[1], True)]
    after += [row for row in rows.get(future, ()) if row[0] > now]
    return LinkChanges.of(before + sorted(after, key=lambda row: row[0]))
