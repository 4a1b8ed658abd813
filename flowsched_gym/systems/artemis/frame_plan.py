"""Divides the frame of an Artemis episode into cards and rows, and says in which colours flows appear."""

import functools
from typing import Final, NamedTuple

from flowsched_gym.envs.rendering import BLUE, GREY, ORANGE, RED, Box, Colour
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer
from flowsched_gym.systems.artemis.snapshot import Outlook

__all__ = [
    "CHART_HEIGHT",
    "COLOURS",
    "DARK_ORANGE",
    "FOOT",
    "GAP",
    "HEIGHT",
    "HIDDEN_HEIGHT",
    "LINK_HEIGHT",
    "MARGIN",
    "QUEUE",
    "RESULTS",
    "STRIP",
    "TOKENS",
    "TOP",
    "WIDTH",
    "Plan",
    "divide",
    "host_text",
    "word_colour",
]

WIDTH: Final = 1000
HEIGHT: Final = 600
COLOURS: Final[dict[Outlook, Colour]] = {
    Outlook.SAFE: BLUE,
    Outlook.TIGHT: ORANGE,
    Outlook.LOST: RED,
    Outlook.UNBOUND: GREY,
}
DARK_ORANGE: Final[Colour] = (158, 104, 0)
TOP: Final = 92
"""Row at which the cards begin."""
FOOT: Final = 570
"""Row at which they end."""
STRIP: Final = 56
"""Height of the strip of destinations, where there are several."""
GAP: Final = 12
MARGIN: Final = 16
QUEUE: Final = (MARGIN, 414)
TOKENS: Final = (426, 744)
RESULTS: Final = (756, WIDTH - MARGIN)
LINK_HEIGHT: Final = 92
CHART_HEIGHT: Final = 178
SLOT_HEIGHTS: Final = (18, 42)
"""Smallest and largest height of a visible request."""
HIDDEN_HEIGHT: Final = 17
PLACE_HEIGHTS: Final = (20, 108)
"""Smallest and largest height of a token's place."""
LONG_NUMBER: Final = 1000
"""First number of a host that has no room beside the word."""


class Plan(NamedTuple):
    """Says where things stand; it follows from the arguments of the environment alone.

    Attributes:
        foot: Row at which the cards end.
        slot_top: Row at which the visible requests begin.
        slot_height: Height of one.
        num_slots: How many of them have a row.
        hidden_top: Row at which those behind begin.
        num_hidden: How many of them have a row.
        place_top: Row at which the tokens begin.
        place_height: Height of one.
        num_places: How many of them have a row.
    """

    foot: int
    slot_top: int
    slot_height: int
    num_slots: int
    hidden_top: int
    num_hidden: int
    place_top: int
    place_height: int
    num_places: int

    def place(self, number: int) -> Box:
        """Bounds the place of a token."""
        top = self.place_top + number * self.place_height
        return Box(TOKENS[0] + 8, top + 1, TOKENS[1] - 8, top + self.place_height - 1)


@functools.lru_cache(maxsize=32)
def divide(config: ArtemisConfig, many: bool) -> Plan:
    """Divides the space."""
    foot = FOOT - (STRIP + GAP if many else 0)
    slot_top = TOP + 54
    extra = 26 if config.defer is Defer.WAIT else 0
    space = foot - slot_top - extra - 34
    slot_height = min(max(space // config.f, SLOT_HEIGHTS[0]), SLOT_HEIGHTS[1])
    num_slots = min(config.f, space // slot_height)
    if num_slots < config.f:
        num_slots -= 1
    rows_end = slot_top + num_slots * slot_height + (slot_height if num_slots < config.f else 0) + extra
    hidden_top = rows_end + 32
    place_top = TOP + 36
    places = foot - LINK_HEIGHT - GAP - place_top - 6
    place_height = min(max(places // config.k, PLACE_HEIGHTS[0]), PLACE_HEIGHTS[1])
    num_places = min(config.k, places // place_height)
    if num_places < config.k:
        num_places -= 1
    return Plan(
        foot=foot,
        slot_top=slot_top,
        slot_height=slot_height,
        num_slots=num_slots,
        hidden_top=hidden_top,
        num_hidden=max((foot - hidden_top - 6) // HIDDEN_HEIGHT, 0),
        place_top=place_top,
        place_height=place_height,
        num_places=num_places,
    )


def host_text(number: int) -> str:
    """Names a host, briefly where its number is long."""
    return f"host {number}" if number < LONG_NUMBER else str(number)


def word_colour(outlook: Outlook) -> Colour:
    """Returns the colour in which the word is written: orange is too light for letters."""
    return DARK_ORANGE if outlook is Outlook.TIGHT else COLOURS[outlook]
