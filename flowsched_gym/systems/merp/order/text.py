"""Writes an ordering episode as plain text: what the drawn frame shows, in at most 100 columns."""

from typing import TYPE_CHECKING, Final

from flowsched_gym.envs.rendering import aligned, duration_text, number_text, shortened, size_text, text_bar
from flowsched_gym.systems.merp.order.config import DEFAULT_WORKLOADS, MERPOrderConfig
from flowsched_gym.systems.merp.order.snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from flowsched_gym.systems.merp.order.env import MERPOrderEnv

__all__ = ["question", "ratio_text", "results", "setting", "write_frame"]

COLUMNS: Final = 100
"""Longest line."""
ROWS: Final = 20
"""Most flows that are written out."""
LINK_ROWS: Final = 6
FINISHED_ROWS: Final = 5
LARGE: Final = 99_999.5
"""First slowdown that is written in powers of ten."""
BAR: Final = 16
"""Characters of a bar."""


def setting(config: MERPOrderConfig) -> str:
    """Says in what setting an episode runs."""
    workload = DEFAULT_WORKLOADS[config.topology] if config.workload is None else config.workload
    load = "" if config.load is None else f", load {config.load:g}"
    return f"{shortened(workload, 40)} on {config.topology}{load}, {config.link_gbps:g} Gbit/s, f = {config.f}"


def ratio_text(ratio: float) -> str:
    """Writes a slowdown with three digits, or in powers of ten where it is very large."""
    return number_text(ratio) if ratio < LARGE else f"{ratio:.0e}"


def question(snapshot: Snapshot) -> str:
    """Says what the agent is asked."""
    if snapshot.over:
        return f"The episode is over: all {snapshot.num_flows} flows have finished."
    return f"{len(snapshot.competing)} flows compete: which of them goes first?"


def results(snapshot: Snapshot) -> str:
    """Says what has become of the flows."""
    coming = snapshot.num_flows - snapshot.num_finished - snapshot.num_live
    mean = f", mean slowdown {ratio_text(snapshot.mean_slowdown)}" if snapshot.num_finished else ""
    return f"{snapshot.num_finished} finished, {snapshot.num_live} live, {coming} to come{mean}"


def write_frame(env: "MERPOrderEnv") -> str:
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
        f"MERP order  t = {snapshot.now:.4f} s  {setting(config)}",
        results(snapshot),
        question(snapshot),
        "",
        *_competing(snapshot, config),
        "",
        *_links(snapshot),
        "",
        *_finished(snapshot),
    ]
    return "\n".join(line[:COLUMNS].rstrip() for line in lines)


def _competing(snapshot: Snapshot, config: MERPOrderConfig) -> list[str]:
    """Writes the flows that the agent sees."""
    visible = snapshot.competing[: config.f]
    hidden = len(snapshot.competing) - len(visible)
    lines = [f"Competing: {len(snapshot.competing)} flows, oldest first (> sent until now); {hidden} hidden"]
    rows = [("", "", "", "size", "left", "waiting", "slowdown", "if last")] if visible else []
    rows += [
        (
            f"[{slot}]{'>' if flow.sends else ' '}",
            f"flow {flow.flow_id}",
            flow.route,
            size_text(flow.size),
            f"{text_bar(flow.share_left, BAR)} {100 * flow.share_left:3.0f} %",
            duration_text(flow.waiting),
            ratio_text(flow.so_far),
            ratio_text(flow.if_last),
        )
        for slot, flow in enumerate(visible[:ROWS])
    ]
    lines += aligned(rows, "rllrlrrr")
    if len(visible) > ROWS:
        lines.append(f"  + {len(visible) - ROWS} more that the agent sees")
    return lines


def _links(snapshot: Snapshot) -> list[str]:
    """Writes the links that flows cross."""
    loaded = sorted((link for link in snapshot.links if link.num_flows), key=lambda link: -link.backlog)
    lines = [f"Links: {len(loaded)} of {len(snapshot.links)} with flows, the most loaded first"]
    rows = [
        (
            link.name,
            f"{link.num_flows} flow{'s' if link.num_flows > 1 else ''}",
            size_text(link.backlog),
            text_bar(link.backlog / loaded[0].backlog, BAR),
            f"busy for {duration_text(link.busy_for)}",
        )
        for link in loaded[:LINK_ROWS]
    ]
    if len(loaded) > LINK_ROWS:
        rows.append((f"+ {len(loaded) - LINK_ROWS} more", "", "", "", ""))
    return lines + aligned(rows, "lrrlr")


def _finished(snapshot: Snapshot) -> list[str]:
    """Writes the last finished flows, and the largest slowdowns of all."""
    if not snapshot.finished:
        return ["Finished: none yet"]
    largest = "  ".join(ratio_text(value) for value in snapshot.largest)
    rows = [
        (
            f"flow {flow.flow_id}",
            flow.route,
            size_text(flow.size),
            f"took {duration_text(flow.fct)}",
            f"slowdown {ratio_text(flow.slowdown)}",
        )
        for flow in snapshot.finished[:FINISHED_ROWS]
    ]
    return [f"Finished, latest first; largest slowdowns: {largest}", *aligned(rows, "llrrr")]
