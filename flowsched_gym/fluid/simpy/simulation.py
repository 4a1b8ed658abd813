"""One episode in SimPy, which runs until an agent has to decide, and resumes when it has."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import Periods
from flowsched_gym.flows.decisions import DecisionKind, Order, OrderDecision, PathDecision, Rows
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.tokens import Destination
from flowsched_gym.fluid.decision import ABOUT_TOKENS, Decision, Engine, check_order
from flowsched_gym.fluid.isolation import ideal_times
from flowsched_gym.fluid.simpy.network import SimulatedNetwork
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.topology.competing import Contest

NO_ROWS: Final[IntArray] = np.zeros(0, dtype=np.int64)

PendingDecision = OrderDecision | PathDecision | PeriodDecision


class Simulation(SimulatedNetwork, Engine):
    """A network and the flows of one episode; time stands still while ``asking`` or ``pending`` waits for an agent.

    Args:
        discipline: Fills the controls of the flows that send.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        routing: How flows choose among their paths, by the state of the network; ``None``: by a hash alone. Where links
            change, a flow without a path that is up waits, and nothing that it has sent is lost.
        asks: About what an agent is asked. ``ORDER`` needs the discipline ``Ranked``, ``PERIOD`` a period.
        period: When a period ends.
        barrier: When a flow whose CPU work is done may send.
        seed: Seed of the hash by which flows are spread over equal paths.

    Attributes:
        asking: Destination that waits for a decision, if any.
        pending: What else waits for a decision, if anything.
        num_periods: Periods that have begun, after which an agent is asked; none where it is not.

    Raises:
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
        ConfigError: There are tokens, and paths are chosen, links change or flows have stages; an order is asked for,
            and the discipline is not ``Ranked``; both the discipline and the senders stop flows; or flows have CPU
            work, and the topology has no CPUs.
    """

    def _open_decisions(self, asks: DecisionKind, period: Period | None) -> None:
        self.asking: Destination | None = None
        self.last_asking: Destination | None = None
        self.pending: PendingDecision | None = None
        self.num_periods = 0
        self._decision_due = False
        self._find_pending: Callable[[], PendingDecision | None] = lambda: None
        if period is not None:
            kinds = {"counted": EventKind.DELIVERY, "end": EventKind.PERIOD_END}
            self._periods = Periods(period, self.env, on_begin=self._begin_period, **kinds)
            self._find_pending = self._find_period
        elif asks is DecisionKind.ORDER:
            self._contest = Contest(self.state, self.controls, self.network, on_touch=self._request_decision)
            self.links.on_change.append(self._contest.touch)
            self._find_pending = lambda: self._contest.pending(self.links.active, self.links.num_active)
        elif asks is DecisionKind.PATH:
            self._find_pending = self._paths.pending

    @property
    def now(self) -> float:
        """Time in s."""
        return float(self.env.now)  # rules that are not compiled leave NumPy's numbers there

    @property
    def finished(self) -> bool:
        """Whether every flow has been delivered."""
        return self.num_delivered == len(self.completion_time)

    @property
    def delivered(self) -> list[int]:
        """Rows of the flows whose last byte has arrived, in that order."""
        rows: list[int] = self.delivery_order[: self.num_delivered].tolist()
        return rows

    def records(self) -> Records:
        """Returns the records of every flow so far."""
        return complete_records(
            self.workload,
            grant_time=self._grant_time.copy(),
            completion_time=self.completion_time.copy(),
            ideal_fct=self.ideal_fct(),
        )

    def ideal_fct(self) -> FloatArray:
        """Returns what the flows take alone on the empty network, in s, (num_flows,)."""
        needs_token = bool(self.destinations)
        return ideal_times(self.topology, self.workload, self._volume, self.transport, needs_token=needs_token)

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

    def decision(self, flows: Rows, episodes: Rows) -> Decision:
        """Lays out what is asked; see ``Engine``."""
        links, pending = self.links, self.pending
        destination = self.asking or self.last_asking
        candidates, active, host, can_wait = (NO_ROWS, 0, 0), (links.active, 0, links.num_active), -1, False
        if destination is not None:
            candidates = destination.requests, destination.head, destination.num_waiting
            active = destination.active, 0, destination.num_active
            host, can_wait = destination.host, destination.can_wait
        elif pending is not None:
            candidates = pending.candidates, 0, len(pending.candidates)
        instant = (0, self.awaits_decision, self.now, self.num_periods, links.advanced_to)
        delivered = (self.delivery_order, 0, len(self.state.size), self.num_delivered, self.completion_time)
        flows_and_links = (self.state, self.controls, self.network, self.routes, self.discipline.record, 0)
        return Decision._make(
            (*instant, *candidates, *active, host, can_wait, *delivered, *flows_and_links, flows, episodes)
        )

    def give(self, order: int, index: int) -> int:
        """Carries out an ``Order``; see ``Engine``."""
        check_order(self, order, index)
        if order == Order.GO_ON:
            return self._begin_next_period()
        if order not in ABOUT_TOKENS:
            return self._put_first(index) if order == Order.SERVE_FIRST else self._send_along(index)
        destination, self.asking = self.asking, None
        assert destination is not None
        row = -1
        if order == Order.GRANT:
            row = destination.grant(index)
            self._grant_time[row] = self.env.now
            self.env.at(self.env.now + self._token_time[row], EventKind.START, row, self._granted.pop(row))
            self._note(EventKind.DECISION, row)
        elif order == Order.POSTPONE:
            row = destination.postpone(index)
        else:
            destination.held = True
        self._ask()
        return row

    def _put_first(self, index: int) -> int:
        assert isinstance(self.pending, OrderDecision)
        row = int(self.pending.rows[index])
        self._note(EventKind.DECISION, row)
        self.discipline.serve_first(0, row, self.discipline.record)
        self.pending = self._contest.next()
        return row

    def _send_along(self, choice: int) -> int:
        """Sends the flow that waits for a path along one of its paths."""
        assert isinstance(self.pending, PathDecision)
        row = self.pending.row
        self._paths.grant(row, self.pending.first + choice)
        self.pending = None
        self._note(EventKind.DECISION, row)
        self._ask()
        return row

    def _begin_next_period(self) -> int:
        assert isinstance(self.pending, PeriodDecision)
        self._note(EventKind.DECISION, self.pending.number)
        self.pending = None
        self.links.request_sharing()
        return -1

    def skip(self, count: int) -> None:
        """Leaves out so many periods from the next one on, which begin before another flow arrives, after ``go_on``."""
        self.num_periods += count
        self._periods.skip(count)

    def _ask(self) -> None:
        """Requests the next decision: at once where nothing else happens in this instant, else after that."""
        if self.env.peek() > self.env.now:
            self._find_decision()
        else:
            self._request_decision()

    def _request_decision(self) -> None:
        if not self._decision_due:
            self._decision_due = True
            self.env.at(self.env.now, EventKind.DECISION).callbacks.append(self._find_decision)

    def _find_decision(self, _: Event | None = None) -> None:
        """Finds what an agent has to decide: of destinations, the first by host number."""
        self._decision_due = False
        self.pending = self._find_pending()
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = self.last_asking = destination
                return

    def _begin_period(self) -> None:
        self.num_periods += 1
        self._request_decision()

    def _find_period(self) -> PeriodDecision | None:
        """Finds the period that begins, if one does; its flows are shown as they stand now."""
        self.links.advance()
        return self._periods.pending()
