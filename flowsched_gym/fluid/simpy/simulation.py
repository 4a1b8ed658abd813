"""Episodes that run from decision to decision."""

import math

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.fluid.decision import Order
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.pending_decisions import OrderDecision, PathDecision
from flowsched_gym.fluid.simpy.destination import Destination
from flowsched_gym.fluid.simpy.network import SimulatedNetwork


class Simulation(SimulatedNetwork):
    """One episode, which runs until an agent has to decide, and resumes when it has; see ``SimulatedNetwork``."""

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.asking is not None or self.pending is not None

    def run(self, until: float = math.inf) -> None:
        """Runs until a decision is asked, all flows are delivered, or the next event is later than ``until``."""
        env, over, is_bounded = self.env, self._over, until < math.inf
        while self.asking is None and self.pending is None and not over.processed:
            if is_bounded and env.peek() > until:
                return
            env.step()

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order``.

        Raises:
            SimulationError: It does not fit what is asked, or there is no such index.
        """
        if order == Order.GRANT:
            self.grant(index)
        elif order == Order.POSTPONE:
            self.postpone(index)
        elif order == Order.WAIT:
            self.wait()
        elif order == Order.SERVE_FIRST:
            self.serve_first(index)
        else:
            self.take_path(index)

    def grant(self, slot: int) -> int:
        """Grants a token of the asking destination to the request in a slot; returns the flow's row.

        Raises:
            SimulationError: No destination asks, or no request waits in the slot.
        """
        row = self._take_asking(slot).grant(slot)
        self._grant_time[row] = self.env.now
        self._note(EventKind.DECISION, row)
        self._ask()
        return row

    def postpone(self, slot: int) -> int:
        """Sends the request in a slot to the back of the asking destination's queue; returns the flow's row.

        Raises:
            SimulationError: No destination asks, or no request waits in the slot.
        """
        row = self._take_asking(slot).postpone(slot)
        self._ask()
        return row

    def wait(self) -> None:
        """Makes the asking destination wait for its next request or token.

        Raises:
            SimulationError: No destination asks.
        """
        self._take_asking().held = True
        self._ask()

    def serve_first(self, index: int) -> int:
        """Puts the flow at an index of the ``OrderDecision`` before all others; returns its row.

        Raises:
            SimulationError: No order is asked for, or there is no such index.
        """
        pending = self.pending
        if not isinstance(pending, OrderDecision):
            raise SimulationError("no order waits for a decision")
        if not 0 <= index < len(pending.rows):
            raise SimulationError(f"index is {index}: flows compete at the indices 0 to {len(pending.rows) - 1}")
        row = int(pending.rows[index])
        assert self._contest is not None
        self._note(EventKind.DECISION, row)
        self.discipline.serve_first(0, row, self.discipline.record)
        self.pending = self._contest.next()
        return row

    def take_path(self, choice: int) -> int:
        """Sends the flow of the ``PathDecision`` along one of its paths; returns its row.

        Raises:
            SimulationError: No path is asked for, there is no such path, or one of its links has failed.
        """
        pending = self.pending
        if not isinstance(pending, PathDecision):
            raise SimulationError("no path waits for a decision")
        assert self._paths is not None
        self._paths.grant(pending.row, choice)
        self.pending = None
        self._note(EventKind.DECISION, pending.row)
        self._ask()
        return pending.row

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set since the ``PeriodDecision``.

        Raises:
            SimulationError: No period waits to begin.
        """
        number = self._period_decision().number
        self.pending = None
        self._note(EventKind.DECISION, number)
        self.links.request_sharing()

    def move(self, row: int, choice: int) -> None:
        """Sends an active flow along another of its paths while a ``PeriodDecision`` waits; nothing sent is lost.

        Raises:
            SimulationError: No period waits to begin, paths stay, or there is no such path, or one with a failed link.
        """
        self._period_decision()
        if self._paths is None:
            raise SimulationError("no routing was given: flows keep their paths")
        self._paths.take(row, choice)

    def _period_decision(self) -> PeriodDecision:
        if not isinstance(self.pending, PeriodDecision):
            raise SimulationError("no period waits to begin")
        return self.pending

    def _take_asking(self, slot: int = 0) -> Destination:
        """Takes the destination that waits for a decision on the request in a slot."""
        destination = self.asking
        if destination is None:
            raise SimulationError("no destination waits for a decision")
        if not 0 <= slot < destination.num_waiting:
            raise SimulationError(f"slot is {slot}: requests wait in the slots 0 to {destination.num_waiting - 1}")
        self.asking = None
        return destination

    def _ask(self) -> None:
        """Requests the next decision: at once where nothing else happens in this instant, else after that."""
        if self.env.peek() > self.env.now:
            self._find_decision()
        else:
            self._request_decision()
