"""NumPy's generator, PCG64, inside compiled code: the same bits.

M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
Generation", 2014, has it as XSL-RR with 128 bits of state.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.machine_code.loops import POOL, WHOLE, WORD, mix_seed

State = npt.NDArray[np.uint64]
"""High and low half of the state, then of the increment, (POOL,)."""
MULTIPLIER: Final = (np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645))
ROTATION: Final = np.uint64(58)
SPARE: Final = np.uint64(11)
TOP: Final = np.uint64(63)
ONE: Final = np.uint64(1)
UNIT: Final = 2.0**-53
"""Spacing of uniform numbers; ``SPARE`` bits are left of 64."""


@inlined_part
def begin_stream(seed: int, key: int, state: State) -> None:
    """Sets the state of a generator to that of ``SeedStreams(seed)``, of the purpose whose CRC-32 is the key."""
    mix_seed(seed, key, state)
    high, low, inc_high, inc_low = state[0], state[1], state[2], state[POOL - 1]
    state[2] = (inc_high << ONE) | (inc_low >> TOP)
    state[POOL - 1] = (inc_low << ONE) | ONE
    # A step from 0 leads to the increment.
    state[1] = state[POOL - 1] + low
    state[0] = state[2] + high + np.uint64(state[1] < low)
    _step(state)


@inlined_part
def next_uniform(state: State) -> float:
    """Draws what ``Generator.random()`` does."""
    _step(state)
    mixed, turn = state[0] ^ state[1], state[0] >> ROTATION
    turned = (mixed >> turn) | (mixed << ((np.uint64(0) - turn) & TOP))
    return float(turned >> SPARE) * UNIT


@inlined_part
def _step(state: State) -> None:
    """Multiplies the state, and adds the increment, modulo 2**128."""
    high, low = state[0], state[1]
    product = low * MULTIPLIER[1]
    state[1] = product + state[POOL - 1]
    carry = np.uint64(state[1] < product)
    state[0] = _high_half(low, MULTIPLIER[1]) + high * MULTIPLIER[1] + low * MULTIPLIER[0] + state[2] + carry


@inlined_part
def _high_half(a: np.uint64, b: np.uint64) -> np.uint64:
    """Returns the upper 64 bits of a product."""
    low = (a & WORD) * (b & WORD)
    middle = (a >> WHOLE) * (b & WORD) + (low >> WHOLE)
    other = (a & WORD) * (b >> WHOLE) + (middle & WORD)
    return (a >> WHOLE) * (b >> WHOLE) + (middle >> WHOLE) + (other >> WHOLE)
