"""Pays for what long flows have been through since the last action."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsReward
from flowsched_gym.systems.auto.long_flows.seen import long_finished, long_live

__all__ = ["MEMORY_SIZE", "pay"]

FloatArray = npt.NDArray[np.float64]

THROUGHPUT: Final = 0
"""Place in the memory of the throughput of the step before, in B/s."""
SLOWDOWNS: Final = 1
"""Place of the sum of the slowdowns so far of the long flows that were live."""
PROGRESS: Final = 2
"""Place of the sum of the logarithms of the bytes that the long flows had sent that were live."""
MEMORY_SIZE: Final = 3


def pay(view: NetworkView, config: AuTOLongFlowsConfig, memory: FloatArray) -> dict[str, float]:
    """Returns the named terms of the reward for a step, and remembers what the next ones need.

    Args:
        view: The network after the step.
        config: The arguments of the environment.
        memory: Numbers of this network alone, (MEMORY_SIZE,); zeros at the beginning of an episode.
    """
    finished, live = long_finished(view, config, view.finished), long_live(view, config)
    fct = view.fct(finished)
    slowdown = fct / view.ideal_fct[finished]
    so_far = float(((view.now - view.arrival_time[live]) / view.ideal_fct[live]).sum())
    throughput = float((view.size[finished] / fct).sum())
    sent = float(np.log(view.attained[live] / config.long_from).sum())
    delivered = float(np.log(view.size[finished] / config.long_from).sum())
    terms = {
        str(LongFlowsReward.PROGRESS): sent + delivered - float(memory[PROGRESS]),
        str(LongFlowsReward.SLOWDOWN): -float(slowdown.mean()) if len(finished) else 0.0,
        str(LongFlowsReward.SLOWDOWN_GROWTH): float(memory[SLOWDOWNS]) - so_far - float(slowdown.sum()),
        str(LongFlowsReward.THROUGHPUT_RATIO): (throughput + config.capacity)
        / (float(memory[THROUGHPUT]) + config.capacity),
    }
    memory[THROUGHPUT], memory[SLOWDOWNS], memory[PROGRESS] = throughput, so_far, sent
    return terms
