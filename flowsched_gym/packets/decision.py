"""Decisions in packets, for both engines."""

from typing import Any, NamedTuple

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.decisions import Rows
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.packets.rules.queues import QueueCounts
from flowsched_gym.topology.network import Network


class PacketDecision(NamedTuple):
    """A network of ports that waits for a decision, or whose flows are all over.

    A flow counts as delivered when its last byte has been received; or, where senders are told of losses, when its last
    packet has been acknowledged. Arrays are those of the engine, not copies; see ``fluid.decision.Decision`` for what
    is not named here.

    Attributes:
        completion_time: Absolute times in s at which last bytes were received, (num_flows,), or will be, where their
            packet has left the port; NaN before.
        state: What receivers have of each flow, in bytes on the wire; ``None`` where senders are told of losses.
        controls: Of the paths of flows, the first that each takes; ``None`` likewise.
        network: Links, and paths.
        record: What the scheduler keeps.
        arrival_time: Absolute times in s, (num_flows,).
        capacity: Capacity of the first port in B/s.
        counts: What its queues have had since the last action.
    """

    number: int
    is_due: bool
    now: float
    num_periods: int
    advanced_to: float
    candidates: IntArray
    first_candidate: int
    num_candidates: int
    active: IntArray
    first_active: int
    num_active: int
    host: int
    can_wait: bool
    delivered: IntArray
    first_row: int
    num_flows: int
    num_delivered: int
    completion_time: FloatArray
    state: FlowState | None
    controls: Controls | None
    network: Network | None
    record: Any
    flows: Rows
    episodes: Rows
    arrival_time: FloatArray
    capacity: float
    counts: QueueCounts
