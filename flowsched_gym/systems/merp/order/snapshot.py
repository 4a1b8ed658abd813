"""Gathers what a picture of an ordering episode shows, from the simulation as it stands; changes nothing in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.questions import OrderQuestion
from flowsched_gym.model.rules.slowdowns import LARGEST_KEPT
from flowsched_gym.simulation import Simulation

if TYPE_CHECKING:
    from flowsched_gym.systems.merp.order.env import MERPOrderEnv

__all__ = ["Contender", "FinishedFlow", "LinkLoad", "Snapshot", "take_snapshot"]

FINISHED_SHOWN: Final = 12
"""Finished flows that are looked at in full."""


class Contender(NamedTuple):
    """Describes a flow that competes.

    Attributes:
        flow_id: Its id.
        route: Its hosts, such as ``3 to 5``; empty where all share one link.
        size: Bytes to deliver.
        share_left: Part of it that is left to send, in [0, 1].
        sends: Whether it has been sending until now.
        waiting: Time since its arrival in s.
        so_far: That over its ideal completion time.
        if_last: Slowdown if it is served last on its most loaded link.
    """

    flow_id: int
    route: str
    size: float
    share_left: float
    sends: bool
    waiting: float
    so_far: float
    if_last: float


class FinishedFlow(NamedTuple):
    """Describes a flow that has been delivered.

    Attributes:
        flow_id: Its id.
        route: Its hosts, as above.
        size: Its bytes.
        fct: Completion time in s, waiting included.
        slowdown: That over its ideal completion time.
    """

    flow_id: int
    route: str
    size: float
    fct: float
    slowdown: float


class LinkLoad(NamedTuple):
    """Describes a link.

    Attributes:
        name: What it is.
        num_flows: Live flows that cross it.
        backlog: Bytes that they have left.
        busy_for: Time in s that these take at its full capacity.
    """

    name: str
    num_flows: int
    backlog: float
    busy_for: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Holds what a picture shows.

    Attributes:
        now: Time in s.
        num_flows: Flows of the episode.
        num_live: Flows that have arrived and not sent their last byte.
        num_finished: Flows that have finished.
        competing: Flows that compete, oldest first.
        links: The links of the network.
        largest: Largest slowdowns of the flows that have finished, the largest first, at most as many as are paid for.
        mean_slowdown: Mean slowdown of the flows that have finished; NaN before the first.
        finished: Finished flows, latest first.
        size_range: Smallest and largest size of the episode in B.
        over: Whether all flows have finished.
    """

    now: float
    num_flows: int
    num_live: int
    num_finished: int
    competing: tuple[Contender, ...]
    links: tuple[LinkLoad, ...]
    largest: tuple[float, ...]
    mean_slowdown: float
    finished: tuple[FinishedFlow, ...]
    size_range: tuple[float, float]
    over: bool


def take_snapshot(env: "MERPOrderEnv") -> Snapshot:
    """Looks at the current episode.

    Raises:
        SimulationError: There is no episode yet.
    """
    simulation, workload = env.simulation, env.workload
    records, delivered = simulation.records(), simulation.delivered
    slowdown = records.slowdown[delivered]
    ids, size = workload.flow_id, workload.size
    links = _links(simulation)
    question = simulation.question
    rows = question.rows.tolist() if isinstance(question, OrderQuestion) else []
    return Snapshot(
        now=simulation.now,
        num_flows=workload.num_flows,
        num_live=simulation.links.num_active,
        num_finished=len(delivered),
        competing=tuple(_contender(simulation, row, links, float(records.ideal_fct[row])) for row in rows),
        links=links,
        largest=tuple(np.sort(slowdown)[::-1][:LARGEST_KEPT].tolist()),
        mean_slowdown=float(slowdown.mean()) if delivered else float("nan"),
        finished=tuple(
            FinishedFlow(
                flow_id=int(ids[row]),
                route=_route(simulation, row),
                size=float(size[row]),
                fct=float(records.fct[row]),
                slowdown=float(records.slowdown[row]),
            )
            for row in reversed(delivered[-FINISHED_SHOWN:])
        ),
        size_range=(float(size.min()), float(size.max())),
        over=simulation.finished,
    )


def _links(simulation: Simulation) -> tuple[LinkLoad, ...]:
    """Adds up, link by link, the flows that are live."""
    topology, state = simulation.topology, simulation.state
    num_flows = np.zeros(topology.num_links, dtype=np.int64)
    backlog = np.zeros(topology.num_links)
    for row in simulation.links.active[: simulation.links.num_active].tolist():
        crossed = _crossed(simulation, row)
        num_flows[crossed] += 1
        backlog[crossed] += state.remaining[row]
    columns = num_flows.tolist(), backlog.tolist(), (backlog / topology.capacity).tolist()
    return tuple(LinkLoad(*each) for each in zip(topology.link_names, *columns, strict=True))


def _contender(simulation: Simulation, row: int, links: tuple[LinkLoad, ...], ideal_fct: float) -> Contender:
    """Looks at a flow that competes."""
    state, capacity = simulation.state, simulation.topology.capacity
    size, waiting = float(state.size[row]), simulation.now - float(state.arrival_time[row])
    crossed = _crossed(simulation, row).tolist()
    return Contender(
        flow_id=int(simulation.workload.flow_id[row]),
        route=_route(simulation, row),
        size=size,
        share_left=float(state.remaining[row]) / size,
        sends=bool(state.rate[row] > 0.0),
        waiting=waiting,
        so_far=waiting / ideal_fct,
        if_last=max((waiting * float(capacity[link]) + links[link].backlog) / size for link in crossed),
    )


def _crossed(simulation: Simulation, row: int) -> npt.NDArray[np.int64]:
    """Returns the links of a flow's path."""
    topology, path = simulation.topology, simulation.controls.path[row]
    return topology.path_links[topology.path_start[path] : topology.path_start[path + 1]]


def _route(simulation: Simulation, row: int) -> str:
    """Names the hosts of a flow where they matter."""
    if simulation.topology.num_hosts == 0:
        return ""
    workload = simulation.workload
    return f"{workload.source[row]} to {workload.destination[row]}"
