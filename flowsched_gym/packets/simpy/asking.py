"""Episodes of packets in SimPy that ask an agent once per period, who goes first, or for a path."""

from typing import Final

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.core.simpy_environment import Periods
from flowsched_gym.flows.decisions import NOBODY, DecisionKind, Order, OrderDecision, PathDecision, Rows
from flowsched_gym.flows.stages import ON_CPU, Turns, begin_sending, begin_work
from flowsched_gym.flows.tokens import Destination
from flowsched_gym.packets.decision import PacketDecision, Pending
from flowsched_gym.packets.rules.cpus import choose_work, end_work, new_cpus, note_work
from flowsched_gym.packets.rules.queues import forget_counts, new_counts
from flowsched_gym.packets.setup import PacketSetup
from flowsched_gym.packets.simpy.detecting import DetectingReplay
from flowsched_gym.packets.simpy.port import QueueCounter
from flowsched_gym.packets.simpy.simulation import Episode
from flowsched_gym.packets.state import PacketEventKind
from flowsched_gym.topology.competing import Contest
from flowsched_gym.topology.routes import count_paths_up, path_is_up
from flowsched_gym.workload import Workload

NO_ROWS: IntArray = np.zeros(0, dtype=np.int64)
ANSWERS: Final = {
    PeriodDecision: Order.GO_ON,
    OrderDecision: Order.SERVE_FIRST,
    PathDecision: Order.TAKE_PATH,
}
"""The order that answers each kind of decision."""


class FlowSimulation(Episode, DetectingReplay):
    """Flows that need no tokens, and what an agent is asked of them: once per period, who goes first, or a path.

    At one port it sees the ``counts`` of queues.

    Attributes:
        pending: What waits for a decision, if anything.
        asking: No destination ever asks.
        destinations: None.
    """

    asking = None

    def __init__(self, workload: Workload, setup: PacketSetup) -> None:
        is_one_port = not setup.topology.num_hosts
        observers = (QueueCounter(setup.scheduler.num_queues),) if is_one_port else ()
        super().__init__(setup.network(workload), observers)
        self.workload = workload
        self.topology = setup.topology
        self.pending: Pending = None
        self.destinations: dict[int, Destination] = {}
        self.counts = observers[0].counts if observers else new_counts(1, 1, kept=False)
        self._setup = setup
        self._routes = self.network.new_routes()
        self._links = self.network.links
        self._active: list[int] = []
        self._waiting: list[int] = []
        self._is_over = not workload.num_flows
        self._periods: Periods | None = None
        self._contest = Contest(self.state, self._controls, self._links, on_touch=self._request_decision)
        if setup.period is not None:
            end = PacketEventKind.PERIOD_END
            self._periods = Periods(setup.period, self.env, on_begin=self._begin_period, counted=end, end=end)

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent acts."""
        return self.pending is not None

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return 0 if self._periods is None else self._periods.begun

    @property
    def active(self) -> IntArray:
        """Rows of the flows that send or work on CPUs, (num_active,)."""
        return np.array(self._active, dtype=np.int64)

    def run(self, until: float | None = None) -> None:
        """Runs until an agent has to act, or all flows are over."""
        while self.pending is None and not self._is_over:
            self.env.step()

    def begin(self, row: int) -> None:
        """Lets a flow arrive: it begins, unless an agent has to choose its path."""
        first, last = self._routes.first[row], self._routes.last[row]
        if self._setup.asks is DecisionKind.PATH and count_paths_up(first, last, self._links) > 1:
            self._waiting.append(row)
            self._request_decision()
        else:
            self._start(row)

    def end(self, row: int) -> None:
        """Notes that a flow is over."""
        super().end(row)
        self._leave(row)
        if self._periods is not None:
            self._periods.count()
        if self.finished:  # what happens in the same instant still counts
            self.env.at(self.env.now, PacketEventKind.OVER).callbacks.append(self._note_over)

    def _note_over(self, _: Event) -> None:
        self._is_over = True

    def decision(self, flows: Rows, episodes: Rows) -> PacketDecision:
        """Lays out what is asked, with what the rules keep of flows and episodes, columns by name."""
        candidates = NO_ROWS if self.pending is None else self.pending.candidates
        active = self.active
        return self._lay_out(
            flows,
            episodes,
            num_periods=self.num_periods,
            candidates=candidates,
            first_candidate=0,
            num_candidates=len(candidates),
            active=active,
            num_active=len(active),
            host=NOBODY,
            can_wait=False,
            routes=self._routes,
        )

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set."""
        self.give(Order.GO_ON, 0)

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order``; refuses one that does not fit what is asked."""
        pending = self.pending
        if pending is None or Order(order) is not ANSWERS[type(pending)]:
            what = "nothing waits" if pending is None else f"a {type(pending).__name__} waits"
            raise SimulationError(f"order is {Order(order).name}: {what} for a decision")
        if isinstance(pending, PeriodDecision):
            self.pending = None
            if self._setup.steers:
                for row in self._active:
                    self.steer(row, int(self._controls.path[row] - self._routes.first[row]))
            if self.num_periods > 1:
                forget_counts(self.counts)
            return
        count = len(pending.rows) if isinstance(pending, OrderDecision) else pending.last - pending.first
        if not 0 <= index < count:
            raise SimulationError(f"index is {index}: it must be from 0 to {count - 1}")
        self.pending = None
        if isinstance(pending, OrderDecision):
            row = int(pending.rows[index])
            self.serve_first(row, self._setup.scheduler.serve_first(row, self.record))
            self.pending = self._contest.next()
        else:
            if not path_is_up(pending.first + index, self._links):
                self.pending = pending
                raise SimulationError(f"index is {index}: a link of that path has failed")
            self._waiting.remove(pending.row)
            self._controls.path[pending.row] = pending.first + index
            self.steer(pending.row, index)
            self._start(pending.row)
            self._request_decision()

    def skip(self, count: int) -> None:
        """Leaves out so many periods from the next one on."""
        assert self._periods is not None
        self._periods.skip(count)

    def steer(self, row: int, choice: int) -> None:
        """Sends a flow's packets, and what answers them, along one of its paths from now on, at its largest rate."""
        self.rate_cap[row] = float(self._controls.rate_cap[row])
        self._there.turn_to(row, choice)
        back = self.network.back
        if path_is_up(back.first[row] + choice % back.number[row], self._links):
            self._back.turn_to(row, choice)

    def serve_first(self, row: int, rank: float) -> None:
        """Brings the packets of a flow that wait forward."""
        for port in self.ports:
            port.bring_forward(row, rank)

    def _start(self, row: int) -> None:
        self._join(row)
        super().begin(row)

    def _join(self, row: int) -> None:
        self._active.append(row)
        if self._setup.asks is DecisionKind.ORDER:
            self._contest.touch(row)

    def _leave(self, row: int) -> None:
        self._active.remove(row)
        if self._setup.asks is DecisionKind.ORDER:
            self._contest.touch(row)

    def _begin_period(self) -> None:
        assert self._periods is not None
        self.pending = self._periods.pending()

    def _find_decision(self, _: Event) -> None:
        self._decision_due = False
        if self._setup.asks is DecisionKind.ORDER:
            self.pending = self._contest.pending(self.active, len(self._active))
        elif self._waiting:
            row = self._waiting[0]
            self.pending = PathDecision(row, int(self._routes.first[row]), int(self._routes.last[row]))


class StagedSimulation(FlowSimulation):
    """The same, of flows that wait for others and work on CPUs before they send."""

    def __init__(self, workload: Workload, setup: PacketSetup) -> None:
        super().__init__(workload, setup)
        assert self.network.stages is not None
        self._stages = self.network.stages
        self._cpus = new_cpus(self._links, workload.num_flows)
        self._turns = Turns(self.env, PacketEventKind.START, self._stages, self.network.flows.late.tolist())
        self._work_done: dict[int, Event] = {}
        self._forecasts: dict[int, Event] = {}

    def begin(self, row: int) -> None:
        """Lets a flow arrive."""
        self.env.process(self._before_sending(row))

    def end(self, row: int) -> None:
        """Notes that a flow is over: others may begin."""
        super().end(row)
        self._turns.finish(row)
        self._choose_all_work()

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order``; when a period begins, CPUs choose anew."""
        super().give(order, index)
        if order == Order.GO_ON:
            self._choose_all_work()

    def serve_first(self, row: int, rank: float) -> None:
        """Puts a flow before all others, on its CPU too."""
        super().serve_first(row, rank)
        self._cpus.rank[row] = rank
        if self._stages.stage[row] == ON_CPU:
            self._choose_work(self._cpu_of(row))

    def decision(self, flows: Rows, episodes: Rows) -> PacketDecision:
        """Lays out what is asked, with what is left of the work on CPUs."""
        note_work(self.now, self.state, self._cpus)
        return super().decision(flows, episodes)

    def _before_sending(self, row: int) -> ProcessGenerator:
        """Process of a flow from its arrival until it sends, in stages as the fluid's."""
        yield self._turns.to_begin(row)
        has_work = begin_work(self.now, row, self.state, self._controls, self._stages)
        self._cpus.rank[row] = self._setup.scheduler.serve_last(row, self.record)
        if has_work:
            cpu, done = self._cpu_of(row), self.env.event()
            self._work_done[row] = done
            self._join(row)
            self._choose_work(cpu)
            yield done
            end_work(cpu, self.state, self._cpus)
            self._leave(row)
            self._choose_work(cpu)
        yield self._turns.to_send(row)
        begin_sending(row, self.state, self._controls, self._stages)
        self._start(row)

    def _cpu_of(self, row: int) -> int:
        return int(self._stages.cpu_path[row]) - self._cpus.first_path

    def _choose_all_work(self) -> None:
        for cpu in range(len(self._cpus.running)):
            self._choose_work(cpu)

    def _choose_work(self, cpu: int) -> None:
        """Lets the flow that goes first run, and foresees the end of its work; an earlier forecast holds no more."""
        active, state = self._active, self.state
        before = choose_work(self.now, cpu, active, len(active), state, self._controls, self._cpus, self.record)
        row = int(self._cpus.running[cpu])
        if row in (before, NOBODY):
            return

        def end(event: Event) -> None:
            if event is self._forecasts[cpu]:
                self._work_done.pop(row).succeed()

        self._forecasts[cpu] = self.env.at(float(self._cpus.end[cpu]), PacketEventKind.START, row)
        self._forecasts[cpu].callbacks.append(end)
