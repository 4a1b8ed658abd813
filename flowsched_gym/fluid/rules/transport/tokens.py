"""The queue of token requests at a destination (Artemis, section 3.4.1).

The queue is a row of an array between ``head`` and ``tail``; the scheduler sees a window of its oldest requests.
"""

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.machine_code.decorators import inlined_rule


@inlined_rule
def take_request(requests: IntArray, head: int, slot: int) -> int:
    """Removes the request in a slot from the queue, whose new head is ``head + 1``; the others keep their order.

    Args:
        requests: Rows of the waiting flows, at the indices head, head + 1, ...; updated.
        head: Place of the oldest request.
        slot: Which request, counted from the oldest.

    Returns:
        Row of the flow whose request was taken.
    """
    row: int = requests[head + slot]
    for index in range(head + slot, head, -1):
        requests[index] = requests[index - 1]
    return row


@inlined_rule
def send_to_back(requests: IntArray, head: int, tail: int, slot: int) -> int:
    """Moves the request in a slot behind all others; the new queue is head + 1 to tail + 1. Returns its row."""
    row = take_request(requests, head, slot)
    requests[tail] = row
    return row


@inlined_rule
def take_out(rows: IntArray, first: int, count: int, row: int) -> int:
    """Removes a row from ``count`` entries at ``first``, the others keep their order; returns count - 1."""
    last = first + count - 1
    index = first
    while rows[index] != row:
        index += 1
    while index < last:
        rows[index] = rows[index + 1]
        index += 1
    return count - 1
