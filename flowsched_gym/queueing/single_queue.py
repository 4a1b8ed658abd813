"""Computes the exact mean FCT of disciplines without thresholds on one link: references and bounds.

Flows arrive as a Poisson process (the M/G/1 queue). Times are in units of the mean time that a flow needs alone on the
link. SRPT is the least mean FCT that any discipline reaches, LAS the least of those that do not know sizes where large
flows are ever less likely to end soon. The formulas are in Kleinrock, Queueing Systems, volume 2, and Schrage and
Miller (1966): a flow of size x takes on average

- LAS: ``rate E[min(S, x)^2] / (2 (1 - r(x))^2) + x / (1 - r(x))`` with ``r(x) = rate E[min(S, x)]``,
- PSJF: ``rate E[S^2; S <= x] / (2 (1 - s(x-)) (1 - s(x))) + x / (1 - s(x-))`` with ``s(x) = rate E[S; S <= x]``,
- SRPT: ``rate E[min(S, x)^2] / (2 (1 - s(x-)) (1 - s(x)))`` and the integral of ``1 / (1 - s(t))`` from 0 to x.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.queueing.moments import SizeDistribution, as_size_distribution, size_grid, size_moments
from flowsched_gym.queueing.multilevel import check_load, multilevel_fct
from flowsched_gym.workload import Distribution

DISCIPLINES: Final = ("fifo", "las", "ps", "psjf", "srpt")
NUM_SIZES: Final = 20_000
"""Sizes over which means are integrated: the relative error is about 1e-6 at load 0.8, below 1e-4 at load 0.99."""


def mean_fct(discipline: str, distribution: Distribution | str, load: float) -> float:
    """Computes the mean FCT, in units of the mean service time.

    Args:
        discipline: ``fifo``, ``las``, ``ps``, ``psjf`` (preemptive by original size) or ``srpt``.
        distribution: Distribution of sizes in B, or the name of a packaged one.
        load: Bytes offered per s over the capacity, > 0, < 1.

    Raises:
        ConfigError: An argument is not allowed, or the distribution's tail is too heavy to integrate over.
    """
    check_choice("discipline", discipline, DISCIPLINES)
    sizes = as_size_distribution(distribution)
    check_load(load)
    if discipline == "fifo":
        return multilevel_fct("qlas", sizes, load, ()).overall
    if discipline == "ps":
        return 1.0 / (1.0 - load)
    return _integrate(discipline, sizes, load)


def _integrate(discipline: str, distribution: SizeDistribution, load: float) -> float:
    """Integrates the mean FCT given the size over the sizes, between neighbours by the trapezoidal rule."""
    grid = size_grid(distribution, NUM_SIZES)
    # Sizes just below those of the grid set apart what many flows have in common: an atom's mass is between the two.
    size = np.unique(np.concatenate([np.nextafter(grid, 0.0), grid]))
    is_atom = np.isin(size[1:], grid)
    moments = size_moments(distribution, size)
    mean = distribution.mean
    load_below = load / mean * (moments.capped_mean if discipline == "las" else moments.partial_mean)
    square = moments.partial_square if discipline == "psjf" else moments.capped_square
    served = moments.capped_mean if discipline == "srpt" else moments.partial_mean

    def middle(values: FloatArray, at_atom: FloatArray) -> FloatArray:
        return np.where(is_atom, at_atom, (values[:-1] + values[1:]) / 2)

    left = 1.0 - load_below
    wait = load / (2.0 * mean * mean) * middle(square, square[1:]) / (left[:-1] * left[1:])
    service = middle(1.0 / left, 1.0 / left[:-1]) / mean
    total = np.sum(np.diff(moments.probability) * wait + np.diff(served) * service)
    # Few bytes are below and above the grid: those below find an empty link, those above are as the largest on it.
    rest = served[0] + (mean - served[-1]) / left[-1]
    rest_wait = (1.0 - moments.probability[-1]) * wait[-1]
    return float(total + rest / mean + rest_wait)
