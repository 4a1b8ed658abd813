"""Links and paths as arrays: what the rules read of a topology."""

from typing import NamedTuple

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_rule


class Network(NamedTuple):
    """The links and the paths over them.

    Attributes:
        capacity: Capacities in B/s, (num_links,) float64, > 0.
        path_start: Where each path begins in ``path_links``, (num_paths + 1,) int64.
        path_links: Links of all paths, one path after the other, int64.
        num_cpus: How many of the last links, and of the last paths, stand for CPUs.
    """

    capacity: FloatArray
    path_start: IntArray
    path_links: IntArray
    num_cpus: int = 0


@inlined_rule
def first_cpu_path(network: Network) -> int:
    """Returns the row of the first path that stands for a CPU; behind the last path where there are none."""
    return len(network.path_start) - 1 - network.num_cpus


def longest_path(network: Network) -> int:
    """Returns the largest number of links of a path, at least 1."""
    return int((network.path_start[1:] - network.path_start[:-1]).max(initial=1))
