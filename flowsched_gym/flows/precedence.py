"""Which flows have to wait for others: tasks whose flows are sequences, partition-aggregate trees or other graphs."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, IntArray, is_sequence, is_whole, to_float
from flowsched_gym.core.checks import as_column, require
from flowsched_gym.core.errors import WorkloadError, shown

AFTER: Final = "after"
"""Column of the flow file that lists, for each flow, those that must have finished."""
ALLOWED: Final = "ids of other flows of the same episode, separated by spaces, or empty"
WHOLE_NUMBER: Final = re.compile(r"\d{1,19}", re.ASCII)
SHOWN_FLOWS: Final = 6
"""Flows of a cycle that a message lists at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Precedence:
    """Pairs of flows of which the later one may begin when the earlier one has finished; arrays are not writeable.

    Attributes:
        earlier: Ids of the flows that must have finished, (num_pairs,) int64, >= 0.
        later: Ids of the flows that wait for them, (num_pairs,) int64, >= 0.

    Raises:
        WorkloadError: An array has another length or type, or a flow waits for itself.
    """

    earlier: IntArray
    later: IntArray

    def __post_init__(self) -> None:
        earlier = as_column(self.earlier, "earlier flow", integral=True)
        later = as_column(self.later, "later flow", integral=True)
        if len(earlier) != len(later):
            raise WorkloadError(f"there are {len(earlier)} earlier and {len(later)} later flows: lengths must agree")
        require(earlier != later, "earlier flow", earlier, "another flow than the later one")
        rising = (later[1:] > later[:-1]) | ((later[1:] == later[:-1]) & (earlier[1:] >= earlier[:-1]))
        order = slice(None) if rising.all() else np.lexsort((earlier, later))
        for name, array in (("earlier", earlier[order]), ("later", later[order])):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, after: Mapping[int, Iterable[int]]) -> "Precedence":
        """Makes the pairs of a mapping from ids of flows to the ids of those that must have finished before."""
        pairs = [(earlier, later) for later, others in after.items() for earlier in others]
        earlier, later = zip(*pairs, strict=True) if pairs else ((), ())
        return cls(earlier=np.array(earlier, dtype=np.int64), later=np.array(later, dtype=np.int64))

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        return len(self.earlier)

    def rows(self, flow_id: IntArray) -> tuple[IntArray, IntArray]:
        """Finds the rows of the earlier and of the later flows, (num_pairs,) each, among increasing ids, (num_flows,).

        Raises:
            WorkloadError: There is no flow of one of the ids.
        """
        found = []
        without_gap = len(flow_id) > 0 and flow_id[0] == 0 and flow_id[-1] == len(flow_id) - 1
        for ids in (self.earlier, self.later):
            row = ids if without_gap else np.searchsorted(flow_id, ids)
            known = flow_id.take(row, mode="clip") == ids if len(flow_id) else np.zeros(len(ids), np.bool_)
            if not known.all():
                pair = int(np.argmin(known))
                raise WorkloadError(
                    f"after of flow {self.later[pair]} names {self.earlier[pair]}: there is no flow {ids[pair]}"
                )
            found.append(row)
        return found[0], found[1]

    def among(self, flow_id: IntArray) -> "Precedence":
        """Returns the pairs of which both flows are among these, increasing ids, (num_flows,)."""
        inside = np.isin(self.earlier, flow_id) & np.isin(self.later, flow_id)
        return Precedence(earlier=self.earlier[inside], later=self.later[inside])

    def depth(self, flow_id: IntArray) -> IntArray:
        """Counts the flows of the longest chain before each flow, (num_flows,) int64, 0 for flows that do not wait.

        Raises:
            WorkloadError: There is no flow of one of the ids, or flows wait for each other.
        """
        earlier, later = self.rows(flow_id)
        num_flows = len(flow_id)
        order = np.argsort(earlier, kind="stable")
        first = np.searchsorted(earlier[order], np.arange(num_flows + 1))
        waits_for = np.bincount(later, minlength=num_flows)
        depth = np.zeros(num_flows, dtype=np.int64)
        ready = np.flatnonzero(waits_for == 0)
        level = num_done = 0
        while len(ready):
            depth[ready] = level
            num_done += len(ready)
            level += 1
            counts = first[ready + 1] - first[ready]
            steps = np.arange(counts.sum()) + np.repeat(first[ready] - np.cumsum(counts) + counts, counts)
            following = later[order][steps] if len(ready) > 1 else later[order[first[ready[0]] : first[ready[0] + 1]]]
            np.subtract.at(waits_for, following, 1)
            following = np.unique(following)
            ready = following[waits_for[following] == 0]
        if num_done < num_flows:
            raise WorkloadError(self._cycle(flow_id, earlier, later, waits_for > 0))
        return depth

    def _cycle(self, flow_id: IntArray, earlier: IntArray, later: IntArray, stuck: BoolArray) -> str:
        inside = stuck[earlier] & stuck[later]
        waits_for = dict(zip(later[inside].tolist(), earlier[inside].tolist(), strict=True))
        row, seen = next(iter(waits_for)), []
        while row not in seen:
            seen.append(row)
            row = waits_for[row]
        cycle = [str(flow_id[each]) for each in (*seen[seen.index(row) :], row)]
        listed = " after ".join(cycle if len(cycle) <= SHOWN_FLOWS else [*cycle[:SHOWN_FLOWS], "..."])
        return f"after: flows wait for each other ({listed}): no flow may come after itself"


def parse_after(cells: Sequence[object], flow_id: IntArray, where: Callable[[int], str]) -> Precedence | None:
    """Reads a column ``after`` of the flows with these ids, increasing, (num_flows,); None where no flow waits.

    Cells are text of ids separated by spaces, one id, a sequence of ids, or nothing: an empty text, None or NaN.
    ``where`` names the place of a row in messages.

    Raises:
        WorkloadError: A cell holds something else, or an id of no flow, or its own.
    """
    known = set(flow_id.tolist())
    after: dict[int, list[int]] = {}
    for row, (cell, own) in enumerate(zip(cells, flow_id.tolist(), strict=True)):
        ids = _ids(cell)
        wrong = cell if ids is None else next((each for each in ids if each not in known or each == own), None)
        if ids is None or wrong is not None:
            raise WorkloadError(f"{where(row)}, column {AFTER}: {shown(wrong)}: it must be {ALLOWED}")
        if ids:
            after[own] = ids
    return Precedence.of(after) if after else None


def _ids(cell: object) -> list[int] | None:
    """Returns the ids in a cell; None if it holds something else."""
    if cell is None or cell is np.ma.masked or (isinstance(cell, Real) and bool(cell != cell)):
        return []
    if isinstance(cell, str):
        words = cell.split()
        return [int(word) for word in words] if all(map(WHOLE_NUMBER.fullmatch, words)) else None
    if is_whole(cell) or isinstance(cell, float):
        return [int(cell)] if to_float(cell).is_integer() else None
    if is_sequence(cell):
        found = [_ids(each) if not isinstance(each, (str, Sequence)) else None for each in cell]
        return None if any(ids is None or len(ids) != 1 for ids in found) else [ids[0] for ids in found if ids]
    return None


def after_cells(after: Precedence | None, flow_id: IntArray) -> list[str]:
    """Lays pairs out as the cells of a column ``after``."""
    lists: dict[int, list[str]] = {}
    if after is not None:
        for earlier, later in zip(after.earlier.tolist(), after.later.tolist(), strict=True):
            lists.setdefault(later, []).append(str(earlier))
    return [" ".join(lists.get(own, ())) for own in flow_id.tolist()]
