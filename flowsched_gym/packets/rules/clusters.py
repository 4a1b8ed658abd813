"""Clusters of packets: queue weights, and the laws that move them and the thresholds between them (QCluster, 3.4).

The paper prints neither the law of alpha nor how weights age; ``ClusterLaw`` has ours.
"""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.thresholds import thresholds_between
from flowsched_gym.machine_code.decorators import inlined_part, rule

GIVEN: Final = 4
"""Thresholds that somebody outside has set, and that stay."""

LEAST_WEIGHT: Final = 1.0
"""Smallest weight of a queue in B, so that sizes can be divided by it."""
LEAST_ALPHA: Final = 0.05
MOST_ALPHA: Final = 20.0
AGED: Final = 0.5
"""Part of sums and counts that ageing leaves."""


class ClusterLaw(NamedTuple):
    """How clusters move; see ``QCluster`` for what is not named here.

    Attributes:
        proportional: Whether the packets of a queue are to be proportional to its weight, in place of all the same.
        quanta: Bytes, or packets, of the queue of the smallest weight in each round: quanta are inverse to weights; 0
            where they stay.
        split: First queue of packets without a special property; the queues before it cluster those with one.
    """

    proportional: bool
    interval: int
    ageing: int
    alpha_step: float
    quanta: float
    split: int


class Clusters(NamedTuple):
    """The clusters of each port.

    Attributes:
        rule: One of ``flows.thresholds.RULES``, or ``GIVEN``, (num_ports,) int64.
        alpha_step: Factor by which alpha moves, (num_ports,) float64.
        packets: Packets so far, (num_ports,) int64.
        weight: Weight of each queue in B, (num_ports, num_queues) float64, >= ``LEAST_WEIGHT``, non-decreasing.
        total: Sum of the weights of packets, aged, (num_ports, num_queues) float64.
        members: Number of packets, aged, (num_ports, num_queues) float64.
        alpha: Exponent between neighbours, (num_ports, num_queues - 1) float64.
        thresholds: Thresholds between neighbours in B, (num_ports, num_queues - 1) float64.
    """

    rule: IntArray
    alpha_step: FloatArray
    packets: IntArray
    weight: FloatArray
    total: FloatArray
    members: FloatArray
    alpha: FloatArray
    thresholds: FloatArray


def new_clusters(weights: FloatArray, which: int, law: ClusterLaw, num_ports: int) -> Clusters:
    """Makes clusters with first weights, (num_queues,), the exponents 1 and no packets."""
    members, alpha, thresholds = np.zeros(len(weights)), np.ones(len(weights) - 1), np.zeros(len(weights) - 1)
    thresholds_between(weights, members, alpha, which, law.proportional, thresholds)

    def at_each(row: FloatArray) -> FloatArray:
        return np.tile(row, (num_ports, 1))

    return Clusters(
        rule=np.full(num_ports, which, dtype=np.int64),
        alpha_step=np.full(num_ports, law.alpha_step),
        packets=np.zeros(num_ports, dtype=np.int64),
        weight=at_each(weights),
        total=at_each(members),
        members=at_each(members),
        alpha=at_each(alpha),
        thresholds=at_each(thresholds),
    )


@inlined_part
def add_to_cluster(
    port: int, queue: int, weight: float, law: ClusterLaw, clusters: Clusters, quantum: FloatArray
) -> None:
    """Adds a packet to the cluster of its queue, and moves the clusters when it is time."""
    clusters.total[port, queue] += weight
    clusters.members[port, queue] += 1.0
    packets = clusters.packets[port] + 1
    clusters.packets[port] = packets
    if packets % law.interval == 0:
        _move_clusters(port, law, clusters, quantum)
    if packets % law.ageing == 0:
        for each in range(clusters.weight.shape[1]):
            clusters.total[port, each] *= AGED
            clusters.members[port, each] *= AGED


@rule
def _move_clusters(port: int, law: ClusterLaw, clusters: Clusters, quantum: FloatArray) -> None:
    num_queues = clusters.weight.shape[1]
    weight, count, alpha = clusters.weight[port], clusters.members[port], clusters.alpha[port]
    for queue in range(num_queues):
        if count[queue] > 0.0:
            weight[queue] = max(clusters.total[port, queue] / count[queue], LEAST_WEIGHT)
        if queue not in (0, law.split):
            weight[queue] = max(weight[queue], weight[queue - 1])
    for queue in range(num_queues - 1):
        ours, next_ones = count[queue], count[queue + 1]
        if law.proportional:
            ours, next_ones = ours / weight[queue], next_ones / weight[queue + 1]
        if ours < next_ones:
            alpha[queue] = min(alpha[queue] * clusters.alpha_step[port], MOST_ALPHA)
        elif ours > next_ones:
            alpha[queue] = max(alpha[queue] / clusters.alpha_step[port], LEAST_ALPHA)
    which = clusters.rule[port]
    if which != GIVEN:
        thresholds_between(weight, count, alpha, which, law.proportional, clusters.thresholds[port])
    if law.quanta > 0.0:
        inverse_quanta(weight, law.quanta, law.split, quantum[port])


@inlined_part
def inverse_quanta(weight: FloatArray, largest: float, split: int, quantum: FloatArray) -> None:
    """Sets quanta inverse to the weights of the queues; the first queue of each group gets the largest.

    So rounds are short, and no small message waits for many packets of another queue.
    """
    for queue in range(len(weight)):
        first = 0 if queue < split else split
        quantum[queue] = largest * weight[first] / weight[queue]
