"""Draws when cables fail and come up again: some at one time, or each again and again.

MERP, section 6.2.2, lets links between aggregation and core switches of a fat-tree fail.
"""

from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import as_tuple, check_integer, check_number, check_one_of_two
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import orders
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.workload.distributions import Exponential

MOST_FAILURES: Final = 1_000_000
"""Expected failures of an episode at most."""
PAIR: Final = 2
"""A failure and its repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFailures:
    """Random failures of cables, of one of two kinds: exactly one of ``count`` and ``mean_time_up`` is given.

    With ``count``, so many cables, chosen at random, fail at one time. A larger count has the cables of a smaller one
    among its own.

    With ``mean_time_up``, each cable is up and down by turns, for times that are exponential and independent of all
    others; it begins up. Every failure is repaired, the last ones after ``until``. A later ``until`` leaves all that is
    before the earlier one as it is.

    Attributes:
        cables: Links that fail and come up together, such as the two directions of a cable: their numbers in the
            topology, >= 0, each in one cable only.
        count: Number of cables that fail, from 0 to the number of cables.
        at: With ``count``: time of the failure in s, >= 0.
        repair_after: With ``count``: time from failure to repair in s, > 0; None for no repair.
        mean_time_up: Mean time in s from the beginning or a repair to the next failure, > 0.
        mean_time_down: With ``mean_time_up``: mean time in s from a failure to its repair, > 0.
        until: With ``mean_time_up``: failures are those before this time in s, > 0.
    """

    cables: tuple[tuple[int, ...], ...]
    count: int | None = None
    at: float = 0.0
    repair_after: float | None = None
    mean_time_up: float | None = None
    mean_time_down: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        cables = tuple(as_tuple("each of cables", cable) for cable in as_tuple("cables", self.cables))
        object.__setattr__(self, "cables", cables)
        links = list(chain.from_iterable(cables))
        for link in links:
            check_integer("link of a cable", link, at_least=0)
        if len(set(links)) < len(links) or not all(cables):
            raise ConfigError(
                f"cables is {shown(cables)}: each must have a link, and each link must be in one cable only"
            )
        check_one_of_two("count", self.count, "mean_time_up", self.mean_time_up)
        if self.count is not None:
            check_integer("count", self.count, at_least=0, below=len(self.cables) + 1)
            check_number("at", self.at, at_least=0)
            if self.repair_after is not None:
                check_number("repair_after", self.repair_after, above=0)
            for name in ("mean_time_down", "until"):
                if (value := getattr(self, name)) is not None:
                    raise ConfigError(f"{name} is {shown(value)}: it goes with mean_time_up, not with count")
            return
        up, down, until = (
            check_number(name, getattr(self, name), above=0) for name in ("mean_time_up", "mean_time_down", "until")
        )
        if self.at != 0 or self.repair_after is not None:
            raise ConfigError(
                f"at is {shown(self.at)} and repair_after {shown(self.repair_after)}: they go with count, not with "
                "mean_time_up"
            )
        expected = len(self.cables) * until / (up + down)
        if expected > MOST_FAILURES:
            raise ConfigError(
                f"until is {shown(self.until)}: {expected:.3g} failures are too many, {MOST_FAILURES} allowed"
            )

    def draw(self, rng: np.random.Generator) -> LinkChanges:
        """Draws the failures and repairs of one episode."""
        return self._draw_at_once(rng) if self.mean_time_up is None else self._draw_again_and_again(rng)

    def _draw_at_once(self, rng: np.random.Generator) -> LinkChanges:
        """Draws the cables that fail, in the order of their numbers."""
        failing = np.sort(orders(rng, (len(self.cables),))[: self.count])
        links = [link for cable in failing for link in self.cables[cable]]
        rows = [(self.at, link, False) for link in links]
        if self.repair_after is not None:
            rows += [(self.at + self.repair_after, link, True) for link in links]
        return LinkChanges.of(rows)

    def _draw_again_and_again(self, rng: np.random.Generator) -> LinkChanges:
        """Draws the failures and repairs of each cable from a generator of its own."""
        rows: list[tuple[float, int, bool]] = []
        for cable, own in zip(self.cables, rng.spawn(len(self.cables)), strict=True):
            for number, time in enumerate(self._turns(own).tolist()):
                rows += [(time, link, bool(number % 2)) for link in cable]
        return LinkChanges.of(sorted(rows, key=lambda row: row[0]))

    def _turns(self, rng: np.random.Generator) -> FloatArray:
        """Draws when a cable fails and is repaired, by turns, (2 * num_failures,) float64."""
        assert self.mean_time_up is not None
        assert self.mean_time_down is not None
        assert self.until is not None
        means = (self.mean_time_up, self.mean_time_down)
        block = 1 + int(self.until / (self.mean_time_up + self.mean_time_down))
        spans = np.empty((0, PAIR))
        times = np.zeros(1)
        while times[-1] < self.until:
            drawn = Exponential(mean=1.0).sample(rng, PAIR * block).reshape(-1, PAIR) * means
            spans = np.concatenate([spans, drawn])
            # Summed anew from the first: a sum that goes on from a rounded total would round otherwise.
            times = np.cumsum(spans)
        num_failures = np.searchsorted(times[::PAIR], self.until, side="left")
        return times[: PAIR * num_failures]
