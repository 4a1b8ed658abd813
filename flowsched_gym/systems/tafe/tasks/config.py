"""The arguments of TAFE's environment of tasks, checked."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
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
    """The arguments of TAFE's environment of tasks, beside those of ``TAFEConfig``.

    Attributes:
        f: Flows that the agent sees (slots), >= 1.
        information: What it knows of tasks, ``attained`` or ``full``.
        typical_kb: Bytes of a flow, in KB, that become one half in the observation, > 0. Times become one half at what
            these take to send, those of waiting at ten times that.
        tail_weight: Weight of the term ``tail`` in the reward, >= 0.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    f: int = 16
    information: Information = Information.ATTAINED
    typical_kb: float = 1_000.0
    tail_weight: float = 0.0

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        TAFEConfig.__post_init__(self)
        convert_members(self, {"information": Information})
        convert_integers(self, {"f": 1})
        convert_numbers(self, positive=("typical_kb",), at_least_0=("tail_weight",))

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
