"""Periods after which an agent is asked, in both worlds."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Length of a period: time in s, > 0, or so many flows that finish in it, >= 1. Exactly one is given."""

    seconds: float | None = None
    flows: int | None = None

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.flows is None):
            raise ConfigError(
                f"a period has seconds {shown(self.seconds)} and flows {shown(self.flows)}: exactly one is needed"
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ConfigError(f"seconds of a period is {shown(self.seconds)}: it must be finite and > 0")
        if self.flows is not None and not self.flows >= 1:
            raise ConfigError(f"flows of a period is {shown(self.flows)}: it must be >= 1")


class PeriodDecision(NamedTuple):
    """A decision at the beginning of a period, whose number counts from 0."""

    number: int

    @property
    def candidates(self) -> IntArray:
        """Flows to choose from: none."""
        return np.zeros(0, dtype=np.int64)
