"""Serves flows in multi-level feedback queues, whose thresholds may change as time goes on."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from flowsched_gym.disciplines.base import BaseDiscipline, DisciplineArrays, DisciplineKind
from flowsched_gym.disciplines.parameters import Within, check_limits, check_whole_numbers, check_within
from flowsched_gym.errors import ConfigError, shown
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.feedback import head_of_each_level, level_by_attained
from flowsched_gym.model.rules.limits import are_limits
from flowsched_gym.model.state import FlowState, Network

__all__ = ["Mlfq"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Thresholds = Sequence[float] | Sequence[Sequence[float]] | FloatArray


class Mlfq(BaseDiscipline):
    """Multi-level feedback queues: a flow is demoted when it has attained a threshold; queue 0 is the highest.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,), or such a row for each group of hosts.
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of entry.
        groups: Group of each host, (num_hosts,) integers from 0: flows obey the thresholds of their source's group.
            Default: one group.

    Raises:
        ConfigError: There is no threshold, or they are not finite, positive and increasing, or a group has none.
    """

    kind = DisciplineKind.FEEDBACK
    stops_flows = True

    def __init__(
        self, thresholds: Thresholds, within: str = Within.PS, groups: Sequence[int] | IntArray | None = None
    ) -> None:
        """Checks the thresholds."""
        self._thresholds = _rows(thresholds)
        self._share = check_within(within) is Within.PS
        self.num_priorities = self.num_queues if self._share else 0
        self._groups = None if groups is None else check_whole_numbers("groups", groups)
        if self._groups is not None and len(self._groups):
            least, most = int(self._groups.min()), int(self._groups.max())
            if least < 0 or most >= self.num_groups:
                raise ConfigError(
                    f"groups has {least if least < 0 else most}: thresholds has the groups 0 to {self.num_groups - 1}"
                )

    @property
    def num_groups(self) -> int:
        """Groups of hosts that have thresholds of their own."""
        return len(self._thresholds)

    @property
    def num_queues(self) -> int:
        """Queues (K)."""
        return int(self._thresholds.shape[1]) + 1

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for the queues."""
        super().make_room(state, controls, network, num_networks)
        self._level = np.zeros(len(state.size), dtype=np.int64)
        self._entered = np.zeros(len(state.size))
        self._group = np.zeros(len(state.size), dtype=np.int64)
        self._pinned = np.full(len(state.size), -1, dtype=np.int64)
        self._unknown = np.zeros(num_networks, dtype=np.int64)
        self._num_rows = len(state.size) // num_networks
        self._table = np.tile(self._thresholds, (num_networks, 1))

    def begin_network(self, n: int, first_row: int, source: IntArray) -> None:
        """Sets the first thresholds, and finds the group of each flow.

        Raises:
            ConfigError: A host has no group.
        """
        self._table[n * self.num_groups : (n + 1) * self.num_groups] = self._thresholds
        if self._groups is None:
            return
        if len(source) and source.max() >= len(self._groups):
            raise ConfigError(f"groups has {len(self._groups)} hosts: host {source.max()} sends")
        self._group[first_row : first_row + len(source)] = self._groups[source]

    def set_thresholds(self, thresholds: Thresholds, n: int = 0) -> None:
        """Sets the thresholds of network ``n``, from the next sharing of its links on.

        Raises:
            ConfigError: They are not finite, positive and increasing, or not as many as before.
        """
        rows = _rows(thresholds)
        if rows.shape != self._thresholds.shape:
            raise ConfigError(f"thresholds has shape {rows.shape}: it must have {self._thresholds.shape}")
        self._table[n * self.num_groups : (n + 1) * self.num_groups] = rows
        self._unknown[n] = 1

    def thresholds(self, n: int = 0) -> FloatArray:
        """Returns the thresholds of network ``n`` in B, (num_groups, num_queues - 1)."""
        return self._table[n * self.num_groups : (n + 1) * self.num_groups].copy()

    def queue_of(self, row: int) -> int:
        """Returns the queue of a live flow, as of the last sharing of the links."""
        return int(self._level[row])

    def queues_of(self, rows: IntArray) -> IntArray:
        """Returns the queues of live flows, (count,), as of the last sharing of the links."""
        queues: IntArray = self._level[rows]
        return queues

    def levels(self, first_row: int, count: int) -> IntArray:
        """Views the queues of consecutive flows, (count,), as of the last sharing of the links; only of live ones."""
        return self._level[first_row : first_row + count]

    def pin(self, row: int | IntArray, queue: int | IntArray | None) -> None:
        """Holds flows in queues whatever they attain, from the next sharing of the links on.

        Args:
            row: A flow, or several, (count,).
            queue: A queue for all of them, or one for each, (count,); ``None`` lets them go.

        Raises:
            ConfigError: There is no such queue; no flow is held anew.
        """
        if queue is not None:
            queues = np.atleast_1d(queue)
            wrong = queues[(queues < 0) | (queues >= self.num_queues)]
            if len(wrong):
                raise ConfigError(f"queue is {wrong[0]}: it must be from 0 to {self.num_queues - 1}")
        self._pinned[row] = -1 if queue is None else queue
        self._unknown[row // self._num_rows] = 1

    def begin_flow(self, row: int) -> None:
        """Puts a flow into the highest queue."""
        self._level[row] = 0
        self._entered[row] = self.state.arrival_time[row]
        self._pinned[row] = -1
        self.controls.review_at[row] = 0.0

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Demotes, and ranks by queue."""
        state, controls = self.state, self.controls
        level_by_attained(
            now,
            0,
            live,
            count,
            state.attained,
            self._table,
            self.num_groups,
            self._group,
            self._pinned,
            self._level,
            self._entered,
            self._unknown,
            controls.review_at,
            controls.priority,
        )
        if not self._share:
            head_of_each_level(live, count, self._level, self._entered, controls.priority, self._share)

    def arrays(self) -> DisciplineArrays:
        """Hands over thresholds and levels."""
        return (
            super()
            .arrays()
            ._replace(
                share=self._share,
                level=self._level,
                entered=self._entered,
                unknown=self._unknown,
                group=self._group,
                pinned=self._pinned,
                table=self._table,
                num_groups=self.num_groups,
            )
        )


def _rows(thresholds: object) -> FloatArray:
    """Checks thresholds of one group or of several; returns one row for each."""
    if isinstance(thresholds, np.ndarray) and thresholds.ndim == 2 and thresholds.dtype == np.float64:
        given: FloatArray = thresholds
        if len(given) and given.shape[1] and are_limits(given):
            return given.copy()
    nested = isinstance(thresholds, (list, tuple, np.ndarray)) and len(thresholds) > 0
    nested = nested and all(isinstance(row, (list, tuple, np.ndarray)) for row in cast("Sequence[object]", thresholds))
    rows = [check_limits(row) for row in cast("Sequence[object]", thresholds if nested else [thresholds])]
    if len({len(row) for row in rows}) != 1:
        raise ConfigError(f"thresholds is {shown(thresholds)}: there must be a group, and each must have as many")
    return np.array(rows)
