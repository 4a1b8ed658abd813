"""Reads an action that names the slot of the flow that goes first."""

from typing import Final

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.fluid.decision import Decision, Order
from flowsched_gym.machine_code.decorators import inlined_part

SERVE_FIRST: Final = int(Order.SERVE_FIRST)


@inlined_part
def serve_slot(decision: Decision, action: int) -> tuple[int, int, bool]:
    """Serves the flow in a slot first; an empty slot stands for the flow that has waited longest."""
    if action < decision.num_candidates:
        return SERVE_FIRST, action, False
    return SERVE_FIRST, 0, action >= max(decision.num_candidates, 1)


@inlined_part
def mask_slots(decision: Decision, num_slots: int, mask: BoolArray) -> None:
    """Writes which slots hold a flow; at the end, the first."""
    for slot in range(num_slots):
        mask[slot] = slot < max(decision.num_candidates, 1)
