"""Steps environments in compiled code, one network at a time; see ``fluid.compiled.stepping``, which does the same."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.flows.decisions import (
    NOBODY,
    Order,
    Results,
    Rows,
    asks,
    choose,
    forget_step,
    mask,
    note_shown,
    note_step,
    observe,
    reward,
    take,
)
from flowsched_gym.machine_code.decorators import chosen_by_presence, inlined_part, threaded_function
from flowsched_gym.packets.compiled.network import Network, run_network
from flowsched_gym.packets.compiled.state import COMPLETED
from flowsched_gym.packets.compiled.tokens import ASKING, LAST_ASKING, Tokens, give_order
from flowsched_gym.packets.decision import PacketDecision
from flowsched_gym.packets.rules.queues import forget_counts

NETWORK: Final = np.dtype([("num_flows", "i8"), ("periods", "i8"), ("waits", "?")], align=True)
"""A network: its flows, the periods that have begun, and whether an agent is to act."""
GO_ON: Final = int(Order.GO_ON)


class Played(NamedTuple):
    """Networks whose agents act once per period: (num_networks,) of ``NETWORK`` and of what is kept of episodes."""

    networks: npt.NDArray[Any]
    episodes: npt.NDArray[Any]
    seconds: float


@inlined_part
def _of_period(network: Network, columns: Rows, played: Played, n: int, tokens: None) -> PacketDecision:
    tables, underway, senders, _ = network
    net = played.networks[n]
    return PacketDecision(
        n,
        net["waits"],
        tables.clock[0],
        net["periods"],
        tables.clock[0],
        senders.order,
        0,
        0,
        senders.order,
        0,
        0,
        NOBODY,
        False,
        senders.order,
        0,
        net["num_flows"],
        tables.counts[COMPLETED],
        senders.completion_time,
        None,
        None,
        None,
        tables.record,
        columns,
        played.episodes,
        underway.arrival_time,
        tables.ports.capacity[0],
        tables.queue_counts,
    )


@inlined_part
def _of_request(network: Network, columns: Rows, played: Played, n: int, tokens: Tokens) -> PacketDecision:
    tables, _, senders, _ = network
    net, d = played.networks[n], tokens.destinations[tokens.numbers[LAST_ASKING]]
    return PacketDecision(
        n,
        net["waits"],
        tables.clock[0],
        0,
        tables.clock[0],
        tokens.requests,
        d["head"],
        d["tail"] - d["head"],
        tokens.holders,
        d["first_holder"],
        d["num_holders"],
        d["host"],
        d["num_holders"] > 0 or d["expected"] > 0,
        senders.order,
        0,
        net["num_flows"],
        tables.counts[COMPLETED],
        senders.completion_time,
        senders.state,
        tokens.controls,
        tokens.network,
        tables.record,
        columns,
        played.episodes,
        senders.state.arrival_time,
        tables.ports.capacity[0],
        tables.queue_counts,
    )


decision_of = chosen_by_presence(_of_period, _of_request)
"""Lays out what network ``n`` asks, with what is kept of its flows, (num_flows,); also called from Python."""


@inlined_part
def _begin_period(network: Network, played: Played, n: int, order: int, index: int, tokens: None) -> None:
    net = played.networks[n]
    net["waits"] = False
    if net["periods"] > 1:
        forget_counts(network.tables.queue_counts)


@inlined_part
def _at_destination(network: Network, played: Played, n: int, order: int, index: int, tokens: Tokens) -> None:
    net = played.networks[n]
    net["waits"] = False
    give_order(network.tables.clock[0], order, index, tokens)


give = chosen_by_presence(_begin_period, _at_destination)
"""Carries out an ``Order``: at a period the only one is to go on, with the controls as they have been set."""


@inlined_part
def _run_to_period(network: Network, columns: Rows, played: Played, n: int, rules: Any, tokens: None) -> PacketDecision:
    """Runs a network to the next period in which there is something to decide, or until all flows are over."""
    tables, net = network.tables, played.networks[n]
    while True:
        if not net["waits"] and tables.counts[COMPLETED] < net["num_flows"]:
            run_network(network, net["num_flows"], net["periods"] * played.seconds)
            if tables.counts[COMPLETED] < net["num_flows"]:
                net["periods"] += 1
                net["waits"] = True
        decision = decision_of(network, columns, played, n, tokens)
        if not net["waits"] or asks(rules, decision):
            return decision
        give(network, played, n, GO_ON, 0, tokens)


@inlined_part
def _run_to_request(
    network: Network, columns: Rows, played: Played, n: int, rules: Any, tokens: Tokens
) -> PacketDecision:
    """Runs a network until a destination asks, or all flows are over."""
    net = played.networks[n]
    if not net["waits"] and network.tables.counts[COMPLETED] < net["num_flows"]:
        run_network(network, net["num_flows"], np.inf)
        net["waits"] = tokens.numbers[ASKING] != NOBODY
    return decision_of(network, columns, played, n, tokens)


_run = chosen_by_presence(_run_to_period, _run_to_request)


@inlined_part
def _take(network: Network, played: Played, rules: Any, decision: PacketDecision, action: Any) -> None:
    """Takes an action in a network."""
    order, index = take(rules, decision, action)
    if decision.is_due:
        give(network, played, decision.number, order, index, network.tokens)


@threaded_function
def step(
    network: Network,
    columns: Rows,
    played: Played,
    rules: Any,
    max_decisions: float,
    n: int,
    e: int,
    over: BoolArray,
    actions: npt.NDArray[Any],
    results: Results,
) -> int:
    """Applies an action in environment ``e``, whose network has number ``n``; returns how many flows finished."""
    acts = len(actions) > 0
    num_finished = 0
    results.num_finished[e] = 0
    if acts:
        forget_step(results, e)
        if over[e]:
            return 0
        _take(network, played, rules, decision_of(network, columns, played, n, network.tokens), actions[e])
    decision = _run(network, columns, played, n, rules, network.tokens)
    if acts:
        num_finished = note_step(rules, decision, max_decisions, over, results, e, 0)
    note_shown(rules, decision, results, e)
    return num_finished


@threaded_function
def play(
    network: Network,
    columns: Rows,
    played: Played,
    rules: Any,
    max_decisions: float,
    n: int,
    e: int,
    over: BoolArray,
    policy: Any,
    weights: FloatArray,
    scratch: FloatArray,
    room: npt.NDArray[Any],
    actions: npt.NDArray[Any],
    results: Results,
) -> int:
    """Plays an environment that waits for a decision to its end by a policy; returns the number of decisions."""
    num_decisions = 0
    decision = decision_of(network, columns, played, n, network.tokens)
    while not over[e]:
        observe(rules, decision, results.observation[e])
        mask(rules, decision, results.mask[e])
        choose(policy, weights[e], results.observation[e], results.mask[e], scratch, room[e])
        _take(network, played, rules, decision, actions[e])
        num_decisions += 1
        decision = _run(network, columns, played, n, rules, network.tokens)
        results.reward[e] += reward(rules, decision, played.episodes[n]["num_before"], results.terms[e])
        over[e] = not decision.is_due or played.episodes[n]["num_decisions"] >= max_decisions
    results.terminated[e] = not decision.is_due
    results.time[e] = decision.now
    return num_decisions
