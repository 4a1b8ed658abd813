"""Episodes that are the same up to now and go on with other flows."""

from dataclasses import replace

import numpy as np

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.flows.workload import Workload


def with_future(past: Workload, future: Workload, now: float) -> Workload:
    """Joins the flows of an episode that have arrived with those of another one that arrive later.

    Args:
        past: The flows of the episode.
        future: The flows of the other one.
        now: Time in s; a flow that arrives at it has arrived.

    Returns:
        The flows, the later ones with ids after those of the past. Links change likewise. Flows of the past that wait
        for others keep these, whenever they arrive.
    """
    kept, new = _kept(past, now), future.arrival_time > now
    if not new.any() and kept.all():
        return past
    first_id = int(past.flow_id.max(initial=-1)) + 1
    columns = {}
    for name in ("source", "destination", "size", "arrival_time", "deadline_span", "task_id", "cpu_time"):
        columns[name] = np.concatenate([getattr(past, name)[kept], getattr(future, name)[new]])
    flow_id = np.concatenate([past.flow_id[kept], first_id + np.arange(np.count_nonzero(new))])
    new_id = np.zeros(future.num_flows, dtype=np.int64)
    new_id[new] = flow_id[np.count_nonzero(kept) :]
    return replace(
        past,
        flow_id=flow_id,
        after=_pairs(past, future, kept, new, new_id),
        link_changes=_changes(past, future, now),
        **columns,
    )


def _kept(past: Workload, now: float) -> BoolArray:
    """Marks the flows that have arrived, and those for which these wait."""
    kept: BoolArray = past.arrival_time <= now
    if past.after is not None:
        earlier, later = past.after.rows(past.flow_id)
        while (missing := kept[later] & ~kept[earlier]).any():
            kept[earlier[missing]] = True
    return kept


def _pairs(past: Workload, future: Workload, kept: BoolArray, new: BoolArray, new_id: IntArray) -> Precedence | None:
    """Joins the pairs of flows that wait for each other: of kept flows, and of new ones with their new ids."""
    pairs = []
    for flows, chosen, ids in ((past, kept, past.flow_id), (future, new, new_id)):
        if flows.after is not None:
            earlier, later = flows.after.rows(flows.flow_id)
            both = chosen[earlier] & chosen[later]
            pairs.append((ids[earlier[both]], ids[later[both]]))
    if not pairs:
        return None
    earlier, later = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return Precedence(earlier=earlier, later=later)


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
