"""The nodes and cables that a topology's links and paths stand for; ns-3 needs to know them."""

import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import Topology

BITS: Final = 8


class Cables:
    """Cables of two links each, one there and one back, between nodes; hosts come first, and have one cable each.

    A link ends where the next one of a path begins. Two ends that no path joins are ends of different nodes.

    Raises:
        ConfigError: Links have none back, or one of another delay; or a host has several.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        tail, head = _ends(topology)
        waiting: dict[tuple[int, int], list[int]] = {}
        self._pairs: list[tuple[int, int]] = []
        for link, ends in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
            if others := waiting.get(ends[::-1]):
                self._pairs.append((others.pop(0), link))
            else:
                waiting.setdefault(ends, []).append(link)
        name, names = topology.name, topology.link_names
        if alone := [link for links in waiting.values() for link in links]:
            raise ConfigError(
                f"topology {name} has the link {names[alone[0]]!r} with none back: in ns-3, cables have both"
            )
        for there, back in self._pairs:
            if topology.delay[there] != topology.delay[back]:
                raise ConfigError(
                    f"topology {name}: {names[there]!r} and {names[back]!r} are a cable and differ in delay"
                )
        ends_of_hosts = np.bincount(tail, minlength=topology.num_hosts)[: topology.num_hosts]
        if (ends_of_hosts > 1).any():
            raise ConfigError(
                f"topology {name}: host {int(ends_of_hosts.argmax())} has several cables: in ns-3, one each"
            )
        self._tail, self._head = tail, head
        self._number = np.zeros(len(tail), dtype=np.int64)
        for cable, (there, back) in enumerate(self._pairs):
            self._number[there], self._number[back] = 2 * cable, 2 * cable + 1

    def lines(self, room: IntArray, mark: IntArray) -> list[list[object]]:
        """Lists the cables as ``network.cc`` reads them, with what may wait at the port of each link, (num_links,)."""
        capacity, delay = BITS * self._topology.capacity, self._topology.delay
        return [
            [self._tail[there], self._head[there], delay[there]]
            + [value for link in (there, back) for value in (capacity[link], room[link], mark[link])]
            for there, back in self._pairs
        ]

    def links_of(self, path: int) -> Sequence[int]:
        """Lists the links of a path by the numbers that they have in ns-3."""
        start = self._topology.path_start
        numbers: list[int] = self._number[self._topology.path_links[start[path] : start[path + 1]]].tolist()
        return numbers


def _ends(topology: Topology) -> tuple[IntArray, IntArray]:
    """Finds the nodes at the beginning and the end of each link, (num_links,) each."""
    num_hosts, num_links = topology.num_hosts, len(topology.capacity)
    node = np.arange(num_hosts + 2 * num_links)  # of hosts, of beginnings and of ends
    begins, ends = num_hosts, num_hosts + num_links

    def find(one: int) -> int:
        while node[one] != one:
            one = node[one]
        return one

    def join(one: int, other: int) -> None:
        first, second = sorted((find(one), find(other)))
        node[second] = first

    pair_start = np.arange(num_hosts**2 + 1) if topology.pair_start is None else topology.pair_start
    for pair in range(num_hosts**2):
        for path in range(pair_start[pair], pair_start[pair + 1]):
            links = topology.path_links[topology.path_start[path] : topology.path_start[path + 1]].tolist()
            join(pair // num_hosts, begins + links[0])
            join(pair % num_hosts, ends + links[-1])
            for link, following in itertools.pairwise(links):
                join(ends + link, begins + following)
    names, number = np.unique([find(each) for each in range(len(node))], return_inverse=True)
    assert (names[:num_hosts] == np.arange(num_hosts)).all()
    return number[begins:ends], number[ends:]
