"""Holds our exponentials, logarithms and powers against decimal arithmetic of 60 digits."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.core import numerics
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.machine_code.numerics import natural_log, sum_of_logs, take_exponentials

FloatArray = npt.NDArray[np.float64]

COUNT: Final = 2_000
DIGITS: Final = 60
RNG: Final = np.random.default_rng(1)


def uniform(low: float, high: float) -> FloatArray:
    return RNG.uniform(low, high, COUNT)


def log_uniform(low: float, high: float) -> FloatArray:
    return np.ldexp(RNG.uniform(0.5, 1.0, COUNT), RNG.integers(int(low), int(high), COUNT))


def largest_error(function: Callable[..., FloatArray], true: Callable[..., Decimal], *arguments: FloatArray) -> float:
    """Returns the largest error in units in the last place."""
    worst = 0.0
    with localcontext(prec=DIGITS):
        for row, found in zip(zip(*arguments, strict=True), function(*arguments).tolist(), strict=True):
            exact = true(*map(Decimal, row))
            worst = max(worst, float(abs(Decimal(found) - exact) / Decimal(float(np.spacing(abs(float(exact)))))))
    return worst


SMALL: Final = log_uniform(-60, -3)
CASES: Final[list[tuple[str, Callable[..., Decimal], float, list[tuple[FloatArray, ...]]]]] = [
    ("exp", Decimal.exp, 1.0, [(uniform(-700, 709),), (uniform(-1, 1),), (log_uniform(-60, -1),)]),
    ("log", Decimal.ln, 1.0, [(log_uniform(-1020, 1023),), (uniform(0.5, 2.0),), (1.0 + log_uniform(-50, -3),)]),
    ("log1p", lambda x: (1 + x).ln(), 2.0, [(uniform(-0.9, 2.0),), (SMALL,), (-SMALL,)]),
    ("expm1", lambda x: x.exp() - 1, 3.0, [(uniform(-2.0, 2.0),), (SMALL,), (-SMALL,)]),
    (
        "power",
        lambda x, y: (x.ln() * y).exp(),
        1.0,
        [
            (log_uniform(-400, 400), uniform(-2.5, 2.5)),
            (uniform(0.0, 1.0), np.full(COUNT, -1.0 / 1.05)),
            (1.0 + uniform(-1e-4, 1e-4), uniform(-5e6, 5e6)),
            (uniform(0.1, 10.0), uniform(-300.0, 300.0)),
        ],
    ),
]


@pytest.mark.parametrize(("name", "true", "units", "arguments"), CASES, ids=[case[0] for case in CASES])
def test_a_function_is_within_one_to_three_units_in_the_last_place(name, true, units, arguments) -> None:
    for each in arguments:
        assert largest_error(getattr(numerics, name), true, *each) < units


def test_the_normal_distribution_is_that_of_the_standard_library() -> None:
    value, probability = uniform(-6.0, 6.0), uniform(0.0, 1.0)
    assert numerics.normal_cdf(value) == pytest.approx([NormalDist().cdf(x) for x in value], rel=1e-6, abs=1e-15)
    assert numerics.normal_quantile(probability) == pytest.approx(
        [NormalDist().inv_cdf(p) for p in probability], rel=1e-13, abs=1e-15
    )


def test_far_normal_quantiles_turn_back_into_their_probabilities() -> None:
    probability = log_uniform(-1000, -1)
    # A quantile of 37 standard deviations turns its own last bit into 1e-13 of the probability.
    assert numerics.normal_cdf(numerics.normal_quantile(probability)) == pytest.approx(probability, rel=1e-12)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (numerics.exp, {-np.inf: 0.0, -800.0: 0.0, 0.0: 1.0, 710.0: np.inf, np.inf: np.inf, np.nan: np.nan}),
        (numerics.expm1, {-np.inf: -1.0, -0.0: -0.0, 5e-324: 5e-324, np.inf: np.inf, np.nan: np.nan}),
        (numerics.log, {-1.0: np.nan, 0.0: -np.inf, 1.0: 0.0, np.inf: np.inf, np.nan: np.nan}),
        (numerics.log1p, {-2.0: np.nan, -1.0: -np.inf, 0.0: 0.0, 5e-324: 5e-324, np.inf: np.inf, np.nan: np.nan}),
        (numerics.normal_cdf, {-np.inf: 0.0, 0.0: 0.5, np.inf: 1.0, np.nan: np.nan}),
        (numerics.normal_quantile, {-0.1: np.nan, 0.0: -np.inf, 1.0: np.inf, 1.1: np.nan, np.nan: np.nan}),
    ],
)
def test_the_ends_are_as_in_mathematics(function: Callable[..., FloatArray], values: dict[float, float]) -> None:
    with np.errstate(all="raise", under="ignore"):
        assert [float(function(value)) for value in values] == pytest.approx(list(values.values()), abs=0, nan_ok=True)


def test_powers_at_the_ends_are_those_of_numpy() -> None:
    bases = np.array([0.0, 5e-324, 0.3, 1.0, 2.0, 1.7e308, np.inf, np.nan])[:, np.newaxis]
    exponents = np.array([0.0, 0.5, 1.0, 2.0, -1.0, 1e300, np.inf, -np.inf, np.nan])
    with np.errstate(divide="ignore", over="ignore"):
        expected = bases**exponents
    assert numerics.power(bases, exponents).shape == (8, 9)
    np.testing.assert_allclose(numerics.power(bases, exponents), expected, rtol=1e-15)


def test_compiled_code_takes_the_same_logarithms_to_the_last_bit() -> None:
    value = np.concatenate([log_uniform(-1020, 1023), uniform(0.5, 2.0), [5e-324, 1.0, 1.7e308]])
    expected = numerics.log(value)

    with np.errstate(all="raise", under="ignore"):
        plain = [natural_log.py_func(number) for number in value.tolist()]  # type: ignore[attr-defined]
    compiled = rule(sum_of_logs.py_func)  # type: ignore[attr-defined]

    assert plain == expected.tolist()
    assert [compiled(value[index : index + 1]) for index in range(len(value))] == expected.tolist()


def test_compiled_code_takes_the_same_exponentials_to_the_last_bit() -> None:
    exponent = np.concatenate([uniform(-700, 700), uniform(-1, 1)]).reshape(1, -1)
    plain, compiled = exponent.copy(), exponent.copy()
    take_exponentials.py_func(plain)  # type: ignore[attr-defined]
    rule(take_exponentials.py_func)(compiled)  # type: ignore[attr-defined]
    assert plain.tolist() == compiled.tolist() == numerics.exp(exponent).tolist()
