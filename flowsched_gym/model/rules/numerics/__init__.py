"""Arithmetic whose last bit is the same on every machine."""

from flowsched_gym.model.rules.numerics.functions import (
    INVERSE_LOG_2,
    ROOT_HALF,
    exp,
    exp_of_parts,
    expm1,
    log,
    log1p,
    log_of_parts,
    normal_cdf,
    normal_quantile,
    polynomial,
    power,
)

__all__ = [
    "INVERSE_LOG_2",
    "ROOT_HALF",
    "exp",
    "exp_of_parts",
    "expm1",
    "log",
    "log1p",
    "log_of_parts",
    "normal_cdf",
    "normal_quantile",
    "polynomial",
    "power",
]
