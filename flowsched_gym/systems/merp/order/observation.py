"""Tells the agent which flows compete, and in what state their links are."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.encoders import Column, Encoding, Layout
from flowsched_gym.model.questions import OrderQuestion
from flowsched_gym.model.rules.contenders import fill_contest
from flowsched_gym.simulation import Simulation
from flowsched_gym.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND

__all__ = ["NOBODY", "RATIO_SCALE", "SIZE_SCALE", "TIME_SCALE", "OrderObservation", "order_layout"]

SIZE_SCALE: Final = 1500 * BYTES_PER_KILOBYTE
"""Size in B that becomes one half: the mean size of MERP's flows (section 6.1.1)."""
TIME_SCALE: Final = 20 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half: a flow of that size takes 12 ms alone at 1 Gbps."""
RATIO_SCALE: Final = 5.0
"""Slowdown that becomes one half."""

NOBODY: Final = np.zeros(0, dtype=np.int64)

CONTEXT: Final = (
    Column(
        name="competing",
        meaning="flows that compete, seen or not; f become one half",
        unit="flows",
        encoding=Encoding.SQUASHED,
    ),
    Column(
        name="live",
        meaning="flows that have not sent their last byte; f become one half",
        unit="flows",
        encoding=Encoding.SQUASHED,
    ),
    Column(
        name="backlog",
        meaning="bytes left on the most loaded link of the competing flows",
        unit="B",
        encoding=Encoding.SQUASHED,
        scale=SIZE_SCALE,
    ),
    Column(
        name="max_slowdown",
        meaning="largest slowdown of the flows that have been paid for, 0 before the first",
        unit="1",
        encoding=Encoding.SQUASHED,
        scale=RATIO_SCALE,
    ),
    Column(
        name="max_slowdown_so_far",
        meaning="largest slowdown so far among live flows",
        unit="1",
        encoding=Encoding.SQUASHED,
        scale=RATIO_SCALE,
    ),
)
SLOT: Final = (
    Column(name="present", meaning="1 if a flow competes in the slot", unit="1", encoding=Encoding.FRACTION),
    Column(name="size", meaning="bytes to deliver", unit="B", encoding=Encoding.SQUASHED, scale=SIZE_SCALE),
    Column(name="remaining", meaning="bytes left to send", unit="B", encoding=Encoding.SQUASHED, scale=SIZE_SCALE),
    Column(name="waiting", meaning="time since arrival", unit="s", encoding=Encoding.SQUASHED, scale=TIME_SCALE),
    Column(
        name="ideal_fct",
        meaning="flow completion time alone on the empty network",
        unit="s",
        encoding=Encoding.SQUASHED,
        scale=TIME_SCALE,
    ),
    Column(
        name="slowdown_so_far",
        meaning="time since arrival over the ideal flow completion time",
        unit="1",
        encoding=Encoding.SQUASHED,
        scale=RATIO_SCALE,
    ),
    Column(
        name="slowdown_if_last",
        meaning="slowdown if served last on its most loaded link, delays left out",
        unit="1",
        encoding=Encoding.SQUASHED,
        scale=RATIO_SCALE,
    ),
)


def order_layout(num_slots: int) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        num_slots: Visible flows (f), >= 1.
    """
    counts = tuple(
        Column(
            name=column.name, meaning=column.meaning, unit=column.unit, encoding=column.encoding, scale=float(num_slots)
        )
        for column in CONTEXT
        if column.unit == "flows"
    )
    return Layout(context=(*counts, *CONTEXT[len(counts) :]), slot=SLOT, num_slots=num_slots)


class OrderObservation:
    """Fills the observations of one episode.

    Args:
        layout: The columns.
        simulation: The episode.
        ideal_fct: Flow completion times in s alone on the empty network, (num_flows,).
    """

    def __init__(self, layout: Layout, simulation: Simulation, ideal_fct: npt.NDArray[np.float64]) -> None:
        """Keeps the arrays that the rule reads."""
        state, network = simulation.state, simulation.topology.network
        self._size = layout.size
        self._num_slots = layout.num_slots
        self._env = simulation.env
        self._links = simulation.links
        self._arrays = (
            state.size,
            state.arrival_time,
            state.remaining,
            ideal_fct,
            simulation.controls.path,
            *network,
            np.zeros(len(network.capacity)),
        )

    def __call__(self, question: OrderQuestion | None, largest_finished: float) -> npt.NDArray[np.float32]:
        """Returns what the agent sees now, a new (size,) float32 array; empty slots where nothing is asked."""
        values = np.empty(self._size, dtype=np.float32)
        rows = NOBODY if question is None else question.rows
        links = self._links
        fill_contest(
            values,
            0,
            self._num_slots,
            rows,
            0,
            len(rows),
            links.active,
            0,
            links.num_active,
            self._env.now,
            *self._arrays,
            largest_finished,
            SIZE_SCALE,
            TIME_SCALE,
            RATIO_SCALE,
        )
        return values
