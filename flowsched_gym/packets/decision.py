"""Decisions at a port of packets, for both engines."""

from typing import Any, NamedTuple

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.decisions import Rows
from flowsched_gym.packets.rules.queues import QueueCounts


class PacketDecision(NamedTuple):
    """A port that waits for a decision, or whose flows have all been acknowledged.

    A flow counts as delivered when its sender knows: when its last packet has been acknowledged. Arrays are those of
    the engine, not copies; see ``fluid.decision.Decision`` for what is not named here.

    Attributes:
        capacity: Capacity of the port in B/s.
        completion_time: Absolute times in s of deliveries, (num_flows,); NaN before the last packet has left the port.
        arrival_time: Absolute times in s, (num_flows,).
        record: What the scheduler keeps.
        counts: What its queues have had since the last action.
    """

    number: int
    is_due: bool
    now: float
    num_periods: int
    host: int
    capacity: float
    delivered: IntArray
    first_row: int
    num_flows: int
    num_delivered: int
    completion_time: FloatArray
    arrival_time: FloatArray
    record: Any
    counts: QueueCounts
    flows: Rows
    episodes: Rows
