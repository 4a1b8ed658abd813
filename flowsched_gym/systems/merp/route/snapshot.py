"""Gathers what a picture of a routing episode shows, from the simulation as it stands; changes nothing in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.questions import PathQuestion

if TYPE_CHECKING:
    from flowsched_gym.systems.merp.route.env import MERPRouteEnv

__all__ = ["AskingFlow", "FinishedFlow", "PathView", "Snapshot", "take_snapshot"]

FINISHED_SHOWN: Final = 16
"""Finished flows that are looked at in full."""


class AskingFlow(NamedTuple):
    """Describes the flow that waits for a path.

    Attributes:
        flow_id: Its id.
        source: Its host.
        destination: Host that it goes to.
        size: Bytes to deliver.
        ideal_fct: Completion time in s alone on the empty network.
        same_pod: Whether both hosts are in one pod.
    """

    flow_id: int
    source: int
    destination: int
    size: float
    ideal_fct: float
    same_pod: bool


class PathView(NamedTuple):
    """Describes a path that the flow may take, as the agent sees it.

    Attributes:
        live: Whether all of its links are up.
        links: Its links.
        num_flows: Flows on its most loaded link.
        bytes_left: Bytes that they have left.
        expansion_ratio: Expansion ratio that MERP's order would give the flow, inf where the path is down.
        expected_rate: Least rate to expect over the capacity of a link.
    """

    live: bool
    links: tuple[int, ...]
    num_flows: float
    bytes_left: float
    expansion_ratio: float
    expected_rate: float


class FinishedFlow(NamedTuple):
    """Describes a flow that has been delivered.

    Attributes:
        flow_id: Its id.
        source: Its host.
        destination: Host that received it.
        size: Its bytes.
        fct: Completion time in s.
        slowdown: That over the completion time alone on the empty network.
    """

    flow_id: int
    source: int
    destination: int
    size: float
    fct: float
    slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Holds what a picture shows.

    Attributes:
        now: Time in s.
        flow: The flow that waits for a path; ``None`` when the episode is over.
        paths: Its paths, by slot.
        flows_on: Flows that send on each link, (num_links,).
        is_up: Whether each link is up, (num_links,).
        num_live: Flows that send.
        num_waiting: Of these, flows that have no rate.
        num_flows: Flows of the episode.
        num_finished: Flows delivered so far.
        mean_fct: Mean completion time in s so far; NaN before the first.
        mean_slowdown: Mean slowdown so far; NaN before the first.
        largest_slowdown: Largest slowdown so far; NaN before the first.
        finished: The last finished flows, latest first.
    """

    now: float
    flow: AskingFlow | None
    paths: tuple[PathView, ...]
    flows_on: npt.NDArray[np.int64]
    is_up: npt.NDArray[np.bool_]
    num_live: int
    num_waiting: int
    num_flows: int
    num_finished: int
    mean_fct: float
    mean_slowdown: float
    largest_slowdown: float
    finished: tuple[FinishedFlow, ...]

    @property
    def num_links_down(self) -> int:
        """Links that have failed."""
        return int(np.count_nonzero(~self.is_up))


def take_snapshot(env: "MERPRouteEnv") -> Snapshot:
    """Looks at the current episode.

    Args:
        env: The environment.

    Raises:
        SimulationError: There is no episode yet.
    """
    simulation = env.simulation
    records, network = simulation.records(), simulation.network
    live = simulation.links.active[: simulation.links.num_active]
    flows_on = np.zeros(len(network.capacity), dtype=np.int64)
    for path in simulation.controls.path[live].tolist():
        flows_on[network.path_links[network.path_start[path] : network.path_start[path + 1]]] += 1
    done = np.array(simulation.delivered, dtype=np.int64)
    slowdown = records.slowdown[done]
    return Snapshot(
        now=simulation.now,
        flow=_asking(env),
        paths=tuple(_paths(env)),
        flows_on=flows_on,
        is_up=network.capacity > 0.0,
        num_live=len(live),
        num_waiting=int(np.count_nonzero(simulation.state.rate[live] == 0.0)),
        num_flows=records.num_flows,
        num_finished=len(done),
        mean_fct=float(records.fct[done].mean()) if len(done) else float("nan"),
        mean_slowdown=float(slowdown.mean()) if len(done) else float("nan"),
        largest_slowdown=float(slowdown.max()) if len(done) else float("nan"),
        finished=tuple(
            FinishedFlow(
                flow_id=int(records.flow_id[row]),
                source=int(records.source[row]),
                destination=int(records.destination[row]),
                size=float(records.size[row]),
                fct=float(records.fct[row]),
                slowdown=float(records.slowdown[row]),
            )
            for row in simulation.delivered[: -FINISHED_SHOWN - 1 : -1]
        ),
    )


def _asking(env: "MERPRouteEnv") -> AskingFlow | None:
    """Describes the flow that waits for a path."""
    question, workload = env.simulation.question, env.simulation.workload
    if not isinstance(question, PathQuestion):
        return None
    row, observation = question.row, env._observe()
    return AskingFlow(
        flow_id=int(workload.flow_id[row]),
        source=int(workload.source[row]),
        destination=int(workload.destination[row]),
        size=float(workload.size[row]),
        ideal_fct=float(env.layout.context_column(observation, "ideal_fct")),
        same_pod=bool(env.layout.context_column(observation, "same_pod")),
    )


def _paths(env: "MERPRouteEnv") -> list[PathView]:
    """Describes its paths."""
    question, network, observation = env.simulation.question, env.simulation.network, env._observe()
    if not isinstance(question, PathQuestion):
        return []
    names = ("live", "num_flows", "bytes_left", "expansion_ratio", "expected_rate")
    column = {name: env.layout.slot_column(observation, name).tolist() for name in names}
    views = []
    for slot, path in enumerate(range(question.first, question.last)):
        links = network.path_links[network.path_start[path] : network.path_start[path + 1]]
        values = {name: column[name][slot] for name in names[1:]}
        views.append(PathView(live=bool(column["live"][slot]), links=tuple(links.tolist()), **values))
    return views
