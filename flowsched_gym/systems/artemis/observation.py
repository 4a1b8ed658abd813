"""The columns that the agent of a destination sees; ``rules.ArtemisRules.observe`` fills them."""

from typing import Final

from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.systems.artemis.config import Observation
from flowsched_gym.systems.artemis.rules import SIZE_SCALE, TIME_SCALE

SIZE: Final = Column.squashed("size", "bytes to deliver", "B", SIZE_SCALE)
DEADLINE_SPAN: Final = Column.squashed("deadline_span", "time allowed after arrival", "s", TIME_SCALE)

SLOT: Final = (
    Column.fraction("present", "1 if a request waits in the slot"),
    SIZE,
    DEADLINE_SPAN,
    Column.squashed("waiting", "time since arrival", "s", TIME_SCALE),
    Column.signed("time_left", "time to the deadline, negative when it has passed", "s", TIME_SCALE),
    Column.signed("slack", "time to the deadline less the time to send at line rate", "s", TIME_SCALE),
    Column.fraction("postponed", "1 if the request was sent to the back once"),
)


def artemis_layout(observation: Observation, num_slots: int) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        observation: ``paper`` or ``full``.
        num_slots: Visible requests (f), >= 1.
    """
    if observation is Observation.PAPER:
        return Layout(context=(), slot=(SIZE, DEADLINE_SPAN), num_slots=num_slots)
    context = (
        Column.fraction("tokens_free", "free tokens over k"),
        Column.fraction("active_flows", "tokens held over k"),
        Column.squashed("bytes_in_flight", "bytes that flows with a token have not sent yet", "B", SIZE_SCALE),
        Column.squashed(
            "queue_length", "requests that wait, seen or not; f become one half", "requests", float(num_slots)
        ),
    )
    return Layout(context=context, slot=SLOT, num_slots=num_slots)
