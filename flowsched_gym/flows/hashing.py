"""Numbers that seem random and are not drawn: they are hashed from flows, so that the same flows get the same ones."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.decorators import inlined_part

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
"""What SplitMix64 adds before it mixes."""


@inlined_part
def mixed(x: Any) -> Any:
    """Mixes the bits of a uint64, or of an array of them, as SplitMix64 does at its end (Steele, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined_part
def between_0_and_1(x: Any) -> Any:
    """Turns mixed bits into a number between 0 and 1 without its ends."""
    return ((x >> np.uint64(11)) * 1.0 + 0.5) * 2.0**-53


def flow_keys(flows: Workload, seed: int) -> npt.NDArray[np.uint64]:
    """Hashes each flow, (num_flows,): it is as lucky whoever schedules it, wherever, and whatever comes after it."""
    keys = mixed(np.full(len(flows.flow_id), seed + 1, dtype=np.uint64))
    for column in (flows.arrival_time, flows.size, flows.source, flows.destination, flows.flow_id):
        keys = mixed(keys + np.ascontiguousarray(column).view(np.uint64))
    found: npt.NDArray[np.uint64] = keys
    return found


def luck_of(flows: Workload, seed: int) -> FloatArray:
    """Hashes a number between 0 and 1 for each flow, (num_flows,)."""
    luck: FloatArray = between_0_and_1(mixed(flow_keys(flows, seed) + GOLDEN))
    return luck
