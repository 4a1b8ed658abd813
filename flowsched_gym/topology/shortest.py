"""Shortest paths between hosts, which forward nothing: lists them for a path table, or only counts them.

All hosts behind one switch share the paths from there on, so that a network of thousands of hosts is searched from each
of its switches once.
"""

from array import array
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError

MOST_HOSTS: Final = 4_096
"""Hosts of a network at most; an entry of the path table for each pair of so many takes 0.13 GB."""
MOST_PATHS: Final = 8_000_000
"""Rows of a path table at most: so many take a minute to list, and 1 GB."""
MOST_OF_PAIR: Final = 100_000
"""Paths of a pair of hosts at most."""
MOST_KEPT: Final = 1_000_000
"""Paths between switches that are remembered for the next pairs at most."""
Pairs = tuple[IntArray, IntArray]
"""Sources and destinations of flows, (num_flows,) each."""


class ShortestPaths:
    """The paths with the fewest links of each pair of hosts, all of them.

    Hosts are names; links lead from the first of their two ends to the second, and are numbered in their order.
    """

    def __init__(self, name: str, hosts: tuple[str, ...], links: list[tuple[str, str]]) -> None:
        self._name, self._hosts = name, dict.fromkeys(hosts)
        self._into: dict[str, list[str]] = {}
        self._out: dict[str, list[tuple[int, str]]] = {}
        for link, (begin, end) in enumerate(links):
            self._into.setdefault(end, []).append(begin)
            self._out.setdefault(begin, []).append((link, end))
        self._up = {host: [link for link, _ in self._out.get(host, ())] for host in hosts}
        self._down: dict[str, list[int]] = {host: [] for host in hosts}
        for link, (_, end) in enumerate(links):
            if end in self._down:
                self._down[end].append(link)
        self._first = {host: self._only({end for _, end in self._out.get(host, ())}, host) for host in hosts}
        self._last = {host: self._only(set(self._into.get(host, ())), host) for host in hosts}
        self._near: dict[str, dict[str, tuple[int, int]]] = {}
        self._listed: dict[tuple[str, str], list[list[int]]] = {}
        self._kept = 0

    def _only(self, beside: set[str], host: str) -> str:
        """Returns the switch that all paths of a host take, or the host itself."""
        return host if len(beside) != 1 or beside & self._hosts.keys() else next(iter(beside))

    def listed(self, source: str, target: str) -> list[list[int]]:
        """Lists the paths of a pair, as links; from a host to itself: out and back.

        Raises:
            ConfigError: There is none, or there are more than ``MOST_OF_PAIR``.
        """
        if source == target:
            return [[*self._up[source][:1], *self._down[source][:1]]]
        first, last = self._first[source], self._last[target]
        if first not in self._nodes_near(last):
            raise self._none(source, target)
        ways = self._near[last][first][1]
        if ways > MOST_OF_PAIR:
            raise ConfigError(
                f"network {self._name} has {ways} shortest paths from host {source} to host {target}: at most "
                f"{MOST_OF_PAIR} are allowed"
            )
        ups = [[]] if first == source else [[link] for link in self._up[source]]
        downs = [[]] if last == target else [[link] for link in self._down[target]]
        return [[*up, *middle, *down] for up in ups for middle in self._between(first, last) for down in downs]

    def counted(self) -> tuple[int, int]:
        """Returns the number of paths of all pairs, and of the links of the longest one.

        Raises:
            ConfigError: A pair has none.
        """
        hosts = list(self._hosts)
        ends = sorted(set(self._first.values()))
        row = {end: index for index, end in enumerate(ends)}
        first = np.array([row[self._first[host]] for host in hosts])
        ups = np.array([1 if self._first[host] == host else len(self._up[host]) for host in hosts])
        steps = np.array([int(self._first[host] != host) for host in hosts])
        total, longest = len(hosts), 2
        for index, target in enumerate(hosts):
            last = self._last[target]
            near = self._nodes_near(last)
            distance, ways = np.array([near.get(end, (-1, 0)) for end in ends]).T[:, first]
            others = np.arange(len(hosts)) != index
            if (distance[others] < 0).any():
                raise self._none(hosts[int(np.argmax(others & (distance < 0)))], target)
            total += int((ups * ways)[others].sum()) * (1 if last == target else len(self._down[target]))
            longest = max(longest, int((steps + distance)[others].max()) + int(last != target))
        return total, longest

    def _nodes_near(self, target: str) -> dict[str, tuple[int, int]]:
        """Returns how many links each node is from a node, and on how many shortest paths."""
        if target in self._near:
            return self._near[target]
        near, reached = {target: (0, 1)}, [target]
        for node in reached:
            distance, ways = near[node]
            for before in self._into.get(node, ()) if node == target or node not in self._hosts else ():
                if before not in near:
                    near[before] = (distance + 1, ways)
                    reached.append(before)
                elif near[before][0] == distance + 1:
                    near[before] = (distance + 1, near[before][1] + ways)
        self._near[target] = near
        return near

    def _between(self, node: str, target: str) -> list[list[int]]:
        """Lists the shortest paths from a node to a node from which it is near."""
        if node == target:
            return [[]]
        if (node, target) in self._listed:
            return self._listed[node, target]
        near = self._near[target]
        paths = [
            [link, *rest]
            for link, after in self._out[node]
            if (after == target or after not in self._hosts) and near.get(after, (-1, 0))[0] == near[node][0] - 1
            for rest in self._between(after, target)
        ]
        if node not in self._hosts and target not in self._hosts:
            self._kept += len(paths)
            if self._kept > MOST_KEPT:
                self._listed.clear()
                self._kept = len(paths)
            self._listed[node, target] = paths
        return paths

    def _none(self, source: str, target: str) -> ConfigError:
        return ConfigError(
            f"network {self._name}: no path leads from host {source} to host {target} (hosts forward nothing): every "
            "host must reach every other one; of a graph in parts keep one, such as "
            "graph.subgraph(max(networkx.connected_components(graph), key=len))"
        )


def path_table(
    name: str, num_hosts: int, paths: Callable[[int, int], Iterable[list[int]]], pairs: Pairs | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Returns ``path_start``, ``path_links`` and ``pair_start`` of a topology of paths by source and destination.

    Only those of some pairs are listed, where these are given; all others then have none.

    Raises:
        ConfigError: There are more than ``MOST_PATHS``.
    """
    wanted: Iterable[int] = range(num_hosts * num_hosts)
    if pairs is not None:
        inside = (pairs[0] < num_hosts) & (pairs[1] < num_hosts)
        wanted = np.unique(pairs[0][inside] * num_hosts + pairs[1][inside]).tolist() or [0]
    path_start, path_links = array("q", [0]), array("q")
    pair_start = np.zeros(num_hosts * num_hosts + 1, dtype=np.int64)
    for pair in wanted:
        before = len(path_start)
        for links in paths(*divmod(pair, num_hosts)):
            path_links.extend(links)
            path_start.append(len(path_links))
        pair_start[pair + 1] = len(path_start) - before
        check_paths(name, len(path_start) - 1, pairs)
    return np.array(path_start), np.array(path_links), np.cumsum(pair_start)


def check_paths(name: str, num_paths: int, pairs: Pairs | None) -> None:
    """Refuses a path table that is too long.

    Raises:
        ConfigError: There are more than ``MOST_PATHS``.
    """
    if num_paths > MOST_PATHS:
        which = "between all hosts: too many; a replay lists those of its flows alone"
        which = which if pairs is None else "for its flows: too many"
        raise ConfigError(f"topology {name} has more than {MOST_PATHS} shortest paths {which}")
