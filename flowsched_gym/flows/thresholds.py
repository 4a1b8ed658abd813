"""Thresholds between queues by their weights (QCluster, section 3.4), for ports and for theory."""

from enum import StrEnum
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.machine_code.numerics import power

ARITHMETIC, GEOMETRIC, HARMONIC, ADAPTIVE = range(4)


class ThresholdRule(StrEnum):
    """Thresholds between the weights of neighbouring queues."""

    ARITHMETIC = "arithmetic"
    GEOMETRIC = "geometric"
    HARMONIC = "harmonic"
    ADAPTIVE = "adaptive"


class ClusterSize(StrEnum):
    """Sizes that clusters are to have."""

    SAME = "same"
    PROPORTIONAL = "proportional"


RULES: Final = {rule: number for number, rule in enumerate(ThresholdRule)}
"""The rules as ``thresholds_between`` knows them."""


@rule
def thresholds_between(
    weights: FloatArray, packets: FloatArray, alpha: FloatArray, which: int, proportional: bool, thresholds: FloatArray
) -> None:
    """Sets the thresholds between queues, (num_queues - 1,) (QCluster, section 3.4), by one of ``RULES``.

    Weights in B, > 0, and packets, >= 0, are (num_queues,), exponents alpha, > 0, (num_queues - 1,). Packets may count
    by the weight of their queue: ``proportional``.
    """
    for queue in range(len(thresholds)):
        low, high = weights[queue], weights[queue + 1]
        if which == ARITHMETIC:
            thresholds[queue] = (low + high) / 2.0
        elif which == GEOMETRIC:
            thresholds[queue] = np.sqrt(low * high)
        elif which == HARMONIC:
            thresholds[queue] = 2.0 / (1.0 / low + 1.0 / high)
        else:
            ours, next_ones = packets[queue], packets[queue + 1]
            if proportional:
                ours, next_ones = ours / low, next_ones / high
            share = ours / (ours + next_ones) if ours + next_ones > 0.0 else 0.5
            beta = power(share, alpha[queue])
            thresholds[queue] = low * beta + high * (1.0 - beta)
