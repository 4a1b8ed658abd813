"""Tells an agent of the flows that compete: who they are, and in what state their links are (MERP, section 4)."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule
from flowsched_gym.model.rules.observation import squash

__all__ = ["NUM_CONTENDER_COLUMNS", "NUM_CONTEST_COLUMNS", "fill_contest"]

NUM_CONTEST_COLUMNS: Final = 5
NUM_CONTENDER_COLUMNS: Final = 7
COMPETING, LIVE, BACKLOG, LARGEST_FINISHED, LARGEST_LIVE = range(NUM_CONTEST_COLUMNS)
PRESENT, SIZE, REMAINING, WAITING, IDEAL_FCT, SO_FAR, IF_LAST = range(NUM_CONTENDER_COLUMNS)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@inlined_rule
def fill_contest(
    observation: npt.NDArray[np.float32],
    first: int,
    num_slots: int,
    asked: IntArray,
    asked_from: int,
    num_asked: int,
    live: IntArray,
    live_from: int,
    num_live: int,
    now: float,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    ideal_fct: FloatArray,
    path: IntArray,
    capacity: FloatArray,
    path_start: IntArray,
    path_links: IntArray,
    backlog: FloatArray,
    largest_finished: float,
    size_scale: float,
    time_scale: float,
    ratio_scale: float,
) -> None:
    """Fills the state of a contest and of each visible flow that competes; 0 in empty slots.

    What a flow's slowdown becomes if it is served last on a link is the ratio of Algorithm 2, ``((now - arrival) *
    capacity + remaining bytes of all flows on the link) / size``; told is the largest over the links of its path.

    Args:
        observation: Receives the values from the place first on: five of the contest, then seven of each slot.
        first: First place.
        num_slots: Slots (f).
        asked: Rows of the flows that compete, oldest first, in the places asked_from to asked_from + num_asked - 1.
        asked_from: Their first place.
        num_asked: Flows that compete.
        live: Rows of the live flows, in the places live_from to live_from + num_live - 1.
        live_from: Their first place.
        num_live: Live flows.
        now: Time in s.
        size: Original sizes in B.
        arrival: Absolute arrival times in s.
        remaining: Bytes left.
        ideal_fct: Flow completion times in s alone on the empty network.
        path: Path of each flow.
        capacity: Capacities in B/s, (num_links,).
        path_start: Where each path begins in ``path_links``.
        path_links: Links of all paths.
        backlog: Scratch, (num_links,).
        largest_finished: Largest slowdown of the flows that have finished, 0 before the first.
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
        ratio_scale: Slowdown that becomes one half.
    """
    for link in range(len(backlog)):
        backlog[link] = 0.0
    largest_live = 0.0
    for place in range(live_from, live_from + num_live):
        row = live[place]
        largest_live = max(largest_live, (now - arrival[row]) / ideal_fct[row])
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            backlog[path_links[step]] += remaining[row]
    most_loaded = 0.0
    for place in range(asked_from, asked_from + num_asked):
        row = asked[place]
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            most_loaded = max(most_loaded, backlog[path_links[step]])
    observation[first + COMPETING] = squash(float(num_asked), float(num_slots))
    observation[first + LIVE] = squash(float(num_live), float(num_slots))
    observation[first + BACKLOG] = squash(most_loaded, size_scale)
    observation[first + LARGEST_FINISHED] = squash(largest_finished, ratio_scale)
    observation[first + LARGEST_LIVE] = squash(largest_live, ratio_scale)
    at = first + NUM_CONTEST_COLUMNS
    for slot in range(min(num_slots, num_asked)):
        row = asked[asked_from + slot]
        waiting = now - arrival[row]
        if_last = 0.0
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            link = path_links[step]
            if_last = max(if_last, (waiting * capacity[link] + backlog[link]) / size[row])
        observation[at + PRESENT] = 1.0
        observation[at + SIZE] = squash(size[row], size_scale)
        observation[at + REMAINING] = squash(remaining[row], size_scale)
        observation[at + WAITING] = squash(waiting, time_scale)
        observation[at + IDEAL_FCT] = squash(ideal_fct[row], time_scale)
        observation[at + SO_FAR] = squash(waiting / ideal_fct[row], ratio_scale)
        observation[at + IF_LAST] = squash(if_last, ratio_scale)
        at += NUM_CONTENDER_COLUMNS
    for place in range(at, first + NUM_CONTEST_COLUMNS + NUM_CONTENDER_COLUMNS * num_slots):
        observation[place] = 0.0
