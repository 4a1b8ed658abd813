"""What the agent of long flows may do, sees and is rewarded with; ``observation`` has the columns that it sees."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND
from flowsched_gym.flows.decisions import Order
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.decision import AnyIntArray, Decision
from flowsched_gym.fluid.rules.routing.choose_path import move
from flowsched_gym.machine_code.decorators import allocating_part, allocating_rule, inlined_part
from flowsched_gym.machine_code.numerics import pairwise_sum, sum_of_logs
from flowsched_gym.systems.auto.flows import FlowUnits, flow_columns, show_finished, squashed_units
from flowsched_gym.systems.auto.long_flows.config import (
    AuTOLongFlowsConfig,
    LongFlowsLayout,
    LongFlowsObservation,
    LongFlowsReward,
    Scope,
)
from flowsched_gym.systems.auto.long_flows.observation import (
    ALL,
    BYTES_SCALE,
    FEATURES,
    MOST,
    TIME_SCALE,
    count_on_links,
    list_finished,
    list_long,
    long_flows_layout,
    show_long,
    show_paths,
)
from flowsched_gym.topology.routes import path_is_up

RATE_STEPS: Final = (1 / 3, 2 / 3, 1.0)
"""Largest rates that an agent may choose, over the capacity of a link: three, as in the authors' shipped network."""
NUM_RATES: Final = len(RATE_STEPS)
PARTS: Final = 3
"""Choices for a flow: of its queue, rate and path."""
TERMS: Final = tuple(str(term) for term in LongFlowsReward)
PROGRESS, SLOWDOWN, SLOWDOWN_GROWTH, THROUGHPUT_RATIO = range(len(TERMS))
GO_ON: Final = int(Order.GO_ON)
FLOW_FIELDS: Final = (
    *((name, "i8") for name in ("flow_id", "source", "destination")),
    ("ideal_fct", "f8"),
    ("listed", "i8"),  # scratch: rows of some flows
    ("counted", "i8"),  # long flows that the last reward has counted, rows from the first one of the episode on
)
EPISODE_FIELDS: Final = (
    # Throughput of the step before in B/s; of the long flows that were active, the sums of their slowdowns so far and
    # of the logarithms of the bytes that they had sent.
    *((name, "f8") for name in ("throughput", "slowdowns", "progress")),
    ("num_counted", "i8"),
)


class LongFlowRules(NamedTuple):
    """The queues, largest rates and paths of long flows, set for a period; see ``DecisionRules`` for the methods.

    Attributes:
        by_server: Whether servers are asked one after the other, or all at once.
        num_slots: Active flows that the agent sees and controls.
        num_finished: Finished flows that it sees.
        long_from: Bytes from which on a flow is long.
        capacity: That of a link in B/s.
        rate_caps: Largest rates that it may choose in B/s, (3,).
        units: Units in which numbers of flows are shown.
        slot_at: Where the paper's features of each slot begin, (num_slots,).
        past_at: Where finished flows begin.
        further_at: Where what is shown of each slot besides begins, (num_slots,); (0,) for nothing.
        rewarded: Index of the term that is the reward.
    """

    by_server: bool
    num_hosts: int
    num_paths: int
    num_queues: int
    num_slots: int
    num_finished: int
    long_from: float
    capacity: float
    rate_caps: FloatArray
    units: FlowUnits
    slot_at: IntArray
    past_at: int
    further_at: IntArray
    rewarded: int

    def asks(self, decision: Decision) -> bool:
        """Returns whether there is a long flow to decide about."""
        return list_seen(self, decision) > 0

    def act(self, decision: Decision, action: IntArray) -> tuple[int, int, bool]:
        """Sets queues, rate steps and paths of the flows in the slots, and begins the period."""
        for slot in range(list_seen(self, decision)):
            row, at = decision.flows["listed"][decision.first_row + slot], PARTS * slot
            decision.record.pinned[row] = action[at]
            decision.controls.rate_cap[row] = self.rate_caps[action[at + 1]]
            move(decision, row, action[at + 2])
        decision.record.changed[decision.record_number] = 1
        return GO_ON, 0, False

    def mask(self, decision: Decision, mask: BoolArray) -> None:
        """Writes which choices do what they say, slot by slot: queues, rates, paths; of an empty slot, the first."""
        num_seen, at = list_seen(self, decision), 0
        for slot in range(self.num_slots):
            for count in (self.num_queues, NUM_RATES, self.num_paths):
                mask[at : at + count] = slot < num_seen
                mask[at] = True
                at += count
            if slot < num_seen:
                first, row = at - self.num_paths, decision.flows["listed"][decision.first_row + slot]
                for choice in range(self.num_paths):
                    path = decision.routes.first[row] + choice  # type: ignore[union-attr]  # there is a routing
                    is_taken = decision.controls.path[row] == path
                    mask[first + choice] = is_taken or path_is_up(path, decision.network)

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Shows the flows in the slots, and those that finished last, the last one first."""
        observation[:] = 0.0
        flows, listed = flow_columns(decision), decision.flows["listed"][decision.first_row :]
        rows = listed[: list_seen(self, decision)]
        show_long(rows, flows, self.units, self.slot_at, observation)
        if len(self.further_at) > 0:
            _show_further(self, decision, rows, observation)
        finished = listed[: _list_past(self, decision)]  # in the room of the others
        show_finished(finished, flows, self.units, self.past_at, observation)

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Rewards for long flows, finished and active; ``AuTOLongFlowsEnv`` has the terms."""
        n, episodes, first = decision.number, decision.episodes, decision.first_row
        finished = decision.delivered[first + num_before : first + decision.num_delivered]
        long = decision.flows["listed"][first : first + _list_unfinished(self, decision)]
        count, so_far, slowdown, throughput, sent, delivered = fares_of_long(
            decision.now, finished, long, flow_columns(decision), self.long_from
        )
        terms[PROGRESS] = sent + delivered - episodes["progress"][n]
        terms[SLOWDOWN] = -(slowdown / count) if count > 0 else 0.0
        terms[SLOWDOWN_GROWTH] = episodes["slowdowns"][n] - so_far - slowdown
        terms[THROUGHPUT_RATIO] = (throughput + self.capacity) / (episodes["throughput"][n] + self.capacity)
        episodes["throughput"][n], episodes["slowdowns"][n], episodes["progress"][n] = throughput, so_far, sent
        return float(terms[self.rewarded])


def long_flow_rules(config: AuTOLongFlowsConfig) -> LongFlowRules:
    """Makes the rules of an environment."""
    layout, slot = long_flows_layout(config), np.arange(config.n_l)
    if config.layout is LongFlowsLayout.RECORDED:
        past = (FEATURES + 1) * config.num_finished
        behind = FEATURES * config.n_l + past
        slot_at, past_at = np.where(slot == 0, 0, past + FEATURES * slot), FEATURES
        further_at = behind + (layout.size - behind) // config.n_l * slot
        units = FlowUnits(most_size=MOST["B"], fct_scale=SECONDS_PER_MICROSECOND, most_fct=MOST["us"])
    else:
        width = layout.num_slot_features
        slot_at, past_at = width * slot, width * config.n_l
        further_at = slot_at + FEATURES
        units = squashed_units(config.hosts, BYTES_SCALE, TIME_SCALE)
        units = units._replace(first_queue=1, num_queues=float(config.num_queues))
    return LongFlowRules(
        by_server=config.scope is Scope.SERVER,
        num_hosts=config.hosts,
        num_paths=config.paths,
        num_queues=config.num_queues,
        num_slots=config.n_l,
        num_finished=config.num_finished,
        long_from=config.long_from,
        capacity=config.capacity,
        rate_caps=np.array([config.capacity * share if share < 1 else np.inf for share in RATE_STEPS]),
        units=units,
        slot_at=slot_at,
        past_at=past_at,
        further_at=further_at if config.observation is LongFlowsObservation.FULL else further_at[:0],
        rewarded=TERMS.index(config.reward),
    )


@inlined_part
def asked_server(rules: LongFlowRules, decision: Decision) -> int:
    """Returns the server whose turn it is, or ``ALL``."""
    return (decision.num_periods - 1) % rules.num_hosts if rules.by_server else ALL


@inlined_part
def list_seen(rules: LongFlowRules, decision: Decision) -> int:
    """Lists the flows in the slots, slot by slot, the oldest long ones of those who are asked; returns how many.

    They stand in the column ``listed``, from the first row of the network on.
    """
    return min(_list_long(rules, decision, asked_server(rules, decision)), rules.num_slots)


@inlined_part
def _list_long(rules: LongFlowRules, decision: Decision, server: int) -> int:
    """Lists the active flows that have sent the last threshold, of a server or of ``ALL``, likewise, by arrival."""
    active = decision.active[decision.first_active : decision.first_active + decision.num_active]
    source, attained, arrival = decision.flows["source"], decision.state.attained, decision.state.arrival_time
    listed = decision.flows["listed"][decision.first_row :]
    return list_long(active, source, attained, arrival, rules.long_from, server, listed)


@inlined_part
def _list_unfinished(rules: LongFlowRules, decision: Decision) -> int:
    """Lists the active long flows, and those of the last reward whose last byte is on its way, likewise."""
    count, num_counted = _list_long(rules, decision, ALL), decision.episodes["num_counted"][decision.number]
    listed, counted = decision.flows["listed"][decision.first_row :], decision.flows["counted"][decision.first_row :]
    for index in range(num_counted):
        row = decision.first_row + counted[index]
        if decision.state.remaining[row] == 0.0 and not decision.completion_time[row] <= decision.now:
            listed[count] = row
            count += 1
    for index in range(count):
        counted[index] = listed[index] - decision.first_row
    decision.episodes["num_counted"][decision.number] = count
    return count


@inlined_part
def _list_past(rules: LongFlowRules, decision: Decision) -> int:
    """Lists the finished flows that are shown, likewise."""
    first, flows = decision.first_row, decision.flows
    delivered, server = decision.delivered[first : first + decision.num_delivered], asked_server(rules, decision)
    listed = flows["listed"][first : first + min(rules.num_finished, decision.num_delivered)]
    return list_finished(delivered, flows["source"], decision.state.size, rules.long_from, server, listed)


@allocating_part
def on_links(rules: LongFlowRules, decision: Decision) -> tuple[IntArray, IntArray]:
    """Counts long flows, and all active ones, on each link."""
    long_on = np.zeros((rules.num_paths, 2, rules.num_hosts), dtype=np.int64)
    all_on = np.zeros_like(long_on)
    active = decision.active[decision.first_active : decision.first_active + decision.num_active]
    count_on_links(active, flow_columns(decision), rules.long_from, long_on, all_on)
    return long_on, all_on


@allocating_part
def _show_further(rules: LongFlowRules, decision: Decision, rows: IntArray, shown: ObservationArray) -> None:
    """Shows how far flows are, and how many others are on the links of their paths."""
    long_on, all_on = on_links(rules, decision)
    show_paths(rows, decision.now, flow_columns(decision), long_on, all_on, rules.capacity, rules.further_at, shown)


@allocating_rule
def fares_of_long(
    now: float, finished: AnyIntArray, long: IntArray, flows: FlowColumns, long_from: float
) -> tuple[int, float, float, float, float, float]:
    """Adds up how long flows fare that have finished, and those that are active.

    Args:
        finished: Rows of flows that have finished, (num_finished,), short ones too.
        long: Rows of the long flows that have not finished, (num_long,).
        long_from: Bytes above which a flow has been long.

    Returns:
        How many of the finished flows have been long, and five sums: of the slowdowns so far of active long flows, of
        the slowdowns of finished ones and of their throughputs in B/s, and of the logarithms of what active ones have
        sent over ``long_from``, and finished ones.
    """
    so_far, sent = np.empty(len(long)), np.empty(len(long))
    slowdown, throughput, delivered = np.empty(len(finished)), np.empty(len(finished)), np.empty(len(finished))
    for index in range(len(long)):
        row = long[index]
        so_far[index] = (now - flows.arrival_time[row]) / flows.ideal_fct[row]
        sent[index] = flows.attained[row] / long_from
    count = 0
    for index in range(len(finished)):
        done = finished[index]
        size = flows.size[done]
        if size > long_from:
            fct = flows.completion_time[done] - flows.arrival_time[done]
            slowdown[count] = fct / flows.ideal_fct[done]
            throughput[count] = size / fct
            delivered[count] = size / long_from
            count += 1
    return (
        count,
        pairwise_sum(so_far, 0, len(long)),
        pairwise_sum(slowdown, 0, count),
        pairwise_sum(throughput, 0, count),
        sum_of_logs(sent),
        sum_of_logs(delivered[:count]),
    )
