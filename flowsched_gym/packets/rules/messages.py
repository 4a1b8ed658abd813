"""Bytes that messages have sent: counted without error, as a sender can, or by a sketch, as a switch can.

The Scheduling Count-Min sketch (QCluster, section 3.3), its hash, and the avoidance of disorder (PDA, section 3.5).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.contract import PacketTable

NO_AVOIDANCE: Final = 0
NEVER_ASCEND: Final = 1
"""PDA for least attained service: within a flowlet, packets never go to a higher queue."""
KEEP_QUEUE: Final = 2
"""PDA for fair queueing: within a flowlet, packets stay in their queue."""
PRIME: Final = 2**61 - 1
"""A Mersenne prime: numbers are reduced by it with shifts."""
HALF: Final = np.uint64(31)
"""Bits of the lower part of a number below the prime."""
LOW_HALF: Final = np.uint64(2**31 - 1)
LOW_REST: Final = np.uint64(2**30 - 1)
MODULUS: Final = np.uint64(PRIME)
Words = npt.NDArray[np.uint64]


class Messages(NamedTuple):
    """Bytes sent by key.

    Attributes:
        gap: Silence in s after which a new message begins, > 0; inf for never.
        count_after: Whether bytes sent include the packet that asks.
        sent: Bytes sent in the present message, (num_keys,) float64.
        last_seen: When the last packet arrived, in s, (num_keys,) float64; NaN before the first.
    """

    gap: float
    count_after: bool
    sent: FloatArray
    last_seen: FloatArray


class Sketch(NamedTuple):
    """Arrays of buckets that count the bytes of messages, with one-sided error, and know when and where they went.

    See ``SketchParameters`` for what is not named here.

    Attributes:
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


@inlined_part
def is_bare(p: int, table: PacketTable) -> bool:
    """Returns whether a packet has no payload; one of no more bytes than an acknowledgement counts as one."""
    bare: bool = table.size[p] <= table.bare_size
    return bare


@inlined_part
def payload_of(p: int, table: PacketTable) -> float:
    """Returns the bytes of payload of a packet; an acknowledgement smaller than a header has none."""
    payload: float = max(table.size[p] - table.header, 0.0)
    return payload


@inlined_part
def count_bytes(now: float, port: int, p: int, table: PacketTable, messages: Messages) -> tuple[float, float, bool]:
    """Counts a packet at the port of its sender, which tags it for those behind.

    Returns bytes sent before it, or with it; when the packet before it arrived; whether it begins a message. What goes
    back is not of the message, and has sent nothing: hosts count each direction by itself.
    """
    key = table.key[table.flow[p]]
    last_seen = messages.last_seen[key]
    if is_bare(p, table):
        return 0.0, last_seen, False
    if 0 < table.num_senders <= port:
        return table.tag[p], last_seen, False
    new = not last_seen >= now - messages.gap
    before = 0.0 if new else messages.sent[key]
    after = before + (table.size[p] - table.header)
    messages.sent[key] = after
    messages.last_seen[key] = now
    weight = after if messages.count_after else before
    if table.num_senders > 0:
        table.tag[p] = weight
    return weight, last_seen, new


@inlined_part
def count(now: float, port: int, key: int, size: float, sketch: Sketch) -> tuple[float, float, float, bool]:
    """Counts a packet in its buckets (Algorithm 1); their times stay as they were until ``place``.

    Returns the smallest count before the packet, where aged buckets count 0, and after it; the oldest time in s, NaN
    where a bucket was never touched; and whether that is older than the gap, so that a message begins.
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


def bucket_positions(ids: IntArray, pairs: Sequence[tuple[int, int]], num_buckets: int) -> IntArray:
    """Finds the bucket of each key, by its identifier, in each array, (num_keys, num_arrays) int64, by its (A, B)."""
    reduced = (ids % PRIME).astype(np.uint64)
    positions = np.empty((len(ids), len(pairs)), dtype=np.int64)
    for array, (factor, offset) in enumerate(pairs):
        hashed = (_product(reduced, np.uint64(factor % PRIME)) + np.uint64(offset % PRIME)) % MODULUS
        positions[:, array] = (hashed % np.uint64(num_buckets)).astype(np.int64)
    return positions


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


def _product(a: Words, b: np.uint64) -> Words:
    """Multiplies numbers below the prime, modulo it: products of halves fit into 64 bits, and 2^61 counts as 1."""
    a_high, a_low = a >> HALF, a & LOW_HALF
    b_high, b_low = b >> HALF, b & LOW_HALF
    middle = a_high * b_low + a_low * b_high
    low = a_low * b_low
    parts = (a_high * b_high << np.uint64(1)) + (middle >> np.uint64(30)) + ((middle & LOW_REST) << HALF)
    product: Words = (parts % MODULUS + low % MODULUS) % MODULUS
    return product
