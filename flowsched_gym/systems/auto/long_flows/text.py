"""Writes an episode of long flows as plain text: what the drawn frame shows, in at most 100 columns."""

import math
from typing import TYPE_CHECKING, Final

from flowsched_gym.envs.rendering import aligned, duration_text, number_text, rate_text, shortened, size_text
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.snapshot import FinishedFlow, LongFlow, Result, Snapshot, take_snapshot

if TYPE_CHECKING:
    from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv

__all__ = ["flow_cells", "link_line", "question", "result_cells", "setting", "write_frame"]

COLUMNS: Final = 100
"""Longest line."""
SLOT_ROWS: Final = 12
FINISHED_ROWS: Final = 6
HOSTS: Final = 64
"""Slots, finished flows and hosts that are written out."""
MARKS: Final = ".123456789+"
"""Long flows on a link: none, some, more than nine."""


def setting(config: AuTOLongFlowsConfig) -> str:
    """Names the workload and the network."""
    thresholds = ", ".join(size_text(threshold) for threshold in config.thresholds)
    return (
        f"{shortened(config.workload, 30)}, {config.hosts} servers, {config.paths} paths of "
        f"{number_text(config.link_gbps)} Gbps, thresholds {thresholds}"
    )


def question(snapshot: Snapshot) -> str:
    """Says what is asked."""
    if snapshot.over:
        return "All flows have finished."
    whose = "the network" if snapshot.server is None else f"server {snapshot.server}"
    return f"Asked: queue, largest rate and path of {len(snapshot.slots)} long flows of {whose}"


def flow_cells(flow: LongFlow) -> tuple[str, ...]:
    """Writes a long flow: id, route, bytes sent, time since arrival, queue, path, rate, limit."""
    return (
        f"flow {flow.flow_id}",
        flow.route,
        size_text(flow.attained),
        duration_text(flow.waiting),
        str(flow.queue),
        str(flow.path),
        rate_text(flow.rate),
        "none" if math.isinf(flow.limit) else rate_text(flow.limit),
    )


def result_cells(result: Result) -> tuple[str, ...]:
    """Writes how flows have fared: name, live, finished, mean completion time, mean slowdown."""
    known = result.num_finished > 0
    return (
        result.name,
        str(result.num_live),
        str(result.num_finished),
        duration_text(result.mean_fct) if known else "-",
        number_text(result.mean_slowdown) if known else "-",
    )


def link_line(counts: list[int]) -> str:
    """Writes the long flows on the links of hosts, a mark for each host."""
    return "".join(MARKS[min(count, len(MARKS) - 1)] for count in counts[:HOSTS])


def write_frame(env: "AuTOLongFlowsEnv") -> str:
    """Writes the current episode as text.

    Args:
        env: The environment.

    Returns:
        Lines of at most 100 characters.

    Raises:
        SimulationError: There is no episode yet.
    """
    snapshot, config = take_snapshot(env), env.config
    head = ("", "flow", "hosts", "sent", "waiting", "queue", "path", "rate", "limit")
    slots = [(f"slot {slot}", *flow_cells(flow)) for slot, flow in enumerate(snapshot.slots[:SLOT_ROWS])]
    more = len(snapshot.slots) - len(slots)
    links = [
        (f"path {path}", way, link_line(snapshot.on_links[path, place].tolist()))
        for path in range(config.paths)
        for place, way in enumerate(("up", "down"))
    ]
    lines = [
        f"AuTO long flows  t = {snapshot.now:.4f} s",
        setting(config),
        f"{snapshot.num_finished} of {snapshot.num_flows} flows finished",
        question(snapshot),
        "",
        *(aligned([head, *slots], "lllrrrrrr") if slots else ["  No long flow is there."]),
        *([f"  + {more} more that the agent sees"] if more else []),
        "",
        f"Long flows on each host's links, largest difference {snapshot.imbalance}",
        *aligned(links, "lll"),
        "",
        *aligned([("", "live", "finished", "mean FCT", "slowdown"), *map(result_cells, snapshot.results)], "lrrrr"),
        "",
        "Finished long flows",
        *_finished(snapshot.finished[:FINISHED_ROWS]),
    ]
    return "\n".join(line[:COLUMNS].rstrip() for line in lines)


def _finished(flows: tuple[FinishedFlow, ...]) -> list[str]:
    """Writes finished flows, latest first."""
    if not flows:
        return ["  none yet"]
    rows = [
        (f"flow {flow.flow_id}", flow.route, size_text(flow.size), duration_text(flow.fct), number_text(flow.slowdown))
        for flow in flows
    ]
    return aligned(rows, "llrrr")
