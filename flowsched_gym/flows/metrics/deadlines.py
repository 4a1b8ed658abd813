"""Counts deadlines: which flows had one, and how many of them finished in time.

The flow deadline hit ratio is the figure that the Artemis thesis reports (section 4.1.2), also known as application
throughput. Flows without a deadline never enter it.
"""

import math
from typing import NamedTuple

import numpy as np

from flowsched_gym.flows.records import Records


class DeadlineCount(NamedTuple):
    """Numbers of flows with a deadline, and of those that met it.

    Attributes:
        met: Flows that finished by their deadline.
        missed: Flows that did not.
    """

    met: int
    missed: int


def count_deadlines(records: Records, *, now: float | None = None) -> DeadlineCount:
    """Counts the deadlines met and missed.

    Args:
        records: What became of each flow.
        now: Time in s at which the simulation was stopped early. Only flows that were due by then count, whether they
            met their deadline or not: counting early finishers among the others would flatter the schedule. Default:
            the simulation ran to its end, all flows count, and one that never finished has missed its deadline.
    """
    counted = records.deadline_span < np.inf
    if now is not None:
        counted &= records.arrival_time + records.deadline_span <= now
    num_deadlines = int(np.count_nonzero(counted))
    met = int(np.count_nonzero(counted & records.deadline_met))
    return DeadlineCount(met=met, missed=num_deadlines - met)


def deadline_hit_ratio(records: Records, *, now: float | None = None) -> float:
    """Returns the share of deadlines met, in [0, 1]; NaN if no flow that counts has one.

    Args:
        records: What became of each flow.
        now: As in `count_deadlines`.
    """
    count = count_deadlines(records, now=now)
    total = count.met + count.missed
    return count.met / total if total else math.nan
