"""Draws gather and scatter bursts: many flows at one instant between one host and several others.

Follows the Artemis thesis, section 4.1.2: bursts arrive as a Poisson process, each sends flows from distinct sources to
one destination at once. Other rates, mixes, continuous distributions, several destinations and scatter, which the
thesis leaves for later, are the same draw with other fields.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import (
    as_tuple,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_one_of_two,
    settle_numbers,
)
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import integers
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MILLISECOND
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.drawing import FlowStreams, orders
from flowsched_gym.workload.distributions import Distribution, check_distribution, cumulative_weights
from flowsched_gym.workload.poisson import poisson_arrivals
from flowsched_gym.workload.source import check_flow_count, check_given, check_length, resized, warn_if_unstable

SizeDeadline = tuple[float, float]
PAIR: Final = 2
_ARTEMIS_PAIRS: Final = (
    (350 * BYTES_PER_KILOBYTE, 40 * SECONDS_PER_MILLISECOND),
    (250 * BYTES_PER_KILOBYTE, 50 * SECONDS_PER_MILLISECOND),
)
PATTERNS: Final = ("gather", "scatter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A mix of pairs of size and deadline, by exact counts in each burst or by weights.

    The gather task of the Artemis thesis (section 4.1.2, its workload A) is such a mix with exact counts in each burst.

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


ARTEMIS_A1: Final = Mix(pairs=_ARTEMIS_PAIRS, counts=(5, 5))
"""Workload A, variant 1 (Artemis thesis, section 4.1.2): 5 flows of 350 KB and 40 ms, 5 of 250 KB and 50 ms."""
ARTEMIS_A2: Final = Mix(pairs=_ARTEMIS_PAIRS, counts=(6, 4))
"""Workload A, variant 2 (Artemis thesis, section 4.3): 6 flows of 350 KB and 40 ms, 4 of 250 KB and 50 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherWorkload:
    """Bursts of flows that gather at one host (or scatter from one host).

    Hosts: 0 to ``num_destinations - 1`` gather, the ``num_senders`` hosts after them send. With ``pattern="scatter"``
    the same hosts swap roles: those from 0 on send a burst, those after them receive its flows. The far ends of one
    burst are distinct. Each burst is one task (``task_id`` counts bursts), and flow ids count on from burst to burst.

    Several destinations: each has a Poisson stream of bursts of its own, independent of the others. They are drawn as
    one stream of ``num_destinations`` times the rate whose bursts pick their destination at random, which is the same
    process (splitting of a Poisson process), so that bursts are numbered in the order of their arrival.

    Attributes:
        pattern: ``"gather"`` or ``"scatter"``.
        mix: Pairs of size and deadline of the flows. Exactly one of mix and size is given.
        size: Distribution of sizes in B, drawn for each flow on its own.
        deadline: With size: distribution of the times in s allowed after arrival; None for no deadlines.
        flows_per_burst: Flows of a burst, >= 1. Needed unless the mix has counts, which make it up.
        burst_rate: Bursts per s at each destination, > 0. Exactly one of burst_rate and load is given.
        load: Bytes per s offered to each destination over the capacity of its link, > 0. (With scatter, of the
            sending host's link.) ``UnstableLoadWarning`` from 1 on, by whichever field the rate is given.
        capacity: Capacity in B/s that the load refers to, > 0. Default: 1 Gbps.
        num_bursts: Bursts of an episode over all destinations, >= 1. Exactly one of num_bursts and duration is given.
        duration: Bursts are those that arrive before this time in s, > 0; there may be none.
        num_destinations: Hosts that gather, >= 1.
        num_senders: Hosts that send, >= flows_per_burst. Default: as many as a burst has flows, each sends one of it.
        shuffle: Whether the flows of each burst come in random order. All requests of a burst come at one instant and
            ties are served by flow id, so the order inside the burst decides much: in the order of the mix every
            burst would begin with all flows of the first pair, which favours a scheduler that serves first come,
            first served. The reference packet simulation delays each request at random within 100 us for the same
            reason. Without effect for flows that are drawn each on its own (weights, or size).
        request_jitter: Arrivals of a burst are spread uniformly over this time in s after its instant, >= 0, in the
            order of the flow ids.
    """

    pattern: str = "gather"
    mix: Mix | None = None
    size: Distribution | None = None
    deadline: Distribution | None = None
    flows_per_burst: int | None = None
    burst_rate: float | None = None
    load: float | None = None
    capacity: float = BYTES_PER_SECOND_PER_GBPS
    num_bursts: int | None = None
    duration: float | None = None
    num_destinations: int = 1
    num_senders: int | None = None
    shuffle: bool = True
    request_jitter: float = 0.0

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_choice("pattern", self.pattern, PATTERNS)
        self._check_flows()
        check_one_of_two("burst_rate", self.burst_rate, "load", self.load)
        check_given(self, check_number, "burst_rate", "load", above=0)
        check_length(self, "num_bursts")
        check_integer("num_destinations", self.num_destinations, at_least=1)
        check_given(self, check_integer, "num_senders", at_least=self.burst_size)
        check_flag("shuffle", self.shuffle)
        check_number("request_jitter", self.request_jitter, at_least=0)
        # Senders that rest take part in the draw of those who send.
        each = max(self.burst_size, self.num_senders or 0)
        if self.num_bursts is not None:
            check_flow_count(f"num_bursts {self.num_bursts} of {each} senders", float(self.num_bursts) * each)
        elif self.duration is not None:
            total_rate = self.rate * self.num_destinations
            what = f"duration {self.duration:g} s with {total_rate:g} bursts per s of {each} senders"
            check_flow_count(what, self.duration * total_rate * each)
        warn_if_unstable(self.offered_load)

    def _check_flows(self) -> None:
        check_one_of_two("mix", self.mix, "size", self.size)
        if self.mix is not None and not isinstance(self.mix, Mix):
            raise ConfigError(f"mix is {shown(self.mix)}: it must be a Mix")
        check_given(self, check_distribution, "size", "deadline")
        if self.mix is not None and self.deadline is not None:
            raise ConfigError(f"deadline is {shown(self.deadline)}: it goes with size; a mix has its own deadlines")
        counted = None if self.mix is None else self.mix.flows_per_burst
        if counted is None:
            check_integer("flows_per_burst", self.flows_per_burst, at_least=1)
        elif self.flows_per_burst not in (None, counted):
            raise ConfigError(
                f"flows_per_burst is {shown(self.flows_per_burst)}: the counts of the mix make it {counted}"
            )

    @property
    def burst_size(self) -> int:
        """Number of flows of a burst."""
        counted = None if self.mix is None else self.mix.flows_per_burst
        size = self.flows_per_burst if counted is None else counted
        assert size is not None
        return size

    @property
    def mean_burst_bytes(self) -> float:
        """Mean number of bytes of a burst."""
        if self.mix is not None:
            return self.burst_size * self.mix.mean_size
        assert self.size is not None
        return self.burst_size * self.size.mean

    @property
    def rate(self) -> float:
        """Bursts per s at each destination."""
        if self.burst_rate is not None:
            return self.burst_rate
        assert self.load is not None
        return self.load * self.capacity / self.mean_burst_bytes

    @property
    def offered_load(self) -> float:
        """Bytes per s offered to each destination over the capacity."""
        return self.rate * self.mean_burst_bytes / self.capacity

    @property
    def num_hosts(self) -> int:
        """Number of hosts: those that gather and those that send."""
        return self.num_destinations + (self.burst_size if self.num_senders is None else self.num_senders)

    def with_num_flows(self, num_flows: int) -> "GatherWorkload":
        """Changes the number of bursts to the fewest that have this many flows."""
        return resized(self, num_flows, num_bursts=-(-num_flows // self.burst_size), duration=None)

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode; more bursts or time with the same seed begin with the same flows."""
        streams = FlowStreams(seed)
        total_rate = self.rate * self.num_destinations
        starts = poisson_arrivals(streams["bursts"], total_rate, count=self.num_bursts, duration=self.duration)
        shape = (len(starts), self.burst_size)
        num_flows = len(starts) * self.burst_size
        size, deadline_span = self._draw_requirements(streams, shape)
        near, far = self._draw_hosts(streams, shape)
        arrival_time = np.repeat(starts, self.burst_size)
        if self.request_jitter > 0:
            spread = np.sort(streams["jitter"].random(shape), axis=1)
            arrival_time += self.request_jitter * spread.ravel()
        gather = self.pattern == "gather"
        return Workload(
            flow_id=np.arange(num_flows),
            source=far if gather else near,
            destination=near if gather else far,
            size=size,
            arrival_time=arrival_time,
            deadline_span=deadline_span,
            task_id=np.repeat(np.arange(len(starts)), self.burst_size),
        )

    def _draw_requirements(self, streams: FlowStreams, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray | None]:
        """Draws sizes and deadlines, each (num_flows,); the deadlines are None where there are none."""
        num_flows = shape[0] * shape[1]
        if self.mix is None:
            assert self.size is not None
            size = self.size.sample(streams["sizes"], num_flows)
            return size, None if self.deadline is None else self.deadline.sample(streams["deadlines"], num_flows)
        size_of_kind, span_of_kind = np.array(self.mix.pairs, dtype=np.float64).T
        if self.mix.counts is None:
            uniform = streams["sizes"].random(num_flows)
            kind = np.searchsorted(cumulative_weights(self.mix.shares), uniform, side="right")
        else:
            ordered = np.repeat(np.arange(len(self.mix.counts)), self.mix.counts)
            kind = ordered[orders(streams["order"], shape)] if self.shuffle else np.tile(ordered, shape[0])
            kind = kind.ravel()
        return size_of_kind[kind], span_of_kind[kind]

    def _draw_hosts(self, streams: FlowStreams, shape: tuple[int, int]) -> tuple[IntArray, IntArray]:
        """Draws for each flow the host that its burst shares and the host at its other end, each (num_flows,)."""
        num_bursts, burst_size = shape
        if self.num_destinations == 1:
            near = np.zeros(num_bursts * burst_size, dtype=np.int64)
        else:
            near = np.repeat(integers(streams["hosts"], self.num_destinations, num_bursts), burst_size)
        if self.num_senders is None or self.num_senders == burst_size:
            far = np.tile(np.arange(burst_size), num_bursts)
        else:
            far = orders(streams["senders"], (num_bursts, self.num_senders))[:, :burst_size].ravel()
        return near, far + self.num_destinations
