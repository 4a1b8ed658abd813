"""What disciplines have in common that know how large tasks are: the shortest first, with MADD's rates."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.rules.tasks.madd import KnownTasks, TaskKey, add_sent, serve_shortest
from flowsched_gym.fluid.rules.tasks.stages import first_cpu_path
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class ShortestTasks(Discipline):
    """The shortest task first, by what is known of it; all its flows end together.

    Tasks get MADD's rates in their order, each on what those before it leave; what is idle then is given out once more
    in the same way. Rates are found anew when a flow is ready and when one has finished.

    Args:
        key: What makes a task short.
    """

    record_type = KnownTasks
    kept = ("task", "came", "total", "sent")
    record: KnownTasks
    stops_flows = True

    def __init__(self, key: TaskKey) -> None:
        self._key = key

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: KnownTasks) -> None:
        """Notes when a task began."""
        task = n * record.num_rows + record.task[row]
        record.came[task] = min(record.came[task], now)

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: KnownTasks,
    ) -> None:
        """Gives tasks their rates, the shortest first."""
        serve_shortest(n, active, count, state, controls, network, record)

    @staticmethod
    def finished(n: int, row: int, state: FlowState, controls: Controls, record: KnownTasks) -> None:
        """Counts what a task has sent."""
        add_sent(n, row, state, controls, record)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> KnownTasks:
        """Makes room for the tasks."""
        num_links = len(network.capacity)

        def numbers() -> IntArray:
            return np.zeros(num_flows, dtype=np.int64)

        return KnownTasks(
            key=int(self._key),
            first_cpu_path=first_cpu_path(network),
            num_rows=num_flows // num_networks,
            task=numbers(),
            came=np.full(num_flows, np.inf),
            total=np.zeros(num_flows),
            sent=np.zeros(num_flows),
            rank=np.zeros(num_flows),
            listed=numbers(),
            place=numbers(),
            laid=numbers(),
            load=np.zeros(num_links),
            residual=np.zeros(num_links),
        )

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Numbers the tasks, and sums up their flows."""
        record, rows = self.record, np.s_[first_row : first_row + len(flows.flow_id)]
        task = index_tasks(flows)
        record.task[rows] = task
        record.came[rows] = np.inf
        record.total[rows] = np.bincount(task, self.state.volume[rows], minlength=len(task))
        record.sent[rows] = 0.0


class Stf(ShortestTasks):
    """Shortest task first.

    Args:
        key: ``remaining`` (bytes that all flows of the task have still to send) or ``longest`` (what is left of its
            longest flow).

    Raises:
        ConfigError: The key is unknown.
    """

    def __init__(self, key: str = "remaining") -> None:
        if not isinstance(key, str) or key not in STF_KEYS:
            raise ConfigError(f"key is {shown(key)}: it must be one of {listed(key, STF_KEYS)}")
        super().__init__(STF_KEYS[key])


class Sebf(ShortestTasks):
    """Smallest effective bottleneck first (Varys: Chowdhury, Zhong, Stoica, SIGCOMM 2014).

    A task is as short as what its ready flows have left needs on its most loaded resource alone.
    """

    def __init__(self) -> None:
        super().__init__(TaskKey.BOTTLENECK)


STF_KEYS: Final = {"remaining": TaskKey.REMAINING, "longest": TaskKey.LONGEST}
