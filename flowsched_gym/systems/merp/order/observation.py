"""The columns that an agent sees that orders flows; ``rules.OrderRules.observe`` fills them."""

from typing import Final

from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.systems.merp.order.rules import RATIO_SCALE, SIZE_SCALE, TIME_SCALE

SLOT: Final = (
    Column.fraction("present", "1 if a flow competes in the slot"),
    Column.squashed("size", "bytes to deliver", "B", SIZE_SCALE),
    Column.squashed("remaining", "bytes left to send", "B", SIZE_SCALE),
    Column.squashed("waiting", "time since arrival", "s", TIME_SCALE),
    Column.squashed("ideal_fct", "flow completion time alone on the empty network", "s", TIME_SCALE),
    Column.squashed("slowdown_so_far", "time since arrival over the ideal flow completion time", "1", RATIO_SCALE),
    Column.squashed(
        "slowdown_if_last", "slowdown if served last on its most loaded link, delays left out", "1", RATIO_SCALE
    ),
)


def order_layout(num_slots: int) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        num_slots: Visible flows (f), >= 1.
    """
    f = float(num_slots)
    context = (
        Column.squashed("competing", "flows that compete, seen or not; f become one half", "flows", f),
        Column.squashed("live", "flows that have not sent their last byte; f become one half", "flows", f),
        Column.squashed("backlog", "bytes left on the most loaded link of the competing flows", "B", SIZE_SCALE),
        Column.squashed(
            "max_slowdown",
            "largest slowdown of the flows that have been rewarded, 0 before the first",
            "1",
            RATIO_SCALE,
        ),
        Column.squashed("max_slowdown_so_far", "largest slowdown so far among active flows", "1", RATIO_SCALE),
    )
    return Layout(context=context, slot=SLOT, num_slots=num_slots)
