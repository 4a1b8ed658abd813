"""Numbers of any size as numbers between -1 and 1."""

import numpy as np

from flowsched_gym.machine_code.decorators import inlined_rule


@inlined_rule
def squash(value: float, scale: float) -> float:
    """Returns ``value / (|value| + scale)``, in (-1, 1); 1 for inf."""
    squashed = value / (abs(value) + scale)
    return 1.0 if value == np.inf else squashed
