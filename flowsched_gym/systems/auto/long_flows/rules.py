"""What the agent of long flows may do and is rewarded with; ``observation`` is what it sees."""

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.envs.actions import MultiDiscrete, read_choices
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.machine_code.decorators import allocating_rule
from flowsched_gym.machine_code.numerics import pairwise_sum, sum_of_logs
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsReward
from flowsched_gym.systems.auto.long_flows.observation import (
    Observer,
    long_active,
    long_flows_layout,
    path_of,
    seen_flows,
    usable_paths,
)

RATE_STEPS: Final = (1 / 3, 2 / 3, 1.0)
"""Largest rates that an agent may choose, over the capacity of a link: three, as in the authors' shipped network."""
TERMS: Final = tuple(str(term) for term in LongFlowsReward)
THROUGHPUT, SLOWDOWNS, PROGRESS, MEMORY_SIZE = range(4)
"""Indices in the memory: throughput of the step before in B/s; of the long flows that were active, the sums of their
slowdowns so far and of the logarithms of the bytes that they had sent."""


class LongFlowsControl(FluidControl[IntArray]):
    """Control of the queue, the largest rate and the path of the long flows that an agent sees."""

    may_pass: ClassVar[bool] = True
    sets_rate_caps: ClassVar[bool] = True
    memory_size = MEMORY_SIZE
    terms = TERMS

    def __init__(self, config: AuTOLongFlowsConfig) -> None:
        self.config = config
        self._observe = Observer(config)
        self.layout = long_flows_layout(config)
        parts = (config.num_queues, len(RATE_STEPS), config.paths)
        self._num_choices = np.tile(np.array(parts, dtype=np.int64), config.n_l)
        self.action_space = MultiDiscrete(self._num_choices)
        self._rate_caps = np.array([config.capacity * share if share < 1 else np.inf for share in RATE_STEPS])
        none = [np.arange(count) == 0 for count in parts]
        self._empty: BoolArray = np.tile(np.concatenate(none), (config.n_l, 1))
        self.num_actions = self._empty.size

    def new_discipline(self) -> Mlfq:
        """Makes feedback queues with the fixed thresholds."""
        return Mlfq(self.config.thresholds)

    def asks(self, view: NetworkView) -> bool:
        """Returns whether there is a long flow to decide about."""
        return len(seen_flows(view, self.config)) > 0

    def check(self, action: object, name: str = "action") -> IntArray:
        """Reads a queue, a rate step and a path for each slot, and refuses what is outside the space."""
        return read_choices(action, self._num_choices, name)

    def act(self, view: NetworkView, memory: FloatArray, action: IntArray) -> None:
        """Sets what was chosen for the flows in the slots; a path on which a link has failed is not taken."""
        rows = seen_flows(view, self.config)
        queue, step, path = action.reshape(self.config.n_l, -1)[: len(rows)].T
        view.pin(rows, queue)
        view.rate_cap[rows] = self._rate_caps[step]
        changed = np.flatnonzero(path != path_of(view, self.config, rows))
        if len(changed):
            usable = usable_paths(view, self.config, rows[changed])[np.arange(len(changed)), path[changed]]
            for slot in changed[usable].tolist():
                view.move(int(rows[slot]), int(path[slot]))

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Returns the reward, and its named terms."""
        terms = reward_terms(view, self.config, memory)
        return terms[self.config.reward], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> npt.NDArray[np.float32]:
        """Returns what the agent sees."""
        return self._observe(view)

    def masks(self, view: NetworkView) -> BoolArray:
        """Returns which choices do what they say, slot by slot, part by part; of an empty slot, each part's first."""
        rows = seen_flows(view, self.config)
        masks = self._empty.copy()
        masks[: len(rows), : -self.config.paths] = True
        masks[: len(rows), -self.config.paths :] = usable_paths(view, self.config, rows)
        return masks.ravel()


def reward_terms(view: NetworkView, config: AuTOLongFlowsConfig, memory: FloatArray) -> dict[str, float]:
    """Returns the named terms of the reward for a step, and remembers what the next ones need."""
    finished, long = view.finished, long_active(view, config)
    progress = np.empty(len(long) + len(finished))
    count, so_far, slowdown, throughput = progress_of_long(
        view.now, finished, long, view.columns, config.long_from, progress
    )
    sent = sum_of_logs(progress[: len(long)])
    delivered = sum_of_logs(progress[len(long) : len(long) + count])
    terms = {
        str(LongFlowsReward.PROGRESS): sent + delivered - float(memory[PROGRESS]),
        str(LongFlowsReward.SLOWDOWN): -(slowdown / count) if count else 0.0,
        str(LongFlowsReward.SLOWDOWN_GROWTH): float(memory[SLOWDOWNS]) - so_far - slowdown,
        str(LongFlowsReward.THROUGHPUT_RATIO): (throughput + config.capacity)
        / (float(memory[THROUGHPUT]) + config.capacity),
    }
    memory[THROUGHPUT], memory[SLOWDOWNS], memory[PROGRESS] = throughput, so_far, sent
    return terms


@allocating_rule
def progress_of_long(
    now: float, finished: IntArray, long: IntArray, flows: FlowColumns, long_from: float, progress: FloatArray
) -> tuple[int, float, float, float]:
    """Adds up how long flows fare that have finished, and those that are active.

    Args:
        finished: Rows of flows that have finished, (num_finished,), short ones too.
        long: Rows of the active long flows, (num_long,).
        long_from: Bytes above which a flow has been long.
        progress: Receives over ``long_from`` what active long flows have sent, and behind these what the finished ones
            have, (at least num_long + num_finished,).

    Returns:
        How many of the finished flows have been long, and three sums: of the slowdowns so far of active long flows, of
        the slowdowns of finished ones and of their throughputs in B/s.
    """
    so_far, slowdown, throughput = np.empty(len(long)), np.empty(len(finished)), np.empty(len(finished))
    for index in range(len(long)):
        row = long[index]
        so_far[index] = (now - flows.arrival_time[row]) / flows.ideal_fct[row]
        progress[index] = flows.attained[row] / long_from
    count = 0
    for index in range(len(finished)):
        row = finished[index]
        size = flows.size[row]
        if size > long_from:
            fct = flows.completion_time[row] - flows.arrival_time[row]
            slowdown[count] = fct / flows.ideal_fct[row]
            throughput[count] = size / fct
            progress[len(long) + count] = size / long_from
            count += 1
    return (
        count,
        pairwise_sum(so_far, 0, len(long)),
        pairwise_sum(slowdown, 0, count),
        pairwise_sum(throughput, 0, count),
    )
