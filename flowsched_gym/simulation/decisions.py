"""Models what an agent decides: who gets a token, who goes first, which path a flow takes."""

import numpy as np
import numpy.typing as npt
from simpy import Event

from flowsched_gym.disciplines import Ranked
from flowsched_gym.errors import SimulationError
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.discipline import Discipline
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.questions import Asks, OrderQuestion, PathQuestion, PeriodQuestion
from flowsched_gym.simulation.clock import Clock
from flowsched_gym.simulation.contest import Contest
from flowsched_gym.simulation.destination import Destination
from flowsched_gym.simulation.link_sharing import LinkSharing
from flowsched_gym.simulation.paths import Paths
from flowsched_gym.simulation.periods import Periods
from flowsched_gym.simulation.senders import Senders

__all__ = ["Decisions"]


class Decisions:
    """Is the part of a simulation that stops for decisions and goes on from them.

    Attributes:
        asking: Destination that waits for a decision, if any.
        question: What else waits for a decision, if anything.
        destinations: Receiving hosts by host number; empty without tokens.
        log: Events as (time in s, kind, row), where asked for; a change of a link has its number for a row.
    """

    clock: Clock
    controls: Controls
    links: LinkSharing
    senders: Senders
    destinations: dict[int, Destination]
    asking: Destination | None
    question: OrderQuestion | PathQuestion | PeriodQuestion | None
    log: list[tuple[float, EventKind, int]] | None
    _asks: Asks
    _contest: Contest | None
    _delay: list[float]
    _decision_due: bool
    _discipline: Discipline
    _grant_time: npt.NDArray[np.float64]
    _paths: Paths | None
    _periods: Periods | None
    _unrouted: list[int]

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.asking is not None or self.question is not None

    def grant(self, slot: int) -> int:
        """Gives a token of the asking destination to the request in a slot; returns the flow's row.

        Raises:
            SimulationError: No destination asks, or no request waits in the slot.
        """
        destination = self._take_asking(slot)
        row = destination.grant(slot)
        self._grant_time[row] = self.clock._now
        self._note(EventKind.DECISION, [row])
        self.senders.permit(row, self._delay[row])
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
        """Lets the asking destination wait for its next request or token."""
        destination = self._take_asking()
        destination.held = True
        self._ask()

    def serve_first(self, place: int) -> int:
        """Puts the flow in a place of the ``OrderQuestion`` before all others; returns its row.

        Raises:
            SimulationError: No order is asked for, or there is no such place.
        """
        question = self.question
        if not isinstance(question, OrderQuestion):
            raise SimulationError("no order waits for a decision")
        if not 0 <= place < len(question.rows):
            raise SimulationError(f"place is {place}: flows compete in the places 0 to {len(question.rows) - 1}")
        row = int(question.rows[place])
        self.question = None
        self._note(EventKind.DECISION, [row])
        assert isinstance(self._discipline, Ranked)
        self._discipline.serve_first(row)
        return row

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set since the ``PeriodQuestion``.

        Raises:
            SimulationError: No period waits to begin.
        """
        question = self.question
        if not isinstance(question, PeriodQuestion):
            raise SimulationError("no period waits to begin")
        self.question = None
        self._note(EventKind.DECISION, [question.number])
        self.links.request_sharing()

    def move(self, row: int, choice: int) -> None:
        """Sends a live flow along another of its paths while a ``PeriodQuestion`` waits; nothing sent is lost.

        Raises:
            SimulationError: No period waits to begin, paths stay, or there is no such path, or one with a failed link.
        """
        if not isinstance(self.question, PeriodQuestion):
            raise SimulationError("no period waits to begin")
        if self._paths is None:
            raise SimulationError("no routing was given: flows keep their paths")
        first, last = int(self._paths.routes.first[row]), int(self._paths.routes.last[row])
        if not 0 <= choice < last - first:
            raise SimulationError(f"choice is {choice}: the flow has the paths 0 to {last - first - 1}")
        before = int(self.controls.path[row])
        self._paths.set(row, first + choice)
        if not self._paths.is_live(row):
            self._paths.set(row, before)
            raise SimulationError(f"choice is {choice}: a link of that path has failed")

    def take_path(self, choice: int) -> int:
        """Sends the flow of the ``PathQuestion`` along one of its paths; returns its row.

        Raises:
            SimulationError: No path is asked for, there is no such path, or one of its links has failed.
        """
        question = self.question
        if not isinstance(question, PathQuestion):
            raise SimulationError("no path waits for a decision")
        row, first, last = question
        if not 0 <= choice < last - first:
            raise SimulationError(f"choice is {choice}: the flow has the paths 0 to {last - first - 1}")
        assert self._paths is not None
        before = int(self.controls.path[row])
        self._paths.set(row, first + choice)
        if not self._paths.is_live(row):
            self._paths.set(row, before)
            raise SimulationError(f"choice is {choice}: a link of that path has failed")
        self.question = None
        self._unrouted.pop(0)
        self._note(EventKind.DECISION, [row])
        self.senders.begin([row])
        self._ask()
        return row

    def _find_path(self, row: int) -> None:
        """Lets a flow that arrives begin on a path, or asks for one."""
        assert self._paths is not None
        if self._asks is Asks.PATH and self._paths.num_live(row) > 1:
            self._unrouted.append(row)
            self._request_decision()
        else:
            self._paths.choose(self.clock._now, row, self.links.live, self.links.count)
            self.senders.begin([row])

    def _contend(self, rows: list[int]) -> None:
        """Looks at the end of this instant who competes with flows that begin or have ended."""
        assert self._contest is not None
        self._contest.touch(rows)
        self._request_decision()

    def _request_decision(self) -> None:
        """Looks at the end of this instant whether a destination can decide."""
        if not self._decision_due:
            self._decision_due = True
            self.clock.at(self.clock._now, EventKind.DECISION, self._on_decision)

    def _on_decision(self, _: Event) -> None:
        """Asks, now that everything else of this instant has happened."""
        self._decision_due = False
        self._find_asking()

    def _find_asking(self) -> None:
        """Finds what an agent has to decide: of destinations, the first by host number."""
        if self._periods is not None:
            self.links.settle()
            self.question = self._periods.question()
        elif self._contest is not None:
            self.question = self._contest.question(self.links.live, self.links.count)
        elif self._unrouted:
            assert self._paths is not None
            row, routes = self._unrouted[0], self._paths.routes
            self.question = PathQuestion(row, int(routes.first[row]), int(routes.last[row]))
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = destination
                return

    def _ask(self) -> None:
        """Asks again within this instant: at once where nothing else happens in it, else after that."""
        if self.clock.peek() > self.clock._now:
            self._find_asking()
        else:
            self._request_decision()

    def _take_asking(self, slot: int = 0) -> Destination:
        """Takes the destination that waits for a decision on the request in a slot."""
        destination = self.asking
        if destination is None:
            raise SimulationError("no destination waits for a decision")
        waiting = destination.tail - destination.head
        if not 0 <= slot < waiting:
            raise SimulationError(f"slot is {slot}: requests wait in the slots 0 to {waiting - 1}")
        self.asking = None
        return destination

    def _note(self, kind: EventKind, rows: list[int]) -> None:
        """Adds events of this instant to the log, where there is one."""
        if self.log is not None:
            self.log.extend((self.clock._now, kind, row) for row in rows)
