"""Holds loops that draw flows, and sums, to NumPy's ways, to the bit."""

import math
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flowsched_gym.core import numerics
from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.core.seeding import SeedStreams, orders, uniforms
from flowsched_gym.machine_code import drawing, loops
from flowsched_gym.machine_code.decorators import compiled_for
from flowsched_gym.machine_code.numerics import pairwise_sum
from flowsched_gym.workload import WORKLOADS, Empirical, Pareto, Workload, load_cdf
from tests.processes import run_python

UNIFORM = np.append(uniforms(np.random.default_rng(1), 20_000), [2.0**-54, 0.5, 1.0 - 2.0**-53])
SEEDS = (0, 1, 2**32 - 1, 2**32, 2**53 - 1, 2**63 - 1, *np.random.default_rng(2).integers(2**63, size=100).tolist())

drawing.take_loops()


def by_numpy(patch: pytest.MonkeyPatch) -> None:
    """Lets NumPy draw from now on in a test."""
    patch.setattr(drawing._Calls, "loops", None)
    patch.setattr(drawing._Calls, "looked", True)
    patch.setattr(drawing._Calls, "count", drawing.CALLS_OF_NUMPY)


@pytest.mark.parametrize("seed", [*SEEDS, 2**63, 2**200])
def test_a_stream_is_seeded_as_numpy_seeds_it(seed: int) -> None:
    expected = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(b"sizes"),))
    stream, other = drawing.FlowStreams(seed)["sizes"], SeedStreams(seed)["sizes"]
    assert stream.bit_generator.state == other.bit_generator.state
    sequence = stream.bit_generator.seed_seq
    assert (sequence.generate_state(9) == expected.generate_state(9)).all()
    for _ in range(2):
        assert stream.spawn(2)[1].bit_generator.state == other.spawn(2)[1].bit_generator.state


def test_logarithms_and_powers_are_those_of_numpy() -> None:
    values = np.append(-UNIFORM, [-1.0, 0.0, -1e-300, 3.0])
    assert (drawing.log1p(values) == numerics.log1p(values)).all()
    for exponent in (-1.0 / 1.05, -1.0 / 1.5, -3.0, 0.0, 0.4):
        bases = np.append(UNIFORM, [0.0, 1.0])
        assert (drawing.power(bases, exponent) == numerics.power(bases, exponent)).all()
    assert drawing.log1p(np.float64(-0.25)) == numerics.log1p(-0.25)
    turned = np.arange(6.0).reshape(2, 3).T
    assert (drawing.log1p(turned) == numerics.log1p(turned)).all()
    exponents = np.append(1600.0 * UNIFORM - 800.0, [-np.inf, 0.0, 1.0, np.inf])  # from 0 over subnormal ones to inf
    assert (drawing.exp(exponents) == numerics.exp(exponents)).all()


@pytest.mark.parametrize("length", [1, 10, drawing.LONGEST_ROW, drawing.LONGEST_ROW + 1])
def test_orders_are_those_of_numpy(length: int) -> None:
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    assert (drawing.orders(rng, (30, length)) == orders(other, (30, length))).all()
    ties, found = np.floor(5.0 * rng.random((30, length))), np.empty((30, length), dtype=np.int64)
    loops.order_rows(ties, found)
    assert (found == np.argsort(ties, axis=1, kind="stable")).all()


@pytest.mark.parametrize(
    "sizes",
    [
        load_cdf("web_search"),
        load_cdf("w1"),
        Empirical(points=((2.0, 0.25), (5.0, 0.25), (5.0, 0.75), (9.0, 1.0), (11.0, 1.0))),
        Pareto(shape=1.2, mean=1e5, maximum=1e8),
    ],
)
def test_sizes_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch, sizes: Empirical | Pareto) -> None:
    probability = np.append(UNIFORM, [0.0, 0.25, 0.75, 1.0])
    found = sizes.quantile(probability)
    by_numpy(monkeypatch)
    assert (found == sizes.quantile(probability)).all()
    assert sizes.quantile(0.5) == sizes.quantile([0.5])[0]


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_draws_the_same_flows_either_way(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    source = WORKLOADS[name].config.with_num_flows(300)
    drawn = [source.draw(seed).arrays for seed in range(2)]
    by_numpy(monkeypatch)
    for seed, arrays in enumerate(drawn):
        for ours, theirs in zip(arrays, source.draw(seed).arrays, strict=True):
            assert ours.dtype == theirs.dtype
            assert (ours == theirs).all()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("flow_id", value) for value in (-1, 0)),
        *((name, -1) for name in ("source", "destination")),
        ("destination", 3),
        ("task_id", -2),
        *(("size", value) for value in (0.0, -1.0, np.inf, np.nan)),
        *((name, value) for name in ("arrival_time", "cpu_time") for value in (-1.0, np.inf, np.nan)),
        *(("deadline_span", value) for value in (0.0, -1.0, np.nan)),
    ],
)
def test_a_value_that_is_not_allowed_is_named_either_way(
    monkeypatch: pytest.MonkeyPatch, column: str, value: float
) -> None:
    flows = Workload(
        flow_id=np.arange(3), source=np.full(3, 3), destination=np.arange(3), size=np.ones(3), arrival_time=np.ones(3)
    )
    wrong = np.append(getattr(flows, column)[:2], value)
    with pytest.raises(WorkloadError, match=column) as found:
        replace(flows, **{column: wrong})
    by_numpy(monkeypatch)
    with pytest.raises(WorkloadError) as expected:
        replace(flows, **{column: wrong})
    assert str(found.value) == str(expected.value)


def test_numba_is_imported_for_many_draws_alone() -> None:
    program = """
import sys
from flowsched_gym.machine_code import drawing
from flowsched_gym.workload import WORKLOADS
source = WORKLOADS["gather-a1"].config.with_num_flows(10)
source.draw(0)
print("numba" in sys.modules)
for seed in range(drawing.CALLS_OF_NUMPY):
    source.draw(seed)
print("numba" in sys.modules, drawing.loops() is not None)
"""
    assert run_python(program).split() == ["False", "True", "True"]


@pytest.mark.parametrize("add", [pairwise_sum, compiled_for(pairwise_sum, np.zeros(1), 0, 1)], ids=["rule", "compiled"])
def test_sums_of_a_part_have_the_bits_of_numpys(add: Callable[..., float]) -> None:
    for count in (*range(0, 2_000, 1 if add is not pairwise_sum else 97), 127, 128, 129, 257, 4_097, 20_001):
        values = np.random.default_rng(count).lognormal(sigma=4.0, size=count)
        expected = float(values.sum())
        assert add(np.concatenate([[np.nan] * 3, values, [np.nan]]), 3, 3 + count) == expected
        assert expected == pytest.approx(math.fsum(values.tolist()), rel=1e-14)
