"""The nodes that links join, which a topology does not name: a link ends where the next one of a path begins."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.topology.topology import Topology

UNUSED: Final = -1
"""In place of the nodes of a link that no path takes."""


def ends_of_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Returns the nodes at which links begin and end, (num_links,) each; hosts come first, other nodes as links do.

    The path of a host to itself goes out and back, which joins both ways of a switch with one host. Of a switch between
    two others no path turns back: its two ways are joined because each leads back to where the other one comes from.
    """
    num_hosts, num_links = topology.num_hosts, topology.num_links
    begin, end = num_hosts, num_hosts + num_links
    above = list(range(end + num_links))  # of hosts, of beginnings and of ends: all the same node as the one above

    def root(place: int) -> int:
        while above[place] != place:
            above[place] = above[above[place]]
            place = above[place]
        return place

    def join(one: int, other: int) -> None:
        first, second = sorted((root(one), root(other)))
        above[second] = first

    pairs = range(num_hosts * num_hosts + 1) if topology.pair_start is None else topology.pair_start.tolist()
    for pair, (first, last) in enumerate(pairwise(pairs)):
        for path in range(first, last):
            links = topology.path_links[topology.path_start[path] : topology.path_start[path + 1]].tolist()
            join(pair // num_hosts, begin + links[0])
            join(pair % num_hosts, end + links[-1])
            for before, after in pairwise(links):
                join(end + before, begin + after)
    used = np.unique(topology.path_links).tolist()
    values = list(zip(topology.capacity.tolist(), topology.delay.tolist(), strict=True))
    joined = True
    while joined:
        into, out = defaultdict[int, list[tuple[int, tuple[float, float]]]](list), defaultdict[int, list[Any]](list)
        for link in used:
            out[root(begin + link)].append((root(end + link), values[link]))
            into[root(end + link)].append((root(begin + link), values[link]))
        ways = {node: (tuple(sorted(into[node])), tuple(sorted(out[node]))) for node in [*into]}
        waiting, joined = defaultdict[Any, list[int]](list), False
        for node, (here, there) in ways.items():
            if here != there and waiting[there, here]:
                join(node, waiting[there, here].pop(0))
                joined = True
            elif here != there:
                waiting[here, there].append(node)
    number = {host: host for host in range(num_hosts)}
    ends = np.full((2, num_links), UNUSED)
    for link in used:
        for way, place in enumerate((begin + link, end + link)):
            ends[way, link] = number.setdefault(root(place), len(number))
    return ends[0], ends[1]


def there_and_back(ends: Iterable[tuple[Any, Any]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Pairs links, each given by what it leads from and to, with the first free ones before them that lead back.

    Returns the pairs of their numbers, and the numbers of links that are left alone, in ascending order.
    """
    pairs, waiting = [], defaultdict[tuple[Any, Any], list[int]](list)
    for link, (begin, end) in enumerate(ends):
        if back := waiting[end, begin]:
            pairs.append((back.pop(0), link))
        else:
            waiting[begin, end].append(link)
    return pairs, sorted(link for links in waiting.values() for link in links)
