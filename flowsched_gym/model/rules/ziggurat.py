"""Computes the tables of the ziggurat by which NumPy draws exponential numbers (Marsaglia and Tsang, 2000, section 2).

The area under ``exp(-x)`` is covered by 255 boxes of equal area, one above the other, over a base of the same area to
which the tail beyond ``TAIL_START`` belongs. A box and a place in it are drawn; most places are surely below the curve.
NumPy has the tables as literals. Computed in decimal arithmetic and rounded once, they are the same to the last bit.
"""

from decimal import Decimal, localcontext
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["HEIGHT", "SURE_BELOW", "TAIL_START", "WIDTH"]

NUM_BOXES: Final = 256
"""Boxes, the base among them."""

MANTISSA_BITS: Final = 53
"""Bits of the random integer whose share of 2**53 is the place in the box."""

WORKING_DIGITS: Final = 40
"""Decimal digits of the computation: more than twice those of float64."""

TAIL_START_DIGITS: Final = "7.6971174701310497140446280481"
"""Left end of the tail, for which the boxes end at ``exp(0) = 1``."""

TAIL_START: Final = float(TAIL_START_DIGITS)
"""Left end of the tail."""


def _tables() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Computes the three tables."""
    with localcontext() as context:
        context.prec = WORKING_DIGITS
        start = Decimal(TAIL_START_DIGITS)
        area = (start + 1) * (-start).exp()
        edges = [start]
        for _ in range(NUM_BOXES - 2):
            edges.append(-(area / edges[-1] + (-edges[-1]).exp()).ln())
        # The base counts as a box of its area and of the height of the curve at the tail; the top box has no sure part.
        edges = [area / (-start).exp(), *reversed(edges)]
        scale = Decimal(2**MANTISSA_BITS)
        width = [float(edge / scale) for edge in edges]
        inner = [start, Decimal(0), *edges[1:-1]]
        # NumPy's bounds are even.
        sure_below = [int(left / right * scale) // 2 * 2 for left, right in zip(inner, edges, strict=True)]
        height = [1.0, *(float((-edge).exp()) for edge in edges[1:])]
    return np.array(width), np.array(sure_below), np.array(height)


WIDTH, SURE_BELOW, HEIGHT = _tables()
"""Of each box, each (256,): its width over 2**53, float64; the random integer below which a place is surely under the
curve, int64; the height of the curve at its right edge, float64 (1 for the base)."""
