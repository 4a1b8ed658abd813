"""Steps many ordering environments at once, in compiled code: acts, runs, pays, observes, as ``env.MERPOrderEnv``."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.choice_tables import Choosing
from flowsched_gym.batch.deeds import put_first
from flowsched_gym.batch.loop import run
from flowsched_gym.batch.stepping import (
    EMPTY_SLOT_CHOICES,
    EPISODE_FIELDS,
    OWN_AMOUNTS,
    REWARD,
    TIME,
    Columns,
    begin_episode,
    begin_step,
    end_step,
    find_wrong_action,
    first_to_tell,
)
from flowsched_gym.batch.tables import NOBODY, Tables, View, view
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.contenders import NUM_CONTENDER_COLUMNS, NUM_CONTEST_COLUMNS, fill_contest
from flowsched_gym.model.rules.slowdowns import NUM_TERMS, pay_for_finished

__all__ = ["EPISODE", "FLOW_FIELDS", "NUM_AMOUNTS", "TERMS_AT", "Episodes", "observe", "prepare", "step"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

FLOW_FIELDS: Final = (("ideal_fct", "f8"),)
"""What rewards and observations need of a flow: its completion time in s alone on the empty network."""

EPISODE: Final = np.dtype([*EPISODE_FIELDS], align=True)
"""What an environment keeps of an episode beside its network and the largest slowdowns."""

TERMS_AT: Final = OWN_AMOUNTS
"""First of the amounts that are terms of the reward."""
NUM_AMOUNTS: Final = TERMS_AT + NUM_TERMS


class Episodes(NamedTuple):
    """Holds what environments keep beside their networks, and their arguments.

    Attributes:
        episodes: One for each network, (num_networks,) EPISODE.
        largest: Largest slowdowns of the flows that have been paid for, (num_networks, LARGEST_KEPT).
        terms: Scratch, (NUM_TERMS,).
        backlog: Scratch, (num_links,).
        num_slots: Slots (f), as many as actions.
        paid: Place of the term that is paid.
        max_decisions: Decisions after which an episode is truncated.
        size_scale: Size in B that becomes one half.
        time_scale: Time in s that becomes one half, and the unit of completion times that are paid.
        ratio_scale: Slowdown that becomes one half.
    """

    episodes: npt.NDArray[Any]
    largest: FloatArray
    terms: FloatArray
    backlog: FloatArray
    num_slots: int
    paid: int
    max_decisions: float
    size_scale: float
    time_scale: float
    ratio_scale: float


@rule
def step(
    tables: Tables, own: Episodes, current: IntArray, over: BoolArray, actions: IntArray, out: Columns
) -> tuple[int, int]:
    """Applies an action in each environment that is not over, and runs it to its next decision or end.

    Returns:
        Number of flows that finished, or, negated and less 1, the number of the first environment whose action is
        outside the space: nothing is changed then. And the number of environments that are over now.
    """
    wrong = find_wrong_action(over, actions, own.num_slots)
    if wrong != NOBODY:
        return -1 - wrong, 0
    t = view(tables)
    ideal_fct = tables.flows["ideal_fct"]
    finished = 0
    num_over = 0
    for e in range(len(current)):
        begin_step(e, out)
        for term in range(NUM_TERMS):
            out.amounts[TERMS_AT + term, e] = 0.0
        if not over[e]:
            n = current[e]
            episode = own.episodes[n]
            told = first_to_tell(t.networks[n], episode)
            _act(t, own, n, actions[e], t.choosing)
            run(t, n, t.networks[n].num_flows)
            finished = end_step(t, n, e, episode, told, own.max_decisions, over, finished, out)
            _pay(t, own, n, e, told, ideal_fct, out)
            _show(t, own, ideal_fct, e, n, out, t.choosing)
        num_over += over[e]
    return finished, num_over


@rule
def observe(tables: Tables, own: Episodes, current: IntArray, numbers: IntArray, out: Columns) -> None:
    """Writes what some environments show."""
    t = view(tables)
    for i in range(len(numbers)):
        e = numbers[i]
        _show(t, own, tables.flows["ideal_fct"], e, current[e], out, t.choosing)


@rule
def prepare(own: Episodes, n: int) -> None:
    """Sets what is kept of an episode that begins."""
    begin_episode(own.episodes[n])
    own.largest[n] = 0.0


@inlined_rule
def _num_competing(t: View, n: int, choosing: Choosing) -> int:
    """Returns how many flows compete; none where nothing is asked."""
    num_competing: int = choosing.choices[n].num_asked if t.networks[n].asking != NOBODY else 0
    return num_competing


@inlined_rule
def _act(t: View, own: Episodes, n: int, choice: int, choosing: Choosing | None) -> None:
    """Puts a flow first."""
    if choosing is None:
        return
    num_competing = _num_competing(t, n, choosing)
    if choice >= max(num_competing, 1):
        own.episodes[n].empty_slot_choices += 1
        choice = 0
    if num_competing > 0:
        put_first(t, n, choice, choosing)


@inlined_rule
def _pay(t: View, own: Episodes, n: int, e: int, told: int, ideal_fct: FloatArray, out: Columns) -> None:
    """Pays for the flows that finished."""
    first = n * t.num_rows
    pay_for_finished(
        t.delivered,
        first + told,
        first + t.networks[n].delivered,
        t.completion_time,
        t.state.arrival_time,
        ideal_fct,
        own.largest[n],
        own.time_scale,
        own.terms,
    )
    for term in range(NUM_TERMS):
        out.amounts[TERMS_AT + term, e] = own.terms[term]
    out.amounts[REWARD, e] = own.terms[own.paid]


@inlined_rule
def _show(
    t: View, own: Episodes, ideal_fct: FloatArray, e: int, n: int, out: Columns, choosing: Choosing | None
) -> None:
    """Writes what an environment shows: observation, mask, time."""
    if choosing is None:
        return
    net = t.networks[n]
    num_competing = _num_competing(t, n, choosing)
    fill_contest(
        out.observation,
        e * (NUM_CONTEST_COLUMNS + NUM_CONTENDER_COLUMNS * own.num_slots),
        own.num_slots,
        choosing.asked,
        choosing.choices[n].first_asked,
        num_competing,
        t.live,
        n * t.num_active,
        net.live,
        net.now,
        t.state.size,
        t.state.arrival_time,
        t.state.remaining,
        ideal_fct,
        t.controls.path,
        t.network.capacity,
        t.network.path_start,
        t.network.path_links,
        own.backlog,
        own.largest[n, 0],
        own.size_scale,
        own.time_scale,
        own.ratio_scale,
    )
    for slot in range(own.num_slots):
        out.mask[e * own.num_slots + slot] = slot < max(num_competing, 1)
    out.amounts[TIME, e] = net.now
    out.counts[EMPTY_SLOT_CHOICES, e] = own.episodes[n].empty_slot_choices
