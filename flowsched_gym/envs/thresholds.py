"""Thresholds between queues: as arguments, as actions on a logarithmic scale of sizes, and in pictures."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs.drawing.formats import size_text
from flowsched_gym.envs.drawing.panels import Chart
from flowsched_gym.fluid.disciplines.queues import check_limits
from flowsched_gym.fluid.rules.ordering.feedback import spread_limits
from flowsched_gym.machine_code.decorators import inlined_rule, rule
from flowsched_gym.machine_code.numerics import natural_log, take_exponentials

LEAST_RATIO: Final = 1.01
"""A threshold is larger than the one before by this factor at least."""
CLASS_ENDS: Final = (100 * BYTES_PER_KILOBYTE, 10 * BYTES_PER_MEGABYTE)
"""Largest sizes in B of small and of medium flows, as in the figures of PIAS and AuTO."""
CLASSES: Final = {"small": "up to 100 KB", "medium": "of 100 KB to 10 MB", "large": "above 10 MB"}
BINS: Final = 60
"""Bars of a chart along the scale."""
UNITS: Final = ("B", "KB", "MB", "GB")


class ThresholdScale(NamedTuple):
    """A logarithmic scale on which each number of an action chooses a threshold above the one before.

    With u = (action + 1) / 2, log t_1 = log lowest + u_1 (h_1 - log lowest) and log t_i = l_i + u_i (h_i - l_i), where
    l_i is the logarithm of 1.01 t_(i-1), and h_i leaves room below the highest for the thresholds that follow. So
    thresholds are ordered whatever the agent says.

    Attributes:
        lowest, highest: Smallest and largest threshold in B, whose logarithms are ``bottom`` and ``top``.
        step: Least difference of neighbouring logarithms.
    """

    lowest: float
    highest: float
    bottom: float
    top: float
    step: float

    @classmethod
    def between(cls, lowest: float, highest: float) -> Self:
        """Makes a scale from the smallest to the largest threshold in B."""
        return cls(lowest, highest, *(float(numerics.log(value)) for value in (lowest, highest, LEAST_RATIO)))

    def thresholds_of(self, action: FloatArray) -> FloatArray:
        """Returns the thresholds in whole B, increasing in rows, for numbers in [-1, 1], (num_rows, count) both."""
        thresholds = np.empty(action.shape)
        write_thresholds(action, self, thresholds)
        return thresholds

    def action_of(self, thresholds: FloatArray) -> FloatArray:
        """Returns the action, in [-1, 1], that stands for thresholds, or, outside its range, for the nearest ones.

        Thresholds are in B, > 0 and non-decreasing in each row, (num_rows, count).
        """
        wanted = numerics.log(thresholds)
        logarithm, share = np.empty_like(wanted), np.zeros_like(wanted)
        count = wanted.shape[1]
        for index in range(count):
            low = np.full(len(wanted), self.bottom) if index == 0 else logarithm[:, index - 1] + self.step
            high = self.top - self.step * (count - 1 - index)
            logarithm[:, index] = np.clip(wanted[:, index], low, high)
            np.divide(logarithm[:, index] - low, high - low, out=share[:, index], where=high > low)
        return np.clip(2.0 * share - 1.0, -1.0, 1.0)

    def position_of(self, size: FloatArray) -> FloatArray:
        """Returns where sizes in B, > 0, stand on the scale from the lowest (0) to the highest (1), cut to that."""
        position: FloatArray = ((numerics.log(size) - self.bottom) / (self.top - self.bottom)).clip(0.0, 1.0)
        return position

    def size_at(self, position: FloatArray) -> FloatArray:
        """Returns the sizes in B that stand at positions from 0 to 1."""
        size: FloatArray = numerics.exp(self.bottom + (self.top - self.bottom) * position)
        return size

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Returns where the powers of ten stand, and their names."""
        sizes = {power: float(f"1e{power}") for power in range(len(UNITS) * 3)}
        shown = {power: size for power, size in sizes.items() if self.lowest <= size <= self.highest}
        names = [f"1{'0' * (power % 3)} {UNITS[power // 3]}" for power in shown]
        return tuple(zip(self.position_of(np.array(list(shown.values()))).tolist(), names, strict=True))

    def chart(self, sizes: FloatArray, thresholds: FloatArray, note: str, name: str = "") -> Chart:
        """Draws how many of some sizes in B there are along the scale, and thresholds."""
        return Chart(
            name=name,
            caption="thresholds  " + "  ".join(size_text(each) for each in thresholds.tolist()),
            note=note,
            counts=tuple(np.histogram(self.position_of(sizes), BINS, (0.0, 1.0))[0].tolist()),
            borders=tuple(self.position_of(np.maximum(thresholds, self.lowest)).tolist()),
        )


@rule
def write_thresholds(action: FloatArray, scale: ThresholdScale, thresholds: FloatArray) -> None:
    """Writes the thresholds that ``thresholds_of`` returns."""
    spread_limits(action, scale.bottom, scale.top, scale.step, thresholds)
    take_exponentials(thresholds)
    # Whole bytes, so that no last bit of a logarithm decides.
    for row in range(thresholds.shape[0]):
        for index in range(thresholds.shape[1]):
            thresholds[row, index] = np.rint(thresholds[row, index])


@inlined_rule
def height_of(size: float, scale: ThresholdScale) -> float:
    """Returns where a size in B, > 0, stands on a scale from the lowest (0) to the highest (1), cut to that."""
    return min(max((natural_log(size) - scale.bottom) / (scale.top - scale.bottom), 0.0), 1.0)


def class_of_size(size: FloatArray) -> IntArray:
    """Returns the classes of sizes in B, indices into ``CLASSES``."""
    classes: IntArray = np.searchsorted(CLASS_ENDS, size)
    return classes


def read_thresholds(name: str, given: object, *, may_be_empty: bool = False) -> tuple[float, ...]:
    """Reads thresholds in B, finite, positive and increasing, one at least unless there may be none; refuses others."""
    try:
        return tuple(check_limits(given, may_be_empty=may_be_empty).tolist())
    except ConfigError as error:
        raise ConfigError(str(error).replace("thresholds", name, 1)) from None


def check_num_thresholds(name: str, thresholds: Sequence[float], num_queues: int) -> None:
    """Refuses thresholds that are not one fewer than queues."""
    if len(thresholds) != num_queues - 1:
        raise ConfigError(f"{name} is {list(thresholds)}: {num_queues} queues need {num_queues - 1} numbers")
