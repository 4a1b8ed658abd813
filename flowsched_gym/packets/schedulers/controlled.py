"""Schedulers whose ranks and thresholds an agent sets: the counterparts of the fluid's ``Ranked`` and ``Mlfq``."""

from typing import ClassVar, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.packets.contract import Arrival, Order, PacketTable, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, is_bare
from flowsched_gym.packets.rules.queues import first_within
from flowsched_gym.packets.schedulers.parameters import MessageScheduler

UNPINNED: Final = -1


class _Served(NamedTuple):
    """Ranks of flows, smaller first, (num_flows,); ``front`` is the smallest given so far, (1,)."""

    rank: FloatArray
    front: FloatArray
    messages: Messages


class ServedFirst(MessageScheduler):
    """The flow that an agent has put first last, and then the others in that order; before that, by arrival.

    At every port the flow goes first whose newest packet there has the smallest rank, and of it the packet that arrived
    first: a choice counts from the flow's next packet on. Packets without payload go before all.
    """

    record_type = _Served
    order: ClassVar[Order] = Order.FLOW

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Served) -> Arrival:
        """Ranks the packet by its flow."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        rank = -np.inf if is_bare(p, table) else record.rank[table.flow[p]]
        return Arrival(0, rank, rank, last_seen, new)

    @staticmethod
    def serve_first(row: int, record: _Served) -> None:
        """Gives the flow the smallest rank."""
        record.front[0] -= 1.0
        record.rank[row] = record.front[0]

    def new_record(self, traffic: Traffic, num_ports: int) -> _Served:
        """Ranks flows by their arrival."""
        rank = np.empty(len(traffic.arrival_time))
        rank[np.argsort(traffic.arrival_time, kind="stable")] = np.arange(len(rank))
        return _Served(rank, np.zeros(1), self.new_messages(traffic))


class _Feedback(NamedTuple):
    """Queues by bytes sent.

    Attributes:
        thresholds: In B of each group of hosts, (num_groups, num_queues - 1).
        level: Queue of the last packet that the host of each flow has sent, (num_flows,).
        group: Group of each flow's source, (num_flows,).
        pinned: Queue to which a flow is pinned whatever it has sent, -1 for none, (num_flows,).
        changed: What an agent notes that has changed any, (1,).
    """

    messages: Messages
    thresholds: FloatArray
    level: IntArray
    group: IntArray
    pinned: IntArray
    changed: IntArray


class FeedbackQueues(MessageScheduler):
    """Queues by bytes sent, as PIAS has them, with thresholds for each group of hosts, and flows that may be pinned.

    Hosts tag packets with bytes sent, ports know thresholds: new ones hold for packets that arrive from then on.

    Args:
        thresholds: In B, increasing, (num_groups, num_queues - 1).
        groups: Group of each host, (num_hosts,).
    """

    record_type = _Feedback

    def __init__(self, thresholds: FloatArray, groups: IntArray | None = None) -> None:
        super().__init__()
        self.num_queues = thresholds.shape[1] + 1
        self._thresholds = thresholds
        self._groups = groups

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Feedback) -> Arrival:
        """Finds the queue by the bytes sent, unless the flow is pinned."""
        weight, last_seen, new = count_bytes(now, port, p, table, record.messages)
        if is_bare(p, table):
            return Arrival(0, 0.0, weight, last_seen, new)
        flow = table.flow[p]
        queue = record.pinned[flow]
        if queue == UNPINNED:
            queue = first_within(weight, record.group[flow], record.thresholds, 0, record.thresholds.shape[1])
        if port < table.num_senders or table.num_senders == 0:
            record.level[flow] = queue
        return Arrival(queue, 0.0, weight, last_seen, new)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Feedback:
        """Puts all flows into the highest queue."""
        num_flows = len(traffic.arrival_time)
        group, level = np.zeros((2, num_flows), dtype=np.int64)
        return _Feedback(
            self.new_messages(traffic),
            self._thresholds.copy(),
            level,
            group if self._groups is None else self._groups[traffic.source],
            np.full(num_flows, UNPINNED),
            np.zeros(1, dtype=np.int64),
        )
