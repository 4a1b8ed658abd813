"""Looks at the paths between which a flow may choose: those on which no link has failed.

Links that all of them share, such as those of the hosts, tell nothing about which is better. So where paths are
compared, the ``head`` first and the ``tail`` last links of each are left out.
"""

import numpy as np

from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.state import Network

__all__ = ["is_candidate", "nth_candidate", "survey_candidates"]


@rule
def is_candidate(path: int, network: Network) -> bool:
    """Tells whether no link of a path has failed, which would have capacity 0."""
    least = np.inf
    for step in range(network.path_start[path], network.path_start[path + 1]):
        least = min(least, network.capacity[network.path_links[step]])
    return bool(least > 0.0)


@rule
def nth_candidate(place: int, first: int, last: int, network: Network) -> int:
    """Returns the candidate before which there are ``place`` others; there must be more than that."""
    for path in range(first, last):
        if is_candidate(path, network):
            if place == 0:
                return path
            place -= 1
    return first


@rule
def survey_candidates(first: int, last: int, network: Network) -> tuple[int, int, int]:
    """Counts the candidates from row ``first`` of the path table to before row ``last``, and the links they share.

    Returns:
        How many there are, and how many links are the same on all of them at their beginning and at their end.
    """
    links, path_start = network.path_links, network.path_start
    found = head = tail = 0
    begin = end = 0
    for path in range(first, last):
        if not is_candidate(path, network):
            continue
        start, stop = path_start[path], path_start[path + 1]
        found += 1
        if found == 1:
            begin, end, head, tail = start, stop, stop - start, stop - start
        same = 0
        while same < min(head, stop - start) and links[start + same] == links[begin + same]:
            same += 1
        head, same = same, 0
        while same < min(tail, stop - start - head) and links[stop - 1 - same] == links[end - 1 - same]:
            same += 1
        tail = same
    return found, head, tail
