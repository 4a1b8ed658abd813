"""The nodes that links join, which a topology does not name: a link ends where the next one of a path begins."""

from itertools import pairwise
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.topology.topology import Topology

UNUSED: Final = -1
"""In place of the nodes of a link that no path takes."""


def ends_of_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Returns the nodes at which links begin and end, (num_links,) each; hosts come first, other nodes as links do.

    The path of a host to itself goes out and back, which joins both ways of a switch with one host.
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
    number = {host: host for host in range(num_hosts)}
    ends = np.full((2, num_links), UNUSED)
    for link in np.unique(topology.path_links).tolist():
        for way, place in enumerate((begin + link, end + link)):
            ends[way, link] = number.setdefault(root(place), len(number))
    return ends[0], ends[1]
