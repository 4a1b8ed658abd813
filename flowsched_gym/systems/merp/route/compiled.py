"""Steps many routing environments at once, in compiled code: acts, runs, pays, observes, as ``env.py`` does."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.choice_tables import Choosing
from flowsched_gym.batch.deeds import take_path
from flowsched_gym.batch.loop import run_many
from flowsched_gym.batch.stepping import (
    EMPTY_SLOT_CHOICES,
    EPISODE_FIELDS,
    OWN_AMOUNTS,
    REWARD,
    TIME,
    Columns,
    begin_step,
    end_step,
    find_wrong_action,
)
from flowsched_gym.batch.tables import NOBODY, Tables, View, view
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.completions import add_completions
from flowsched_gym.model.rules.path_observation import PathScales, fill_live, fill_paths, first_live
from flowsched_gym.model.rules.routing.availability import path_is_up
from flowsched_gym.model.state import Network
from flowsched_gym.systems.merp.route.observation import TIME_SCALE

__all__ = ["EPISODE", "FCT", "FLOW_FIELDS", "NUM_AMOUNTS", "SLOWDOWN", "Episodes", "observe", "step"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

FLOW_FIELDS: Final = (("ideal_fct", "f8"),)
"""What rewards and observations need of a flow: its completion time in s alone on the empty network."""

EPISODE: Final = np.dtype(
    [("paid", "i8"), *EPISODE_FIELDS],  # delivered flows that an action was paid for
    align=True,
)
"""What an environment keeps of an episode beside its network."""


class Episodes(NamedTuple):
    """Holds what environments keep beside their networks, and their arguments.

    Attributes:
        episodes: One for each network, (num_networks,) EPISODE.
        num_actions: Actions: paths between two hosts, at most.
        pays_fct: Whether completion times are paid.
        pays_slowdown: Whether slowdowns are.
        max_decisions: Decisions after which an episode is truncated.
        scales: What observed values are divided by.
    """

    episodes: npt.NDArray[Any]
    num_actions: int
    pays_fct: bool
    pays_slowdown: bool
    max_decisions: float
    scales: PathScales


FCT, SLOWDOWN, NUM_AMOUNTS = range(OWN_AMOUNTS, OWN_AMOUNTS + 3)
"""Terms of the reward."""


@rule
def step(
    tables: Tables, own: Episodes, current: IntArray, over: BoolArray, actions: IntArray, out: Columns
) -> tuple[int, int]:
    """Applies an action in each environment that is not over, and runs it to its next decision or end.

    Returns:
        Number of flows that finished, or, negated and less 1, the number of the first environment whose action is
        outside the space: nothing is changed then. And the number of environments that are over now.
    """
    wrong = find_wrong_action(over, actions, own.num_actions)
    if wrong != NOBODY:
        return -1 - wrong, 0
    t = view(tables)
    ideal_fct = tables.flows["ideal_fct"]
    finished = 0
    num_over = 0
    for e in range(len(current)):
        if not over[e]:
            _act(t, own, current[e], actions[e], t.choosing)
    # Those that are over stay as they are.
    run_many(tables, current)
    for e in range(len(current)):
        begin_step(e, out)
        out.amounts[FCT, e] = 0.0
        out.amounts[SLOWDOWN, e] = 0.0
        if not over[e]:
            n = current[e]
            episode = own.episodes[n]
            finished = end_step(t, n, e, episode, episode.paid, own.max_decisions, over, finished, out)
            _pay(t, own, n, e, ideal_fct, out)
            _show(t, own, e, n, ideal_fct, out, t.choosing)
        num_over += over[e]
    return finished, num_over


@rule
def observe(tables: Tables, own: Episodes, current: IntArray, numbers: IntArray, out: Columns) -> None:
    """Writes what some environments show."""
    t = view(tables)
    ideal_fct = tables.flows["ideal_fct"]
    for i in range(len(numbers)):
        e = numbers[i]
        _show(t, own, e, current[e], ideal_fct, out, t.choosing)


@inlined_rule
def _network(t: View, n: int) -> Network:
    """Returns links and paths of a network as they are now."""
    capacity = t.capacity[n * t.link_stride : n * t.link_stride + len(t.links)]
    return Network(capacity, t.network.path_start, t.network.path_links)


@inlined_rule
def _act(t: View, own: Episodes, n: int, choice: int, choosing: Choosing | None) -> None:
    """Sends the flow that is asked about along the path, or along its first live one."""
    if choosing is None:
        return
    episode = own.episodes[n]
    if t.networks[n].asking == NOBODY:
        episode.empty_slot_choices += choice != 0
        return
    row: int = np.int64(choosing.asked[choosing.choices[n].first_asked])  # type: ignore[assignment]  # signed
    first, last = choosing.routes.first[row], choosing.routes.last[row]
    network = _network(t, n)
    if first + choice >= last or not path_is_up(
        first + choice, network.capacity, network.path_start, network.path_links
    ):
        episode.empty_slot_choices += 1
        choice = first_live(first, last, network) - first
    take_path(t, n, choice, choosing)


@inlined_rule
def _pay(t: View, own: Episodes, n: int, e: int, ideal_fct: FloatArray, out: Columns) -> None:
    """Pays for the flows that have finished since the last action."""
    episode = own.episodes[n]
    first, last = n * t.num_rows + episode.paid, n * t.num_rows + t.networks[n].delivered
    fct, slowdown = add_completions(t.delivered, first, last, t.completion_time, t.state.arrival_time, ideal_fct)
    episode.paid = t.networks[n].delivered
    out.amounts[FCT, e] = 0.0 - fct / TIME_SCALE
    out.amounts[SLOWDOWN, e] = 0.0 - slowdown
    if own.pays_fct:
        out.amounts[REWARD, e] += out.amounts[FCT, e]
    if own.pays_slowdown:
        out.amounts[REWARD, e] += out.amounts[SLOWDOWN, e]


@inlined_rule
def _show(
    t: View, own: Episodes, e: int, n: int, ideal_fct: FloatArray, out: Columns, choosing: Choosing | None
) -> None:
    """Writes what an environment shows: observation, mask, time."""
    if choosing is None:
        return
    net = t.networks[n]
    size = len(out.observation) // len(out.flags[0])
    observation = out.observation[e * size : (e + 1) * size]
    mask = out.mask[e * own.num_actions : (e + 1) * own.num_actions]
    if net.asking == NOBODY:
        observation[:] = 0.0
        mask[:] = False
        mask[0] = True
    else:
        row: int = np.int64(choosing.asked[choosing.choices[n].first_asked])  # type: ignore[assignment]  # signed
        network = _network(t, n)
        fill_paths(
            observation,
            own.num_actions,
            net.now,
            row,
            ideal_fct[row],
            t.live[n * t.num_active : (n + 1) * t.num_active],
            net.live,
            t.state,
            t.controls,
            network,
            choosing.routes,
            own.scales,
        )
        fill_live(choosing.routes.first[row], choosing.routes.last[row], network, mask)
    out.amounts[TIME, e] = net.now
    out.counts[EMPTY_SLOT_CHOICES, e] = own.episodes[n].empty_slot_choices
