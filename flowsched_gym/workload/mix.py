"""Draws the size and the deadline of a flow together, from a few pairs.

The gather task of the Artemis thesis (section 4.1.2, its workload A) is such a mix with exact counts in each burst.
"""

import math
from dataclasses import dataclass
from typing import Final

from flowsched_gym.core.checks import as_tuple, check_integer, check_number, check_one_of_two
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND

SizeDeadline = tuple[float, float]

PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A mix of pairs of size and deadline, by exact counts in each burst or by weights.

    Attributes:
        pairs: Pairs (size in B, > 0; time allowed after arrival in s, > 0, inf for no deadline).
        counts: How many flows of each pair every burst has, integers >= 0, not all 0.
        weights: Relative frequency of each pair, >= 0, not all 0; each flow then draws its pair on its own. Exactly
            one of counts and weights is given.
    """

    pairs: tuple[SizeDeadline, ...]
    counts: tuple[int, ...] | None = None
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        pairs = as_tuple("pairs", self.pairs)
        for pair in pairs:
            if len(as_tuple("each of pairs", pair)) != PAIR:
                raise ConfigError(f"pairs has the entry {shown(pair)}: it must be a pair (size, deadline)")
        object.__setattr__(self, "pairs", tuple((size, span) for size, span in pairs))
        for size, span in self.pairs:
            check_number("size of a pair", size, above=0)
            if span != math.inf:
                check_number("deadline of a pair", span, above=0)
        check_one_of_two("counts", self.counts, "weights", self.weights)
        name = "weights" if self.counts is None else "counts"
        shares = as_tuple(name, getattr(self, name))
        object.__setattr__(self, name, shares)
        for share in shares:
            if self.counts is not None:
                check_integer(name, share, at_least=0)
            check_number(name, share, at_least=0)
        if len(shares) != len(self.pairs) or not any(shares):
            raise ConfigError(
                f"{name} is {shown(shares)}: it must have one entry for each of the {len(self.pairs)} pairs, not all 0"
            )

    @property
    def flows_per_burst(self) -> int | None:
        """Number of flows that the counts make up; None for weights."""
        return None if self.counts is None else sum(map(int, self.counts))

    @property
    def shares(self) -> tuple[float, ...]:
        """Counts or weights, whichever is given."""
        shares = self.weights if self.counts is None else self.counts
        assert shares is not None
        return shares

    @property
    def mean_size(self) -> float:
        """Mean size of a flow in B."""
        products = (share * size for share, (size, _) in zip(self.shares, self.pairs, strict=True))
        return math.fsum(products) / math.fsum(self.shares)


_ARTEMIS_PAIRS: Final = (
    (350 * BYTES_PER_KILOBYTE, 40 * SECONDS_PER_MILLISECOND),
    (250 * BYTES_PER_KILOBYTE, 50 * SECONDS_PER_MILLISECOND),
)

ARTEMIS_A1: Final = Mix(pairs=_ARTEMIS_PAIRS, counts=(5, 5))
"""Workload A, variant 1 (Artemis thesis, section 4.1.2): 5 flows of 350 KB and 40 ms, 5 of 250 KB and 50 ms."""

ARTEMIS_A2: Final = Mix(pairs=_ARTEMIS_PAIRS, counts=(6, 4))
"""Workload A, variant 2 (Artemis thesis, section 4.3): 6 flows of 350 KB and 40 ms, 4 of 250 KB and 50 ms."""
