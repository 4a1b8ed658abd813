"""Schedulers whose ranks and thresholds an agent sets: the fluid's ``Ranked``, ``Mlfq`` and ``Tafe`` in packets."""

from typing import ClassVar, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.packets.contract import Arrival, Order, PacketTable, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, is_bare
from flowsched_gym.packets.rules.queues import first_within
from flowsched_gym.packets.schedulers.parameters import MessageScheduler

UNPINNED: Final = -1


class _Served(NamedTuple):
    """Ranks of flows, smaller first, (num_flows,); ``ends`` are the smallest and the largest given so far, (2,)."""

    rank: FloatArray
    ends: FloatArray
    messages: Messages


class ServedFirst(MessageScheduler):
    """The flow that an agent has put first last, and then the others in that order; before that, by arrival.

    Flows that wait or work before they send rank by when they were ready.

    A choice holds at every port at once, also for packets that wait there, as if switches knew of it. Of a flow the
    packet that arrived first goes first, packets without payload before all.
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
    def serve_first(row: int, record: _Served) -> float:
        """Gives the flow the smallest rank."""
        record.ends[0] -= 1.0
        record.rank[row] = record.ends[0]
        return record.ends[0]  # type: ignore[no-any-return]  # a float

    @staticmethod
    def serve_last(row: int, record: _Served) -> float:
        """Gives the flow the largest rank."""
        record.ends[1] += 1.0
        record.rank[row] = record.ends[1]
        return record.ends[1]  # type: ignore[no-any-return]  # a float

    def new_record(self, traffic: Traffic, num_ports: int) -> _Served:
        """Ranks flows by their arrival."""
        rank = np.empty(len(traffic.arrival_time))
        rank[np.argsort(traffic.arrival_time, kind="stable")] = np.arange(len(rank))
        return _Served(rank, np.array([0.0, len(rank)]), self.new_messages(traffic))


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
    reads_tags = True

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


class _TaskLevels(NamedTuple):
    """Levels of tasks by the bytes that their flows have sent; tasks are numbered from 0.

    Attributes:
        thresholds: In B, (1, num_queues - 1).
        task: Task of each flow, (num_flows,).
        came: When the first flow of each task arrives, in s, (num_flows,).
        level: Level of the last packet that a host has sent of each task, (num_flows,).
        flow_level: Levels of flows besides: none, (num_flows,).
        rank: Rank of each flow in its level, (num_flows,); ``per_byte`` is added for each byte that it has left.
        first_cpu_path: Row of the path table from which on paths stand for CPUs.
    """

    messages: Messages
    thresholds: FloatArray
    task: IntArray
    came: FloatArray
    level: IntArray
    flow_level: IntArray
    rank: FloatArray
    per_byte: float
    first_cpu_path: int


class TaskLevels(MessageScheduler):
    """Tasks in levels by the bytes that they have sent, the counterpart of the fluid's ``Tafe``.

    In a level the first task goes first, and of it flow by flow by id (``serial``), the flow with the least left
    (``shortest``), or packets as they arrive (``fair``); or all packets of a level as they arrive (``remaining``, whose
    shares are those of senders). Packets without payload go before all.

    CPUs serve flows one by one as ports do by ``serial``, a task at the level of the last packet that its hosts have
    sent; they look at levels when work begins or ends there, when a flow is delivered, and when a period begins.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,).
        within: One of these.
        first_cpu_path: Row of the path table from which on paths stand for CPUs.
    """

    record_type = _TaskLevels
    reads_tags = True
    order: ClassVar[Order] = Order.RANK

    def __init__(self, thresholds: FloatArray, within: str, first_cpu_path: int) -> None:
        super().__init__()
        self._first_cpu_path = first_cpu_path
        self.num_queues = len(thresholds) + 1
        self.needs_remaining = within == "shortest"
        self._thresholds = thresholds
        self._within = within

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _TaskLevels) -> Arrival:
        """Finds the level by the bytes that the task has sent, and ranks the packet by task and flow."""
        weight, last_seen, new = count_bytes(now, port, p, table, record.messages)
        if is_bare(p, table):
            return Arrival(0, -np.inf, weight, last_seen, new)
        flow = table.flow[p]
        queue = first_within(weight, 0, record.thresholds, 0, record.thresholds.shape[1])
        if port < table.num_senders or table.num_senders == 0:
            record.level[record.task[flow]] = queue
        rank = record.rank[flow]
        if record.per_byte > 0.0:
            rank += record.per_byte * table.remaining[p]
        return Arrival(queue, rank, weight, last_seen, new)

    @staticmethod
    def work_rank(row: int, rank: float, record: _TaskLevels) -> float:
        """Ranks work by the level of its task, and in that as packets are."""
        return record.level[record.task[row]] * float(len(record.rank)) + record.rank[row]  # type: ignore[no-any-return]  # a float

    def new_record(self, traffic: Traffic, num_ports: int) -> _TaskLevels:
        """Ranks tasks by their arrival, and their flows by id."""
        num_flows, key = len(traffic.arrival_time), traffic.key
        came = np.full(num_flows, np.inf)
        np.minimum.at(came, key, traffic.arrival_time)
        by_task = np.lexsort((np.arange(num_flows), key, came[key]))
        flow_rank, task_rank = np.empty((2, num_flows))
        flow_rank[by_task] = np.arange(num_flows)
        task_rank[by_task] = np.cumsum(np.diff(key[by_task], prepend=-1) != 0)
        rank = {"serial": flow_rank, "remaining": np.zeros(num_flows)}.get(self._within, task_rank)
        sizes = np.zeros(0) if traffic.size_of_flow is None else traffic.size_of_flow
        level, flow_level = np.zeros((2, num_flows), dtype=np.int64)
        return _TaskLevels(
            self.new_messages(traffic),
            self._thresholds[np.newaxis].copy(),
            key,
            came,
            level,
            flow_level,
            rank,
            0.5 / float(sizes.max(initial=1.0)) if self.needs_remaining else 0.0,
            self._first_cpu_path,
        )
