"""A sender of packets: it waits for acknowledgements, and sends what its window has room for."""

from collections import deque
from collections.abc import Callable

from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.packets.rules.windows import Windows, acknowledge, may_send, note_sent, time_out
from flowsched_gym.packets.state import PacketEventKind


class Sender:
    """The sender of one flow.

    Args:
        env: Environment of the simulation.
        row: The flow.
        packets: Its packets.
        windows: Windows of all senders.
        send: Called with a packet, it sends it to the port.
        on_end: Called with the flow when all of its packets have been acknowledged.
    """

    def __init__(
        self,
        env: NetworkEnvironment,
        row: int,
        packets: range,
        windows: Windows,
        *,
        send: Callable[[int], None],
        on_end: Callable[[int], None],
    ) -> None:
        self._env = env
        self._row = row
        self._windows = windows
        self._send = send
        self._on_end = on_end
        self._unsent = iter(packets)
        self._num_unsent = len(packets)
        self._num_left = len(packets)
        self._lost: deque[int] = deque()
        self._news: Event
        env.process(self._run())

    def expect_acknowledgement(self, time: float, *, marked: bool) -> None:
        """Lets an acknowledgement arrive at this time."""
        arrival = self._env.at(time, PacketEventKind.ACKNOWLEDGEMENT)
        arrival.callbacks.append(lambda _: self._acknowledge(marked))

    def expect_timeout(self, time: float, p: int) -> None:
        """Lets the sender notice at this time that a packet is lost."""
        self._env.at(time, PacketEventKind.TIMEOUT).callbacks.append(lambda _: self._time_out(p))

    def _run(self) -> ProcessGenerator:
        """Sends all packets, and those again that were lost."""
        while True:
            while (self._lost or self._num_unsent) and may_send(self._row, self._windows):
                note_sent(self._row, self._windows)
                self._send(self._next())
            if not self._num_left:
                return
            self._news = Event(self._env)
            yield self._news

    def _next(self) -> int:
        if self._lost:
            return self._lost.popleft()
        self._num_unsent -= 1
        return next(self._unsent)

    def _acknowledge(self, marked: bool) -> None:
        self._num_left -= 1
        acknowledge(self._env.now, self._row, marked, self._windows)
        if not self._num_left:
            self._on_end(self._row)
        self._news.succeed()

    def _time_out(self, p: int) -> None:
        self._lost.append(p)
        time_out(self._env.now, self._row, self._windows)
        self._news.succeed()
