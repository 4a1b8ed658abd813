"""The tokens of a destination, and the requests that wait for them (Artemis, section 3.4.1), in both worlds.

A destination ``d`` has the fields of ``DESTINATION``: a row of that type in machine code, a ``Destination`` in SimPy.
Its queue is a row of an array ``requests`` between ``head`` and ``tail``; the scheduler sees a window of the oldest.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.flows.decisions import Order
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.decorators import inlined_part

AnyIntArray = npt.NDArray[np.integer[Any]]
"""Rows of either engine: int64, or as the compiled one keeps them."""

DESTINATION: Final = np.dtype(
    [
        ("host", "i8"),
        ("tokens", "i8"),  # free tokens
        ("expected", "i8"),  # requests that have not arrived yet
        ("queue", "i8"),  # first index of its queue
        ("head", "i8"),  # index of the oldest request
        ("tail", "i8"),  # index behind the youngest request
        ("queue_end", "i8"),  # index behind its queue
        ("first_holder", "i8"),  # index of the first flow that holds a token
        ("num_holders", "i8"),  # tokens held
        ("held", "?"),  # whether the scheduler waits for the next event
    ],
    align=True,
)
"""State of a receiving host."""


@inlined_part
def open_destination(d: Any, host: int, num_tokens: int, num_requests: int, queue: int, first_holder: int) -> None:
    """Gives a host its tokens, and a queue from index ``queue`` on.

    That has twice the length that is needed, so that it seldom reaches the end and is moved to the front.
    """
    d.host = host
    d.tokens = num_tokens
    d.expected = num_requests
    d.queue = queue
    d.head = queue
    d.tail = queue
    d.queue_end = queue + 2 * num_requests
    d.first_holder = first_holder
    d.num_holders = 0
    d.held = False


@inlined_part
def asks_for_decision(d: Any) -> bool:
    """Returns whether a token is free, a request waits, and the scheduler does not wait itself."""
    asks: bool = d.tokens > 0 and d.tail > d.head and not d.held
    return asks


@inlined_part
def queue_request(d: Any, row: int, requests: AnyIntArray) -> None:
    """Queues the request of a flow."""
    _make_room(d, requests)
    requests[d.tail] = row
    d.tail += 1
    d.expected -= 1
    d.held = False


@inlined_part
def grant_token(d: Any, slot: int, requests: AnyIntArray, holders: AnyIntArray) -> int:
    """Gives a token to the request in a slot, counted from the oldest; returns its row."""
    row = _take_request(d, slot, requests)
    d.tokens -= 1
    holders[d.first_holder + d.num_holders] = row
    d.num_holders += 1
    return row


@inlined_part
def postpone_request(d: Any, slot: int, requests: AnyIntArray) -> int:
    """Moves the request in a slot behind all others; returns its row."""
    _make_room(d, requests)
    row = _take_request(d, slot, requests)
    requests[d.tail] = row
    d.tail += 1
    return row


@inlined_part
def return_token(d: Any, row: int, holders: AnyIntArray) -> None:
    """Takes back the token of a flow; the other holders keep their order."""
    last = d.first_holder + d.num_holders - 1
    index = d.first_holder
    while holders[index] != row:
        index += 1
    while index < last:
        holders[index] = holders[index + 1]
        index += 1
    d.num_holders -= 1
    d.tokens += 1
    d.held = False


@inlined_part
def _take_request(d: Any, slot: int, requests: AnyIntArray) -> int:
    """Removes the request in a slot from the queue, whose others keep their order behind the new head."""
    row: int = requests[d.head + slot]
    for index in range(d.head + slot, d.head, -1):
        requests[index] = requests[index - 1]
    d.head += 1
    return row


@inlined_part
def _make_room(d: Any, requests: AnyIntArray) -> None:
    """Makes room behind the queue, where it has reached the end."""
    if d.tail == d.queue_end:
        waiting = d.tail - d.head
        for index in range(waiting):
            requests[d.queue + index] = requests[d.head + index]
        d.head = d.queue
        d.tail = d.queue + waiting


class Destination:
    """A receiving host in SimPy.

    Args:
        host: Its number.
        num_tokens: Flows that may be active at once (k).
        num_requests: Requests that will come.

    Attributes:
        requests: Rows of the flows that wait, oldest first, from index ``head`` to before ``tail``.
        active: Rows of the flows that hold a token, in its first ``num_active`` entries.
        held: True while the scheduler waits for the next event.
    """

    host: int
    tokens: int
    expected: int
    queue: int
    head: int
    tail: int
    queue_end: int
    first_holder: int
    num_holders: int
    held: bool

    def __init__(self, host: int, num_tokens: int, num_requests: int) -> None:
        open_destination(self, host, num_tokens, num_requests, 0, 0)
        self.requests = np.zeros(2 * num_requests, dtype=np.int64)
        self.active = np.zeros(min(num_tokens, num_requests), dtype=np.int64)

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return self.tail - self.head

    @property
    def num_active(self) -> int:
        """Flows that hold a token."""
        return self.num_holders

    @property
    def asks(self) -> bool:
        """Whether a decision is due."""
        return asks_for_decision(self)

    @property
    def can_wait(self) -> bool:
        """Whether something will happen here if nothing is granted."""
        return self.num_holders > 0 or self.expected > 0

    def request(self, row: int) -> None:
        """Queues the request of a flow."""
        queue_request(self, row, self.requests)

    def grant(self, slot: int) -> int:
        """Gives a token to the request in a slot; returns its row."""
        return int(grant_token(self, slot, self.requests, self.active))

    def carry_out(self, order: int, slot: int) -> int:
        """Carries out an ``Order`` about tokens, and refuses another; returns the row that it grants, or -1."""
        if order not in (Order.GRANT, Order.POSTPONE, Order.WAIT):
            raise SimulationError(f"order is {Order(order).name}: a destination grants, postpones or waits")
        if not 0 <= slot < self.num_waiting:
            raise SimulationError(f"slot is {slot}: requests wait in the slots 0 to {self.num_waiting - 1}")
        if order == Order.GRANT:
            return self.grant(slot)
        if order == Order.POSTPONE:
            self.postpone(slot)
        else:
            self.held = True
        return -1

    def postpone(self, slot: int) -> int:
        """Sends the request in a slot to the back of the queue; returns its row."""
        return int(postpone_request(self, slot, self.requests))

    def release(self, row: int) -> None:
        """Takes back the token of a flow that has been delivered."""
        return_token(self, row, self.active)


def open_destinations(flows: Workload, num_tokens: int) -> dict[int, Destination]:
    """Opens the destinations of flows, by host number."""
    hosts, counts = np.unique(flows.destination, return_counts=True)
    requests = zip(hosts.tolist(), counts.tolist(), strict=True)
    return {host: Destination(host, num_tokens, count) for host, count in requests}


class Requests(NamedTuple):
    """What a ``Destination`` shows, of one in machine code."""

    host: int
    tokens: int
    expected: int
    requests: IntArray
    head: int
    tail: int
    active: IntArray
    num_active: int

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return self.tail - self.head


def requests_of(d: Any, requests: AnyIntArray, holders: AnyIntArray, first_row: int = 0) -> Requests:
    """Copies what a row of ``DESTINATION`` shows, flows counted from ``first_row``."""
    waiting = requests[d["head"] : d["tail"]].astype(np.int64) - first_row
    active = holders[d["first_holder"] : d["first_holder"] + d["num_holders"]].astype(np.int64) - first_row
    host, tokens, expected = int(d["host"]), int(d["tokens"]), int(d["expected"])
    return Requests(host, tokens, expected, waiting, 0, len(waiting), active, len(active))
