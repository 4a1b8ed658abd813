"""What disciplines have in common that know how large tasks are: the shortest first, with MADD's rates."""

from typing import Any, Final

import numpy as np

from flowsched_gym.core.checks import check_choice
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.rules.tasks.madd import KnownTasks, TaskKey, serve_shortest
from flowsched_gym.topology.network import Network, first_cpu_path


class ShortestTasks(Discipline):
    """The shortest task first, by the key that tells what makes it short; all its flows end together.

    Tasks get MADD's rates in their order, each on what those before it leave; what is idle then is given out once more
    in the same way. Rates are found anew when a flow is ready and when one has finished.
    """

    record_type = KnownTasks
    kept = ("task", "came", "total", "sent")
    record: KnownTasks
    stops_flows = True
    control = staticmethod(serve_shortest)

    def __init__(self, key: TaskKey) -> None:
        self._key = key

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: KnownTasks) -> None:
        """Notes when a task began."""
        task = n * record.num_rows + record.task[row]
        record.came[task] = min(record.came[task], now)

    @staticmethod
    def finished(n: int, row: int, state: FlowState, controls: Controls, record: KnownTasks) -> None:
        """Counts what a task has sent."""
        if controls.path[row] < record.first_cpu_path:
            record.sent[n * record.num_rows + record.task[row]] += state.volume[row]

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> KnownTasks:
        """Makes room for the tasks."""
        reals: dict[str, Any] = {name: np.zeros(num_flows) for name in ("total", "sent", "rank")}
        whole = ("task", "listed", "place", "laid")
        numbers: dict[str, Any] = {name: np.zeros(num_flows, dtype=np.int64) for name in whole}
        return KnownTasks(
            key=int(self._key),
            first_cpu_path=first_cpu_path(network),
            num_rows=num_flows // num_networks,
            came=np.full(num_flows, np.inf),
            load=np.zeros(len(network.capacity)),
            residual=np.zeros(len(network.capacity)),
            **reals,
            **numbers,
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
            longest flow that is ready).

    Raises:
        ConfigError: The key is unknown.
    """

    def __init__(self, key: str = "remaining") -> None:
        super().__init__(STF_KEYS[check_choice("key", key, STF_KEYS)])


class Sebf(ShortestTasks):
    """Smallest effective bottleneck first (Varys: Chowdhury, Zhong, Stoica, SIGCOMM 2014).

    A task is as short as what its ready flows have left of their stages needs on its most loaded resource alone.
    """

    def __init__(self) -> None:
        super().__init__(TaskKey.BOTTLENECK)


STF_KEYS: Final = {"remaining": TaskKey.REMAINING, "longest": TaskKey.LONGEST}
