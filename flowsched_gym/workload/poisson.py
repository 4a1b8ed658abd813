"""Draws single flows that arrive as a Poisson process: the traffic of queueing theory and of most flow schedulers.

Cables may fail meanwhile. MERP, section 6.2.2, lets links between aggregation and core switches of a fat-tree fail.
"""

import math
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import (
    as_tuple,
    check_choice,
    check_integer,
    check_number,
    check_one_of_two,
    settle_numbers,
)
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import integers, orders
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.drawing import FlowStreams
from flowsched_gym.workload.distributions import Distribution, Exponential, check_distribution
from flowsched_gym.workload.source import (
    check_busiest_share,
    check_flow_count,
    check_given,
    check_length,
    resized,
    warn_if_unstable,
)

PATTERNS: Final = ("pair", "all-to-all")
MIN_HOSTS: Final = 2
SPARE_DEVIATIONS: Final = 5.0
"""Standard deviations above the expected number of arrivals that are drawn at once: a second draw is then rare."""
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
            check_given(self, check_number, "repair_after", above=0)
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
        rows: list[tuple[float, int, bool]] = []
        if self.mean_time_up is None:
            failing = np.sort(orders(rng, (len(self.cables),))[: self.count])
            links = [link for cable in failing for link in self.cables[cable]]
            rows += [(self.at, link, False) for link in links]
            if self.repair_after is not None:
                rows += [(self.at + self.repair_after, link, True) for link in links]
            return LinkChanges.of(rows)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonWorkload:
    """Single flows with Poisson arrivals.

    Attributes:
        size: Distribution of sizes in B.
        deadline: Distribution of the times in s allowed after arrival; None for no deadlines.
        deadline_below: Size in B, > 0; flows of this size or a larger one have no deadline. None: all have one.
        rate: Flows per s in all, > 0. Exactly one of rate and load is given.
        load: Bytes per s offered to one link over its capacity, > 0; ``busiest_share`` names the link.
            ``UnstableLoadWarning`` from 1 on, by whichever field the rate is given.
        busiest_share: Share of all bytes that cross the link that the load refers to, > 0, <= 1. Default: that of the
            link of the one pair, 1, or, with ``"all-to-all"``, of each host's receiving link, ``1 / num_hosts``: this
            is the utilisation of the hosts' links on the big switch and the fat-tree. On the nine-host tree the rack's
            uplinks are the busiest, with 0.25 (MERP, section 6.1). ``topology.crossing_shares`` finds it for any
            network.
        capacity: Capacity in B/s of the link that the load refers to, > 0. Default: 1 Gbps.
        num_flows: Flows of an episode, >= 1. Exactly one of num_flows and duration is given.
        duration: Flows are those that arrive before this time in s, > 0; there may be none.
        pattern: ``"pair"``: every flow goes from host 1 to host 0. ``"all-to-all"``: each goes from a random host to
            another random host.
        num_hosts: Number of hosts, >= 2.
        failures: Failures of cables, drawn for each episode; None for none.
    """

    size: Distribution
    deadline: Distribution | None = None
    deadline_below: float | None = None
    rate: float | None = None
    load: float | None = None
    busiest_share: float | None = None
    capacity: float = BYTES_PER_SECOND_PER_GBPS
    num_flows: int | None = None
    duration: float | None = None
    pattern: str = "pair"
    num_hosts: int = MIN_HOSTS
    failures: RandomFailures | None = None

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_distribution("size", self.size)
        check_given(self, check_distribution, "deadline")
        check_one_of_two("rate", self.rate, "load", self.load)
        if self.deadline_below is not None and self.deadline is None:
            raise ConfigError(f"deadline_below is {shown(self.deadline_below)}: it needs a deadline")
        check_given(self, check_number, "rate", "load", "deadline_below", above=0)
        check_busiest_share(self.busiest_share)
        check_length(self, "num_flows")
        check_choice("pattern", self.pattern, PATTERNS)
        check_integer("num_hosts", self.num_hosts, at_least=MIN_HOSTS)
        if not isinstance(self.failures, RandomFailures | None):
            raise ConfigError(f"failures is {shown(self.failures)}: it must be RandomFailures or None")
        if self.num_flows is not None:
            check_flow_count(f"num_flows {self.num_flows}", self.num_flows)
        elif self.duration is not None:
            rate = self.flow_rate
            check_flow_count(f"duration {self.duration:g} s with {rate:g} flows per s", self.duration * rate)
        warn_if_unstable(self.offered_load)

    @property
    def offered_load(self) -> float:
        """Bytes per s offered to one link over its capacity, the link being that of the field ``load``."""
        return self.flow_rate * self.size.mean / (self.capacity * self._spread)

    @property
    def flow_rate(self) -> float:
        """Flows per s in all."""
        if self.rate is not None:
            return self.rate
        assert self.load is not None
        return self.load * self.capacity * self._spread / self.size.mean

    @property
    def _spread(self) -> float:
        """All bytes over those that cross the link that the load refers to."""
        if self.busiest_share is not None:
            return 1.0 / self.busiest_share
        return 1 if self.pattern == "pair" else self.num_hosts

    def with_num_flows(self, num_flows: int) -> "PoissonWorkload":
        """Changes the number of flows."""
        return resized(self, num_flows, num_flows=num_flows, duration=None)

    def draw(self, seed: int) -> Workload:
        """Draws an episode; more flows or time with the same seed begin with the same flows; failures change none."""
        streams = FlowStreams(seed)
        arrival_time = poisson_arrivals(
            streams["arrivals"], self.flow_rate, count=self.num_flows, duration=self.duration
        )
        num_flows = len(arrival_time)
        source, destination = self._draw_hosts(streams, num_flows)
        size = self.size.sample(streams["sizes"], num_flows)
        span = None if self.deadline is None else self.deadline.sample(streams["deadlines"], num_flows)
        if span is not None and self.deadline_below is not None:
            span = np.where(size < self.deadline_below, span, np.inf)
        return Workload(
            flow_id=np.arange(num_flows),
            source=source,
            destination=destination,
            size=size,
            arrival_time=arrival_time,
            deadline_span=span,
            link_changes=None if self.failures is None else self.failures.draw(streams["failures"]),
        )

    def _draw_hosts(self, streams: FlowStreams, num_flows: int) -> tuple[IntArray, IntArray]:
        """Draws sources and destinations, each (num_flows,)."""
        if self.pattern == "pair":
            return np.ones(num_flows, dtype=np.int64), np.zeros(num_flows, dtype=np.int64)
        source = integers(streams["sources"], self.num_hosts, num_flows)
        # A step of 1 to num_hosts - 1 round the ring of hosts reaches each other host with equal probability.
        step = 1 + integers(streams["destinations"], self.num_hosts - 1, num_flows)
        return source, (source + step) % self.num_hosts


def poisson_arrivals(
    rng: np.random.Generator, rate: float, *, count: int | None = None, duration: float | None = None
) -> FloatArray:
    """Draws the arrival times in s, (num_arrivals,), of a Poisson process: so many, or those before a duration in s.

    More arrivals or a longer duration from the same generator state begin with the same arrivals, bit by bit.
    """
    gap = Exponential(mean=1.0 / rate)
    if count is not None:
        return np.cumsum(gap.sample(rng, count))
    assert duration is not None
    expected = rate * duration
    block = int(expected + SPARE_DEVIATIONS * math.sqrt(expected)) + 1
    gaps = gap.sample(rng, block)
    times = np.cumsum(gaps)
    while times[-1] < duration:
        # Summed anew from the first gap: a sum that goes on from a rounded total would round otherwise.
        gaps = np.concatenate([gaps, gap.sample(rng, block)])
        times = np.cumsum(gaps)
    return times[: np.searchsorted(times, duration, side="left")]
