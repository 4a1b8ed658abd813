"""One episode of packets in SimPy, which runs until an agent has to act, and resumes when it has."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import Periods
from flowsched_gym.flows.records import Records
from flowsched_gym.packets.rules.queues import forget_counts
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.simpy.port import QueueCounter
from flowsched_gym.packets.simpy.simulation import PacketReplay
from flowsched_gym.packets.state import PacketEventKind
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload


class PacketSimulation(PacketReplay):
    """Flows whose senders send packets into one port, whose agent acts at the beginning of each period.

    Args:
        workload: The flows.
        topology: The port as a network.
        setup: The port and the senders.
        period: When a period ends: after so many s.

    Attributes:
        counts: What the agent is told of the queues.
        pending: What waits for a decision, if anything.
    """

    def __init__(self, workload: Workload, topology: Topology, setup: PacketSetup, period: Period) -> None:
        packets = setup.cut(workload)
        counter = QueueCounter(packets.table, setup.scheduler.num_queues)
        super().__init__(packets, setup, (counter,))
        self.counts = counter.counts
        self.workload = workload
        self.topology = topology
        self.pending: PeriodDecision | None = None
        self._setup = setup
        self._periods = Periods(
            period, self.env, on_begin=self._ask, counted=PacketEventKind.TIMEOUT, end=PacketEventKind.PERIOD_END
        )

    @property
    def now(self) -> float:
        """Time in s."""
        return float(self.env.now)

    @property
    def finished(self) -> bool:
        """Whether every flow has been acknowledged."""
        return self.num_delivered == self.workload.num_flows

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent acts."""
        return self.pending is not None

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return self._periods.begun

    @property
    def delivery_order(self) -> IntArray:
        """Rows of the flows that have been acknowledged, in that order, (num_delivered,)."""
        return np.array(self.order, dtype=np.int64)

    @property
    def completion_time(self) -> FloatArray:
        """Absolute times in s of deliveries, (num_flows,), NaN for packets that have not left the port."""
        return self.outcomes().completion_time

    @property
    def packets_left(self) -> IntArray:
        """Packets of each flow that are not delivered, (num_flows,)."""
        return np.array(self._left, dtype=np.int64)

    def run(self, until: float | None = None) -> None:
        """Runs until an agent has to act, or all flows are acknowledged."""
        while self.pending is None and not self.finished:
            self.env.step()

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set.

        Raises:
            SimulationError: No period waits to begin.
        """
        if self.pending is None:
            raise SimulationError("no period waits to begin")
        self.pending = None
        if self.num_periods > 1:
            forget_counts(self.counts)

    def ideal_fct(self) -> FloatArray:
        """Returns what the flows take alone, in s, (num_flows,)."""
        return self.records().ideal_fct

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        completion = self.completion_time
        completion[completion > self.now] = np.nan
        return self._setup.records(self.workload, completion)

    def _ask(self) -> None:
        self.pending = self._periods.pending()
