"""Steps environments in compiled code, one network at a time; see ``fluid.compiled.stepping``, which does the same."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.flows.decisions import (
    NOBODY,
    Results,
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
from flowsched_gym.machine_code.decorators import inlined_part, threaded_function
from flowsched_gym.packets.compiled.network import Network, run_network
from flowsched_gym.packets.compiled.state import COMPLETED
from flowsched_gym.packets.decision import PacketDecision
from flowsched_gym.packets.rules.queues import forget_counts

NETWORK: Final = np.dtype(
    [(name, "i8") for name in ("num_flows", "num_packets", "num_keys", "periods")] + [("waits", "?")], align=True
)
"""A network: its size, the periods that have begun, and whether an agent is to act."""


class Played(NamedTuple):
    """Networks whose agents act once per period: (num_networks,) of ``NETWORK`` and of what is kept of episodes."""

    networks: npt.NDArray[Any]
    episodes: npt.NDArray[Any]
    seconds: float


@inlined_part
def decision_of(network: Network, columns: npt.NDArray[Any], played: Played, n: int) -> PacketDecision:
    """Lays out what network ``n`` asks, with what is kept of its flows, (num_flows,); also called from Python."""
    tables, underway, senders = network
    net = played.networks[n]
    return PacketDecision(
        n,
        net["waits"],
        tables.clock[0],
        net["periods"],
        NOBODY,
        tables.ports.capacity[0],
        senders.order,
        0,
        net["num_flows"],
        tables.counts[COMPLETED],
        senders.completion_time,
        underway.arrival_time,
        tables.record,
        tables.queue_counts,
        columns,
        played.episodes,
    )


@inlined_part
def begin_period(network: Network, played: Played, n: int) -> None:
    """Begins a period, with the controls as they have been set; also called from Python."""
    net = played.networks[n]
    net["waits"] = False
    if net["periods"] > 1:
        forget_counts(network.tables.queue_counts)


@inlined_part
def _run(network: Network, columns: npt.NDArray[Any], played: Played, n: int, rules: Any) -> PacketDecision:
    """Runs a network to the next period in which there is something to decide, or until all is acknowledged."""
    tables, underway, senders = network
    net = played.networks[n]
    while True:
        if not net["waits"] and tables.counts[COMPLETED] < net["num_flows"]:
            run_network(tables, underway, senders, net["num_flows"], net["periods"] * played.seconds)
            if tables.counts[COMPLETED] < net["num_flows"]:
                net["periods"] += 1
                net["waits"] = True
        decision = decision_of(network, columns, played, n)
        if not net["waits"] or asks(rules, decision):
            return decision
        begin_period(network, played, n)


@inlined_part
def _take(network: Network, played: Played, rules: Any, decision: PacketDecision, action: Any) -> None:
    """Takes an action in a network; there is only one order, to go on."""
    take(rules, decision, action)
    if decision.is_due:
        begin_period(network, played, decision.number)


@threaded_function
def step(
    network: Network,
    columns: npt.NDArray[Any],
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
        _take(network, played, rules, decision_of(network, columns, played, n), actions[e])
    decision = _run(network, columns, played, n, rules)
    if acts:
        num_finished = note_step(rules, decision, max_decisions, over, results, e, 0)
    note_shown(rules, decision, results, e)
    return num_finished


@threaded_function
def play(
    network: Network,
    columns: npt.NDArray[Any],
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
    decision = decision_of(network, columns, played, n)
    while not over[e]:
        observe(rules, decision, results.observation[e])
        mask(rules, decision, results.mask[e])
        choose(policy, weights[e], results.observation[e], results.mask[e], scratch, room[e])
        _take(network, played, rules, decision, actions[e])
        num_decisions += 1
        decision = _run(network, columns, played, n, rules)
        results.reward[e] += reward(rules, decision, played.episodes[n]["num_before"], results.terms[e])
        over[e] = not decision.is_due or played.episodes[n]["num_decisions"] >= max_decisions
    results.terminated[e] = not decision.is_due
    results.time[e] = decision.now
    return num_decisions
