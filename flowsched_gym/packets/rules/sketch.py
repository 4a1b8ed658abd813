"""The Scheduling Count-Min sketch (QCluster, section 3.3) and the avoidance of disorder (PDA, section 3.5)."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part

NO_AVOIDANCE: Final = 0
NEVER_ASCEND: Final = 1
"""PDA for least attained service: within a flowlet, packets never go to a higher queue."""
KEEP_QUEUE: Final = 2
"""PDA for fair queueing: within a flowlet, packets stay in their queue."""


class Sketch(NamedTuple):
    """Arrays of buckets that count the bytes of messages, with one-sided error, and know when and where they went.

    Attributes:
        message_gap: Silence in s after which a bucket's count begins anew, > 0.
        flowlet_gap: Silence in s after which a bucket forgets its queue, > 0.
        conservative: Whether only the smallest counts of a packet are raised (the paper's consecutive update).
        disorder: ``NO_AVOIDANCE``, ``NEVER_ASCEND`` or ``KEEP_QUEUE``.
        position: Bucket of each key in each array, (num_keys, num_arrays) int64.
        time: When the last packet arrived, in s, (num_ports, num_arrays, num_buckets) float64; -inf for never.
        counted: Bytes, as ``time``.
        queue: Queue kept for the avoidance of disorder, as ``time``, int64.
    """

    message_gap: float
    flowlet_gap: float
    conservative: bool
    disorder: int
    position: IntArray
    time: FloatArray
    counted: FloatArray
    queue: IntArray


def new_sketch(
    position: IntArray,
    num_buckets: int,
    *,
    message_gap: float,
    flowlet_gap: float,
    conservative: bool,
    disorder: int,
    num_ports: int,
) -> Sketch:
    """Makes an empty sketch; see ``Sketch`` for the arguments."""
    shape = (num_ports, position.shape[1], num_buckets)
    return Sketch(
        message_gap,
        flowlet_gap,
        conservative,
        disorder,
        position,
        np.full(shape, -np.inf),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
    )


@inlined_part
def count(now: float, port: int, key: int, size: float, sketch: Sketch) -> tuple[float, float, float, bool]:
    """Counts a packet in its buckets (Algorithm 1); their times stay as they were until ``place``.

    Returns:
        The smallest count before the packet, where aged buckets count 0, and after it; the oldest time in s, NaN where
        a bucket was never touched; and whether that is older than the gap, so that a message begins.
    """
    oldest, least = np.inf, np.inf
    begin = now - sketch.message_gap
    for array in range(sketch.position.shape[1]):
        bucket = sketch.position[key, array]
        time = sketch.time[port, array, bucket]
        oldest = min(oldest, time)
        if time < begin:
            sketch.counted[port, array, bucket] = 0.0
        least = min(least, sketch.counted[port, array, bucket])
    weight = least + size
    for array in range(sketch.position.shape[1]):
        bucket = sketch.position[key, array]
        before = sketch.counted[port, array, bucket]
        sketch.counted[port, array, bucket] = max(before, weight) if sketch.conservative else before + size
    return least, weight, oldest if oldest > -np.inf else np.nan, oldest < begin


@inlined_part
def place(now: float, port: int, key: int, wanted: int, sketch: Sketch) -> int:
    """Places a packet in the queue that it wants, or where its flowlet demands; its buckets note time and queue."""
    begin = now - sketch.flowlet_gap
    queue = wanted
    if sketch.disorder != NO_AVOIDANCE:
        queue = _kept_queue(port, key, begin, wanted, sketch)
        if sketch.disorder == NEVER_ASCEND:
            queue = max(wanted, queue)
    for array in range(sketch.position.shape[1]):
        bucket = sketch.position[key, array]
        if sketch.time[port, array, bucket] < begin:
            sketch.queue[port, array, bucket] = queue
        elif sketch.disorder == NEVER_ASCEND:
            sketch.queue[port, array, bucket] = max(sketch.queue[port, array, bucket], queue)
        sketch.time[port, array, bucket] = now
    return queue


@inlined_part
def _kept_queue(port: int, key: int, begin: float, wanted: int, sketch: Sketch) -> int:
    """Returns the queue that a packet's flowlet is in; the wanted one where the flowlet begins.

    Of several buckets, the highest queue counts for ``NEVER_ASCEND``, which collisions have spoiled least, and that of
    the oldest bucket for ``KEEP_QUEUE``; of buckets with equal times, that of the first array.
    """
    oldest = np.inf
    kept = wanted
    for array in range(sketch.position.shape[1]):
        bucket = sketch.position[key, array]
        time = sketch.time[port, array, bucket]
        if time < begin:
            return wanted
        queue = sketch.queue[port, array, bucket]
        if array == 0:
            kept = queue
        elif sketch.disorder == NEVER_ASCEND:
            kept = min(kept, queue)
        elif time < oldest:
            kept = queue
        oldest = min(oldest, time)
    return kept
