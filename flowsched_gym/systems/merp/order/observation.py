"""The columns that an agent sees that orders flows; ``rules.OrderRules.observe`` fills them."""

from typing import Final

from flowsched_gym.envs.columns import Column, Encoding, Layout
from flowsched_gym.systems.merp.order.rules import RATIO_SCALE, SIZE_SCALE, TIME_SCALE

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
        meaning="largest slowdown of the flows that have been rewarded, 0 before the first",
        unit="1",
        encoding=Encoding.SQUASHED,
        scale=RATIO_SCALE,
    ),
    Column(
        name="max_slowdown_so_far",
        meaning="largest slowdown so far among active flows",
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
