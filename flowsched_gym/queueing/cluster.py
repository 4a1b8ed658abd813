"""Thresholds between the clusters of a port's queues (QCluster, section 3.4)."""

from collections.abc import Sequence

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.thresholds import RULES, ClusterSize, ThresholdRule, thresholds_between
from flowsched_gym.workload.checks import check_choice, check_numbers


def cluster_thresholds(
    weights: Sequence[float] | FloatArray,
    *,
    rule: str,
    packets: Sequence[float] | FloatArray | IntArray | None = None,
    alpha: Sequence[float] | FloatArray | float | None = None,
    cluster_size: str = ClusterSize.PROPORTIONAL,
) -> FloatArray:
    """Computes the thresholds between queues of these weights.

    With weights m and packets p, ``adaptive`` thresholds are ``m_i beta + m_(i+1) (1 - beta)``, where
    ``beta = (p_i / (p_i + p_(i+1))) ** alpha_i``, and ``p_i / m_i`` takes the place of ``p_i`` for clusters whose size
    is proportional to their weight. Where both queues are empty, the ratio is 0.5; the paper prints nothing for it.

    Args:
        weights: Weight of each queue in B, (num_queues,), > 0, at least two.
        rule: ``arithmetic``, ``geometric`` or ``harmonic``: a mean of neighbouring weights; or ``adaptive``.
        packets: For ``adaptive``, packets of each queue, (num_queues,), >= 0.
        alpha: For ``adaptive``, exponents between neighbours, (num_queues - 1,), or one for all, > 0; ``None`` for 1.
        cluster_size: For ``adaptive``, ``same`` or ``proportional``.

    Returns:
        Thresholds in B, (num_queues - 1,) float64.

    Raises:
        ConfigError: An argument is not allowed, or ``packets`` is missing.
    """
    means = check_numbers("weights", weights)
    if len(means) <= 1 or not (means > 0).all():
        raise ConfigError(f"weights is {means.tolist()}: they must be at least two, each > 0 B")
    check_choice("rule", rule, tuple(ThresholdRule))
    check_choice("cluster_size", cluster_size, tuple(ClusterSize))
    count, powers = np.zeros(len(means)), np.ones(len(means) - 1)
    if packets is not None:
        count = check_numbers("packets", packets, count=len(means))
    elif rule == ThresholdRule.ADAPTIVE:
        raise ConfigError("packets is None: rule 'adaptive' needs the packets of each queue")
    if alpha is not None:
        given = [alpha] * len(powers) if np.ndim(alpha) == 0 else alpha
        powers = check_numbers("alpha", given, count=len(powers))
        if not (powers > 0).all():
            raise ConfigError(f"alpha is {shown(alpha)}: each must be > 0")
    thresholds = np.zeros(len(powers))
    which, proportional = RULES[ThresholdRule(rule)], cluster_size == ClusterSize.PROPORTIONAL
    thresholds_between(means, count, powers, which, proportional, thresholds)
    return thresholds
