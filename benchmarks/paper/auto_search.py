"""Looks for better thresholds of feedback queues than queueing theory gives, on flows that nobody is measured on later.

Stands for what any way to learn fixed thresholds can reach in this model (AuTO, Figures 13 to 15).
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from benchmarks.paper.auto_schemes import replayed
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.workload import PoissonWorkload, make_workload

LOAD: Final = 0.6
"""Load of the paper's comparison of thresholds (section 6.2.1)."""
QUEUES: Final = 4
TRAINING_SEEDS: Final = (1000, 1001, 1002, 1003)
"""Seeds of the flows that thresholds are looked for on."""
FACTORS: Final = (4.0, 2.0, 1.4)
"""Factors by which a threshold is raised or lowered, one after the other as no larger one helps."""
THEORY: Final = "by theory"
SEARCHED: Final = "searched"

Thresholds = list[float]


def workload_of(size: str, num_flows: int) -> PoissonWorkload:
    """Returns the traffic of the comparison."""
    workload = make_workload(f"auto-{size.replace('_', '-')}", load=LOAD, num_flows=num_flows)
    assert isinstance(workload, PoissonWorkload)
    return workload


def thresholds_of(size: str, num_flows: int) -> dict[str, Thresholds]:
    """Returns the best thresholds in theory, whose queues are first in, first out, and the best ones found, in B."""
    episodes = [workload_of(size, num_flows).draw(seed) for seed in TRAINING_SEEDS]

    def mean_fct(thresholds: Sequence[float]) -> float:
        serve = replayed("mlfq", thresholds=list(thresholds))
        return float(np.mean([serve(flows, 0).fct.mean() for flows in episodes]))

    theory = optimal_thresholds("qlas", size, LOAD, QUEUES).tolist()
    return {THEORY: theory, SEARCHED: descend(mean_fct, theory)}


def descend(cost: Callable[[Thresholds], float], start: Sequence[float]) -> Thresholds:
    """Moves one threshold at a time, by ever smaller factors, as long as the cost falls and their order holds.

    Begins with increasing thresholds in B; returns them in whole B.
    """
    here = list(start)
    least = cost(here)
    for factor in FACTORS:
        improved = True
        while improved:
            improved = False
            for place in range(len(here)):
                for step in (factor, 1 / factor):
                    there = [*here[:place], round(here[place] * step), *here[place + 1 :]]
                    if sorted(set(there)) == there and (found := cost(there)) < least:
                        here, least, improved = there, found, True
    return here
