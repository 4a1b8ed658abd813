"""Decisions in the fluid: what an agent is asked, and what it may answer.

All of it is the same for both engines. One interface stands before them, ``Engine``: it runs to the next decision, lays
it out, takes an order, which is checked here, and has the records of the flows.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.flows.decisions import Order, OrderDecision, PathDecision, Rows
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import Routes, path_is_up

AnyIntArray = npt.NDArray[np.integer[Any]]
"""Rows and numbers of either engine: int64, or as the compiled one keeps them."""


ABOUT_TOKENS: Final = (Order.GRANT, Order.POSTPONE, Order.WAIT)
"""Orders to a destination."""


class Decision(NamedTuple):
    """A network that waits for a decision, or has come to the end of its episode.

    Arrays are those of the engine, not copies. In the compiled engine they hold the flows of many networks: of
    ``candidates`` and ``active``, those of this network are ``num_...`` from index ``first_...`` on, of ``delivered``
    and of all flows those from ``first_row`` on, and ``number`` is its index where each network has one entry.

    Attributes:
        is_due: Whether an agent has to decide; if not, the episode is over, and the rest shows its end.
        num_periods: Periods that have begun; 0 where there are none.
        advanced_to: Time in s to which ``state.remaining`` belongs; rates are constant since.
        candidates: Rows of the flows to decide on, oldest first: requests that wait for a token, flows that compete, or
            the flow that needs a path; none at the beginning of a period.
        active: Rows of the flows that hold a token of the destination, or, without tokens, of those that send.
        host: Destination that asks, or asked last; -1 without tokens.
        can_wait: Whether another request or token will come to that destination if nothing is granted.
        delivered: Rows of the flows that have been delivered, in that order.
        completion_time: Absolute times in s of the delivery of each flow.
        routes: Between which paths each flow may choose; ``None`` where paths stay.
        record: What the discipline keeps; thresholds of queues, for instance.
        record_number: Index of this network there, where each has one entry.
        flows: What the rules keep of each flow, columns by name (``flow_fields``).
        episodes: What they keep of each episode, columns by name (``episode_fields``), and what is kept for every
            system: ``num_before``, flows that had been delivered at the last action, and ``acted_at``, when that was in
            s; both are 0 before the second.
    """

    number: int
    is_due: bool
    now: float
    num_periods: int
    advanced_to: float
    candidates: AnyIntArray
    first_candidate: int
    num_candidates: int
    active: AnyIntArray
    first_active: int
    num_active: int
    host: int
    can_wait: bool
    delivered: AnyIntArray
    first_row: int
    num_flows: int
    num_delivered: int
    completion_time: FloatArray
    state: FlowState
    controls: Controls
    network: Network
    routes: Routes | None
    record: Any
    record_number: int
    flows: Rows
    episodes: Rows


class Destination(Protocol):
    """A host whose requests wait for tokens."""

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""


class Waiting(Protocol):
    """What an engine shows of a network that waits for an agent."""

    @property
    def asking(self) -> Destination | None:
        """Destination that waits for a decision, if any."""

    @property
    def pending(self) -> OrderDecision | PathDecision | PeriodDecision | None:
        """What else waits for a decision, if anything."""

    @property
    def network(self) -> Network:
        """Links as they are now, and paths."""


def check_order(network: Waiting, order: int, index: int) -> None:
    """Refuses an order that does not fit what is asked."""
    if order in ABOUT_TOKENS:
        destination = network.asking
        if destination is None:
            raise SimulationError("no destination waits for a decision")
        if not 0 <= index < destination.num_waiting:
            raise SimulationError(f"slot is {index}: requests wait in the slots 0 to {destination.num_waiting - 1}")
        return
    pending = network.pending
    if order == Order.GO_ON:
        if not isinstance(pending, PeriodDecision):
            raise SimulationError("no period waits to begin")
        return
    if order == Order.SERVE_FIRST:
        if not isinstance(pending, OrderDecision):
            raise SimulationError("no order waits for a decision")
        if not 0 <= index < len(pending.rows):
            raise SimulationError(f"index is {index}: flows compete at the indices 0 to {len(pending.rows) - 1}")
        return
    if not isinstance(pending, PathDecision):
        raise SimulationError("no path waits for a decision")
    num_paths = pending.last - pending.first
    if not 0 <= index < num_paths:
        raise SimulationError(f"choice is {index}: the flow has the paths 0 to {num_paths - 1}")
    if not path_is_up(pending.first + index, network.network):
        raise SimulationError(f"choice is {index}: a link of that path has failed")


@inlined_part
def periods_until(arrival_time: float, seconds: float) -> int:
    """Counts the periods of some length in s that begin before a flow arrives."""
    number = math.ceil(arrival_time / seconds)
    # The quotient is rounded.
    if number * seconds < arrival_time:
        return number + 1
    return number - 1 if (number - 1) * seconds >= arrival_time else number


class Engine(ABC):
    """A running network of either engine, which stops where an agent has to decide; see also ``Waiting``."""

    @abstractmethod
    def run(self) -> None:
        """Runs until a decision is asked, or all flows are delivered."""

    @abstractmethod
    def decision(self, flows: Rows, episodes: Rows) -> Decision:
        """Lays out what is asked, with what the rules keep of flows and episodes, columns by name."""

    @abstractmethod
    def give(self, order: int, index: int) -> int:
        """Carries out an ``Order``; returns the row of the flow, where it is about one.

        Raises a ``SimulationError`` if it does not fit what is asked, or there is no such index.
        """

    @abstractmethod
    def records(self) -> Records:
        """Returns what has become of every flow so far."""

    def grant(self, slot: int) -> int:
        """Grants a token of the asking destination to the request in a slot; returns the flow's row; see ``give``."""
        return self.give(Order.GRANT, slot)

    def postpone(self, slot: int) -> int:
        """Sends the request in a slot to the back of the asking destination's queue; returns the flow's row."""
        return self.give(Order.POSTPONE, slot)

    def wait(self) -> None:
        """Makes the asking destination wait for its next request or token."""
        self.give(Order.WAIT, 0)

    def serve_first(self, index: int) -> int:
        """Puts the flow at an index of the ``OrderDecision`` before all others; returns its row."""
        return self.give(Order.SERVE_FIRST, index)

    def take_path(self, choice: int) -> int:
        """Sends the flow of the ``PathDecision`` along one of its paths; returns its row."""
        return self.give(Order.TAKE_PATH, choice)

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set since the ``PeriodDecision``."""
        self.give(Order.GO_ON, 0)
