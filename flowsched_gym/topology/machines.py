"""Draws machines as TAFE's cluster has them: the six most frequent ones of Google's trace of 2011 (section V-B).

Shares and counts are those of the public trace (Reiss, Wilkes and Hellerstein, Google cluster-usage traces, CC-BY 4.0):
12,569 machines with (CPU, memory) of (0.5, 0.5), (0.5, 0.25), (0.5, 0.75), (1, 1), (0.25, 0.25) and (0.5, 0.12) of the
largest one.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_between
from flowsched_gym.core.seeding import SeedStreams, integers
from flowsched_gym.topology.fabrics import MOST_SWITCH_HOSTS

CPU_SHARES: Final = (0.5, 0.5, 0.5, 1.0, 0.25, 0.5)
NUM_MACHINES: Final = (6732, 3863, 1001, 795, 126, 52)
"""CPU of each kind of machine over that of the largest one, and how many machines of it there were."""


def machine_mix(num_hosts: int, *, seed: int) -> FloatArray:
    """Draws the CPU of each host, for the parameter ``cpus`` of a replay.

    Args:
        num_hosts: Number of hosts, >= 1. On ``one-link`` all hosts share one CPU.
        seed: Seed of the draw, an integer >= 0. More hosts with the same seed begin with the same machines.

    Returns:
        Shares of the largest machine's CPU, (num_hosts,) float64, each 0.25, 0.5 or 1.

    Raises:
        ConfigError: The number of hosts or the seed is not allowed.
    """
    num_hosts = check_between("topology machine-mix: num_hosts", num_hosts, 1, MOST_SWITCH_HOSTS)
    until = np.cumsum(NUM_MACHINES)
    machine = integers(SeedStreams(seed)["machines"], int(until[-1]), num_hosts)
    return np.array(CPU_SHARES)[np.searchsorted(until, machine, side="right")]
