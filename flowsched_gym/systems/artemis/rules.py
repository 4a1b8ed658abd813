"""Which of the visible requests can still meet its deadline."""

import numpy as np

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.envs.policies.rules import SlotColumn, decoded
from flowsched_gym.machine_code.decorators import rule


@rule
def feasible_slot(
    observation: ObservationArray,
    size: SlotColumn,
    time_left: SlotColumn,
    stride: int,
    latency: float,
    seconds_per_byte: float,
    action: IntArray,
) -> None:
    """Chooses the earliest deadline among the requests that can still meet theirs, else the earliest of all.

    Args:
        latency: Time in s that a granted flow needs beside sending.
        seconds_per_byte: Time in s that a byte takes to send.
    """
    for row in range(len(observation)):
        best, best_is_hopeless, action[row] = np.inf, True, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - size.at, stride)):
            if observation[row, size.at + offset] > 0.0:
                left = decoded(observation, row, offset, time_left)
                hopeless = left < latency + decoded(observation, row, offset, size) * seconds_per_byte
                better = left < best if hopeless == best_is_hopeless else best_is_hopeless
                if better:
                    best, best_is_hopeless, action[row] = left, hopeless, slot
