"""Serves packets in the queues, or by the ranks, that their tags name, as a switch serves what hosts have tagged."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_choice, check_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.packets.contract import Arrival, Order, PacketTable, Scheduler, Traffic
from flowsched_gym.packets.rules.messages import Messages, Sketch, count, count_bytes, is_bare, payload_of, place
from flowsched_gym.packets.rules.queues import Service, new_service, next_queue
from flowsched_gym.packets.schedulers.parameters import (
    BUCKETS,
    GAP,
    MOST_QUEUES,
    NUM_QUEUES,
    Dequeue,
    Disorder,
    MessageScheduler,
    Pairs,
    SketchParameters,
    check_integer,
    check_quanta,
)


class _Tags(NamedTuple):
    """The queue that each packet wants, or ``by_flow`` those of each flow, (num_packets or num_flows,) int64."""

    wanted: IntArray
    by_flow: bool
    sketch: Sketch
    service: Service


class Tagged(Scheduler):
    """Queues by tag, with or without the avoidance of disorder (QCluster, section 3.5).

    Args:
        tags: Wanted queue of each packet, or in a replay of each flow, whole numbers from 0 to ``queues - 1``.
        queues: Number of queues.
        dequeue: ``sp``, ``wrr`` or ``drr``: see ``Pias``.
        weights: Packets or bytes of each queue in a round: see ``Pias``.
        arrays: Arrays of the sketch; see ``SketchParameters`` for it and what follows.
        buckets: Buckets of each array.
        hash: Pairs (A, B) of each array.
        message_gap: Silence in s after which a message begins.
        flowlet_gap: Silence in s after which a flowlet begins.
        conservative: Whether only the smallest counts of a packet are raised.
        disorder: ``none``, ``las`` or ``fq``.
    """

    record_type = _Tags

    def __init__(
        self,
        tags: Sequence[int] | IntArray,
        queues: int = NUM_QUEUES,
        dequeue: str = Dequeue.SP,
        weights: Sequence[float] | None = None,
        arrays: int | None = None,
        buckets: int = BUCKETS,
        hash: Pairs | None = None,
        message_gap: float | None = GAP,
        flowlet_gap: float | None = GAP,
        conservative: bool = False,
        disorder: str = Disorder.NONE,
    ) -> None:
        self.num_queues = check_integer("queues", queues, at_least=1, at_most=MOST_QUEUES)
        numbers = check_numbers("tags", tags, at_least=0)
        if not ((numbers < self.num_queues) & (np.floor(numbers) == numbers)).all():
            raise ConfigError(f"tags is {shown(tags)}: each must be a whole number from 0 to {self.num_queues - 1}")
        self._tags = numbers.astype(np.int64)
        self._dequeue = check_choice("dequeue", dequeue, Dequeue)
        self._quanta = check_quanta(weights, self._dequeue, self.num_queues)
        self._sketch = SketchParameters(arrays, buckets, hash, message_gap, flowlet_gap, conservative, disorder)
        self.sketch_bytes = self._sketch.num_bytes

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Tags) -> Arrival:
        """Finds the queue by the tag, and by the flowlet."""
        key, named = table.key[table.flow[p]], table.flow[p] if record.by_flow else p
        _, weight, last_seen, new = count(now, port, key, payload_of(p, table), record.sketch)
        queue = place(now, port, key, record.wanted[named], record.sketch)
        return Arrival(queue, 0.0, weight, last_seen, new)

    @staticmethod
    def choose(port: int, head_size: FloatArray, record: _Tags) -> int:
        """Returns the queue whose turn it is."""
        return next_queue(port, head_size, record.service)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Tags:
        """Gives each packet its tag.

        Raises:
            ConfigError: There are not as many tags as packets, or flows.
        """
        tags, per_flow = self._tags, traffic.packets_of_flow
        needed, what = (traffic.num_packets, "packets") if per_flow is None else (len(per_flow), "flows")
        if len(tags) != needed:
            raise ConfigError(f"tags has {len(tags)} entries: it must have one for each of {needed} {what}")
        return _Tags(
            tags,
            per_flow is not None,
            self._sketch.new_sketch(traffic, num_ports),
            new_service(self._dequeue.way, self._quanta, num_ports),
        )


class RankKind(StrEnum):
    """Ranks that flows have of themselves."""

    SIZE = "size"
    DEADLINE = "deadline"


class _Ranks(NamedTuple):
    """The rank of each flow, (num_flows,) float64, and the bytes sent."""

    rank: FloatArray
    messages: Messages


class Ranked(MessageScheduler):
    """The flow with the smallest tag first, and of that flow the packet that arrived first; tags do not change.

    Packets without payload, such as acknowledgements, go before all.

    By size it is the counterpart of the fluid's ``psjf``, by deadline that of ``edf``. Completion times of a replay in
    the fluid are ranks too: so any of its orders, MERP's for instance, is played in packets. A full buffer drops the
    packet of the largest rank, the last one of these.

    Args:
        ranks: ``size``, ``deadline``, or a number for each flow, (num_flows,), smaller first.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    record_type = _Ranks
    order = Order.FLOW

    def __init__(
        self, ranks: str | Sequence[float] | FloatArray = RankKind.SIZE, message_gap: float | None = None
    ) -> None:
        is_named = isinstance(ranks, str)
        self._kind = check_choice("ranks", ranks, RankKind) if is_named else None
        self._ranks = np.zeros(0) if is_named else check_numbers("ranks", ranks)
        super().__init__(message_gap)

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Ranks) -> Arrival:
        """Ranks the packet by its flow."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        rank = -np.inf if is_bare(p, table) else record.rank[table.flow[p]]
        return Arrival(0, rank, rank, last_seen, new)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Ranks:
        """Gives each flow its rank.

        Raises:
            ConfigError: There are not as many ranks as flows, or packets are given, whose flows have no size.
        """
        ranks = traffic.due if self._kind is RankKind.DEADLINE else self._ranks
        if self._kind is RankKind.SIZE:
            if traffic.size_of_flow is None:
                raise ConfigError("ranks is 'size': flows of packets that are given have none, so give numbers")
            ranks = traffic.size_of_flow
        if len(ranks) != len(traffic.due):
            raise ConfigError(f"ranks has {len(ranks)} entries: it must have one for each of {len(traffic.due)} flows")
        return _Ranks(ranks, self.new_messages(traffic))
