"""The arguments of TAFE's environment of thresholds, checked."""

from dataclasses import dataclass
from enum import StrEnum

from flowsched_gym.core.checks import check_one_of_two
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
from flowsched_gym.fluid.disciplines import Demotion, Tafe
from flowsched_gym.fluid.disciplines.task_queues import check_thresholds
from flowsched_gym.queueing.thresholds import NUM_QUEUES
from flowsched_gym.systems.tafe.config import TAFEConfig


class TAFEReward(StrEnum):
    """The term that is the reward."""

    UNFINISHED = "unfinished"
    """Minus the integral of the number of unfinished tasks over the period; it sums to the total completion time."""
    TCT = "tct"
    """Minus the sum of the completion times of the tasks that finished in the period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TAFEThresholdsConfig(TAFEConfig):
    """The arguments of TAFE's environment of thresholds, beside those of ``TAFEConfig``.

    Attributes:
        queues: Feedback queues, 2 to 8.
        within: How the flows of a task are served: ``serial``, ``shortest``, ``fair`` or ``remaining``.
        demotion: By what the level of a task is found, ``sent`` or ``arrived``.
        period_flows: Flows that finish in a period, >= 1; exactly one of this and period_ms is given.
        period_ms: Length of a period in ms, > 0.
        initial_thresholds: Thresholds in B until the first action, increasing, (queues - 1,); ``None`` for equal steps
            on the logarithmic scale.
        reward: Term that is the reward, ``unfinished`` or ``tct``.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    queues: int = 3
    within: str = "serial"
    demotion: Demotion = Demotion.SENT
    period_flows: int | None = 20
    period_ms: float | None = None
    initial_thresholds: tuple[float, ...] | None = None
    reward: TAFEReward = TAFEReward.UNFINISHED

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        TAFEConfig.__post_init__(self)
        convert_members(self, {"demotion": Demotion, "reward": TAFEReward})
        check_one_of_two("period_flows", self.period_flows, "period_ms", self.period_ms)
        convert_integers(self, {"queues": NUM_QUEUES.start, "period_flows": 1})
        if self.queues not in NUM_QUEUES:
            raise ConfigError(f"queues is {self.queues}: it must be from {NUM_QUEUES.start} to {NUM_QUEUES.stop - 1}")
        convert_numbers(self, positive=("period_ms",))
        Tafe(within=self.within)
        if self.initial_thresholds is not None:
            self._check_initial_thresholds()

    def _check_initial_thresholds(self) -> None:
        """Checks them, and turns them into Python's own numbers."""
        try:
            limits = check_thresholds(self.initial_thresholds).tolist()
        except ConfigError as error:
            raise ConfigError(f"initial_{error}") from None
        if len(limits) != self.num_thresholds:
            raise ConfigError(
                f"initial_thresholds is {limits}: {self.queues} queues need {self.num_thresholds} numbers"
            )
        object.__setattr__(self, "initial_thresholds", tuple(limits))

    @property
    def num_thresholds(self) -> int:
        """Thresholds between the queues."""
        return self.queues - 1

    @property
    def period(self) -> Period:
        """When a period ends."""
        seconds = None if self.period_ms is None else self.period_ms * SECONDS_PER_MILLISECOND
        return Period(flows=self.period_flows, seconds=seconds)
