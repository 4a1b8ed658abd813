"""Turns actions into thresholds and back: AuTO prints neither the scale of its actor's outputs nor their order."""

from typing import Final

from flowsched_gym.encoders.thresholds import ThresholdScale
from flowsched_gym.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE

__all__ = [
    "BOTTOM",
    "HIGHEST",
    "LOWEST",
    "TOP",
    "action_of_thresholds",
    "position_of_size",
    "thresholds_of_action",
]


LOWEST: Final = BYTES_PER_KILOBYTE
HIGHEST: Final = 1000 * BYTES_PER_MEGABYTE
"""Smallest and largest threshold in B: below one packet, and from the largest flows on, it would change nothing."""
SCALE: Final = ThresholdScale(LOWEST, HIGHEST)
BOTTOM, TOP = SCALE.bottom, SCALE.top

thresholds_of_action = SCALE.thresholds_of
action_of_thresholds = SCALE.action_of
position_of_size = SCALE.position_of
