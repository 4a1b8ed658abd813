"""The paths between which a flow may choose: those that are up, on which no link has failed."""

from flowsched_gym.fluid.rules.routing.availability import path_is_up
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.topology.network import Network


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
