"""Draws sizes from measured distributions, given as points of a cumulative distribution function (CDF).

The packaged points (``data/``) are the public ones of the flow-scheduling literature; ``data/README.md`` names the
source of each. The distribution is linear between two points, as in the traffic generators that use these files.
"""

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from itertools import pairwise
from os import PathLike
from types import MappingProxyType
from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import as_tuple, check_number, settle_numbers
from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, listed, naming, shown
from flowsched_gym.core.files import check_path
from flowsched_gym.machine_code.drawing import interpolate
from flowsched_gym.workload.distributions import Inverted

CdfPoint = tuple[float, float]
PACKET_PAYLOAD: Final = 1460.0
"""B of payload in a full Ethernet frame without TCP options."""
MIN_CDF_POINTS: Final = 2
PAIR: Final = 2
CDF_HEADER: Final = "size_bytes,cdf"
CDF_SUFFIXES: Final = (".csv", ".txt", ".cdf")
"""Extensions of CDF files."""
PER_CENT: Final = 100.0
SMALLEST_SIZE: Final = 1.0
"""B to which sizes are raised where another program's CDF file begins with 0."""
SEPARATOR: Final = re.compile(r"[\s,;]+")
HEADING: Final = re.compile(r"#.*|[^\d.+-].*")
"""A first line that is no point: a comment, or names."""

CDF_NAMES: Final = (
    *("ali_storage_2019", "data_mining", "data_mining_ns2", "facebook_cache_follower", "facebook_web_server"),
    *("w1", "w2", "w3", "w4", "w5", "web_search", "web_search_ns2"),
)
"""Names that ``load_cdf`` knows."""
CDF_MINIMUM_SIZES: Final[Mapping[str, float]] = MappingProxyType(
    {"ali_storage_2019": 1.0, "data_mining": 1.0, "web_search": PACKET_PAYLOAD}
)
"""Smallest size in B of those that start at 0 B: web search counts packets, the other two count bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Empirical(Inverted):
    """A cumulative distribution function, interpolated linearly between measured points.

    A first point with a probability above 0 is an atom at its value; two points of equal value are an atom too.

    Attributes:
        points: Pairs (value, cumulative probability); both never fall from one point to the next, values are >= 0 and
            the last probability is exactly 1.
        minimum: Smaller values are raised to it. > 0 if the first point's value is 0.
        mean: Mean of the values, the raising to the minimum included; computed.
    """

    points: tuple[CdfPoint, ...]
    minimum: float = 0.0
    mean: float = field(init=False, repr=False, compare=False)
    _values: FloatArray = field(init=False, repr=False, compare=False)
    _probabilities: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("minimum", self.minimum, at_least=0)
        points = as_tuple("points", self.points)
        if any(len(as_tuple("each of points", point)) != PAIR for point in points):
            raise ConfigError(f"points is {points!r}: it must be pairs (value, cumulative probability)")
        object.__setattr__(self, "points", tuple((value, probability) for value, probability in points))
        if len(self.points) < MIN_CDF_POINTS:
            raise ConfigError(f"points has {len(self.points)} entries: a CDF needs at least {MIN_CDF_POINTS}")
        previous = (0.0, 0.0)
        for row, (value, probability) in enumerate(self.points):
            check_number(f"value of CDF point {row}", value, at_least=previous[0])
            check_number(f"probability of CDF point {row}", probability, at_least=previous[1])
            previous = (value, probability)
        if previous[1] != 1:
            raise ConfigError(f"the last CDF point has probability {previous[1]!r}: it must be 1")
        if max(self.points[0][0], self.minimum) <= 0:
            raise ConfigError(f"minimum is {self.minimum!r}: it must be > 0, as the first CDF point has value 0")
        values, probabilities = np.array(self.points, dtype=np.float64).T
        object.__setattr__(self, "_values", np.ascontiguousarray(values))
        object.__setattr__(self, "_probabilities", np.ascontiguousarray(probabilities))
        object.__setattr__(self, "mean", _mean_of_points(self.points, self.minimum))

    def _cdf(self, value: FloatArray) -> FloatArray:
        return np.where(value < self.minimum, 0.0, numerics.interpolate(value, self._values, self._probabilities))

    def _invert(self, probability: FloatArray) -> FloatArray:
        return interpolate(probability, self._probabilities, self._values, least=float(self.minimum))


def load_cdf(name: str, *, minimum: float | None = None) -> Empirical:
    """Loads one of the packaged size distributions (``CDF_NAMES``), such as ``"web_search"``.

    Where the smallest size is 0, the minimum in B is by default a packet of 1460 B for web search, and 1 B for others.

    Raises:
        ConfigError: There is no such distribution, or the minimum is not allowed.
    """
    if not isinstance(name, str) or name not in CDF_NAMES:
        raise ConfigError(
            f"size distribution {name!r} does not exist: there are {listed(name, CDF_NAMES)}; a file's name ends in "
            ".csv or .txt, and read_cdf reads it"
        )
    if minimum is None:
        minimum = CDF_MINIMUM_SIZES.get(name, 0.0)
    text = resources.files("flowsched_gym.workload").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return _parse_cdf(text, f"{name}.csv", minimum)


class CdfWarning(FlowSchedWarning):
    """Something was guessed of a CDF file of another program."""


def read_cdf(path: str | PathLike[str], *, minimum: float | None = None) -> Empirical:
    """Reads a size distribution from a file with one point, size in B and share, in each row.

    The header is ``size_bytes,cdf``. Files of other simulators have another one or none, blanks between the numbers,
    and often shares in per cent. Where their first size is 0, the minimum is by default 1 B.

    Raises:
        ConfigError: The file cannot be read, or is not such a file.

    Warns:
        CdfWarning: It has not this header; the message names what was taken for granted.
    """
    try:
        text = check_path("path of a size distribution", path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a size distribution: {error}") from None
    return _parse_cdf(text, str(path), minimum)


def _parse_cdf(text: str, source: str, minimum: float | None) -> Empirical:
    lines = text.splitlines()
    first = lines[0] if lines else ""
    own = first.replace(" ", "") == CDF_HEADER
    headed = own or HEADING.fullmatch(first.strip()) is not None
    points: list[CdfPoint] = [(0.0, 0.0)]
    place = source
    for number, line in enumerate(lines, start=1):
        if (number == 1 and headed) or not line.strip() or (not own and line.strip().startswith("#")):
            continue
        place = f"{source}, line {number}"
        try:
            value, probability = map(float, line.split(",") if own else SEPARATOR.split(line.strip()))
        except ValueError:
            allowed = "two numbers, size and CDF"
            if number == 1:
                allowed += f", or the header {CDF_HEADER!r}"
            raise ConfigError(f"{place} is {line!r}: it must be {allowed}") from None
        check_number(f"{place}: size", value, at_least=points[-1][0])
        check_number(f"{place}: share", probability, at_least=points[-1][1])
        points.append((value, probability))
    del points[0]
    if not own and not points:
        raise ConfigError(f"{source}, line 1 is {first!r}: the header must be {CDF_HEADER!r}")
    if points and points[-1][1] not in (1, PER_CENT):
        raise ConfigError(f"{place}: the last share is {points[-1][1]!r}: it must be 1, or 100 of shares in per cent")
    guessed = [f"line 1 is {shown(first)} instead of the header {CDF_HEADER!r}"] * (headed and not own)
    guessed += ["sizes are in B"] * (not own)
    if points and points[-1][1] == PER_CENT:
        points = [(value, probability / PER_CENT) for value, probability in points]
        guessed.append("shares are in per cent, as the last one is 100")
    if not own and points[0][0] == 0 and minimum is None:
        minimum = SMALLEST_SIZE
        guessed.append("the smallest size is 1 B, as the first point has 0")
    if guessed:
        warnings.warn(CdfWarning(f"{source}: {'; '.join(guessed)}"), stacklevel=3)
    with naming(source):
        return Empirical(points=tuple(points), minimum=0.0 if minimum is None else minimum)


def _mean_of_points(points: tuple[CdfPoint, ...], minimum: float) -> float:
    """Returns the mean of the linear interpolation between points, raised to a minimum."""
    first_value, first_probability = points[0]
    terms = [first_probability * max(first_value, minimum)]
    for (low, below), (high, above) in pairwise(points):
        if minimum <= low:
            mean = 0.5 * (low + high)
        elif minimum >= high:
            mean = minimum
        else:
            mean = ((minimum - low) * minimum + 0.5 * (high - minimum) * (high + minimum)) / (high - low)
        terms.append((above - below) * mean)
    return math.fsum(terms)
