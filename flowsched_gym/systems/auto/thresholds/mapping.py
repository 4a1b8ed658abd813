"""Turns actions into thresholds and back: AuTO prints neither the scale of its actor's outputs nor their order."""

from typing import Final

from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs.limits import ThresholdScale

LOWEST: Final = BYTES_PER_KILOBYTE
HIGHEST: Final = 1000 * BYTES_PER_MEGABYTE
"""Smallest and largest threshold in B: below one packet, and from the largest flows on, it would change nothing."""
SCALE: Final = ThresholdScale(LOWEST, HIGHEST)
BOTTOM, TOP = SCALE.bottom, SCALE.top

thresholds_of_action = SCALE.thresholds_of
action_of_thresholds = SCALE.action_of
position_of_size = SCALE.position_of
