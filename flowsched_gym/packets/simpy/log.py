"""What became of each packet, written row by row."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.state import PacketTrace

NAN: Final = float("nan")


class PacketLog:
    """The rows of a ``PacketTrace``; of each packet, the last one can still change."""

    def __init__(self) -> None:
        self._row: dict[int, int] = {}
        self._arrivals: list[tuple[int, float, int, float, float, bool]] = []
        self._start: list[float] = []
        self._departure: list[float] = []
        self._dropped: list[bool] = []
        self._marked: list[bool] = []

    def arrive(self, now: float, p: int, arrival: Arrival, *, marked: bool) -> None:
        """Begins a row."""
        self._row[p] = len(self._start)
        self._arrivals.append((p, now, arrival.queue, arrival.weight, arrival.last_seen, arrival.new_message))
        self._start.append(NAN)
        self._departure.append(NAN)
        self._dropped.append(False)
        self._marked.append(marked)

    def send(self, now: float, p: int, end: float) -> None:
        """Notes a transmission."""
        row = self._row[p]
        self._start[row] = now
        self._departure[row] = end

    def drop(self, p: int) -> None:
        """Notes a loss."""
        row = self._row[p]
        self._dropped[row] = True
        self._marked[row] = False

    def trace(self, table: PacketTable, flow_id: IntArray) -> PacketTrace:
        """Returns the rows as arrays."""
        p, time, queue, weight, last_seen, new = zip(*self._arrivals, strict=True) if self._arrivals else ((),) * 6
        packet = np.array(p, dtype=np.int64)
        return PacketTrace(
            flow_id=flow_id[table.flow[packet]],
            size=table.size[packet],
            arrival_time=np.array(time, dtype=np.float64),
            queue=np.array(queue, dtype=np.int64),
            weight=np.array(weight, dtype=np.float64),
            last_seen=np.array(last_seen, dtype=np.float64),
            new_message=np.array(new, dtype=np.bool_),
            start_time=np.array(self._start),
            departure_time=np.array(self._departure),
            dropped=np.array(self._dropped, dtype=np.bool_),
            marked=np.array(self._marked, dtype=np.bool_),
        )
