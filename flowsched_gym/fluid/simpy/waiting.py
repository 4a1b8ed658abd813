"""What flows wait for before they send: the tokens of a destination, and other flows."""

from collections.abc import Callable

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid.rules.transport.senders import send_to_back, take_out, take_request
from flowsched_gym.fluid.stages import NOBODY, Stages, barrier_opens, stops_waiting, waits_at_barrier
from flowsched_gym.fluid.state import EventKind


class Destination:
    """A receiving host of Artemis as a resource: its tokens, and the requests that an agent grants (section 3.4.1).

    Args:
        num_tokens: Flows that may be active at once (k).
        token_time: Time in s from a grant until each flow can send, by row.
        on_change: Called when a request arrives, or a token is free again.

    Attributes:
        expected: Requests that have not arrived yet.
        requests: Rows of the flows that wait, oldest first, from index ``head`` to before ``tail``.
        active: Rows of the flows that hold a token, (num_tokens,) or, if that is less, (num_requests,), in its first
            ``num_active`` entries.
        held: True while the scheduler waits for the next event.
    """

    def __init__(
        self,
        env: NetworkEnvironment,
        host: int,
        num_tokens: int,
        num_requests: int,
        token_time: list[float],
        *,
        on_change: Callable[[], None],
    ) -> None:
        self._env = env
        self._token_time = token_time
        self._on_change = on_change
        self._granted: dict[int, Event] = {}
        self.host = host
        self.tokens = num_tokens
        self.expected = num_requests
        # Twice the length that the queue can have, so that it seldom reaches the end and is moved to the front.
        self.requests: IntArray = np.zeros(2 * num_requests, dtype=np.int64)
        self.head = 0
        self.tail = 0
        self.active: IntArray = np.zeros(min(num_tokens, num_requests), dtype=np.int64)
        self.num_active = 0
        self.held = False

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return self.tail - self.head

    @property
    def asks(self) -> bool:
        """Whether a decision is due: a token is free, a request waits, and the scheduler does not wait itself."""
        return self.tokens > 0 and self.tail > self.head and not self.held

    @property
    def can_wait(self) -> bool:
        """Whether something will happen here if nothing is granted."""
        return self.num_active > 0 or self.expected > 0

    def request(self, row: int) -> Event:
        """Queues the request of a flow; the event happens when it has its token and can send."""
        if self.tail == len(self.requests):
            self._move_to_front()
        self.requests[self.tail] = row
        self.tail += 1
        self.expected -= 1
        self.held = False
        self._on_change()
        event = self._granted[row] = Event(self._env)
        return event

    def grant(self, slot: int) -> int:
        """Sends a token to the request in a slot; returns its row."""
        row = take_request(self.requests, self.head, slot)
        self.head += 1
        self.tokens -= 1
        self.active[self.num_active] = row
        self.num_active += 1
        env = self._env
        env.at(env.now + self._token_time[row], EventKind.START, row, self._granted.pop(row))
        return row

    def postpone(self, slot: int) -> int:
        """Sends the request in a slot to the back of the queue; returns its row."""
        if self.tail == len(self.requests):
            self._move_to_front()
        row = send_to_back(self.requests, self.head, self.tail, slot)
        self.head += 1
        self.tail += 1
        return row

    def release(self, row: int) -> None:
        """Takes back the token of a flow that has been delivered."""
        self.num_active = take_out(self.active, 0, self.num_active, row)
        self.tokens += 1
        self.held = False
        self._on_change()

    def _move_to_front(self) -> None:
        waiting = self.num_waiting
        self.requests[:waiting] = self.requests[self.head : self.tail].copy()
        self.head, self.tail = 0, waiting


class Turns:
    """Hands out the events at which flows go on to their next stage, all of one instant in the order of their rows."""

    def __init__(self, env: NetworkEnvironment, stages: Stages) -> None:
        self._env = env
        self._stages = stages
        self._waiting: dict[int, Event] = {}

    def to_begin(self, row: int) -> Event:
        """Takes in a flow that arrives; its event happens when all flows that it comes after have finished."""
        event = self._waiting[row] = Event(self._env)
        self._count_down(row)
        return event

    def finish(self, row: int) -> None:
        """Lets the flows that come after this one begin, if they wait for no other."""
        stages = self._stages
        for index in range(stages.first_follower[row], stages.first_follower[row + 1]):
            self._count_down(int(stages.followers[index]))

    def to_send(self, row: int) -> Event:
        """Takes in a flow whose CPU work is done; its event happens when its barrier opens."""
        event = self._waiting[row] = Event(self._env)
        if barrier_opens(row, 0, self._stages):
            member = int(self._stages.group[row])
            while member != NOBODY:
                if waits_at_barrier(row, member, self._stages):
                    self._start(member)
                member = int(self._stages.next_in_group[member])
        return event

    def _count_down(self, row: int) -> None:
        if stops_waiting(row, self._stages):
            self._start(row)

    def _start(self, row: int) -> None:
        self._env.at(self._env.now, EventKind.START, row, self._waiting.pop(row))
