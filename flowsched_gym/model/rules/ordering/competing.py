"""Finds the flows that compete with those that have begun or ended: who an agent puts first."""

from flowsched_gym.arrays import FloatArray, IntArray
from flowsched_gym.model.rules.compile import rule

__all__ = ["find_competing", "touch_links"]


@rule
def touch_links(path: int, path_start: IntArray, path_links: IntArray, touched: IntArray) -> None:
    """Marks the links of a path, for ``find_competing``."""
    for step in range(path_start[path], path_start[path + 1]):
        touched[path_links[step]] = 1


@rule
def find_competing(
    active: IntArray,
    count: int,
    arrival: FloatArray,
    path: IntArray,
    path_start: IntArray,
    path_links: IntArray,
    touched: IntArray,
    competing: IntArray,
) -> int:
    """Finds the active flows that share a marked link with another active flow, and takes the marks away.

    Args:
        touched: 1 for marked links and 0 for others, (num_links,); all 0 afterwards.
        competing: Receives the rows, by (arrival, row).

    Returns:
        How many compete: none, or at least two.
    """
    for index in range(count):
        row = active[index]
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            if touched[path_links[step]] > 0:
                touched[path_links[step]] += 1
    found = 0
    for index in range(count):
        row = active[index]
        shares = False
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            shares = shares or touched[path_links[step]] > 2
        if not shares:
            continue
        hole = found
        while hole > 0 and (
            arrival[competing[hole - 1]] > arrival[row]
            or (arrival[competing[hole - 1]] == arrival[row] and competing[hole - 1] > row)
        ):
            competing[hole] = competing[hole - 1]
            hole -= 1
        competing[hole] = row
        found += 1
    for link in range(len(touched)):
        touched[link] = 0
    return found
