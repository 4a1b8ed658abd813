"""Writes numbers for people: each metric in one unit, and with the digits that show what is claimed of it.

Shares are per cent, times ms, rates Gbps. JSON and CSV have SI units, and the names of ``flows.metrics``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation.statistics import Interval
from flowsched_gym.flows.metrics import unit_of

PERCENT: Final = 100.0
MILLISECONDS: Final = 1 / SECONDS_PER_MILLISECOND
GBPS: Final = 1 / BYTES_PER_SECOND_PER_GBPS
MOST_DIGITS: Final = 3
"""Digits that a number may have beyond those of its metric."""
LEAST: Final = 1e-9
"""What is smaller comes from sums that are rounded, and differs between processors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """How a metric is shown: words above the column, unit of differences, factor of values, digits after the point."""

    label: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 2

    @property
    def value_unit(self) -> str:
        """Unit of values, which for shares is another than that of differences."""
        return "%" if self.unit == "points" else self.unit

    def write(self, estimate: Interval | float | None, *, signed: bool = False) -> str:
        """Writes an estimate with its interval, or a single value, or a count; empty for none."""
        if isinstance(estimate, int):
            return str(estimate)
        if isinstance(estimate, float):
            estimate = Interval(mean=estimate, low=math.nan, high=math.nan, num_samples=1)
        return format_interval(estimate, scale=self.scale, digits=self.digits, signed=signed)


def _in_ms(name: str) -> MetricColumn:
    return MetricColumn(label=f"{name}, ms", unit="ms", scale=MILLISECONDS, digits=1)


COLUMNS: Final[Mapping[str, MetricColumn]] = {
    "deadline_hit_ratio": MetricColumn(label="deadlines met, %", unit="points", scale=PERCENT, digits=1),
    "utilisation": MetricColumn(label="utilisation, %", unit="points", scale=PERCENT, digits=1),
    "goodput": MetricColumn(label="goodput, Gbps", unit="Gbps", scale=GBPS, digits=3),
    "mean_slowdown": MetricColumn(label="mean slowdown"),
    "max_slowdown": MetricColumn(label="largest slowdown"),
    "slowdown_fairness": MetricColumn(label="Jain index of slowdowns", digits=3),
}


def column_of(metric: str) -> MetricColumn:
    """Returns how a metric is shown."""
    label, unit = metric.replace("_", " ").replace("fct", "FCT").replace("tct", "TCT"), unit_of(metric)
    if metric in COLUMNS:
        return COLUMNS[metric]
    if unit == "s":
        return _in_ms(label)
    return MetricColumn(label=label) if unit == "1" else MetricColumn(label=label, unit=unit, digits=1)


def there(metrics: Mapping[str, float]) -> list[str]:
    """Lists the metrics that flows define: none of deadlines and tasks where these have none."""
    deadlines, tasks = ("deadlines_met", "deadlines_missed"), ("num_tasks",)
    absent = {name for counts in (deadlines, tasks) if not any(map(metrics.get, counts)) for name in counts}
    return [name for name, value in metrics.items() if value == value and name not in absent]


def format_interval(interval: Interval | None, *, scale: float = 1.0, digits: int = 1, signed: bool = False) -> str:
    """Writes an estimate, times ``scale``, with its interval: ``63.5 [61.0, 66.1]``; ``None`` is an empty cell.

    There are more digits where a number would be written as 0, or as all of 100 %, and is not. A value, no difference,
    that is small has two digits that count.
    """
    if interval is None or interval.mean != interval.mean:
        return ""
    scaled = [scale * number for number in (interval.mean, interval.low, interval.high)[: 3 if interval.known else 1]]
    numbers = [0.0 if abs(number) < LEAST else number for number in scaled]
    ends = (0.0, PERCENT) if scale == PERCENT and not signed else (0.0,)
    enough = digits
    while enough < digits + MOST_DIGITS and (
        any(round(number, enough) in ends and number not in ends for number in numbers)
        or (not signed and abs(numbers[0]) * 10**enough < 10 and round(numbers[0], enough) != numbers[0])
    ):
        enough += 1
    mean, *interval_ends = (_written(number, enough, signed=signed) for number in numbers)
    return f"{mean} [{', '.join(interval_ends)}]" if interval_ends else mean


def _written(number: float, digits: int, *, signed: bool) -> str:
    """Writes a number; zero has no sign, and what is too small for the digits an exponent."""
    sign = "+" if signed and number else ""
    tiny = number and abs(number) * 10**digits < (0.5 if signed else 1.0)
    return f"{number:{sign}.2g}" if tiny else f"{number + 0.0:{sign}.{digits}f}"
