"""Rewards for the messages that finished in a period."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.envs import PortView
from flowsched_gym.machine_code.numerics import natural_log
from flowsched_gym.systems.qcluster.config import QClusterReward
from flowsched_gym.systems.qcluster.observation import mean

TERMS: Final = tuple(str(term) for term in QClusterReward)
MEMORY_SIZE: Final = len(TERMS)
"""What is remembered: the terms of the step before."""


def reward_terms(view: PortView, memory: FloatArray) -> dict[str, float]:
    """Returns the terms for a step, and remembers them; see ``QClusterReward``.

    A term about which no message that finished says anything is what it was in the step before, 0 in the first.
    """
    rows = view.finished
    if len(rows):
        fct, ideal = view.fct(rows), view.ideal_fct[rows]
        memory[TERMS.index(QClusterReward.FCT)] = -natural_log(mean(fct) / mean(ideal))
        memory[TERMS.index(QClusterReward.SLOWDOWN)] = -natural_log(mean(fct / ideal))
        memory[TERMS.index(QClusterReward.JAIN)] = jain_index(view.size[rows], fct)
        span = view.deadline_span[rows]
        limited = span < np.inf
        if limited.any():
            met = view.completion_time[rows] <= view.arrival_time[rows] + span
            memory[TERMS.index(QClusterReward.DEADLINES)] = np.count_nonzero(met & limited) / np.count_nonzero(limited)
    return dict(zip(TERMS, memory.tolist(), strict=True))


def jain_index(size: FloatArray, fct: FloatArray) -> float:
    """Returns Jain's index of the mean throughputs of messages of each order of magnitude (QCluster, section 6.1).

    Args:
        size: Sizes in B, (count,), at least one.
        fct: Completion times in s, (count,).
    """
    magnitude = np.searchsorted(POWERS, size, side="right")
    throughput = size / fct
    means = np.array([mean(throughput[magnitude == each]) for each in np.unique(magnitude)])
    total = mean(means)
    return total * total / mean(means * means)


POWERS: Final = np.array([float(f"1e{power}") for power in range(13)])
"""Powers of ten in B, which part the orders of magnitude."""
