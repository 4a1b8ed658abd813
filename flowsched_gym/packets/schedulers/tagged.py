"""Serves packets in the queues that their tags name, as a switch serves what end hosts have tagged."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_choice, check_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.packets.contract import Arrival, PacketTable, Scheduler, Traffic
from flowsched_gym.packets.rules.messages import Sketch, count, place
from flowsched_gym.packets.rules.queues import Service, new_service, next_queue
from flowsched_gym.packets.schedulers.parameters import (
    BUCKETS,
    GAP,
    MOST_QUEUES,
    NUM_QUEUES,
    Dequeue,
    Disorder,
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
        _, weight, last_seen, new = count(now, port, key, table.size[p] - table.header, record.sketch)
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
