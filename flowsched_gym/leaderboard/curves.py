"""Chooses the policies whose curves a picture shows: more than six cannot be told apart."""

from collections.abc import Collection, Sequence
from typing import Final

MOST_CURVES: Final = 6
BASELINES: Final = ("edf", "fifo", "ecmp", "equal", "constant")
"""Plain heuristics: the first of them that plays has a curve, however it fares."""


def curves_of(order: Sequence[str], learned: Collection[str]) -> list[str]:
    """Chooses the policies whose curves are drawn: learned ones, one plain heuristic, and the best of the others.

    Args:
        order: Policies, best first.
        learned: Those that are trained models.

    Returns:
        At most six of them, best first.
    """
    plain = [name for name in BASELINES if name in order][:1]
    first = [name for name in order if name in learned][: MOST_CURVES - len(plain)] + plain
    others = [name for name in order if name not in first and name not in learned]
    chosen = first + others[: MOST_CURVES - len(first)]
    return [name for name in order if name in chosen]
