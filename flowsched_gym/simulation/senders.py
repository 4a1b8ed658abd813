"""Models the sending side of a flow: from the permission to send to the last byte sent.

A sender without a window starts at once. One with a window (TCP) sends it as a burst at its share of the links, and
then waits until a round trip has passed since the burst began; where the links are busy for longer than that, it never
waits.
"""

from collections.abc import Callable

from flowsched_gym.model.controls import Controls
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.rules.transport import next_window
from flowsched_gym.model.state import FlowState
from flowsched_gym.model.transport import Transport
from flowsched_gym.simulation.clock import Clock, RowSchedule
from flowsched_gym.simulation.link_sharing import LinkSharing

__all__ = ["Senders"]


class Senders:
    """Starts flows, and opens the windows of those that have one.

    Args:
        clock: Clock of the simulation.
        transport: How a flow sends.
        state: The flows.
        controls: Their controls; windows use ``admitted`` and ``review_at``.
        round_trip: Round-trip time of each flow's path in s.
        links: Link sharing.
        on_started: Receives the rows that begin to send, if wanted.
    """

    def __init__(
        self,
        clock: Clock,
        transport: Transport,
        state: FlowState,
        controls: Controls,
        round_trip: list[float],
        links: LinkSharing,
        *,
        on_started: Callable[[list[int]], None] | None = None,
    ) -> None:
        """Starts with no flow."""
        self._clock = clock
        self._transport = transport
        self._state = state
        self._controls = controls
        self._round_trip = round_trip
        self._links = links
        self._on_started = on_started
        self._handshake = transport.handshake_round_trips
        self._starts = RowSchedule(clock, EventKind.START, self._start)
        self._resumes = RowSchedule(clock, EventKind.RESUME, self._resume)
        self._window: dict[int, float] = {}
        self._round_end: dict[int, float] = {}

    def begin(self, rows: list[int]) -> None:
        """Lets flows begin now, or after their handshake; rows in increasing order."""
        if self._handshake:
            for row in rows:
                self.permit(row, 0.0)
        else:
            self._start(rows)

    def permit(self, row: int, delay: float) -> None:
        """Lets a flow begin ``delay`` seconds from now, plus its handshake."""
        if self._handshake:
            delay += self._handshake * self._round_trip[row]
        self._starts.add(self._clock._now + delay, row)

    def pause_or_go_on(self, rows: list[int]) -> None:
        """Handles flows that have sent their window: the next round begins now or when the round trip has passed."""
        for row in rows:
            if row not in self._round_end:
                continue
            if self._clock._now >= self._round_end[row]:
                self._next_round(row)
            else:
                self._controls.admitted[row] = False
                self._controls.review_at[row] = float("inf")
                self._resumes.add(self._round_end[row], row)

    def waiting(self) -> list[int]:
        """Returns the rows of flows that may begin, but have not yet."""
        return self._starts.pending()

    def forget(self, rows: list[int]) -> None:
        """Drops what was kept of flows that have sent their last byte."""
        if self._transport.has_window:
            for row in rows:
                del self._window[row], self._round_end[row]

    def _start(self, rows: list[int]) -> None:
        """Begins to send."""
        if self._transport.has_window:
            for row in rows:
                self._open(row, self._transport.initial_window)
        self._links.start(rows)
        if self._on_started is not None:
            self._on_started(rows)

    def _resume(self, rows: list[int]) -> None:
        """Begins the next round of flows that waited for it."""
        for row in rows:
            self._controls.admitted[row] = True
            self._next_round(row)
        self._links.request_sharing()

    def _next_round(self, row: int) -> None:
        """Grows the window and opens it."""
        transport = self._transport
        self._open(
            row,
            next_window(self._window[row], transport.exit_window, transport.slow_start_growth, transport.later_growth),
        )

    def _open(self, row: int, window: float) -> None:
        """Opens a window of so many segments from now on."""
        self._window[row] = window
        self._round_end[row] = self._clock._now + self._round_trip[row]
        self._controls.review_at[row] = self._state.attained[row] + window * self._transport.packet
