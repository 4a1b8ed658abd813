"""Holds the compiled random streams to NumPy's, bit by bit and through the rare branches."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from flowsched_gym.model.rules.streams import (
    MULTIPLIER_HIGH,
    MULTIPLIER_LOW,
    UNIT,
    Stream,
    advance_stream,
    bounded_integer,
    next_exponential,
    open_stream,
    seed_pool,
    significand,
    stream_key,
)
from flowsched_gym.model.rules.ziggurat import HEIGHT, SURE_BELOW, TAIL_START, WIDTH
from flowsched_gym.seeding import SeedStreams

SEEDS = [0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 + 1, 2**63 - 2, 2**63 - 1]

HALF = 2**64


@njit
def begin(seed, key):
    return open_stream(seed_pool(seed), key)


@njit
def fill_uniform(stream, out):
    for place in range(len(out)):
        stream = advance_stream(stream)
        out[place] = significand(stream) * UNIT
    return stream


@njit
def fill_exponential(stream, out):
    for place in range(len(out)):
        stream, out[place] = next_exponential(stream)
    return stream


@njit
def fill_integers(stream, bound, out):
    half = 0
    for place in range(len(out)):
        stream, half, out[place] = bounded_integer(stream, half, bound)
    return stream


def started(seed: int, purpose: str) -> Stream:
    """Opens a compiled stream, with its four numbers as uint64."""
    return Stream(*map(np.uint64, begin(seed, stream_key(purpose))))


def state_of(stream: Stream) -> int:
    return int(stream.high) * HALF + int(stream.low)


def generator_before(word: int) -> np.random.Generator:
    """Makes NumPy's generator whose next 64 random bits are these."""
    generator = np.random.PCG64(0)
    state = generator.state
    multiplier = int(MULTIPLIER_HIGH) * HALF + int(MULTIPLIER_LOW)
    # A state whose upper half is 0 is put out as it is; the state before it leads there by one step.
    state["state"]["state"] = (word - state["state"]["inc"]) * pow(multiplier, -1, HALF**2) % HALF**2
    generator.state = state
    return np.random.Generator(generator)


def branches(words: list[int], count: int) -> Counter[str]:
    """Draws exponential numbers from random words as Marsaglia and Tsang describe, and counts how each came about."""
    counted: Counter[str] = Counter()
    left = iter(words)
    drawn = 0
    while drawn < count:
        place, box = divmod(next(left) >> 3, 256)
        value = place * float(WIDTH[box])
        if place < SURE_BELOW[box]:
            outcome = "sure"
        else:
            uniform = (next(left) >> 11) * UNIT
            under = uniform * (HEIGHT[box - 1] - HEIGHT[box]) + HEIGHT[box] < math.exp(-value)
            outcome = "tail" if box == 0 else "accepted" if under else "rejected"
        counted[outcome] += 1
        counted["words"] += 1 if outcome == "sure" else 2
        drawn += outcome != "rejected"
    return counted


@given(seed=st.integers(0, 2**63 - 1) | st.integers(0, 2**33), purpose=st.text(max_size=9))
def test_a_stream_begins_where_numpy_begins(seed: int, purpose: str) -> None:
    stream = started(seed, purpose)

    expected = SeedStreams(seed)[purpose].bit_generator.state["state"]
    assert state_of(stream) == expected["state"]
    assert int(stream.step_high) * HALF + int(stream.step_low) == expected["inc"]


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_numbers_are_numpys(seed: int) -> None:
    drawn = np.empty(10_000)

    fill_uniform(started(seed, "sizes"), drawn)

    np.testing.assert_array_equal(drawn, SeedStreams(seed)["sizes"].random(10_000), strict=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_exponential_numbers_are_numpys(seed: int) -> None:
    drawn = np.empty(400_000)
    generator = SeedStreams(seed)["bursts"]

    stream = fill_exponential(started(seed, "bursts"), drawn)

    np.testing.assert_array_equal(drawn, generator.standard_exponential(400_000), strict=True)
    assert state_of(stream) == generator.bit_generator.state["state"]["state"]
    assert np.count_nonzero(drawn > TAIL_START) > 100


def test_long_sequences_take_every_branch_of_the_ziggurat() -> None:
    seed, count = SEEDS[2], 400_000
    words = SeedStreams(seed)["bursts"].bit_generator.random_raw(2 * count).tolist()

    counted = branches(words, count)

    assert counted["tail"] > 100
    assert counted["accepted"] > 1_000
    assert counted["rejected"] > 1_000
    stream = fill_exponential(started(seed, "bursts"), np.empty(count))
    generator = SeedStreams(seed)["bursts"].bit_generator
    generator.advance(counted["words"])
    assert state_of(stream) == generator.state["state"]["state"]


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**16 + 1, 2**31 - 1, 2**31 + 1, 3 * 2**30, 2**32 - 1])
def test_bounded_integers_are_numpys(bound: int) -> None:
    drawn = np.empty(20_001, dtype=np.int64)
    generator = SeedStreams(5)["hosts"]

    stream = fill_integers(started(5, "hosts"), bound, drawn)

    np.testing.assert_array_equal(drawn, generator.integers(bound, size=20_001), strict=True)
    assert state_of(stream) == generator.bit_generator.state["state"]["state"]


def test_some_bounded_integers_are_refused_and_drawn_again() -> None:
    bound, count = 2**31 + 1, 1_000

    stream = fill_integers(started(5, "hosts"), bound, np.empty(count, dtype=np.int64))

    without_refusal = SeedStreams(5)["hosts"].bit_generator
    without_refusal.advance(count // 2)
    assert state_of(stream) != without_refusal.state["state"]["state"]


def test_the_sure_part_of_each_box_is_as_wide_as_numpys() -> None:
    for box, sure in enumerate(SURE_BELOW.tolist()):
        for place in {max(sure - 1, 0), sure}:
            word = (place << 11) | (box << 3)
            generator = generator_before(word)
            value = generator.standard_exponential()

            takes_one = generator.bit_generator.state["state"]["state"] == word
            assert takes_one == (place < sure)
            assert not takes_one or value == place * WIDTH[box]


def test_the_boxes_of_the_ziggurat_have_equal_areas_under_the_curve() -> None:
    edge = WIDTH / UNIT

    areas = edge[1:] * (np.append(1.0, HEIGHT[1:-1]) - HEIGHT[1:])
    assert areas == pytest.approx(edge[0] * HEIGHT[-1], rel=1e-12)  # float64 differences of heights near 1
    assert edge[-1] == TAIL_START
    assert np.exp(-edge[1:]) == pytest.approx(HEIGHT[1:], rel=1e-15)
    assert (SURE_BELOW[2:] * UNIT) == pytest.approx(edge[1:-1] / edge[2:], rel=1e-15)
