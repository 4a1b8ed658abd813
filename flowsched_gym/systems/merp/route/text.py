"""Writes a routing episode as plain text: what the drawn frame shows, in at most 100 columns."""

import math
from typing import TYPE_CHECKING, Final

from flowsched_gym.envs.rendering import aligned, duration_text, number_text, shortened, size_text, text_bar
from flowsched_gym.systems.merp.route.config import MERPRouteConfig
from flowsched_gym.systems.merp.route.snapshot import PathView, Snapshot, take_snapshot

if TYPE_CHECKING:
    from flowsched_gym.systems.merp.route.env import MERPRouteEnv

__all__ = ["down_text", "path_text", "question", "ratio_text", "results", "setting", "write_frame"]

COLUMNS: Final = 100
"""Longest line."""
ROWS: Final = 36
"""Most paths that are written out."""
FINISHED_ROWS: Final = 5
BAR: Final = 16
"""Characters of a bar."""


def setting(config: MERPRouteConfig) -> str:
    """Says in what setting an episode runs."""
    return f"{shortened(config.workload, 40)}, k = {config.arity}, {config.discipline}, rerouting {config.rerouting}"


def question(snapshot: Snapshot) -> str:
    """Says what the agent is asked."""
    flow = snapshot.flow
    if flow is None:
        return f"The episode is over: all {snapshot.num_flows} flows have finished."
    return (
        f"Flow {flow.flow_id} goes from host {flow.source} to host {flow.destination}, {size_text(flow.size)}: "
        "by which path?"
    )


def results(snapshot: Snapshot) -> str:
    """Says what has become of the flows."""
    counts = f"{snapshot.num_finished} of {snapshot.num_flows} flows finished"
    if not snapshot.num_finished:
        return counts
    return f"{counts}, mean time {duration_text(snapshot.mean_fct)}, largest slowdown {snapshot.largest_slowdown:.1f}"


def path_text(slot: int, same_pod: bool) -> str:
    """Names a path by the switch that it leads over."""
    return f"{'aggregation' if same_pod else 'core'} {slot}"


def ratio_text(path: PathView) -> str:
    """Writes the expansion ratio that a path promises."""
    return "inf" if math.isinf(path.expansion_ratio) else number_text(path.expansion_ratio)


def down_text(snapshot: Snapshot) -> str:
    """Says how many cables have failed."""
    count = snapshot.num_links_down // 2
    return "all cables up" if not count else f"{count} {'cable' if count == 1 else 'cables'} down"


def write_frame(env: "MERPRouteEnv") -> str:
    """Writes the current episode as text.

    Args:
        env: The environment.

    Returns:
        Lines of at most 100 characters.

    Raises:
        SimulationError: There is no episode yet.
    """
    snapshot = take_snapshot(env)
    mean = "none yet" if not snapshot.num_finished else f"{snapshot.mean_slowdown:.2f}"
    sending = snapshot.num_live - snapshot.num_waiting
    lines = [
        f"MERP routing  t = {snapshot.now:.4f} s  {setting(env.config)}",
        f"{results(snapshot)}; mean slowdown {mean}",
        f"Network: {sending} flows send, {snapshot.num_waiting} wait, {down_text(snapshot)}",
        question(snapshot),
        "",
        *_paths(snapshot),
        "",
        *_finished(snapshot),
    ]
    return "\n".join(line[:COLUMNS] for line in lines)


def _paths(snapshot: Snapshot) -> list[str]:
    """Writes the paths that the flow may take."""
    if snapshot.flow is None:
        return ["Paths: nobody asks"]
    rows = [
        (
            f"[{slot}]",
            path_text(slot, snapshot.flow.same_pod),
            f"{path.num_flows:.0f} flows, {size_text(path.bytes_left)} left" if path.live else "down",
            f"ratio {ratio_text(path)}" if path.live else "",
            f"rate {text_bar(path.expected_rate, BAR)} {100 * path.expected_rate:3.0f} %" if path.live else "",
        )
        for slot, path in enumerate(snapshot.paths[:ROWS])
    ]
    return ["Paths, each by its most loaded link; what MERP promises there", *aligned(rows, "rllll")]


def _finished(snapshot: Snapshot) -> list[str]:
    """Writes the last finished flows."""
    if not snapshot.finished:
        return ["Finished: none yet"]
    rows = [
        (
            f"flow {flow.flow_id}",
            f"host {flow.source} to {flow.destination}",
            size_text(flow.size),
            f"took {duration_text(flow.fct)}",
            f"slowdown {flow.slowdown:.2f}",
        )
        for flow in snapshot.finished[:FINISHED_ROWS]
    ]
    return ["Finished, latest first", *aligned(rows, "llrrr")]
