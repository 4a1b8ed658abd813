"""Draws single flows between hosts that are divided into clusters, each with traffic of its own, which may change.

Follows AuTO, sections 6.1.1 to 6.1.3: four clusters with a size distribution and a load each; both drawn anew after a
fixed time, never the same twice in a row; bursts from many hosts to one (incast) beside them.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import as_tuple, check_integer, check_number, settle_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import integers
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.machine_code.drawing import FlowStreams, orders
from flowsched_gym.workload.distributions import Distribution, check_distribution
from flowsched_gym.workload.empirical import Empirical
from flowsched_gym.workload.poisson import MIN_HOSTS, PoissonWorkload, poisson_arrivals
from flowsched_gym.workload.source import (
    WorkloadSource,
    check_busiest_share,
    check_flow_count,
    check_length,
    resized,
    warn_if_unstable,
)

MOST_PHASES: Final = 1_000_000
"""Phases of an episode at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What each host of a cluster sends: sizes in B, and bytes per s offered over the capacity of loads, > 0."""

    size: Distribution
    load: float

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_distribution("size", self.size)
        check_number("load", self.load, above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incast:
    """Bursts, with Poisson arrivals, in which many hosts send a flow each to one host at one instant.

    Attributes:
        burst_rate: Bursts per s in the whole network, > 0.
        senders: Hosts that send in a burst, >= 1: random ones, to another random one.
        size: Distribution of sizes in B.
    """

    burst_rate: float
    senders: int
    size: Distribution

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("burst_rate", self.burst_rate, above=0)
        check_integer("senders", self.senders, at_least=1)
        check_distribution("size", self.size)

    @property
    def bytes_per_second(self) -> float:
        """Mean number of bytes per s of all bursts."""
        return self.burst_rate * self.senders * self.size.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWorkload:
    """Poisson flows between clusters of hosts.

    The hosts are divided, in their order, into clusters of equal size. A host sends what the traffic of its cluster
    says, to all other hosts alike. Without ``change_every``, cluster i has ``traffic[i]`` all the time. With it, each
    cluster begins with a random one of ``traffic`` and at each multiple of ``change_every`` takes another one; the time
    from one multiple to the next is a phase.

    A flow of a burst of ``incast`` has the number of the burst as its task; other flows have none.

    Attributes:
        traffic: Traffic of each cluster; with ``change_every``, what clusters choose from, two or more, each once.
        num_hosts: Number of hosts, >= 2, a multiple of num_clusters.
        num_clusters: Number of clusters, >= 1.
        change_every: Length of a phase in s, > 0; None if traffic does not change.
        incast: Bursts beside the other flows; None for none.
        busiest_share: Share of all bytes that cross the link that loads refer to, > 0, <= 1: 1 for a port that all
            hosts share. Default: that of the sending links of one host, ``1 / num_hosts``.
        capacity: Capacity in B/s of the link that loads refer to, by default of all sending links of a host together,
            > 0. Default: 1 Gbps. ``UnstableLoadWarning`` if a load is 1 or more.
        num_flows: Flows of an episode, >= 1; it may end inside a burst. Exactly one of num_flows and duration is given.
        duration: Flows are those that arrive before this time in s, > 0; there may be none.
    """

    traffic: tuple[Traffic, ...]
    num_hosts: int = 32
    num_clusters: int = 4
    change_every: float | None = None
    incast: Incast | None = None
    busiest_share: float | None = None
    capacity: float = BYTES_PER_SECOND_PER_GBPS
    num_flows: int | None = None
    duration: float | None = None

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_integer("num_hosts", self.num_hosts, at_least=MIN_HOSTS)
        check_integer("num_clusters", self.num_clusters, at_least=1)
        if self.num_hosts % self.num_clusters:
            raise ConfigError(
                f"num_clusters is {shown(self.num_clusters)}: it must divide the number of hosts, {self.num_hosts}"
            )
        self._check_traffic()
        if not isinstance(self.incast, Incast | None):
            raise ConfigError(f"incast is {shown(self.incast)}: it must be Incast or None")
        if self.incast is not None and self.incast.senders >= self.num_hosts:
            raise ConfigError(
                f"senders is {shown(self.incast.senders)}: it must be below the number of hosts, {self.num_hosts}"
            )
        check_busiest_share(self.busiest_share)
        check_length(self, "num_flows")
        self._check_flow_count()
        warn_if_unstable(max(traffic.load for traffic in self.traffic) + self._incast_load)

    def _check_flow_count(self) -> None:
        most, least = (float(find(self._rates)) * self.num_clusters for find in (np.max, np.min))
        if self.num_flows is not None:
            check_flow_count(f"num_flows {self.num_flows}", self.num_flows)
            duration = self.num_flows / least
        else:
            assert self.duration is not None
            duration = self.duration
            check_flow_count(f"duration {duration:g} s with up to {most:g} flows per s", duration * most)
        if self.incast is not None:
            check_flow_count(
                f"incast of {self.incast.burst_rate:g} bursts per s among {self.num_hosts} hosts in {duration:g} s",
                duration * self.incast.burst_rate * self.num_hosts,
            )

    def _check_traffic(self) -> None:
        traffic = as_tuple("traffic", self.traffic)
        object.__setattr__(self, "traffic", traffic)
        if not traffic:
            raise ConfigError("traffic is (): it must have an entry at least")
        for each in traffic:
            if not isinstance(each, Traffic):
                raise ConfigError(f"traffic has the entry {shown(each)}: it must be Traffic")
        if self.change_every is not None:
            check_number("change_every", self.change_every, above=0)
        elif len(traffic) != self.num_clusters:
            raise ConfigError(
                f"traffic has {len(traffic)} entries: without change_every it must have one for each of the "
                f"{self.num_clusters} clusters"
            )
        if self.change_every is not None and (len(traffic) == 1 or any(traffic.count(each) > 1 for each in traffic)):
            raise ConfigError(
                f"traffic is {shown(traffic)}: with change_every it must have two or more entries, each once"
            )

    @property
    def offered_load(self) -> float:
        """Bytes per s offered to the link that loads refer to over its capacity, the mean over hosts and time."""
        return math.fsum(traffic.load for traffic in self.traffic) / len(self.traffic) + self._incast_load

    @property
    def hosts_per_cluster(self) -> int:
        """Number of hosts of a cluster."""
        return self.num_hosts // self.num_clusters

    def with_num_flows(self, num_flows: int) -> "ClusterWorkload":
        """Changes the number of flows."""
        return resized(self, num_flows, num_flows=num_flows, duration=None)

    def phases(self, seed: int, count: int) -> IntArray:
        """Draws the index into ``traffic`` of each cluster in the first phases of an episode, (count, num_clusters)."""
        check_integer("count", count, at_least=1)
        if self.change_every is None:
            return np.tile(np.arange(self.num_clusters), (count, 1))
        if count > MOST_PHASES:
            raise ConfigError(
                f"change_every is {shown(self.change_every)}: more than {MOST_PHASES} phases are not allowed"
            )
        streams = FlowStreams(seed)
        first = integers(streams["first traffic"], len(self.traffic), (1, self.num_clusters))
        # A step of 1 to len(traffic) - 1 round the ring of all traffic reaches each other one with equal probability.
        steps = 1 + integers(streams["changes"], len(self.traffic) - 1, (count - 1, self.num_clusters))
        return np.cumsum(np.concatenate([first, steps]), axis=0) % len(self.traffic)

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode; more or longer ones begin with the same flows; bursts change none."""
        streams = FlowStreams(seed)
        flows = self._draw_single(streams, seed)
        if self.incast is not None:
            end = self.duration if self.duration is not None else float(np.nextafter(flows.arrival_time[-1], np.inf))
            bursts = self._draw_bursts(self.incast, streams, end)
            order = np.argsort(np.append(flows.arrival_time, bursts.arrival_time), kind="stable")[: self.num_flows]
            joined: Any = (np.append(*pair)[order] for pair in zip(flows, bursts, strict=True))
            flows = _Columns(*joined)
        return Workload(flow_id=np.arange(len(flows.size)), **flows._asdict())

    @property
    def _incast_load(self) -> float:
        """What bursts add to the load."""
        return 0.0 if self.incast is None else self.incast.bytes_per_second / (self.capacity * self._spread)

    @property
    def _spread(self) -> float:
        """All bytes over those that cross the link that loads refer to."""
        return self.num_hosts if self.busiest_share is None else 1.0 / self.busiest_share

    @property
    def _rates(self) -> FloatArray:
        """Flows per s of a cluster with each traffic, (len(traffic),)."""
        bytes_per_second = self._spread / self.num_clusters * self.capacity
        return np.array([each.load * bytes_per_second / each.size.mean for each in self.traffic])

    def _draw_single(self, streams: FlowStreams, seed: int) -> "_Columns":
        """Draws the flows that belong to no burst."""
        arrival_time, phase, choices, shares = self._draw_arrivals(streams, seed)
        num_flows = len(arrival_time)
        # A flow of all clusters' joint process is one of a cluster with the probability of the cluster's share.
        drawn = streams["clusters"].random(num_flows) * shares[-1][phase]
        cluster = np.zeros(num_flows, dtype=np.int64)
        for share in shares[:-1]:
            cluster += drawn >= share[phase]
        kind = choices.take(phase * self.num_clusters + cluster)
        size = np.empty(num_flows)
        for index, traffic in enumerate(self.traffic):
            chosen = np.flatnonzero(kind == index)
            size[chosen] = traffic.size.sample(streams[f"sizes {index}"], len(chosen))
        source = cluster * self.hosts_per_cluster
        source += integers(streams["sources"], self.hosts_per_cluster, num_flows)
        step = 1 + integers(streams["destinations"], self.num_hosts - 1, num_flows)
        return _Columns(source, (source + step) % self.num_hosts, size, arrival_time, np.full(num_flows, NO_TASK))

    def _draw_arrivals(self, streams: FlowStreams, seed: int) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
        """Draws times and phases of arrivals, (num_flows,), ``phases``, and sums of rates, (num_clusters, phases)."""
        # Phases stretch a process of rate 1.
        rng, rates, end = streams["arrivals"], self._rates, self.duration
        if self.num_flows is not None:
            unit = poisson_arrivals(rng, 1.0, count=self.num_flows)
            end = unit[-1] / (rates.min() * self.num_clusters)
        assert end is not None
        changes = 0 if self.change_every is None else int(min(end / self.change_every, MOST_PHASES))
        choices = self.phases(seed, 1 + changes)
        shares = np.cumsum(rates[choices].T, axis=0)
        total = shares[-1]
        if self.num_flows is None:
            longest = end if self.change_every is None else self.change_every
            unit = poisson_arrivals(rng, 1.0, duration=float(np.cumsum(total)[-1]) * longest)
        begin = np.arange(len(total)) * (self.change_every or 0.0)
        before = np.concatenate([[0.0], np.cumsum(total[:-1] * np.diff(begin))])
        phase = np.searchsorted(before, unit, side="right") - 1
        arrival_time = begin[phase] + (unit - before[phase]) / total[phase]
        if self.duration is not None:
            phase = phase[arrival_time < self.duration]
            arrival_time = arrival_time[: len(phase)]
        return arrival_time, phase, choices, shares

    def _draw_bursts(self, incast: Incast, streams: FlowStreams, end: float) -> "_Columns":
        """Draws the flows of all bursts before a time in s, burst by burst."""
        start = poisson_arrivals(streams["bursts"], incast.burst_rate, duration=end)
        receiver = integers(streams["receivers"], self.num_hosts, len(start))
        order = orders(streams["senders"], (len(start), self.num_hosts - 1))
        sender = (receiver[:, None] + 1 + order[:, : incast.senders]) % self.num_hosts
        size = incast.size.sample(streams["burst sizes"], sender.size)
        arrival_time, task_id = np.repeat(start, incast.senders), np.repeat(np.arange(len(start)), incast.senders)
        return _Columns(sender.ravel(), np.repeat(receiver, incast.senders), size, arrival_time, task_id)


def offered_traffic(source: WorkloadSource, num_clusters: int) -> tuple[Traffic, ...] | None:
    """Returns what each cluster of an environment sends, in the long run; bursts of incast are left out.

    The hosts are divided into clusters of equal size, in their order. Where hosts of one send different traffic, or
    change theirs, it is the mixture of all of it. It is ``None`` where it is not known, as of a flow file.

    Raises:
        ConfigError: Traffic mixes that is not all of measured distributions.
    """
    if isinstance(source, PoissonWorkload):
        return (Traffic(size=source.size, load=source.offered_load),) * num_clusters
    if not isinstance(source, ClusterWorkload):
        return None
    if source.change_every is not None:
        return (_mixed(source.traffic),) * num_clusters
    hosts = np.arange(source.num_hosts).reshape(num_clusters, -1) // source.hosts_per_cluster
    return tuple(_mixed(tuple(source.traffic[host] for host in row)) for row in hosts.tolist())


@functools.lru_cache(maxsize=64)
def _mixed(parts: tuple[Traffic, ...]) -> Traffic:
    """Mixes the traffic of hosts, all alike in number."""
    if len(set(parts)) == 1:
        return parts[0]
    sizes = [part.size for part in parts]
    known = [size for size in sizes if isinstance(size, Empirical)]
    if len(known) < len(sizes):
        raise ConfigError(
            f"traffic mixes sizes of {', '.join(sorted({type(size).__name__ for size in sizes}))}: thresholds by "
            f"theory are known of mixed {Empirical.__name__} ones alone"
        )
    weights = np.array([part.load / part.size.mean for part in parts])
    # A distribution jumps at its smallest size, so the size just below it belongs to the points.
    smallest = [max(size.minimum, size.points[0][0]) for size in known]
    values = [value for size in known for value, _ in size.points]
    points = np.unique(np.maximum([*values, *smallest, *np.nextafter(smallest, 0.0)], np.nextafter(min(smallest), 0.0)))
    probability = np.sum([weight * size.cdf(points) for weight, size in zip(weights, known, strict=True)], axis=0)
    mixture = tuple(zip(points.tolist(), (probability / probability[-1]).tolist(), strict=True))
    return Traffic(size=Empirical(points=mixture), load=math.fsum(part.load for part in parts) / len(parts))


class _Columns(NamedTuple):
    """The columns of a ``Workload`` that are drawn, (num_flows,) each."""

    source: IntArray
    destination: IntArray
    size: FloatArray
    arrival_time: FloatArray
    task_id: IntArray
