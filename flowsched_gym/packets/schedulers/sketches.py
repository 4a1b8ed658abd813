"""The parameters of a sketch, checked."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from flowsched_gym.core.arrays import is_sequence, is_whole
from flowsched_gym.core.checks import check_choice, check_flag
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import SeedStreams
from flowsched_gym.packets.contract import Traffic
from flowsched_gym.packets.rules.hashing import PRIME, bucket_positions
from flowsched_gym.packets.rules.sketch import KEEP_QUEUE, NEVER_ASCEND, NO_AVOIDANCE, Sketch, new_sketch
from flowsched_gym.packets.schedulers.parameters import check_gap, check_integer

ARRAYS: Final = 3
BUCKETS: Final = 65_536
GAP: Final = 5e-4
"""Arrays, buckets of each and silence in s of the authors' P4 program; the paper prints none."""
MOST_ARRAYS: Final = 64
MOST_BUCKETS: Final = 2**22
"""Buckets of all arrays at most: 100 MB at each port."""
BUCKET_BYTES: Final = 24
"""What a bucket keeps: a time, a count and a queue."""
DRAWN_BITS: Final = 53
"""Random bits of one draw; a factor takes two."""

Pairs = Sequence[tuple[int, int]]


class Disorder(StrEnum):
    """Ways to avoid that a flowlet's packets overtake each other (PDA)."""

    NONE = "none"
    LAS = "las"
    FQ = "fq"


AVOIDANCE: Final = {Disorder.NONE: NO_AVOIDANCE, Disorder.LAS: NEVER_ASCEND, Disorder.FQ: KEEP_QUEUE}


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

    Raises:
        ConfigError: A parameter is not allowed.
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
        return new_sketch(
            bucket_positions(traffic.key_id, pairs, self._buckets),
            self._buckets,
            message_gap=self._message_gap,
            flowlet_gap=self._flowlet_gap,
            conservative=self._conservative,
            disorder=AVOIDANCE[self._disorder],
            num_ports=num_ports,
        )

    def _drawn(self, seed: int) -> Pairs:
        """Draws pairs; factors are not 0."""
        rng = SeedStreams(seed)["hash"]
        scale = 1 << DRAWN_BITS
        numbers = [int(rng.random() * scale) * scale + int(rng.random() * scale) for _ in range(2 * self._arrays)]
        return [(1 + a % (PRIME - 1), b % PRIME) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]


def _check_pairs(pairs: object) -> Pairs:
    checked = []
    for pair in pairs if is_sequence(pairs) else [pairs]:
        numbers = list(pair) if is_sequence(pair) else []
        if len(numbers) != 2 or not all(map(_is_natural, numbers)):
            raise ConfigError(f"hash is {shown(pairs)}: it must be pairs of whole numbers >= 0, one for each array")
        checked.append((int(numbers[0]), int(numbers[1])))
    if not checked:
        raise ConfigError("hash is []: it must have a pair of whole numbers for each array")
    return checked


def _is_natural(value: object) -> bool:
    return is_whole(value) and value >= 0
