"""Gathers what a picture of an episode of long flows shows; changes nothing in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.long_flows.seen import (
    asked_server,
    long_finished,
    long_live,
    long_on_links,
    path_of,
    seen_flows,
)

if TYPE_CHECKING:
    from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv

__all__ = ["FinishedFlow", "LongFlow", "Result", "Snapshot", "take_snapshot"]

IntArray = npt.NDArray[np.int64]

FINISHED_SHOWN: Final = 12
"""Finished long flows that are looked at in full."""


class LongFlow(NamedTuple):
    """Describes a long flow that the agent sees.

    Attributes:
        flow_id: Its id.
        route: Its hosts, such as ``3 to 5``.
        attained: Bytes sent.
        waiting: Time since its arrival in s.
        queue: Queue that it is in, from 0.
        rate: Rate until now in B/s.
        limit: Largest rate in B/s, inf for none.
        path: Path that it takes, from 0.
    """

    flow_id: int
    route: str
    attained: float
    waiting: float
    queue: int
    rate: float
    limit: float
    path: int


class FinishedFlow(NamedTuple):
    """Describes a long flow that has been delivered.

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


class Result(NamedTuple):
    """Tells how flows have fared.

    Attributes:
        name: Which ones.
        num_live: How many are live.
        num_finished: How many have finished.
        mean_fct: Their mean completion time in s; NaN before the first.
        mean_slowdown: Their mean slowdown, likewise.
    """

    name: str
    num_live: int
    num_finished: int
    mean_fct: float
    mean_slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Holds what a picture shows.

    Attributes:
        now: Time in s.
        num_flows: Flows of the episode.
        num_finished: Flows that have finished.
        server: Server whose turn it is; ``None`` where all are asked at once.
        slots: The flows that the agent sees, slot by slot.
        on_links: Live long flows on each link: path, up or down, host; (paths, 2, hosts) int64.
        results: How long flows, short ones and all have fared.
        finished: Finished long flows, latest first.
        over: Whether all flows have finished.
    """

    now: float
    num_flows: int
    num_finished: int
    server: int | None
    slots: tuple[LongFlow, ...]
    on_links: IntArray
    results: tuple[Result, ...]
    finished: tuple[FinishedFlow, ...]
    over: bool

    @property
    def imbalance(self) -> int:
        """Long flows on the link that has most, less those on the link that has fewest (AuTO, Figure 16)."""
        return int(self.on_links.max() - self.on_links.min())


def take_snapshot(env: "AuTOLongFlowsEnv") -> Snapshot:
    """Looks at the current episode.

    Raises:
        SimulationError: There is no episode yet.
    """
    view, config = env.view(), env.config
    rows, live = seen_flows(view, config), long_live(view, config)
    queues, paths = view.queues_of(rows), path_of(view, config, rows)
    done = long_finished(view, config, view.delivered)
    short = np.setdiff1d(view.delivered, done)
    return Snapshot(
        now=view.now,
        num_flows=view.num_flows,
        num_finished=len(view.delivered),
        server=asked_server(view, config),
        slots=tuple(
            LongFlow(
                flow_id=int(view.flow_id[row]),
                route=_route(view, row),
                attained=float(view.attained[row]),
                waiting=view.now - float(view.arrival_time[row]),
                queue=int(queues[slot]),
                rate=float(view.rate[row]),
                limit=float(view.rate_cap[row]),
                path=int(paths[slot]),
            )
            for slot, row in enumerate(rows.tolist())
        ),
        on_links=long_on_links(view, config),
        results=(
            _result("long", view, len(live), done),
            _result("short so far", view, len(view.live) - len(live), short),
            _result("all", view, len(view.live), view.delivered),
        ),
        finished=tuple(
            FinishedFlow(
                flow_id=int(view.flow_id[row]),
                route=_route(view, row),
                size=float(view.size[row]),
                fct=float(view.fct(np.array([row]))[0]),
                slowdown=float(view.fct(np.array([row]))[0] / view.ideal_fct[row]),
            )
            for row in done[::-1][:FINISHED_SHOWN].tolist()
        ),
        over=env.simulation.finished,
    )


def _route(view: NetworkView, row: int) -> str:
    """Names the hosts of a flow."""
    return f"{view.source[row]} to {view.destination[row]}"


def _result(name: str, view: NetworkView, num_live: int, rows: IntArray) -> Result:
    """Sums up the flows that have been delivered."""
    fct = view.fct(rows)
    return Result(
        name=name,
        num_live=num_live,
        num_finished=len(rows),
        mean_fct=float(fct.mean()) if len(rows) else np.nan,
        mean_slowdown=float((fct / view.ideal_fct[rows]).mean()) if len(rows) else np.nan,
    )
