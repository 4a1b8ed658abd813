"""Shares the links among the flows that send, and tells when one of them finishes.

Link sharing is the one writer of rates, attained and remaining bytes. Between two events the rates are constant, so it
needs no steps of time: it wakes when the next flow finishes or reaches a level that somebody watches.
"""

from collections.abc import Callable

import numpy as np
from simpy import Event

from flowsched_gym.model.controls import Controls
from flowsched_gym.model.discipline import Discipline
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.rules.filling import BLOCK, CROSSING, LINK, SHARER
from flowsched_gym.model.rules.progress import advance, next_event_time
from flowsched_gym.model.rules.sharing import share_links
from flowsched_gym.model.state import FlowState, Network, longest_path
from flowsched_gym.simulation.clock import Clock
from flowsched_gym.simulation.paths import Paths

__all__ = ["LinkSharing"]


class LinkSharing:
    """Moves the flows that send.

    Args:
        clock: Clock of the simulation.
        state: The flows; rates and bytes are written here.
        controls: How each flow may use the network.
        network: Links and paths.
        discipline: Fills the controls.
        on_finished: Receives the rows that have sent their last byte at one instant, in increasing order.
        on_crossed: Receives the rows that have reached ``review_at``, in increasing order.
        paths: Who chooses paths, where they can change.

    Attributes:
        live: Rows of the flows that send, in its first ``count`` places.
        count: Number of flows that send.
        settled_at: Time in s up to which attained and remaining bytes are known; rates are constant since.
    """

    def __init__(
        self,
        clock: Clock,
        state: FlowState,
        controls: Controls,
        network: Network,
        discipline: Discipline,
        *,
        on_finished: Callable[[list[int]], None],
        on_crossed: Callable[[list[int]], None],
        paths: Paths | None = None,
    ) -> None:
        """Starts with no flow."""
        num_flows, num_links = len(state.size), len(network.capacity)
        self._clock = clock
        self._discipline = discipline
        self._on_finished = on_finished
        self._on_crossed = on_crossed
        self._paths = paths
        self._capacity = network.capacity
        self._data_capacity = network.capacity * discipline.data_share
        self.live = np.zeros(num_flows, dtype=np.int64)
        self.count = 0
        self._served = np.zeros(num_flows, dtype=np.int64)
        self._num_served = 0
        self.settled_at = 0.0
        self._wake: Event | None = None
        self._sharing_due = False
        self._finished = np.zeros(num_flows, dtype=np.int64)
        self._crossed = np.zeros(num_flows, dtype=np.int64)
        progress = (state.attained, state.remaining, state.rate, controls.review_at)
        self._advance_arrays = (state.volume, *progress, self._finished, self._crossed)
        self._next_arrays = progress
        self._share_arrays = (
            controls.admitted,
            controls.priority,
            controls.weight,
            controls.rate_cap,
            controls.path,
            self._data_capacity,
            network.path_start,
            network.path_links,
            state.rate,
            np.zeros(num_links),
            np.zeros(num_links, dtype=LINK),
            np.zeros(num_flows, dtype=SHARER),
            np.zeros(num_flows * longest_path(network), dtype=CROSSING),
            np.zeros(num_flows, dtype=BLOCK),
            self._served,
        )

    def start(self, rows: list[int]) -> None:
        """Lets flows send from now on."""
        self.settle()
        for row in rows:
            self.live[self.count] = row
            self.count += 1
        self.request_sharing()

    def set_capacity(self, link: int, capacity: float) -> None:
        """Sets the capacity of a link from now on, in B/s; 0 where it has failed."""
        self.settle()
        self._capacity[link] = capacity
        self._data_capacity[link] = capacity * self._discipline.data_share
        self.request_sharing()

    def request_sharing(self) -> None:
        """Asks for new rates at the end of this instant."""
        if not self._sharing_due:
            self._sharing_due = True
            self._clock.at(self._clock._now, EventKind.SHARING, self._share)

    def settle(self) -> None:
        """Lets the flows send up to now, and reports those that finish or cross."""
        now = self._clock._now
        elapsed = now - self.settled_at
        if elapsed == 0.0:
            return
        self.settled_at = now
        if self.count == 0:
            return
        self.count, num_finished, num_crossed = advance(
            now, elapsed, self.live, self.count, self._served, self._num_served, *self._advance_arrays
        )
        if num_finished:
            self._on_finished(self._finished[:num_finished].tolist())
        if num_crossed:
            self._on_crossed(self._crossed[:num_crossed].tolist())
        if num_finished or num_crossed:
            self.request_sharing()

    def _on_wake(self, event: Event) -> None:
        """Reports what happens at the time that was foreseen; a forecast that no longer holds is passed over."""
        if event is self._wake:
            self.settle()
            self.request_sharing()

    def _share(self, _: Event) -> None:
        """Sets the rates, and foresees the next event."""
        self.settle()
        self._sharing_due = False
        now, count = self._clock._now, self.count
        self._wake = None
        if count == 0:
            self._num_served = 0
            return
        if self._paths is not None:
            self._paths.review(now, self.live, count)
        self._discipline.control(now, self.live, count)
        self._num_served = share_links(self.live, count, *self._share_arrays, self._num_served)
        if self._paths is not None:
            self._paths.note_quiet(now, self.live, count)
        review_time = self._discipline.review_time(now, self.live, count)
        time = next_event_time(now, self._served, self._num_served, *self._next_arrays, review_time)
        if time < np.inf:
            self._wake = self._clock.at(time, EventKind.COMPLETION, self._on_wake)
