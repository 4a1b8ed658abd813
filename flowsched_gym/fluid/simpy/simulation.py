"""Episodes that run from decision to decision."""

import math
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.decision import (
    ABOUT_TOKENS,
    Decision,
    Engine,
    Order,
    Rows,
    check_move,
    check_order,
    check_period,
)
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.pending_decisions import OrderDecision, PathDecision
from flowsched_gym.fluid.simpy.network import SimulatedNetwork

NO_ROWS: Final[IntArray] = np.zeros(0, dtype=np.int64)


class Simulation(SimulatedNetwork, Engine):
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

    def decision(self, flows: Rows, episodes: Rows) -> Decision:
        """Lays out what is asked; see ``Engine``."""
        links, pending = self.links, self.pending
        destination = self.asking or self.last_asking
        rows, first, count = NO_ROWS, 0, 0
        active, num_active, host, can_wait = links.active, links.num_active, -1, False
        if destination is not None:
            rows, first, count = destination.requests, destination.head, destination.num_waiting
            active, num_active = destination.active, destination.num_active
            host, can_wait = destination.host, destination.can_wait
        elif pending is not None:
            rows = pending.candidates
            count = len(rows)
        return Decision(
            0,
            self.awaits_decision,
            self.now,
            links.advanced_to,
            rows,
            first,
            count,
            active,
            0,
            num_active,
            host,
            can_wait,
            self.delivery_order,
            0,
            self.num_delivered,
            self.completion_time,
            self.state,
            self.controls,
            self.network,
            self.routes,
            flows,
            episodes,
        )

    def give(self, order: int, index: int) -> int:
        """Carries out an ``Order``; see ``Engine``."""
        check_order(self, order, index)
        if order not in ABOUT_TOKENS:
            return self._put_first(index) if order == Order.SERVE_FIRST else self._send_along(index)
        destination, self.asking = self.asking, None
        assert destination is not None
        row = -1
        if order == Order.GRANT:
            row = destination.grant(index)
            self._grant_time[row] = self.env.now
            self._note(EventKind.DECISION, row)
        elif order == Order.POSTPONE:
            row = destination.postpone(index)
        else:
            destination.held = True
        self._ask()
        return row

    def _put_first(self, index: int) -> int:
        """Puts a flow, of those that compete, before all others."""
        assert isinstance(self.pending, OrderDecision)
        assert self._contest is not None
        row = int(self.pending.rows[index])
        self._note(EventKind.DECISION, row)
        self.discipline.serve_first(0, row, self.discipline.record)
        self.pending = self._contest.next()
        return row

    def _send_along(self, choice: int) -> int:
        """Sends the flow that waits for a path along one of its paths."""
        assert isinstance(self.pending, PathDecision)
        assert self._paths is not None
        row = self.pending.row
        self._paths.grant(row, self.pending.first + choice)
        self.pending = None
        self._note(EventKind.DECISION, row)
        self._ask()
        return row

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set; see ``Engine``."""
        number = check_period(self).number
        self.pending = None
        self._note(EventKind.DECISION, number)
        self.links.request_sharing()

    def move(self, row: int, choice: int) -> None:
        """Sends an active flow along another of its paths; see ``Engine``."""
        path = check_move(self, row, choice)
        assert self._paths is not None
        self._paths.take(row, path)

    def _ask(self) -> None:
        """Requests the next decision: at once where nothing else happens in this instant, else after that."""
        if self.env.peek() > self.env.now:
            self._find_decision()
        else:
            self._request_decision()
