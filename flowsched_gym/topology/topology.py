"""Networks: hosts, directed links with capacity and delay, paths between hosts, and which traffic crosses a link."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.core.units import gbps_to_capacity
from flowsched_gym.flows.hashing import GOLDEN, mixed
from flowsched_gym.topology.network import Network

DEFAULT_CAPACITY: Final = gbps_to_capacity(1.0)
"""Capacity of a link in B/s where none is given: 1 Gbps."""

LATEST_TIME: Final = 1e307
"""Times in s must end below, so that sums and products of them stay below the largest float64, 1.8e308."""

LEAST_CAPACITY: Final = 1e-300
"""Smallest capacity of a link in B/s, so that the share of each of millions of flows keeps its digits."""

LONGEST_DELAY: Final = 1e300
"""Longest propagation delay of a link in s, so that the delays of paths stay below ``LATEST_TIME``."""

LEAST_PART: Final = 2e-14
"""Part of its arrival time that a flow must send for at least: twice the rounding that ``transport.progress`` allows
event times (``TIME_TOLERANCE``), so that rounding moves a completion time by half at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Topology:
    """The links of a network and the paths of each ordered pair of hosts. Arrays are not writeable.

    In methods, ``source`` and ``destination`` are the hosts that flows have, and ``path`` rows of the path table,
    (num_flows,) int64 each; a host that does not exist is a ``WorkloadError``.

    Attributes:
        name: Name in the registry.
        num_hosts: Hosts, numbered from 0; 0 where flows of all hosts share the one link.
        capacity: Capacities in B/s, (num_links,) float64, > 0.
        delay: One-way propagation delays in s, (num_links,) float64, >= 0.
        link_names: What each link is, for pictures and messages.
        path_start: Where each path begins in ``path_links``, (num_paths + 1,) int64.
        path_links: Links of all paths, one after the other, int64.
        pair_start: Where the paths of each pair begin in the path table, (num_hosts ** 2 + 1,) int64; the pair of a
            source and a destination is ``source * num_hosts + destination``. A pair may have no path: flows between
            its hosts are refused. Default: one path for each pair.
        num_cpus: CPUs, which stand behind the links and the paths between hosts (``add_cpus``).

    Raises:
        ConfigError: A capacity or delay is not allowed, or the tables do not fit each other.
    """

    name: str
    num_hosts: int
    capacity: FloatArray
    delay: FloatArray
    link_names: tuple[str, ...]
    path_start: IntArray
    path_links: IntArray
    pair_start: IntArray | None = None
    num_cpus: int = 0

    def __post_init__(self) -> None:
        for name, values, allowed, what in (
            ("capacity", self.capacity, self.capacity > 0, "> 0 B/s"),
            ("capacity", self.capacity, self.capacity >= LEAST_CAPACITY, "at least 1e-300 B/s"),
            ("delay", self.delay, (self.delay >= 0) & (self.delay <= LONGEST_DELAY), ">= 0 s, at most 1e300"),
        ):
            wrong = ~(np.isfinite(values) & allowed)
            if wrong.any():
                link = int(np.argmax(wrong))
                raise ConfigError(
                    f"topology {self.name}: {name} is {values[link]}: it must be finite and {what} (link {link})"
                )
        self._check_paths()
        for array in (self.capacity, self.delay, self.path_start, self.path_links, self.pair_start):
            if array is not None:
                array.setflags(write=False)

    def _check_paths(self) -> None:
        begin, num_paths = f"topology {self.name}:", len(self.path_start) - 1
        num_pairs = max(self.num_hosts * self.num_hosts, 1)
        for name, length in (("delay", len(self.delay)), ("link_names", len(self.link_names))):
            if length != self.num_links:
                raise ConfigError(f"{begin} {name} has {length} entries: there are {self.num_links} links")
        starts = [("path_start", self.path_start, len(self.path_links), 1)]
        if self.pair_start is not None:
            starts.append(("pair_start", self.pair_start, num_paths - self.num_cpus, 0))
        for name, start, end, least in starts:
            steps = np.diff(start)
            if not len(steps) or start[0] != 0 or start[-1] != end or (steps < least).any():
                raise ConfigError(f"{begin} {name} must rise from 0 to {end}, by at least {least} from entry to entry")
        if self.path_links.min() < 0 or self.path_links.max() >= self.num_links:
            raise ConfigError(f"{begin} path_links must name links from 0 to {self.num_links - 1}")
        listed = num_paths if self.pair_start is None else len(self.pair_start) - 1
        if listed != num_pairs:
            raise ConfigError(f"{begin} paths of {listed} pairs of hosts are listed: there are {num_pairs}")

    @property
    def num_links(self) -> int:
        """Number of directed links."""
        return len(self.capacity)

    def data_capacity(self, share: float) -> FloatArray:
        """Returns capacities of which links carry this share of data, in B/s, and those of CPUs, (num_links,)."""
        capacity = self.capacity * share
        if self.num_cpus:
            capacity[-self.num_cpus :] = self.capacity[-self.num_cpus :]
        return capacity

    @property
    def network(self) -> Network:
        """Links and paths as the rules read them."""
        return Network(self.capacity, self.path_start, self.path_links, self.num_cpus)

    def path_of(self, source: IntArray, destination: IntArray, choice: IntArray | None = None) -> IntArray:
        """Finds a path for each pair of hosts: the first, or that of a choice >= 0, (num_flows,), counted around."""
        first, last = self.candidates(source, destination)
        return first if choice is None else first + choice % (last - first)

    def candidates(self, source: IntArray, destination: IntArray) -> tuple[IntArray, IntArray]:
        """Finds the paths of each pair of hosts: rows of the first path, and behind the last, (num_flows,) int64 each.

        Raises:
            WorkloadError: A host does not exist, or no path joins the two.
        """
        if self.num_hosts == 0:
            return np.zeros(len(source), dtype=np.int64), np.ones(len(source), dtype=np.int64)
        for name, hosts in (("source", source), ("destination", destination)):
            if len(hosts) and hosts.max() >= self.num_hosts:
                row = int(np.argmax(hosts))
                raise WorkloadError(
                    f"{name} is {hosts[row]} in row {row}: topology {self.name} has the hosts 0 to {self.num_hosts - 1}"
                )
        pair = source * self.num_hosts + destination
        if self.pair_start is None:
            return pair, pair + 1
        first, last = self.pair_start[pair], self.pair_start[pair + 1]
        if (first == last).any():
            row = int(np.argmax(first == last))
            raise WorkloadError(
                f"the flow in row {row} goes from host {source[row]} to host {destination[row]}: topology {self.name} "
                "has no path between them"
            )
        return first, last

    def rival_paths(self, source: IntArray, destination: IntArray) -> tuple[IntArray, IntArray]:
        """Lists the paths of which one is the best on the empty network: all of a pair, or the first of equal ones.

        Returns the row of the flow, and a path of it, for each: (num_rivals,) int64, flow by flow.
        """
        first, last = self.candidates(source, destination)
        flow = np.arange(len(first))
        if self.paths_are_alike or not len(first):
            return flow, first
        count = last - first
        return np.repeat(flow, count), np.arange(count.sum()) + np.repeat(last - np.cumsum(count), count)

    @cached_property
    def paths_are_alike(self) -> bool:
        """Whether the paths of each pair of hosts have the same capacities and delays, link by link."""
        if self.pair_start is None:
            return True
        first = np.repeat(self.pair_start[:-1], np.diff(self.pair_start))  # of the pair of each path
        length = np.diff(self.path_start)[: len(first)]
        if (length != length[first]).any():
            return False
        here = np.arange(self.path_start[len(first)])
        there = here + np.repeat(self.path_start[first] - self.path_start[: len(first)], length)
        one, other = self.path_links[here], self.path_links[there]
        return all(np.array_equal(values[one], values[other]) for values in (self.capacity, self.delay))

    def ecmp(self, source: IntArray, destination: IntArray, flow_id: IntArray, *, seed: int) -> IntArray:
        """Finds paths that spread flows over those of their pairs by a hash (equal-cost multi-path, RFC 2992).

        Identifiers of flows, (num_flows,), stand for their ports. The seed, >= 0, is the network's, not the episode's.
        """
        if self.pair_start is None:
            return self.path_of(source, destination)
        return self.path_of(source, destination, self.flow_hash(source, destination, flow_id, seed=seed))

    def flow_hash(self, source: IntArray, destination: IntArray, flow_id: IntArray, *, seed: int) -> IntArray:
        """Returns the hashes, (num_flows,) int64, >= 0, by which ``ecmp`` spreads flows; see there."""
        hashes = np.full(len(source), np.uint64(seed), dtype=np.uint64)
        for part in (source, destination, flow_id):
            hashes = mixed((hashes ^ part.astype(np.uint64)) + GOLDEN)
        return (hashes >> np.uint64(1)).astype(np.int64)

    def check_link_changes(self, link: IntArray, up: BoolArray, first: IntArray, last: IntArray) -> None:
        """Refuses changes of links after which a flow could wait forever.

        Links come up, or fail, (num_changes,) each, in the order of time. Paths of flows are those of ``candidates``.

        Raises:
            WorkloadError: There is no such link, or at the end no path of a flow is left.
        """
        num_links = self.num_links - self.num_cpus
        if len(link) and link.max() >= num_links:
            row = int(np.argmax(link))
            raise WorkloadError(
                f"link of link changes is {link[row]} in row {row}: topology {self.name} has the links 0 to "
                f"{num_links - 1}"
            )
        is_up = np.ones(self.num_links, dtype=np.bool_)
        for each, comes_up in zip(link.tolist(), up.tolist(), strict=True):
            is_up[each] = comes_up
        path_is_up = np.logical_and.reduceat(is_up[self.path_links], self.path_start[:-1])
        before = np.concatenate([[0], np.cumsum(path_is_up)])
        left = before[last] - before[first]
        if not left.all():
            row = int(np.argmin(left))
            raise WorkloadError(
                f"link changes leave the flow in row {row} none of its {last[row] - first[row]} paths: "
                "each flow must have one when the last change has happened"
            )

    def check_times(self, path: IntArray, volume: FloatArray, arrival_time: FloatArray) -> None:
        """Refuses flows that send for a time that float64 cannot tell from 0 s, from infinity, or beside their arrival.

        Volumes are bytes on the wire, > 0; arrival times are on the clock of the episode in s, (num_flows,) each.

        Raises:
            WorkloadError: A flow sends for too short a time, or the last flow could finish at infinity.
        """
        if not len(path):
            return
        capacity = self.path_capacity(path)
        with np.errstate(over="ignore"):
            alone = volume / capacity
            last = arrival_time.max() + alone.sum()
        if not alone.all():
            row, what = int(np.argmin(alone)), "too short for float64"
        else:
            _check_resolution(alone, volume, capacity, arrival_time)
            if last < LATEST_TIME:
                return
            row = int(np.argmax(alone))
            what = f"and all flows after another until {'infinity' if np.isinf(last) else f'{last:g} s'}"
        raise WorkloadError(
            f"size in row {row} takes {volume[row]} B at {capacity[row]} B/s: {alone[row]} s, {what}: it must be a "
            f"time > 0 s, and the last one end before {LATEST_TIME:g} s"
        )

    def path_delay(self, path: IntArray) -> FloatArray:
        """Adds up the one-way delays along paths, in s, (num_flows,)."""
        return self._path_delay[path]

    def path_capacity(self, path: IntArray) -> FloatArray:
        """Finds the smallest capacity along paths, in B/s, (num_flows,)."""
        return self._path_capacity[path]

    @cached_property
    def _path_capacity(self) -> FloatArray:
        smallest: FloatArray = np.minimum.reduceat(self.capacity[self.path_links], self.path_start[:-1])
        return smallest

    @cached_property
    def _path_delay(self) -> FloatArray:
        if (self.delay == self.delay[0]).all():
            # A path of equal links has the delay `links * delay` to the last bit only if it is no difference of sums.
            equal: FloatArray = np.diff(self.path_start) * self.delay[0]
            return equal
        total = np.concatenate([[0.0], np.cumsum(self.delay[self.path_links])])
        along: FloatArray = total[self.path_start[1:]] - total[self.path_start[:-1]]
        return along


def crossing_shares(topology: Topology) -> FloatArray:
    """Returns the expected share of all flows that cross each link, (num_links,) float64, from 0 to 1.

    Source and destination are any two different hosts with equal probability, and the paths of a pair are taken with
    equal probability. All links are up.

    The busiest link is that with the largest ``share / capacity``. The nine-host tree: a rack's uplink and downlink,
    with 1/4 (a host's link: 1/9). Big switch, leaf-spine and fat-tree with equal links and enough spines: the hosts'
    links, with ``1 / num_hosts``.

    Raises:
        ConfigError: The network has a single host.
    """
    num_hosts = topology.num_hosts
    if num_hosts == 0:
        return np.ones(topology.num_links)
    if num_hosts == 1:
        raise ConfigError(f"topology {topology.name} has one host: flows need at least two")
    num_pairs = num_hosts * num_hosts
    of_pair = np.full(num_pairs, 1.0 / (num_pairs - num_hosts))
    of_pair[:: num_hosts + 1] = 0.0
    paths = np.ones(num_pairs, dtype=np.int64) if topology.pair_start is None else np.diff(topology.pair_start)
    of_path = np.repeat(of_pair / paths, paths)
    shares = np.zeros(topology.num_links)
    np.add.at(shares, topology.path_links, np.repeat(of_path, np.diff(topology.path_start)))
    return shares


def _check_resolution(alone: FloatArray, volume: FloatArray, capacity: FloatArray, arrival_time: FloatArray) -> None:
    """Refuses a flow that sends for a time to which its arrival is rounded; see ``Topology.check_times``."""
    least = arrival_time * LEAST_PART
    if (alone >= least).all():
        return
    row = int(np.argmax(alone < least))
    raise WorkloadError(
        f"arrival_time in row {row} is {arrival_time[row]} s after the clock starts, where float64 tells times "
        f"{np.spacing(arrival_time[row]):.2g} s apart; its {volume[row]} B take {alone[row]:.3g} s at {capacity[row]} "
        f"B/s: they must take at least {least[row]:.3g} s, {LEAST_PART:g} of the arrival (the clock starts at 0, or at "
        "the first arrival where all are far from 0: flows far apart can be replayed in parts)"
    )
