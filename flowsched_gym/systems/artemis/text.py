"""Writes an Artemis episode as plain text: what the drawn frame shows, in at most 100 columns."""

import math
from typing import TYPE_CHECKING, Final

from flowsched_gym.envs.rendering import (
    aligned,
    duration_text,
    rate_text,
    shortened,
    size_share,
    size_text,
    text_bar,
)
from flowsched_gym.systems.artemis.config import ArtemisConfig
from flowsched_gym.systems.artemis.snapshot import Outlook, Snapshot, take_snapshot

if TYPE_CHECKING:
    from flowsched_gym.systems.artemis.env import ArtemisEnv

__all__ = ["question", "setting", "write_frame"]

COLUMNS: Final = 100
"""Longest line."""
ROWS: Final = 20
"""Most requests, and most tokens, that are written out."""
FINISHED_ROWS: Final = 5
OUTCOMES: Final = 46
BAR: Final = 16
"""Characters of a bar."""


def setting(config: ArtemisConfig) -> str:
    """Says in what setting an episode runs."""
    return f"{shortened(config.workload, 40)}, {config.transport} transport, k = {config.k}, f = {config.f}"


def question(snapshot: Snapshot) -> str:
    """Says what the agent is asked."""
    if snapshot.over:
        return f"The episode is over: all {snapshot.num_flows} flows have finished."
    tokens = "1 free token" if snapshot.tokens_free == 1 else f"{snapshot.tokens_free} free tokens"
    return f"Host {snapshot.host} has {tokens}: which request gets one?"


def write_frame(env: "ArtemisEnv") -> str:
    """Writes the current episode as text.

    Args:
        env: The environment.

    Returns:
        Lines of at most 100 characters.

    Raises:
        SimulationError: There is no episode yet.
    """
    snapshot, config = take_snapshot(env), env.config
    lines = [
        f"Artemis  t = {snapshot.now:.4f} s  {setting(config)}",
        _results(snapshot),
        question(snapshot),
        "",
        *_tokens(snapshot, config),
        "",
        *_queue(snapshot, config),
        "",
        *_finished(snapshot),
    ]
    if len(snapshot.destinations) > 1:
        lines += ["", *_destinations(snapshot, config.k)]
    return "\n".join(line[:COLUMNS] for line in lines)


def _results(snapshot: Snapshot) -> str:
    """Writes what has become of the flows."""
    if not snapshot.deadlines:
        coming = snapshot.num_flows - snapshot.num_finished
        mean = duration_text(snapshot.mean_fct) if snapshot.num_finished else "none yet"
        return f"Finished: {snapshot.num_finished}, {coming} to come; mean completion time {mean}"
    coming = snapshot.deadlines - snapshot.met - snapshot.missed
    ratio = "none yet" if snapshot.hit_ratio is None else f"{100 * snapshot.hit_ratio:.1f} %"
    return f"Deadlines met so far: {ratio} ({snapshot.met} met, {snapshot.missed} missed, {coming} to come)"


def _due(time_left: float, outlook: Outlook) -> tuple[str, str]:
    """Writes the time to a deadline and what is to be expected."""
    return ("", outlook.value) if outlook is Outlook.UNBOUND else (duration_text(time_left), outlook.value)


def _tokens(snapshot: Snapshot, config: ArtemisConfig) -> list[str]:
    """Writes the flows that hold tokens."""
    link = f"link {text_bar(snapshot.link_share, BAR)} {100 * snapshot.link_share:.0f} % busy"
    lines = [f"Tokens of host {snapshot.host}: {len(snapshot.active)} held, {snapshot.tokens_free} free; {link}"]
    rows = [
        (
            f"flow {flow.flow_id}",
            f"host {flow.source}",
            size_text(flow.size),
            f"{text_bar(flow.share_sent, BAR)} {100 * flow.share_sent:3.0f} %",
            *_due(flow.time_left, flow.outlook),
            rate_text(flow.rate) if flow.rate > 0.0 else flow.stage,
        )
        for flow in snapshot.active[:ROWS]
    ]
    lines += aligned(rows, "llrlrll")
    if len(snapshot.active) > ROWS:
        lines.append(f"  + {len(snapshot.active) - ROWS} more")
    return lines


def _queue(snapshot: Snapshot, config: ArtemisConfig) -> list[str]:
    """Writes the requests that the agent sees."""
    visible = snapshot.waiting[: config.f]
    hidden = snapshot.num_waiting - len(visible)
    lines = [
        f"Queue of host {snapshot.host}: {snapshot.num_waiting} waiting, oldest first; {hidden} hidden from the agent"
    ]
    rows = [
        (
            f"[{slot}]",
            f"flow {request.flow_id}",
            f"host {request.source}",
            size_text(request.size),
            text_bar(size_share(request.size, snapshot.size_range), BAR),
            *_due(request.time_left, request.outlook),
            _back(snapshot, slot, config.f),
        )
        for slot, request in enumerate(visible[:ROWS])
    ]
    lines += aligned(rows, "rllrlrll")
    if len(visible) > ROWS:
        lines.append(f"  + {len(visible) - ROWS} more that the agent sees")
    if snapshot.may_wait is not None:
        lines.append(
            f"  [{config.f}]  wait for the next request or token" + ("" if snapshot.may_wait else " (nothing comes)")
        )
    return lines


def _back(snapshot: Snapshot, slot: int, f: int) -> str:
    """Writes the action that sends a request to the back, where it can be sent there."""
    if snapshot.may_postpone is None or not snapshot.may_postpone[slot]:
        return ""
    return f"[{f + slot}] to the back"


def _finished(snapshot: Snapshot) -> list[str]:
    """Writes the last finished flows."""
    marks = "".join("+" if met else "-" for met in snapshot.outcomes[-OUTCOMES:])
    if not snapshot.finished:
        return ["Finished: none yet"]
    lines = ["Finished, latest first" + (f"; deadlines (+ met, - missed): {marks}" if marks else "")]
    rows = []
    for flow in snapshot.finished[:FINISHED_ROWS]:
        if flow.early == math.inf:
            outcome = f"took {duration_text(flow.fct)}"
        else:
            outcome = (
                f"{duration_text(max(flow.early, 0.0))} early" if flow.met else f"{duration_text(-flow.early)} late"
            )
        mark = "-" if not flow.met else "+"
        rows.append(
            (mark, f"flow {flow.flow_id}", f"host {flow.source} to {flow.destination}", size_text(flow.size), outcome)
        )
    return lines + aligned(rows, "lllrl")


def _destinations(snapshot: Snapshot, k: int) -> list[str]:
    """Writes the state of all destinations."""
    rows = [
        ("*" if host == snapshot.host else "", f"host {host}", f"{held} of {k} tokens held", f"{waiting} waiting")
        for host, held, waiting in snapshot.some_destinations(ROWS)
    ]
    lines = [f"{len(snapshot.destinations)} destinations (* shown above)", *aligned(rows, "llrr")]
    if len(snapshot.destinations) > len(rows):
        lines.append(f"  + {len(snapshot.destinations) - len(rows)} more")
    return lines
