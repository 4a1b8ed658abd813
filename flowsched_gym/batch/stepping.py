"""Holds what the compiled steps of all systems share: what they return, and how a step begins and ends."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.tables import NOBODY, Row, View
from flowsched_gym.model.rules.compile import inlined_rule

__all__ = [
    "EMPTY_SLOT_CHOICES",
    "EPISODE_FIELDS",
    "NUM_FINISHED",
    "OWN_AMOUNTS",
    "OWN_COUNTS",
    "REWARD",
    "TERMINATED",
    "TIME",
    "TRUNCATED",
    "Columns",
    "begin_episode",
    "begin_step",
    "end_step",
    "find_wrong_action",
    "first_to_tell",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

EPISODE_FIELDS: Final = (("empty_slot_choices", "i8"), ("num_decisions", "i8"))
"""What every system keeps of an episode beside its network. It stands behind what a system keeps alone: Numba takes a
record that begins like another for one of that kind, and warns."""


class Columns(NamedTuple):
    """Receives what environments return, in few arrays.

    Attributes:
        observation: Observations, (num_envs * size,).
        mask: Which actions do what they say, (num_envs * num_actions,).
        amounts: Rewards, times in s, and what else the system tells, (num_amounts, num_envs).
        counts: Flows that finished, choices of empty slots, and what else the system tells, (num_counts, num_envs).
        flags: Whether all flows have finished, and whether the limit of decisions is reached, (2, num_envs).
        finished: Flows that finished, environment by environment, counted from the first row of each.
    """

    observation: npt.NDArray[np.float32]
    mask: BoolArray
    amounts: FloatArray
    counts: IntArray
    flags: BoolArray
    finished: IntArray


REWARD, TIME, OWN_AMOUNTS = range(3)
NUM_FINISHED, EMPTY_SLOT_CHOICES, OWN_COUNTS = range(3)
TERMINATED, TRUNCATED = range(2)


@inlined_rule
def begin_episode(episode: Any) -> None:
    """Sets what is kept of an episode that begins."""
    episode.empty_slot_choices = 0
    episode.num_decisions = 0


@inlined_rule
def find_wrong_action(over: BoolArray, actions: IntArray, num_actions: int) -> int:
    """Returns the first environment that is not over and whose action is outside the space, or ``NOBODY``."""
    for e in range(len(over)):
        if not over[e] and not 0 <= actions[e] < num_actions:
            return e
    return NOBODY


@inlined_rule
def begin_step(e: int, out: Columns) -> None:
    """Clears what the step before has left of an environment."""
    out.counts[NUM_FINISHED, e] = 0
    out.amounts[REWARD, e] = 0.0
    out.flags[TERMINATED, e] = False
    out.flags[TRUNCATED, e] = False


@inlined_rule
def first_to_tell(net: Row, episode: Any) -> int:
    """Counts the flows that had been told of before a step: what finished before the first is told in it."""
    return net.delivered if episode.num_decisions > 0 else 0


@inlined_rule
def end_step(
    t: View,
    n: int,
    e: int,
    episode: Any,
    told: int,
    max_decisions: float,
    over: BoolArray,
    finished: int,
    out: Columns,
) -> int:
    """Notes whether an episode is over, and which flows have finished.

    Args:
        t: The tables.
        n: Number of the network.
        e: Number of the environment.
        episode: What is kept of the episode.
        told: Flows that had been told of before.
        max_decisions: Decisions after which an episode is truncated.
        over: Which environments are over; updated.
        finished: Flows that have finished in the environments before.
        out: Receives the rest.

    Returns:
        Flows that have finished, those of this environment too.
    """
    net = t.networks[n]
    episode.num_decisions += 1
    ended = net.asking == NOBODY
    cut = not ended and episode.num_decisions >= max_decisions
    over[e] = ended or cut
    out.flags[TERMINATED, e] = ended
    out.flags[TRUNCATED, e] = cut
    out.counts[NUM_FINISHED, e] = net.delivered - told
    for place in range(n * t.num_rows + told, n * t.num_rows + net.delivered):
        out.finished[finished] = t.delivered[place] - n * t.num_rows
        finished += 1
    return finished
