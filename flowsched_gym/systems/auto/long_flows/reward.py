"""Rewards for what long flows have been through since the last action."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.envs import NetworkView
from flowsched_gym.machine_code.numerics import sum_of_logs
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsReward
from flowsched_gym.systems.auto.long_flows.rules import progress_of_long
from flowsched_gym.systems.auto.long_flows.seen import long_active

TERMS: Final = tuple(str(term) for term in LongFlowsReward)
THROUGHPUT: Final = 0
"""Index in the memory of the throughput of the step before, in B/s."""
SLOWDOWNS: Final = 1
"""Index of the sum of the slowdowns so far of the long flows that were active."""
PROGRESS: Final = 2
"""Index of the sum of the logarithms of the bytes that the long flows had sent that were active."""
MEMORY_SIZE: Final = 3


def reward_terms(view: NetworkView, config: AuTOLongFlowsConfig, memory: FloatArray) -> dict[str, float]:
    """Returns the named terms of the reward for a step, and remembers what the next ones need.

    Args:
        view: The network after the step.
        config: The arguments of the environment.
        memory: Numbers of this network alone, (MEMORY_SIZE,); zeros at the beginning of an episode.
    """
    finished, long = view.finished, long_active(view, config)
    progress = np.empty(len(long) + len(finished))
    count, so_far, slowdown, throughput = progress_of_long(
        view.now, finished, long, view.columns, config.long_from, progress
    )
    sent = sum_of_logs(progress[: len(long)])
    delivered = sum_of_logs(progress[len(long) : len(long) + count])
    terms = {
        str(LongFlowsReward.PROGRESS): sent + delivered - float(memory[PROGRESS]),
        str(LongFlowsReward.SLOWDOWN): -(slowdown / count) if count else 0.0,
        str(LongFlowsReward.SLOWDOWN_GROWTH): float(memory[SLOWDOWNS]) - so_far - slowdown,
        str(LongFlowsReward.THROUGHPUT_RATIO): (throughput + config.capacity)
        / (float(memory[THROUGHPUT]) + config.capacity),
    }
    memory[THROUGHPUT], memory[SLOWDOWNS], memory[PROGRESS] = throughput, so_far, sent
    return terms
