"""Tells the agent of a destination what waits there, and in what state the destination is."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.encoders import Column, Encoding, Layout
from flowsched_gym.model.rules.observation import NUM_SLOT_COLUMNS, POSTPONED, fill_full, fill_paper, fill_requirements
from flowsched_gym.simulation import Destination, Simulation
from flowsched_gym.systems.artemis.config import Observation
from flowsched_gym.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND

__all__ = ["SIZE_SCALE", "TIME_SCALE", "ArtemisObservation", "artemis_layout"]

SIZE_SCALE: Final = 300 * BYTES_PER_KILOBYTE
"""Size in B that becomes one half: the mean size of the thesis's flows (section 4.1.2, variant 1)."""
TIME_SCALE: Final = 20 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half: near half the deadlines of the thesis's flows."""

SIZE: Final = Column(name="size", meaning="bytes to deliver", unit="B", encoding=Encoding.SQUASHED, scale=SIZE_SCALE)
DEADLINE_SPAN: Final = Column(
    name="deadline_span",
    meaning="time allowed after arrival",
    unit="s",
    encoding=Encoding.SQUASHED,
    scale=TIME_SCALE,
)

CONTEXT: Final = (
    Column(name="tokens_free", meaning="free tokens over k", unit="1", encoding=Encoding.FRACTION),
    Column(name="active_flows", meaning="tokens held over k", unit="1", encoding=Encoding.FRACTION),
    Column(
        name="bytes_in_flight",
        meaning="bytes that flows with a token have not sent yet",
        unit="B",
        encoding=Encoding.SQUASHED,
        scale=SIZE_SCALE,
    ),
    Column(
        name="queue_length",
        meaning="requests that wait, seen or not; f become one half",
        unit="requests",
        encoding=Encoding.SQUASHED,
    ),
)
SLOT: Final = (
    Column(name="present", meaning="1 if a request waits in the slot", unit="1", encoding=Encoding.FRACTION),
    SIZE,
    DEADLINE_SPAN,
    Column(name="waiting", meaning="time since arrival", unit="s", encoding=Encoding.SQUASHED, scale=TIME_SCALE),
    Column(
        name="time_left",
        meaning="time to the deadline, negative when it has passed",
        unit="s",
        encoding=Encoding.SIGNED,
        scale=TIME_SCALE,
    ),
    Column(
        name="slack",
        meaning="time to the deadline less the time to send at line rate",
        unit="s",
        encoding=Encoding.SIGNED,
        scale=TIME_SCALE,
    ),
    Column(
        name="postponed", meaning="1 if the request was sent to the back once", unit="1", encoding=Encoding.FRACTION
    ),
)


def artemis_layout(observation: Observation, num_slots: int) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        observation: ``paper`` or ``full``.
        num_slots: Visible requests (f), >= 1.
    """
    if observation is Observation.PAPER:
        return Layout(context=(), slot=(SIZE, DEADLINE_SPAN), num_slots=num_slots)
    context = tuple(
        Column(
            name=column.name, meaning=column.meaning, unit=column.unit, encoding=column.encoding, scale=float(num_slots)
        )
        if column.name == "queue_length"
        else column
        for column in CONTEXT
    )
    return Layout(context=context, slot=SLOT, num_slots=num_slots)


class ArtemisObservation:
    """Fills the observations of one episode.

    Args:
        observation: ``paper`` or ``full``.
        layout: Its columns.
        simulation: The episode.
        num_tokens: Tokens of each destination (k).
        line_rate: Capacity of a destination's link in B/s.
    """

    def __init__(
        self,
        observation: Observation,
        layout: Layout,
        simulation: Simulation,
        num_tokens: int,
        line_rate: float,
    ) -> None:
        """Keeps the arrays that the rules read."""
        state, deadline_span = simulation.state, simulation.workload.deadline_span
        assert deadline_span is not None
        self._full = observation is Observation.FULL
        self._size = layout.size
        self._num_slots = layout.num_slots
        self._env = simulation.env
        self._links = simulation.links
        self._num_tokens = num_tokens
        num_flows = len(state.size)
        self.seen = np.zeros((num_flows, NUM_SLOT_COLUMNS), dtype=np.float32)
        send_time, seen_at = np.empty(num_flows), np.empty(num_flows)
        fill_requirements(
            0,
            num_flows,
            state.size,
            deadline_span,
            state.volume,
            line_rate,
            SIZE_SCALE,
            TIME_SCALE,
            send_time,
            seen_at,
            self.seen,
        )
        self._arrays = (
            send_time,
            seen_at,
            self.seen,
            state.arrival_time,
            state.deadline,
            state.remaining,
            state.rate,
            SIZE_SCALE,
            TIME_SCALE,
        )

    def note_postponed(self, row: int) -> None:
        """Shows from now on that a request was sent to the back."""
        self.seen[row, POSTPONED] = 1.0

    def __call__(self, destination: Destination) -> npt.NDArray[np.float32]:
        """Returns what the agent of a destination sees now, a new (size,) float32 array."""
        values = np.empty(self._size, dtype=np.float32)
        if self._full:
            fill_full(
                values,
                0,
                self._num_slots,
                destination.requests,
                destination.head,
                destination.tail,
                destination.active,
                0,
                destination.num_active,
                0,
                0.0,
                self._num_tokens,
                self._env.now,
                self._links.advanced_to,
                self._env.now,
                *self._arrays,
            )
        else:
            fill_paper(
                values,
                0,
                self._num_slots,
                destination.requests,
                destination.head,
                destination.tail,
                self.seen,
            )
        return values
