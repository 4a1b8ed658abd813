"""Failures and repairs of links as frozen arrays, fixed before the simulation starts like the flows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import as_column, require
from flowsched_gym.core.errors import WorkloadError, shown

TRIPLE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkChanges:
    """Failures and repairs of links, one row per change. Arrays are copied, checked and not writeable.

    Every link is up before its first change; a change to the state that a link is in already changes nothing. Changes
    of one instant happen in the order of the rows.

    Attributes:
        time: Absolute times in s, (num_changes,) float64, >= 0, from row to row never earlier.
        link: Numbers of the links in the topology, (num_changes,) int64, >= 0. Links are directed: a cable is two.
        up: Whether the link comes up (otherwise it fails), (num_changes,) bool.

    Raises:
        WorkloadError: An array has another length or type, or a value that is not allowed.
    """

    time: FloatArray
    link: IntArray
    up: BoolArray

    def __post_init__(self) -> None:
        time = as_column(self.time, "time of link changes", integral=False)
        link = as_column(self.link, "link of link changes", integral=True)
        try:
            up = np.array(self.up)
        except ValueError:  # it has entries of different lengths
            up = np.array(None)
        if up.ndim != 1 or (up.size and up.dtype.kind != "b"):
            raise WorkloadError(f"up of link changes is {shown(self.up)}: it must be a sequence of truth values")
        if not len(time) == len(link) == len(up):
            raise WorkloadError(
                f"link changes have {len(time)} times, {len(link)} links and {len(up)} values of up: lengths must agree"
            )
        require(np.isfinite(time) & (time >= 0), "time of link changes", time, "finite and >= 0 s")
        if (time[1:] < time[:-1]).any():
            require(np.diff(time, prepend=0.0) >= 0, "time of link changes", time, "no earlier than in the row before")
        require(link >= 0, "link of link changes", link, "a link number >= 0")
        for name, array in (("time", time), ("link", link), ("up", up.astype(np.bool_))):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, rows: Iterable[tuple[float, int, bool]]) -> "LinkChanges":
        """Makes link changes of rows (time in s, link, whether it comes up), in the order of time.

        Raises:
            WorkloadError: A row is not such a triple, or has a value that is not allowed.
        """
        table = list(rows)
        for row in table:
            if not isinstance(row, Sequence) or len(row) != TRIPLE:
                raise WorkloadError(f"link changes have the row {shown(row)}: it must be (time, link, up)")
        time, link, up = zip(*table, strict=True) if table else ((), (), ())
        # What stands in the columns is checked where they become arrays.
        return cls(time=time, link=link, up=up)  # type: ignore[arg-type]

    @property
    def num_changes(self) -> int:
        """Number of changes."""
        return len(self.time)
