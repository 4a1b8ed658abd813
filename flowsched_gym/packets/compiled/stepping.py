"""Steps environments in compiled code, one network at a time; see ``fluid.compiled.stepping``, which does the same."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.flows.decisions import Results, act, asks, choose, final, mask, observe, reward
from flowsched_gym.machine_code.decorators import inlined_part, threaded_function
from flowsched_gym.packets.compiled.network import Network, run_network
from flowsched_gym.packets.compiled.state import COMPLETED
from flowsched_gym.packets.decision import PacketDecision
from flowsched_gym.packets.rules.queues import forget_counts

NOBODY: Final = -1
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
def _take(network: Network, played: Played, n: int, rules: Any, decision: PacketDecision, action: Any) -> None:
    """Takes an action, from which on flows count as delivered since."""
    episode = played.episodes[n]
    if episode["num_decisions"] > 0:
        episode["num_before"] = decision.num_delivered
        episode["acted_at"] = decision.now
    _, _, is_replaced = act(rules, decision, action)
    episode["empty_slot_choices"] += is_replaced
    episode["num_decisions"] += 1
    if decision.is_due:
        begin_period(network, played, n)


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
    results.num_finished[e] = 0
    if acts:
        results.reward[e] = 0.0
        results.terms[e, :] = 0.0
        results.terminated[e] = False
        results.truncated[e] = False
        if over[e]:
            return 0
        _take(network, played, n, rules, decision_of(network, columns, played, n), actions[e])
    decision = _run(network, columns, played, n, rules)
    episode = played.episodes[n]
    if acts:
        results.terminated[e] = not decision.is_due
        results.truncated[e] = decision.is_due and episode["num_decisions"] >= max_decisions
        over[e] = results.terminated[e] or results.truncated[e]
        num_before = episode["num_before"]
        results.num_finished[e] = decision.num_delivered - num_before
        for index in range(num_before, decision.num_delivered):
            results.finished[index - num_before] = decision.delivered[index]
        results.reward[e] = reward(rules, decision, num_before, results.terms[e])
    observe(rules, decision, results.observation[e])
    mask(rules, decision, results.mask[e])
    final(rules, decision, results.final[e])
    results.time[e] = decision.now
    results.host[e] = NOBODY
    results.empty_slot_choices[e] = episode["empty_slot_choices"]
    return int(results.num_finished[e])


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
        _take(network, played, n, rules, decision, actions[e])
        num_decisions += 1
        decision = _run(network, columns, played, n, rules)
        results.reward[e] += reward(rules, decision, played.episodes[n]["num_before"], results.terms[e])
        over[e] = not decision.is_due or played.episodes[n]["num_decisions"] >= max_decisions
    results.terminated[e] = not decision.is_due
    results.time[e] = decision.now
    return num_decisions
