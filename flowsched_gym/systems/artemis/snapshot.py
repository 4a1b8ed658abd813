"""Gathers what a picture of an Artemis episode shows, from the simulation as it stands; changes nothing in it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model import Records
from flowsched_gym.simulation import Destination, Simulation
from flowsched_gym.systems.artemis.config import Defer
from flowsched_gym.units import SECONDS_PER_MICROSECOND

if TYPE_CHECKING:
    from flowsched_gym.systems.artemis.env import ArtemisEnv

__all__ = [
    "OUTCOMES_AVERAGED",
    "OUTCOMES_SHOWN",
    "ActiveFlow",
    "FinishedFlow",
    "Outlook",
    "Snapshot",
    "WaitingFlow",
    "take_snapshot",
]

LINKS_OF_PATH: Final = 2
"""Links between a source and its destination."""
HIDDEN_SHOWN: Final = 40
"""Requests behind the visible ones that are looked at in full."""
FINISHED_SHOWN: Final = 24
"""Finished flows that are looked at in full."""
OUTCOMES_SHOWN: Final = 100
"""Finished flows whose outcomes make the timeline."""
OUTCOMES_AVERAGED: Final = 20
"""Finished flows over which the timeline averages."""


class Outlook(StrEnum):
    """Says whether a flow can still meet its deadline."""

    SAFE = "safe"
    """It does even at 1/k of the destination's link, its share when all tokens are held."""
    TIGHT = "tight"
    """It needs a larger share than that."""
    LOST = "lost"
    """It comes too late even if it has the link to itself from now on."""
    UNBOUND = "no deadline"
    """It has no deadline."""


class WaitingFlow(NamedTuple):
    """Describes a flow that waits for a token.

    Attributes:
        flow_id: Its id.
        source: Its host.
        size: Bytes to deliver.
        time_left: Time to its deadline in s, inf without one.
        share_left: The same over the time that it was allowed, in [0, 1]; 1 without one.
        outlook: Whether it can meet it.
    """

    flow_id: int
    source: int
    size: float
    time_left: float
    share_left: float
    outlook: Outlook


class ActiveFlow(NamedTuple):
    """Describes a flow that holds a token.

    Attributes:
        flow_id: Its id.
        source: Its host.
        size: Bytes to deliver.
        share_sent: Part of it that has been sent, in [0, 1].
        rate: Rate in B/s at which it sends now.
        stage: What it is doing, in words.
        time_left: Time to its deadline in s, inf without one.
        share_left: The same over the time that it was allowed, in [0, 1]; 1 without one.
        outlook: Whether it can meet it.
    """

    flow_id: int
    source: int
    size: float
    share_sent: float
    rate: float
    stage: str
    time_left: float
    share_left: float
    outlook: Outlook


class FinishedFlow(NamedTuple):
    """Describes a flow that has been delivered.

    Attributes:
        flow_id: Its id.
        source: Its host.
        destination: Host that received it.
        size: Its bytes.
        fct: Completion time in s, waiting included.
        early: Time in s by which it was before its deadline, negative when late, inf without a deadline.
        met: Whether it met its deadline.
    """

    flow_id: int
    source: int
    destination: int
    size: float
    fct: float
    early: float
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Holds what a picture shows.

    Attributes:
        now: Time in s.
        over: Whether all flows have finished.
        host: Destination that is shown: the one that asks, at the end the one that finished last.
        tokens_free: Its free tokens.
        num_waiting: Requests in its queue.
        waiting: The first of them, oldest first: the visible ones and some of those behind.
        active: Flows that hold its tokens, in the order of their grants.
        link_share: Part of the capacity of its link that is in use, in [0, 1].
        bytes_left: Bytes on the wire that the active flows have not sent yet.
        destinations: (host, tokens held, requests waiting) of all destinations, by host.
        num_flows: Flows of the episode.
        num_finished: Flows delivered so far.
        deadlines: Flows of the episode that have a deadline.
        met: Deadlines met so far.
        missed: Deadlines missed so far, those that have passed before their flow finished included.
        mean_fct: Mean completion time in s so far; NaN before the first.
        finished: The last finished flows, latest first.
        recent: Share of deadlines met in the flows before and with each of the last finished ones, oldest first.
        outcomes: Whether each of the last finished flows with a deadline met it, oldest first.
        size_range: Smallest and largest size of the episode in B.
        may_wait: Whether the action to wait does so; ``None`` if there is no such action.
        may_postpone: Whether each visible request may go to the back; ``None`` if there is no such action.
    """

    now: float
    over: bool
    host: int
    tokens_free: int
    num_waiting: int
    waiting: tuple[WaitingFlow, ...]
    active: tuple[ActiveFlow, ...]
    link_share: float
    bytes_left: float
    destinations: tuple[tuple[int, int, int], ...]
    num_flows: int
    num_finished: int
    deadlines: int
    met: int
    missed: int
    mean_fct: float
    finished: tuple[FinishedFlow, ...]
    recent: tuple[float, ...]
    outcomes: tuple[bool, ...]
    size_range: tuple[float, float]
    may_wait: bool | None
    may_postpone: tuple[bool, ...] | None

    @property
    def hit_ratio(self) -> float | None:
        """Deadlines met over deadlines decided; ``None`` before the first."""
        decided = self.met + self.missed
        return self.met / decided if decided else None

    def some_destinations(self, room: int) -> tuple[tuple[int, int, int], ...]:
        """Returns the destinations, or where there are more than ``room`` the first ones and the one that is shown."""
        if len(self.destinations) <= room:
            return self.destinations
        first = self.destinations[: room - 1]
        if any(host == self.host for host, _, _ in first):
            return first
        return (*first[:-1], *(one for one in self.destinations if one[0] == self.host))


def take_snapshot(env: "ArtemisEnv") -> Snapshot:
    """Looks at the current episode.

    Args:
        env: The environment.

    Raises:
        SimulationError: There is no episode yet.
    """
    simulation = env.simulation
    records = simulation.records()
    destination = _shown(simulation)
    f = env.config.f
    seen = destination.requests[destination.head : min(destination.tail, destination.head + f + HIDDEN_SHOWN)]
    held = destination.active[: destination.num_active]
    waiting = _Progress(env, records, seen, granted=False)
    active = _Progress(env, records, held, granted=True)
    has_deadline = records.deadline_span < np.inf
    done = np.isfinite(records.completion_time)
    passed = done | (records.arrival_time + records.deadline_span < simulation.now)
    outcomes = _outcomes(simulation, records, has_deadline)
    return Snapshot(
        now=simulation.now,
        over=simulation.finished,
        host=destination.host,
        tokens_free=destination.tokens,
        num_waiting=destination.num_waiting,
        waiting=tuple(waiting.requests()),
        active=tuple(active.flows()),
        link_share=min(float(active.rate.sum()) / env.line_rate, 1.0),
        bytes_left=float(active.remaining.sum()),
        destinations=tuple((one.host, one.num_active, one.num_waiting) for one in simulation.destinations.values()),
        num_flows=records.num_flows,
        num_finished=simulation.num_delivered,
        deadlines=int(np.count_nonzero(has_deadline)),
        met=int(np.count_nonzero(has_deadline & records.deadline_met)),
        missed=int(np.count_nonzero(has_deadline & passed & ~records.deadline_met)),
        mean_fct=float(records.fct[done].mean()) if simulation.delivered else float("nan"),
        finished=tuple(_finished(records, row) for row in simulation.delivered[: -FINISHED_SHOWN - 1 : -1]),
        recent=tuple(_moving_mean(outcomes)[-OUTCOMES_SHOWN:]),
        outcomes=tuple(outcomes[-OUTCOMES_SHOWN:]),
        size_range=(float(records.size.min()), float(records.size.max())),
        may_wait=bool(env.action_masks()[f]) if env.config.defer is Defer.WAIT else None,
        may_postpone=tuple(env.action_masks()[f:].tolist()) if env.config.defer is Defer.TO_BACK else None,
    )


class _Progress:
    """Brings flows of one destination to the present: link sharing knows their bytes as of its last event.

    Args:
        env: The environment.
        records: What has become of each flow.
        rows: The flows.
        granted: Whether they hold tokens.
    """

    def __init__(self, env: "ArtemisEnv", records: Records, rows: npt.NDArray[np.int64], *, granted: bool) -> None:
        """Works out where the flows are, and where they can be at their deadlines."""
        simulation = env.simulation
        state, now = simulation.state, simulation.now
        self._rows = rows
        self._records = records
        self._simulation = simulation
        self._delay = LINKS_OF_PATH * env.config.link_delay_us * SECONDS_PER_MICROSECOND
        self.rate = state.rate[rows]
        self.remaining = np.maximum(state.remaining[rows] - self.rate * (now - simulation.links.advanced_to), 0.0)
        self.share_sent = 1.0 - self.remaining / state.volume[rows]
        span = records.deadline_span[rows]
        deadline = state.deadline[rows]
        self.time_left = deadline - now
        with np.errstate(invalid="ignore"):
            share_left = np.clip(self.time_left / span, 0.0, 1.0)
        self.share_left = np.where(span < np.inf, share_left, 1.0)
        # Alone on the link: a flow that has not begun needs all of its ideal time but the way of its request.
        begin = records.grant_time[rows] if granted else np.full(len(rows), now)
        from_begin = begin + records.ideal_fct[rows] - self._delay
        alone = np.where(self.share_sent > 0.0, now + self.remaining / env.line_rate + self._delay, from_begin)
        pace = np.maximum(self.rate, env.line_rate / env.config.k)
        shared = alone + self.remaining * (1.0 / pace - 1.0 / env.line_rate)
        # A last byte that is on its way arrives at an instant between now and a delay from now.
        alone = np.where(self.remaining == 0.0, now, alone)
        self.outlook = [
            Outlook.UNBOUND
            if due == np.inf
            else Outlook.LOST
            if first > due
            else Outlook.SAFE
            if fair <= due
            else Outlook.TIGHT
            for due, first, fair in zip(deadline.tolist(), alone.tolist(), shared.tolist(), strict=True)
        ]

    def requests(self) -> list[WaitingFlow]:
        """Describes the flows as requests."""
        return [
            WaitingFlow(*values)
            for values in zip(
                self._records.flow_id[self._rows].tolist(),
                self._records.source[self._rows].tolist(),
                self._records.size[self._rows].tolist(),
                self.time_left.tolist(),
                self.share_left.tolist(),
                self.outlook,
                strict=True,
            )
        ]

    def flows(self) -> list[ActiveFlow]:
        """Describes the flows as holders of tokens."""
        return [
            ActiveFlow(*values)
            for values in zip(
                self._records.flow_id[self._rows].tolist(),
                self._records.source[self._rows].tolist(),
                self._records.size[self._rows].tolist(),
                self.share_sent.tolist(),
                self.rate.tolist(),
                [self._stage(place) for place in range(len(self._rows))],
                self.time_left.tolist(),
                self.share_left.tolist(),
                self.outlook,
                strict=True,
            )
        ]

    def _stage(self, place: int) -> str:
        """Says what a flow that holds a token is doing."""
        row = int(self._rows[place])
        simulation = self._simulation
        if self.remaining[place] == 0.0:
            return "last byte on its way"
        if self.rate[place] > 0.0:
            return "sends"
        if self.share_sent[place] > 0.0:
            return "waits for ACKs"
        if simulation.now < float(self._records.grant_time[row]) + self._delay:
            return "token on its way"
        return "connects" if simulation.transport.handshake_round_trips else "begins to send"


def _shown(simulation: Simulation) -> Destination:
    """Finds the destination to show."""
    if simulation.asking is not None:
        return simulation.asking
    last = simulation.delivered[-1]
    return simulation.destinations[int(simulation.workload.destination[last])]


def _finished(records: Records, row: int) -> FinishedFlow:
    """Describes a flow that has been delivered."""
    return FinishedFlow(
        flow_id=int(records.flow_id[row]),
        source=int(records.source[row]),
        destination=int(records.destination[row]),
        size=float(records.size[row]),
        fct=float(records.fct[row]),
        early=float(records.deadline_span[row] - records.fct[row]),
        met=bool(records.deadline_met[row]),
    )


def _outcomes(simulation: Simulation, records: Records, has_deadline: npt.NDArray[np.bool_]) -> list[bool]:
    """Lists whether the last finished flows with a deadline met it, oldest first."""
    last = np.array(simulation.delivered[-OUTCOMES_SHOWN - OUTCOMES_AVERAGED :], dtype=np.int64)
    outcomes: list[bool] = records.deadline_met[last[has_deadline[last]]].tolist()
    return outcomes


def _moving_mean(outcomes: list[bool]) -> list[float]:
    """Averages each outcome with those before it; the first ones with fewer."""
    total = np.concatenate([[0], np.cumsum(outcomes, dtype=np.int64)])
    last = np.arange(1, len(outcomes) + 1)
    first = np.maximum(last - OUTCOMES_AVERAGED, 0)
    means: list[float] = ((total[last] - total[first]) / (last - first)).tolist()
    return means
