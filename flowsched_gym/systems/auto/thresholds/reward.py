"""Rewards for the flows that finished in a period, by their completion times."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.machine_code.numerics import natural_log
from flowsched_gym.systems.auto.rules import mean_fares
from flowsched_gym.systems.auto.thresholds.config import ThresholdsReward

TERMS: Final = tuple(str(term) for term in ThresholdsReward)
LAST_FCT, LAST_LOG_SLOWDOWN, LAST_LOG_FCT, MEMORY_SIZE = range(4)
"""Indices in the memory: mean completion time in s of the last step in which a flow finished, 0 before the first, and
what two terms were then."""

FIRST_RATIO: Final = 1.0


def reward_terms(view: NetworkView, memory: npt.NDArray[np.float64]) -> dict[str, float]:
    """Returns the terms for a step, and remembers what the next one needs; see ``ThresholdsReward``.

    Where no flow finished, the ratio is 1, and the others are what they were in the step before, 0 in the first.
    """
    ratio = FIRST_RATIO
    rows = view.finished
    if len(rows):
        mean_fct, mean_slowdown, mean_ideal = mean_fares(rows, view.columns)
        if memory[LAST_FCT] > 0:
            ratio = float(memory[LAST_FCT]) / mean_fct
        memory[LAST_FCT] = mean_fct
        memory[LAST_LOG_SLOWDOWN] = -natural_log(mean_slowdown)
        memory[LAST_LOG_FCT] = -natural_log(mean_fct / mean_ideal)
    return {
        str(ThresholdsReward.LOG_FCT): float(memory[LAST_LOG_FCT]),
        str(ThresholdsReward.LOG_SLOWDOWN): float(memory[LAST_LOG_SLOWDOWN]),
        str(ThresholdsReward.FCT_RATIO): ratio,
    }
