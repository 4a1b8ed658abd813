"""What the agent of a destination may do, sees and is rewarded with (Artemis, section 3.3), for both engines."""

from typing import Final, NamedTuple

from flowsched_gym.core.arrays import BoolArray, FloatArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.columns import Column, Layout, scaled, writer
from flowsched_gym.flows.decisions import Order
from flowsched_gym.flows.records import latest_completion
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.systems.artemis.config import ArtemisConfig, Observation

SIZE_SCALE: Final = 300 * BYTES_PER_KILOBYTE
"""Size in B that becomes one half: the mean size of the thesis's flows (section 4.1.2, variant 1)."""
TIME_SCALE: Final = 20 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half: near half the deadlines of the thesis's flows."""
FLOW_FIELDS: Final = (("postponed", "?"), ("deadline_span", "f8"))  # whether the request was sent to the back
EPISODE_FIELDS: Final = (("rewarded", "i8"),)  # delivered flows that an action was rewarded for
TERMS: Final = ("deadline_met",)
FINAL_INFOS: Final = ("unpaid_rewards",)  # met deadlines that no action was rewarded for
GRANT, POSTPONE, WAIT = int(Order.GRANT), int(Order.POSTPONE), int(Order.WAIT)
DESTINATION: Final = (
    Column.fraction("tokens_free", "free tokens over k"),
    Column.fraction("active_flows", "tokens held over k"),
    Column.squashed("bytes_in_flight", "bytes that flows with a token have not sent yet", "B", SIZE_SCALE),
    Column.squashed("queue_length", "requests that wait, seen or not; f become one half", "requests", "num_slots"),
)
SIZE: Final = Column.squashed("size", "bytes to deliver", "B", SIZE_SCALE)
DEADLINE_SPAN: Final = Column.squashed("deadline_span", "time allowed after arrival", "s", TIME_SCALE)
REQUEST: Final = (
    Column.fraction("present", "1 if a request waits in the slot"),
    SIZE,
    DEADLINE_SPAN,
    Column.squashed("waiting", "time since arrival", "s", TIME_SCALE),
    Column.signed("time_left", "time to the deadline, negative when it has passed", "s", TIME_SCALE),
    Column.signed("slack", "time to the deadline less the time to send at line rate", "s", TIME_SCALE),
    Column.fraction("postponed", "1 if the request was sent to the back once"),
)
PAPER: Final = (SIZE, DEADLINE_SPAN)
SOURCE_LOAD: Final = Column.squashed(
    "source_load", "bytes that its source has yet to send, of all flows that have come there", "B", SIZE_SCALE
)
write_destination, write_request, write_sizes = writer(DESTINATION), writer(REQUEST), writer(PAPER)
write_load = writer((SOURCE_LOAD,))


class ArtemisRules(NamedTuple):
    """The scheduler of a destination with ``f`` slots and ``k`` tokens; see ``DecisionRules`` for the methods.

    Attributes:
        can_wait: Whether one more action lets the destination wait.
        can_postpone: Whether one more action for each slot sends its request to the back, once.
        is_lagged: Whether each action is rewarded for one delivered flow, the oldest, and not for all.
        sees_all: Whether all columns are observed, or the paper's.
        sees_load: Whether the load of the source is observed besides the paper's columns.
        line_rate: Capacity of a destination's link in B/s.
    """

    num_slots: int
    num_tokens: int
    can_wait: bool
    can_postpone: bool
    is_lagged: bool
    sees_all: bool
    sees_load: bool
    line_rate: float

    def act(self, decision: Decision, action: int) -> tuple[int, int, bool]:
        """Grants, waits, or sends a request to the back; the choice of an empty slot grants the oldest request."""
        if action < decision.num_candidates and action < self.num_slots:
            return GRANT, action, False
        slot = action - self.num_slots
        if slot >= 0:
            if self.can_wait and decision.can_wait:
                return WAIT, 0, False
            if self.can_postpone and _can_postpone(decision, slot):
                decision.flows["postponed"][decision.candidates[decision.first_candidate + slot]] = True
                return POSTPONE, slot, False
        return GRANT, 0, True

    def mask(self, decision: Decision, mask: BoolArray) -> None:
        """Writes which actions are not replaced; at the end, the first slot."""
        for slot in range(self.num_slots):
            mask[slot] = slot < decision.num_candidates if decision.is_due else slot == 0
        if self.can_wait:
            mask[self.num_slots] = decision.is_due and decision.can_wait
        if self.can_postpone:
            for slot in range(self.num_slots):
                mask[self.num_slots + slot] = decision.is_due and _can_postpone(decision, slot)

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Writes the columns of ``artemis_layout``."""
        at = _show_destination(self, decision, observation) if self.sees_all else 0
        now, state, span = decision.now, decision.state, decision.flows["deadline_span"]
        first, last = decision.first_candidate, decision.first_candidate + decision.num_candidates
        for row in decision.candidates[first:last][: self.num_slots]:
            if not self.sees_all:
                at = write_sizes(self, observation, at, size=state.size[row], deadline_span=span[row])
                if self.sees_load:
                    at = write_load(self, observation, at, source_load=_source_load(decision, row))
                continue
            time_left = state.deadline[row] - now
            at = write_request(
                self,
                observation,
                at,
                present=1.0,
                size=state.size[row],
                deadline_span=span[row],
                waiting=now - state.arrival_time[row],
                time_left=time_left,
                slack=time_left - state.volume[row] / self.line_rate,
                postponed=decision.flows["postponed"][row],
            )
        observation[at:] = 0.0

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Counts the deadlines that were met since the last action; a lagged reward is for one flow at most."""
        rewarded = decision.episodes["rewarded"]
        first, last = rewarded[decision.number], decision.num_delivered
        if self.is_lagged:
            last = min(last, first + 1)
        rewarded[decision.number] = last
        terms[0] = _deadlines_met(decision, first, last)
        return float(terms[0])

    def final(self, decision: Decision, values: FloatArray) -> None:
        """Writes how many met deadlines no action was rewarded for."""
        first = decision.episodes["rewarded"][decision.number]
        values[0] = _deadlines_met(decision, first, decision.num_delivered)


def artemis_layout(config: ArtemisConfig) -> Layout:
    """Lists the columns that the agent sees."""
    if config.observation is Observation.PAPER:
        return Layout(context=(), slot=PAPER, num_slots=config.f)
    if config.observation is Observation.REQUEST:
        return Layout(context=(), slot=(*PAPER, SOURCE_LOAD), num_slots=config.f)
    return Layout(context=scaled(DESTINATION, {"num_slots": config.f}), slot=REQUEST, num_slots=config.f)


@inlined_part
def _can_postpone(decision: Decision, slot: int) -> bool:
    """Returns whether a request waits in a slot, has not been postponed, and is not alone."""
    if not 1 < decision.num_candidates > slot:
        return False
    return not decision.flows["postponed"][decision.candidates[decision.first_candidate + slot]]


@inlined_part
def _deadlines_met(decision: Decision, first: int, last: int) -> float:
    """Counts the flows, of those delivered after ``first`` others and among the first ``last``, that were in time."""
    met = 0.0
    for index in range(decision.first_row + first, decision.first_row + last):
        row = decision.delivered[index]
        if decision.completion_time[row] <= latest_completion(decision.state.deadline[row]):
            met += 1.0
    return met


@inlined_part
def _source_load(decision: Decision, row: int) -> float:
    """Returns the bytes that the source of a flow has yet to send: of all flows with the same first link."""
    network, state, path = decision.network, decision.state, decision.controls.path
    link, elapsed = network.path_links[network.path_start[path[row]]], decision.now - decision.advanced_to
    load = 0.0
    for other in range(decision.first_row, decision.first_row + decision.num_flows):
        if state.arrival_time[other] <= decision.now and network.path_links[network.path_start[path[other]]] == link:
            load += max(state.remaining[other] - state.rate[other] * elapsed, 0.0)
    return load


@inlined_part
def _show_destination(rules: ArtemisRules, decision: Decision, observation: ObservationArray) -> int:
    """Writes the state of the destination; returns the index behind it."""
    elapsed = decision.now - decision.advanced_to
    in_flight = 0.0
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        row = decision.active[index]
        in_flight += decision.state.remaining[row] - decision.state.rate[row] * elapsed
    return write_destination(
        rules,
        observation,
        0,
        tokens_free=(rules.num_tokens - decision.num_active) / rules.num_tokens,
        active_flows=decision.num_active / rules.num_tokens,
        bytes_in_flight=max(in_flight, 0.0),
        queue_length=decision.num_candidates,
    )
