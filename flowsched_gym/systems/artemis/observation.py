"""The columns that the agent of a destination sees; ``rules.ArtemisRules.observe`` fills them."""

from typing import Final

from flowsched_gym.envs.columns import Column, Encoding, Layout
from flowsched_gym.systems.artemis.config import Observation
from flowsched_gym.systems.artemis.rules import SIZE_SCALE, TIME_SCALE

SIZE: Final = Column(name="size", meaning="bytes to deliver", unit="B", encoding=Encoding.SQUASHED, scale=SIZE_SCALE)
DEADLINE_SPAN: Final = Column(
    name="deadline_span", meaning="time allowed after arrival", unit="s", encoding=Encoding.SQUASHED, scale=TIME_SCALE
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
