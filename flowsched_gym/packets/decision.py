"""Decisions in packets, for both engines."""

from typing import Any, NamedTuple

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.flows.decisions import DecisionKind, OrderDecision, PathDecision, Rows
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.rules.queues import QueueCounts
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import Routes

Pending = OrderDecision | PathDecision | PeriodDecision | None


class PacketDecision(NamedTuple):
    """A network of ports that waits for a decision, or whose flows are all over.

    A flow counts as delivered when its last byte has been received. Arrays are those of the engine, not copies; see
    ``fluid.decision.Decision`` for what is not named here.

    Attributes:
        completion_time: Absolute times in s at which last bytes were received, (num_flows,), or will be, where their
            packet has left the port; NaN before.
        state: What receivers have of each flow, in bytes on the wire.
        controls: Of the paths of flows, the first that each takes.
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
    state: FlowState
    controls: Controls
    network: Network
    routes: Routes | None
    record: Any
    record_number: int
    flows: Rows
    episodes: Rows
    arrival_time: FloatArray
    capacity: float
    counts: QueueCounts


@inlined_part
def show_rates(now: float, active: IntArray, first: int, count: int, state: FlowState) -> None:
    """Writes the rates of active flows: the mean of each since its arrival, in B/s, of what its receiver has."""
    for index in range(first, first + count):
        row = active[index]
        elapsed = now - state.arrival_time[row]
        state.rate[row] = state.attained[row] / elapsed if elapsed > 0.0 else 0.0


def pending_of(decision: PacketDecision, asks: DecisionKind) -> Pending:
    """Returns what waits for a decision of a kind, as the fluid has it."""
    first, routes = decision.first_candidate, decision.routes
    rows = decision.candidates[first : first + decision.num_candidates]
    if not decision.is_due or asks is DecisionKind.NOTHING:
        return None
    if asks is DecisionKind.PERIOD:
        return PeriodDecision(decision.num_periods - 1)
    if asks is DecisionKind.ORDER:
        return OrderDecision(rows.copy())
    assert routes is not None
    return PathDecision(int(rows[0]), int(routes.first[rows[0]]), int(routes.last[rows[0]]))
