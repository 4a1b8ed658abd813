"""The paths between which a flow may choose: those that are up, on which no link has failed.

A link that has failed has capacity 0; a path is up while all its links are.
"""

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.topology.network import Network


@rule
def path_is_up(path: int, capacity: FloatArray, path_start: IntArray, path_links: IntArray) -> bool:
    """Returns whether every link of a path is up; ``capacity`` in B/s, (num_links,)."""
    is_up = True
    for step in range(path_start[path], path_start[path + 1]):
        is_up = is_up and capacity[path_links[step]] > 0.0
    return is_up


@rule
def count_paths_up(first: int, last: int, capacity: FloatArray, path_start: IntArray, path_links: IntArray) -> int:
    """Counts the paths that are up from row ``first`` of the path table to before row ``last``."""
    count = 0
    for path in range(first, last):
        if path_is_up(path, capacity, path_start, path_links):
            count += 1
    return count


@rule
def is_candidate(path: int, network: Network) -> bool:
    """Returns whether a path is up."""
    return path_is_up(path, network.capacity, network.path_start, network.path_links)


@rule
def nth_candidate(index: int, first: int, last: int, network: Network) -> int:
    """Returns the candidate before which there are ``index`` others; there must be more than that."""
    for path in range(first, last):
        if is_candidate(path, network):
            if index == 0:
                return path
            index -= 1
    return first


@rule
def shared_ends(first: int, last: int, network: Network) -> tuple[int, int]:
    """Returns how many links are the same on all candidates, at their beginning and at their end.

    Such links, those of the hosts among them, tell nothing about which candidate is better.
    """
    links, path_start = network.path_links, network.path_start
    some = nth_candidate(0, first, last, network)
    begin, end = path_start[some], path_start[some + 1]
    head = tail = shortest = end - begin
    for path in range(first, last):
        if not is_candidate(path, network):
            continue
        start, stop = path_start[path], path_start[path + 1]
        shortest = min(shortest, stop - start)
        same = 0
        while same < min(head, shortest) and links[start + same] == links[begin + same]:
            same += 1
        head, same = same, 0
        while same < min(tail, shortest) and links[stop - 1 - same] == links[end - 1 - same]:
            same += 1
        tail = same
    return head, min(tail, shortest - head)
