"""Heuristics that order the flows of tasks by what is seen of them; ties go to the flow that was ready first."""

from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.checks import check_number
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies import RandomSlot, SlotPolicy, SmallestColumn, SmallestRemaining
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.slots import SlotColumn, decoded
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.machine_code.numerics import squash

PRIOR_BYTES: Final = 0.05
PRIOR_FLOWS: Final = 0.25
"""Chosen, as the bytes, in the validation episodes of tafe-tasks-log-attained."""


class RandomFlow(RandomSlot):
    """Any visible flow, each with the same probability."""

    occupied: ClassVar[str] = "present"


class ShortestStage(SmallestRemaining):
    """The flow first whose stage has the least left (SRPT)."""

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"


class LeastSent(SmallestColumn):
    """The task that has sent the least (LAS over tasks)."""

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs = ("task_sent",)


class ShortestTask(SmallestColumn):
    """Shortest task first: the one with the fewest bytes left."""

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs = ("task_left",)


class ShortestByLongest(SmallestColumn):
    """The task first whose longest flow has the fewest bytes left."""

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs = ("task_longest",)


class LeastWork(SlotPolicy):
    """The task first with the least left to do: its bytes at line rate, and its time on a whole CPU."""

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs = ("task_left", "task_cpu_left", "remaining", "unsent")
    own_weights: tuple[float, float] = (0.0, 0.0)
    """What the rest of the flow's stage, and the bytes that it has still to send, count besides."""

    def record(self) -> "LeastWorkRecord":
        """Returns the rule with its columns."""
        left, cpu_left, remaining, unsent = map(self.slot_column, self.needs)
        return LeastWorkRecord(self.size_at, self.stride, left, cpu_left, remaining, unsent, *self.own_weights)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the sums."""
        action = np.empty(len(batch), dtype=np.int64)
        least_work_slot(batch, self.record(), action)
        return action


class Johnson(LeastWork):
    """The least work of the task, more for what the flow's stage has left, less for what it has still to send.

    Johnson's rule for two machines in a row does jobs first that are short on the first machine and long on the
    second: a flow that is soon done with its CPU, and then keeps the links busy, goes before one that is not.
    """

    pure: ClassVar[bool] = True
    own_weights = (1.0, -1.0)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, remaining: float = 1.0, unsent: float = 1.0) -> Self:
        """Makes the policy for an environment, with the weights of both."""
        made = cls(attribute_of(env, "layout"))
        made.own_weights = (check_number("remaining", remaining), -check_number("unsent", unsent))
        return made


class LeastWorkRecord(NamedTuple):
    """The rule ``least_work_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    present_at: int
    stride: int
    left: SlotColumn
    cpu_left: SlotColumn
    remaining: SlotColumn
    unsent: SlotColumn
    remaining_weight: float
    unsent_weight: float

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        least_work_slot(observation.reshape((1, -1)), self, action)


@rule
def least_work_slot(observation: ObservationArray, asked: LeastWorkRecord, action: IntArray) -> None:
    """Chooses the flow with the least sum, in usual flows: what one takes at line rate is the scale of times."""
    for row in range(len(observation)):
        least, action[row] = np.inf, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - asked.present_at, asked.stride)):
            if observation[row, asked.present_at + offset] > 0.0:
                work = decoded(observation, row, offset, asked.left) / asked.left.scale
                work += decoded(observation, row, offset, asked.cpu_left) / asked.cpu_left.scale
                if asked.remaining_weight != 0.0:
                    own = decoded(observation, row, offset, asked.remaining) / asked.remaining.scale
                    work += asked.remaining_weight * own
                if asked.unsent_weight != 0.0:
                    work += asked.unsent_weight * decoded(observation, row, offset, asked.unsent) / asked.unsent.scale
                if work < least:
                    least, action[row] = work, slot


class JohnsonRatio(SlotPolicy):
    """The least work of the task, of which on a CPU only the share counts that the flow itself needs there.

    The share is ``remaining / (remaining + unsent * bytes to send * backlog / (backlog + flows elsewhere))``: Johnson's
    rule as a ratio, in which bytes count less the more flows keep the links busy anyway. On links it is 1.
    """

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs = LeastWork.needs
    numbers: tuple[float, float] = (0.8, 10.0)
    """``unsent``, and ``backlog``: flows elsewhere with which bytes count half."""

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, unsent: float = 0.8, backlog: float = 10.0) -> Self:
        """Makes the policy for an environment, with its numbers."""
        made = cls(attribute_of(env, "layout"))
        made.numbers = (check_number("unsent", unsent, at_least=0), check_number("backlog", backlog, above=0))
        return made

    def record(self) -> "JohnsonRatioRecord":
        """Returns the rule with its columns and numbers."""
        on_cpu, *at = map(self.layout.context_index, ("on_cpu", "competing", "active"))
        competing, active = (SlotColumn(index, float(self.layout.context[index].scale)) for index in at)
        left, cpu_left, remaining, unsent = map(self.slot_column, self.needs)
        slots = left, cpu_left, remaining, unsent
        return JohnsonRatioRecord(self.size_at, self.stride, on_cpu, competing, active, *slots, *self.numbers)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the products."""
        action = np.empty(len(batch), dtype=np.int64)
        johnson_ratio_slot(batch, self.record(), action)
        return action


class JohnsonRatioRecord(NamedTuple):
    """The rule ``johnson_ratio_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    present_at: int
    stride: int
    on_cpu_at: int
    competing: SlotColumn
    active: SlotColumn
    left: SlotColumn
    cpu_left: SlotColumn
    remaining: SlotColumn
    unsent: SlotColumn
    unsent_weight: float
    backlog: float

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        johnson_ratio_slot(observation.reshape((1, -1)), self, action)


@rule
def johnson_ratio_slot(observation: ObservationArray, asked: JohnsonRatioRecord, action: IntArray) -> None:
    """Chooses the flow with the least product, in usual flows as in ``least_work_slot``."""
    for row in range(len(observation)):
        least, action[row] = np.inf, 0
        elsewhere = decoded(observation, row, 0, asked.active) - decoded(observation, row, 0, asked.competing)
        weight = asked.unsent_weight * asked.backlog / (asked.backlog + max(elsewhere, 0.0))
        for slot, offset in enumerate(range(0, observation.shape[1] - asked.present_at, asked.stride)):
            if observation[row, asked.present_at + offset] > 0.0:
                work = decoded(observation, row, offset, asked.left) / asked.left.scale
                work += decoded(observation, row, offset, asked.cpu_left) / asked.cpu_left.scale
                if observation[row, asked.on_cpu_at] > 0.0:
                    own = decoded(observation, row, offset, asked.remaining) / asked.remaining.scale
                    to_send = weight * decoded(observation, row, offset, asked.unsent) / asked.unsent.scale
                    work *= own / (own + to_send) if own > 0.0 else 0.0
                if work < least:
                    least, action[row] = work, slot


class EstimatedTask(SlotPolicy):
    """Shortest task first, by what its finished flows tell: bytes sent for each, times the flows that are active.

    Where few have finished, ``PRIOR_FLOWS`` flows of ``PRIOR_BYTES`` usual flows in all are counted as finished too.
    """

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs = ("task_sent", "task_finished", "task_active")

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the estimates."""
        sent, finished, active = (self.layout.slot_column(batch, name) for name in self.needs)
        sent = sent / self.layout.slot_scale("task_sent")
        estimate = (sent + PRIOR_BYTES) / (finished + PRIOR_FLOWS) * active
        slots: IntArray = np.argmin(np.where(self.layout.slot_column(batch, "present") > 0, estimate, np.inf), axis=1)
        return slots


class Tafe(SlotPolicy):
    """TAFE: the highest level first, in it the task that arrived first, and of that the flow that was ready first.

    A task's level is the number of thresholds that it has sent. The agent is asked when a flow is ready or has
    finished, so a task is demoted then, where the discipline ``tafe`` demotes it at once. Thresholds are in B, and
    increase.
    """

    pure: ClassVar[bool] = True
    occupied: ClassVar[str] = "present"
    needs: ClassVar[tuple[str, ...]] = ("task_sent", "task_time", "task_slot")

    def __init__(self, layout: Layout, thresholds: FloatArray, *, seed: int = 0) -> None:
        super().__init__(layout, seed=seed)
        scale = layout.slot_scale("task_sent")
        self.limits = np.array([squash(limit, scale) for limit in thresholds.tolist()], dtype=np.float32)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy with the paper's thresholds for the environment's tasks."""
        return cls(attribute_of(env, "layout"), attribute_of(env, "paper_thresholds"), seed=seed)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares levels, then times."""
        slots: IntArray = np.argmax(self.first_tasks(batch), axis=1)
        return slots

    def first_tasks(self, batch: ObservationArray) -> BoolArray:
        """Finds the slots with flows of the task that goes first, (batch, f) bool."""
        slots = batch[:, self.size_at :].reshape(len(batch), -1, self.stride)
        sent, time, task = (slots[:, :, at - self.size_at] for at in self.needed_at[:3])
        present = slots[:, :, 0] > 0.0
        level = np.where(present, np.searchsorted(self.limits, sent, side="right"), len(self.limits) + 1)
        time = np.where(level == level.min(axis=1, keepdims=True), time, -1.0)
        first_slot = np.argmax(time, axis=1)[:, np.newaxis]
        first: BoolArray = present & (task == np.take_along_axis(task, first_slot, axis=1))
        return first


class FirstTask(Tafe):
    """First in, first out over tasks: TAFE with one level."""

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy, which has no thresholds."""
        return cls(attribute_of(env, "layout"), np.zeros(0), seed=seed)


class TafeShortest(Tafe):
    """TAFE, and of the first task the flow whose stage has the least left."""

    needs: ClassVar[tuple[str, ...]] = ("task_sent", "task_time", "task_slot", "remaining")

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares levels, then times, then what is left."""
        slots = batch[:, self.size_at :].reshape(len(batch), -1, self.stride)
        left = slots[:, :, self.needed_at[3] - self.size_at]
        slots_with_least: IntArray = np.argmin(np.where(self.first_tasks(batch), left, np.inf), axis=1)
        return slots_with_least
