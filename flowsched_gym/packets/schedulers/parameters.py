"""Checks of parameters that several schedulers take, those of a sketch among them."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, is_sequence, is_whole, to_float
from flowsched_gym.core.checks import check_between, check_choice, check_flag, check_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import SeedStreams
from flowsched_gym.packets.contract import Scheduler, Traffic
from flowsched_gym.packets.rules.messages import (
    KEEP_QUEUE,
    NEVER_ASCEND,
    NO_AVOIDANCE,
    PRIME,
    Messages,
    Sketch,
    bucket_positions,
)
from flowsched_gym.packets.rules.queues import DEFICIT, ROUND, STRICT

NUM_QUEUES: Final = 8
"""Queues of a port of a commodity switch."""
MOST_QUEUES: Final = 1024
FULL_PACKET: Final = 1500.0
"""Bytes of a full packet on the wire: quantum of a deficit round where none is given."""
LEAST_QUANTUM: Final = 1.0
"""With smaller quanta a packet would wait for thousands of rounds."""
ARRAYS: Final = 3
BUCKETS: Final = 65_536
GAP: Final = 5e-4
"""Arrays, buckets of each and silence in s of the authors' P4 program; the paper prints none."""
NEVER: Final = float(np.finfo(np.float64).max)
"""Silence in s that never comes; it is less than that before the first packet."""
MOST_ARRAYS: Final = 64
MOST_BUCKETS: Final = 2**22
"""Buckets of all arrays at most: 100 MB at each port."""
BUCKET_BYTES: Final = 24
"""What a bucket keeps: a time, a count and a queue."""
DRAWN_BITS: Final = 53
"""Random bits of one draw; a factor takes two."""
Pairs = Sequence[tuple[int, int]]


class Count(StrEnum):
    """Whether the bytes that a message has sent include the packet that arrives."""

    BEFORE = "before"
    AFTER = "after"


class Dequeue(StrEnum):
    """Ways in which a port serves its queues."""

    SP = "sp"
    WRR = "wrr"
    DRR = "drr"

    @property
    def way(self) -> int:
        """The same, as rules know it."""
        return {Dequeue.SP: STRICT, Dequeue.WRR: ROUND, Dequeue.DRR: DEFICIT}[self]


class Disorder(StrEnum):
    """Ways to avoid that a flowlet's packets overtake each other (PDA)."""

    NONE = "none"
    LAS = "las"
    FQ = "fq"


class BytesSent(NamedTuple):
    """What a scheduler keeps that counts without error: the bytes sent."""

    messages: Messages


class MessageScheduler(Scheduler):
    """A scheduler that counts the bytes that messages have sent without error, if only to show them in a trace."""

    record_type: ClassVar[type[Any]] = BytesSent

    def __init__(self, message_gap: float | None = None) -> None:
        self._gap = check_gap("message_gap", message_gap)

    def new_record(self, traffic: Traffic, num_ports: int) -> Any:
        """Makes room for the bytes sent."""
        return BytesSent(self.new_messages(traffic))

    def new_messages(self, traffic: Traffic, count: Count = Count.BEFORE) -> Messages:
        """Makes room for the bytes sent."""
        sent, last_seen = np.zeros(traffic.num_keys), np.full(traffic.num_keys, np.nan)
        return Messages(self._gap, count is Count.AFTER, sent, last_seen)


class SketchParameters:
    """The parameters of a Scheduling Count-Min sketch.

    Args:
        arrays: Number of arrays (d), >= 1.
        buckets: Buckets of each array (l), >= 1.
        hash: Pairs (A, B) of each array for ``((A f + B) mod (2^61 - 1)) mod buckets``; ``None`` draws them.
        message_gap: Silence in s after which a message begins; ``None`` for never.
        flowlet_gap: Silence in s after which a flowlet begins; ``None`` for never.
        conservative: Whether only the smallest counts of a packet are raised.
        disorder: ``none``, ``las`` (packets of a flowlet never go to a higher queue) or ``fq`` (they stay
            in the queue of their oldest bucket; of buckets that were touched at the same time, that of the first
            array).
    """

    def __init__(
        self,
        arrays: int | None,
        buckets: int,
        hash: Pairs | None,
        message_gap: float | None,
        flowlet_gap: float | None,
        conservative: bool,
        disorder: str,
    ) -> None:
        self._pairs = None if hash is None else _check_pairs(hash)
        default = ARRAYS if self._pairs is None else len(self._pairs)
        given = default if arrays is None else arrays
        self._arrays = check_integer("arrays", given, at_least=1, at_most=MOST_ARRAYS)
        if self._pairs is not None and len(self._pairs) != self._arrays:
            raise ConfigError(f"hash has {len(self._pairs)} pairs: it must have one for each of {self._arrays} arrays")
        most = MOST_BUCKETS // self._arrays
        if not is_whole(buckets) or not 1 <= buckets <= most:
            raise ConfigError(
                f"buckets is {shown(buckets)}: it must be a whole number from 1 to {most}, since each takes "
                f"{BUCKET_BYTES} B in each of {self._arrays} arrays"
            )
        self._buckets = int(buckets)
        self._message_gap = check_gap("message_gap", message_gap)
        self._flowlet_gap = check_gap("flowlet_gap", flowlet_gap)
        self._conservative = check_flag("conservative", conservative)
        self._disorder = check_choice("disorder", disorder, Disorder)

    @property
    def num_bytes(self) -> int:
        """Bytes that a sketch takes."""
        return self._arrays * self._buckets * BUCKET_BYTES

    def new_sketch(self, traffic: Traffic, num_ports: int) -> Sketch:
        """Makes an empty sketch for these keys."""
        pairs = self._drawn(traffic.seed) if self._pairs is None else self._pairs
        shape = (num_ports, self._arrays, self._buckets)
        return Sketch(
            message_gap=min(self._message_gap, NEVER),
            flowlet_gap=min(self._flowlet_gap, NEVER),
            conservative=self._conservative,
            disorder=AVOIDANCE[self._disorder],
            position=bucket_positions(traffic.key_id, pairs, self._buckets),
            time=np.full(shape, -np.inf),
            counted=np.zeros(shape),
            queue=np.zeros(shape, dtype=np.int64),
        )

    def _drawn(self, seed: int) -> Pairs:
        rng = SeedStreams(seed)["hash"]
        scale = 1 << DRAWN_BITS
        numbers = [int(rng.random() * scale) * scale + int(rng.random() * scale) for _ in range(2 * self._arrays)]
        return [(1 + a % (PRIME - 1), b % PRIME) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]


AVOIDANCE: Final = {Disorder.NONE: NO_AVOIDANCE, Disorder.LAS: NEVER_ASCEND, Disorder.FQ: KEEP_QUEUE}


def check_integer(name: str, value: object, *, at_least: int, at_most: int) -> int:
    """Refuses what is not a whole number in its bounds."""
    return check_between(name, value, at_least, at_most, what="a whole number")


def check_gap(name: str, value: object) -> float:
    """Refuses what is no silence in s; ``None`` and inf are one that never comes."""
    if value is None:
        return math.inf
    gap = to_float(value)
    if not gap > 0:
        raise ConfigError(f"{name} is {shown(value)}: it must be a time in s > 0, or none for never")
    return gap


def check_thresholds(thresholds: object, queues: object) -> FloatArray:
    """Refuses thresholds in B that decrease, or are not one fewer than the queues, where their number is given."""
    limits = check_numbers("thresholds", thresholds, at_least=0)
    if (np.diff(limits) < 0).any():
        raise ConfigError(f"thresholds is {limits.tolist()}: they must not decrease")
    if len(limits) >= MOST_QUEUES:
        raise ConfigError(f"thresholds has {len(limits)} numbers: it must have at most {MOST_QUEUES - 1}")
    if queues is not None and check_integer("queues", queues, at_least=1, at_most=MOST_QUEUES) != len(limits) + 1:
        raise ConfigError(f"thresholds has {len(limits)} numbers: {queues} queues need {int(str(queues)) - 1}")
    return limits


def check_quanta(weights: object, dequeue: Dequeue, num_queues: int) -> FloatArray:
    """Returns the packets, or bytes, that each queue sends in a round; ``None`` for one full packet each."""
    if weights is not None:
        if dequeue is Dequeue.SP:
            raise ConfigError(f"weights is {shown(weights)}: dequeue 'sp' has none; it must be 'wrr' or 'drr'")
        return check_numbers("weights", weights, count=num_queues, at_least=LEAST_QUANTUM)
    return np.full(num_queues, FULL_PACKET if dequeue is Dequeue.DRR else 1.0)


def _check_pairs(pairs: object) -> Pairs:
    checked = []
    for pair in pairs if is_sequence(pairs) else [pairs]:
        numbers = list(pair) if is_sequence(pair) else []
        if len(numbers) != 2 or not all(is_whole(number) and number >= 0 for number in numbers):
            raise ConfigError(f"hash is {shown(pairs)}: it must be pairs of whole numbers >= 0, one for each array")
        checked.append((int(numbers[0]), int(numbers[1])))
    if not checked:
        raise ConfigError("hash is []: it must have a pair of whole numbers for each array")
    return checked
