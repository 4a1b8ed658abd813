"""Thresholds that TAFE's paper names, for the tasks that an environment draws."""

import math
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.workload import WorkloadSource

NUM_EPISODES: Final = 10
PART_OF_LARGEST: Final = 0.75


def paper_thresholds(source: WorkloadSource) -> FloatArray:
    """Returns the mean size of a task and 3/4 of that of the largest one in B (TAFE, section V-B), (2,).

    Sizes are those of the tasks of ten episodes, drawn with seeds that belong to no environment; the largest is the
    mean over the largest of each.
    """
    means, largest = [], []
    for seed in range(NUM_EPISODES):
        flows = source.draw(seed)
        total = np.bincount(index_tasks(flows), flows.size)
        means.append(math.fsum(total) / max(len(total), 1))
        largest.append(float(total.max(initial=0.0)))
    return np.array([math.fsum(means), PART_OF_LARGEST * math.fsum(largest)]) / NUM_EPISODES
