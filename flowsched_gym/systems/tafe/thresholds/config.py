"""The arguments of TAFE's environment of thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from flowsched_gym.core.checks import check_one_of_two
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs.arguments import PERIODS_MS, Choice, Converted, argument
from flowsched_gym.envs.own_network import settle_network
from flowsched_gym.envs.thresholds import check_num_thresholds, read_thresholds
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.fluid.disciplines import Demotion
from flowsched_gym.fluid.disciplines.task_queues import WITHIN
from flowsched_gym.queueing.thresholds import NUM_QUEUES
from flowsched_gym.systems.tafe.config import TAFEConfig

ONE_BY_ONE: Final = "serial"
"""How CPUs serve the flows of a task where they are sent in packets."""


class TAFEReward(StrEnum):
    """The term that is the reward."""

    UNFINISHED = "unfinished"
    """Minus the integral of the number of unfinished tasks over the period; it sums to the total completion time."""
    TCT = "tct"
    """Minus the sum of the completion times of the tasks that finished in the period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TAFEThresholdsConfig(TAFEConfig):
    """The arguments of TAFE's environment of thresholds, beside those of ``TAFEConfig``."""

    queues: int = argument(3, between=(NUM_QUEUES[0], NUM_QUEUES[-1]), meaning="feedback queues")
    within: str = argument(ONE_BY_ONE, choices=WITHIN, meaning="how the flows of a task are served")
    demotion: Choice[Demotion] = argument(Demotion.SENT, meaning="by what the level of a task is found")
    period_flows: int | None = argument(
        20, at_least=1, meaning="flows that finish in a period; exactly one of this and period_ms is given"
    )
    period_ms: float | None = argument(None, between=PERIODS_MS, unit="ms", meaning="length of a period")
    initial_thresholds: Converted[Sequence[float] | None, tuple[float, ...] | None] = argument(
        None,
        convert=partial(read_thresholds, may_be_empty=True),
        unit="B",
        none="equal steps on the logarithmic scale",
        meaning="thresholds until the first action, increasing, one fewer than queues",
    )
    reward: Choice[TAFEReward] = argument(TAFEReward.UNFINISHED, meaning="term that is the reward")

    def check(self) -> None:
        """Refuses two periods, too many or too few thresholds, and what packets do not have."""
        settle_network(self)
        for name, plain in (("cpus", None), ("barrier", Barrier.FLOW)):
            if self.packets is not None and self.within != ONE_BY_ONE and getattr(self, name) != plain:
                raise ConfigError(
                    f"{name} is {shown(getattr(self, name))}, and packets are given: within is {shown(self.within)}, "
                    f"and must be {ONE_BY_ONE!r}, since CPUs serve flows one by one there"
                )
        if self.packets is not None and self.demotion is not Demotion.SENT:
            raise ConfigError(
                f"demotion is {shown(str(self.demotion))}, and packets are given: hosts tag them by bytes sent alone"
            )
        check_one_of_two("period_flows", self.period_flows, "period_ms", self.period_ms)
        if self.initial_thresholds is not None:
            check_num_thresholds("initial_thresholds", self.initial_thresholds, self.queues)

    @property
    def num_thresholds(self) -> int:
        """Thresholds between the queues."""
        return self.queues - 1

    @property
    def period(self) -> Period:
        """When a period ends."""
        seconds = None if self.period_ms is None else self.period_ms * SECONDS_PER_MILLISECOND
        return Period(flows=self.period_flows, seconds=seconds)
