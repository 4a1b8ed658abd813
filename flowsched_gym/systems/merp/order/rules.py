"""What an agent that orders flows may do, sees and is rewarded with (MERP, section 4), for both engines."""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.columns import Column, Layout, scaled, writer
from flowsched_gym.flows.decisions import mask_slots, serve_slot
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.machine_code.decorators import allocating_part, inlined_part
from flowsched_gym.systems.merp.order.config import MERPOrderConfig, OrderReward

SIZE_SCALE: Final = 1500 * BYTES_PER_KILOBYTE
"""Size in B that becomes one half: the mean size of MERP's flows (section 6.1.1)."""
TIME_SCALE: Final = 20 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half, and the unit of the reward ``fct``: a flow of that size takes 12 ms at 1 Gbps."""
RATIO_SCALE: Final = 5.0
"""Slowdown that becomes one half."""
LARGEST_KEPT: Final = 8
"""Slowdowns that the lexicographic term looks at; the next would have a weight of 1/256."""
HALF: Final = 0.5
"""Weight of a slowdown over that of the next larger one."""
FLOW_FIELDS: Final = (("ideal_fct", "f8"),)
EPISODE_FIELDS: Final = (("largest", "f8", (LARGEST_KEPT,)),)  # largest slowdowns that have been rewarded, in order
TERMS: Final = tuple(str(term) for term in OrderReward)
LEXICOGRAPHIC, MAX_SLOWDOWN, SLOWDOWN, FCT = range(len(TERMS))
CONTEST: Final = (
    Column.squashed("competing", "flows that compete, seen or not; f become one half", "flows", "num_slots"),
    Column.squashed("live", "flows that have not sent their last byte; f become one half", "flows", "num_slots"),
    Column.squashed("backlog", "bytes left on the most loaded link of the competing flows", "B", SIZE_SCALE),
    Column.squashed(
        "max_slowdown", "largest slowdown of the flows that have been rewarded, 0 before the first", "1", RATIO_SCALE
    ),
    Column.squashed("max_slowdown_so_far", "largest slowdown so far among active flows", "1", RATIO_SCALE),
)
FLOW: Final = (
    Column.fraction("present", "1 if a flow competes in the slot"),
    Column.squashed("size", "bytes to deliver", "B", SIZE_SCALE),
    Column.squashed("remaining", "bytes left to send", "B", SIZE_SCALE),
    Column.squashed("waiting", "time since arrival", "s", TIME_SCALE),
    Column.squashed("ideal_fct", "flow completion time alone on the empty network", "s", TIME_SCALE),
    Column.squashed("slowdown_so_far", "time since arrival over the ideal flow completion time", "1", RATIO_SCALE),
    Column.squashed(
        "slowdown_if_last", "slowdown if served last on its most loaded link, delays left out", "1", RATIO_SCALE
    ),
)
write_contest, write_flow = writer(CONTEST), writer(FLOW)


class OrderRules(NamedTuple):
    """Who goes first of f flows, and which term is rewarded, by its index; see ``DecisionRules`` for the methods."""

    num_slots: int
    rewarded: int

    def act(self, decision: Decision, action: int) -> tuple[int, int, bool]:
        """Serves a flow first; the choice of an empty slot stands for the one that has waited longest."""
        return serve_slot(decision, action)

    def mask(self, decision: Decision, mask: BoolArray) -> None:
        """Writes which slots hold a flow; at the end, the first."""
        mask_slots(decision, self.num_slots, mask)

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Writes the columns of ``order_layout``."""
        _show(self, decision, observation)

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Rewards for the flows that have been delivered since the last action; ``MERPOrderEnv`` has the terms."""
        largest = decision.episodes[decision.number]["largest"]
        terms[LEXICOGRAPHIC], terms[MAX_SLOWDOWN] = _weighted(largest), largest[0]
        terms[SLOWDOWN] = terms[FCT] = 0.0
        for index in range(decision.first_row + num_before, decision.first_row + decision.num_delivered):
            row = decision.delivered[index]
            fct = decision.completion_time[row] - decision.state.arrival_time[row]
            slowdown = fct / decision.flows["ideal_fct"][row]
            terms[SLOWDOWN] -= slowdown
            terms[FCT] -= fct / TIME_SCALE
            _insert(slowdown, largest)
        terms[LEXICOGRAPHIC] -= _weighted(largest)
        terms[MAX_SLOWDOWN] -= largest[0]
        return terms[self.rewarded]  # type: ignore[no-any-return]  # a float


def order_layout(config: MERPOrderConfig) -> Layout:
    """Lists the columns that the agent sees."""
    return Layout(context=scaled(CONTEST, {"num_slots": config.f}), slot=FLOW, num_slots=config.f)


@inlined_part
def _weighted(largest: Any) -> float:
    """Adds up slowdowns, each with half the weight of the one before."""
    total, weight = 0.0, 1.0
    for index in range(LARGEST_KEPT):
        total += weight * largest[index]
        weight *= HALF
    return total


@inlined_part
def _insert(slowdown: float, largest: Any) -> None:
    """Inserts a slowdown among the largest ones, in their order, if it is one of these."""
    hole = LARGEST_KEPT
    while hole > 0 and largest[hole - 1] < slowdown:
        hole -= 1
        if hole < LARGEST_KEPT - 1:
            largest[hole + 1] = largest[hole]
    if hole < LARGEST_KEPT:
        largest[hole] = slowdown


@allocating_part
def _show(rules: OrderRules, decision: Decision, observation: ObservationArray) -> None:
    """Writes the state of the contest and of each visible flow that competes; 0 in empty slots.

    What a flow's slowdown becomes if it is served last on a link is the ratio of Algorithm 2, ``((now - arrival) *
    capacity + remaining bytes of all flows on the link) / size``; shown is the largest over the links of its path.
    """
    now, state, path = decision.now, decision.state, decision.controls.path
    capacity, path_start, path_links, _ = decision.network
    ideal_fct = decision.flows["ideal_fct"]
    backlog = np.zeros(len(capacity))
    largest_active = 0.0
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        row = decision.active[index]
        largest_active = max(largest_active, (now - state.arrival_time[row]) / ideal_fct[row])
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            backlog[path_links[step]] += state.remaining[row]
    most_loaded = 0.0
    candidates = decision.candidates[decision.first_candidate :][: decision.num_candidates]
    for row in candidates:
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            most_loaded = max(most_loaded, backlog[path_links[step]])
    at = write_contest(
        rules,
        observation,
        0,
        competing=decision.num_candidates,
        live=decision.num_active,
        backlog=most_loaded,
        max_slowdown=decision.episodes[decision.number]["largest"][0],
        max_slowdown_so_far=largest_active,
    )
    for row in candidates[: rules.num_slots]:
        waiting, size = now - state.arrival_time[row], state.size[row]
        if_last = 0.0
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            link = path_links[step]
            if_last = max(if_last, (waiting * capacity[link] + backlog[link]) / size)
        at = write_flow(
            rules,
            observation,
            at,
            present=1.0,
            size=size,
            remaining=state.remaining[row],
            waiting=waiting,
            ideal_fct=ideal_fct[row],
            slowdown_so_far=waiting / ideal_fct[row],
            slowdown_if_last=if_last,
        )
    observation[at:] = 0.0
