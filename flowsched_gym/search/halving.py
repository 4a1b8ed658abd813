"""Sequential halving: choices that look worse are dropped, the others are tried more often (Karnin et al., 2013)."""

from collections.abc import Callable, Sequence

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray


def sequential_halving(
    choices: IntArray, preferred: int, counts: Sequence[int], values: Callable[[IntArray, IntArray], FloatArray]
) -> int:
    """Finds the choice with the largest mean value; equals go to the preferred one, then to the lower.

    All choices of a round are tried on the same samples, and compared by the means over all samples so far. The
    preferred choice is never dropped, so that what wins has been compared with it on every sample.

    Args:
        choices: What to choose from, (num_choices,), rising.
        preferred: One of them.
        counts: New samples of each round.
        values: Tries choices, (num_left,), on samples by number, (count,); returns values, (count, num_left).
    """
    left = choices
    tried = np.zeros((0, len(left)))
    for count in counts:
        samples = np.arange(len(tried), len(tried) + count)
        tried = np.concatenate([tried, values(left, samples)])
        means = tried.mean(axis=0)
        order = np.lexsort((left, left != preferred, -means))
        kept = order[: _half(len(order))]
        best = int(left[kept[0]])
        stay = np.zeros(len(left), dtype=np.bool_)
        stay[kept] = True
        stay |= left == preferred
        left, tried = left[stay], tried[:, stay]
        if len(left) == 1:
            break
    return best


def most_tries(num_choices: int, counts: Sequence[int]) -> int:
    """Returns how many tries a round of ``sequential_halving`` can have."""
    most, left = 0, num_choices
    for count in counts:
        most = max(most, count * left)
        left = min(left, _half(left) + 1)
    return most


def _half(count: int) -> int:
    """Returns half of a number, rounded up."""
    return (count + 1) // 2
