"""Paths that are up while links fail and come up again, and flows that are blocked.

A link that has failed has capacity 0; a path is up while all its links are.
"""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import rule


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
def note_quiet(now: float, active: IntArray, count: int, rate: FloatArray, quiet_since: FloatArray) -> None:
    """Records since when active flows have had no rate, absolute times in s; inf while they send."""
    for index in range(count):
        row = active[index]
        if rate[row] > 0.0:
            quiet_since[row] = np.inf
        elif quiet_since[row] == np.inf:
            quiet_since[row] = now
