"""Types of the arrays that the package computes with."""

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "IntArray", "ObservationArray"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
ObservationArray = npt.NDArray[np.float32]
"""Observations."""
