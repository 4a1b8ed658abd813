"""The arguments of TAFE's environment of tasks."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.envs.arguments import MOST_SLOTS, Choice, argument
from flowsched_gym.systems.tafe.config import TAFEConfig

WAITING_RATIO: Final = 10.0
"""Times of tasks are squashed by this many times that of a transfer of usual size: they wait for others."""


class Information(StrEnum):
    """What the agent knows of tasks."""

    ATTAINED = "attained"
    """What they have had: the paper's premise, as a switch cannot know how much is still to come."""
    FULL = "full"
    """What is left of them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TAFETasksConfig(TAFEConfig):
    """The arguments of TAFE's environment of tasks, beside those of ``TAFEConfig``."""

    f: int = argument(16, at_least=1, at_most=MOST_SLOTS, unit="slots", meaning="flows that the agent sees")
    information: Choice[Information] = argument(Information.ATTAINED, meaning="what it knows of tasks")
    typical_kb: float = argument(
        1_000.0,
        above=0,
        unit="KB",
        meaning="bytes of a flow that become one half in the observation; times become one half at what these take to "
        "send, those of waiting at ten times that",
    )
    tail_weight: float = argument(0.0, at_least=0, meaning="weight of the term ``tail`` in the reward")

    @property
    def size_scale(self) -> float:
        """Bytes that become one half."""
        return self.typical_kb * BYTES_PER_KILOBYTE

    @property
    def time_scale(self) -> float:
        """Time of service in s that becomes one half."""
        return self.size_scale / self.capacity

    @property
    def waiting_scale(self) -> float:
        """Time since an arrival in s that becomes one half."""
        return WAITING_RATIO * self.time_scale
