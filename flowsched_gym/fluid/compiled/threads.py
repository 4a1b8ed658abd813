"""Threads among which networks are divided, each with scratch of its own."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.threads import Pool
from flowsched_gym.fluid.compiled.tables import Tables

Result = TypeVar("Result")


class Threads:
    """Threads among which networks are divided; the first of them is the one that calls."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = Pool(count - 1) if count > 1 else None
        self._tables: list[Tables] = []

    def begin(self, tables: Tables) -> None:
        """Makes scratch for other tables."""
        self._tables = [tables, *(_with_own_scratch(tables) for _ in range(self._count - 1))]

    def share_out(self, work: Callable[[Tables, IntArray], Result], numbers: IntArray) -> list[Result]:
        """Calls ``work(tables, numbers)`` in each thread with the tables and its part of the numbers, in this order.

        It is machine code that releases Python's global lock, and touches these networks, or environments, alone.
        """
        if self._pool is None:
            return [work(self._tables[0], numbers)]
        ends = [len(numbers) * i // self._count for i in range(self._count + 1)]
        parts = [numbers[first:last] for first, last in pairwise(ends)]
        submit = self._pool.threads().submit
        others = [submit(work, *each) for each in zip(self._tables[1:], parts[1:], strict=True) if len(each[1])]
        first = [work(self._tables[0], parts[0])] if len(parts[0]) else []
        return [*first, *(other.result() for other in others)]


def _with_own_scratch(tables: Tables) -> Tables:
    """Returns the tables with copies of what is no network's own."""
    record = tables.record
    of_networks = {*record.discipline.kept, *record.discipline.kept_once}
    return tables._replace(
        filling=_copied(tables.filling, "residual", "links", "sharers", "crossings"),
        scratch=tables.scratch.copy(),
        cache=_copied(tables.cache, "dirty", "open", "share", "fresh", "fixed"),
        choosing=_copied(tables.choosing, "touched", "moved"),
        record=_copied(record, *(name for name in record._fields if name not in of_networks)),
    )


def _copied(record: Any, *names: str) -> Any:
    """Copies the arrays among some fields of a record; ``None`` stays."""
    if record is None:
        return None
    fields = {name: getattr(record, name) for name in names}
    return record._replace(**{name: each.copy() for name, each in fields.items() if isinstance(each, np.ndarray)})
