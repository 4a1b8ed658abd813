"""Steps environments in compiled code, one network at a time; see ``fluid.compiled.stepping``, which does the same."""

from collections.abc import Callable
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
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part, pasted_rule, threaded_function
from flowsched_gym.packets.compiled.asking import (
    ACTIVE,
    ASKED,
    FIRST,
    PERIODS,
    Asking,
    begins_period,
    carry_out,
    count_asked,
    next_period_time,
    show_work,
)
from flowsched_gym.packets.compiled.network import Network, run
from flowsched_gym.packets.compiled.state import COMPLETED
from flowsched_gym.packets.compiled.tokens import ASKING, LAST_ASKING, Tokens, give_order
from flowsched_gym.packets.decision import PacketDecision, show_rates

NETWORK: Final = np.dtype([("num_flows", "i8"), ("waits", "?")], align=True)
"""A network: its flows, and whether an agent is to act."""
GO_ON: Final = int(Order.GO_ON)


class Played(NamedTuple):
    """Networks that agents play: (num_networks,) of ``NETWORK`` and of what is kept of episodes."""

    networks: npt.NDArray[Any]
    episodes: npt.NDArray[Any]


def _by_asker(of_tokens: Callable[..., Any], of_flows: Callable[..., Any]) -> Callable[..., Any]:
    """Calls one function where an agent grants tokens, and another where it is asked anything else."""
    return chosen_by_type(lambda name, asker: of_tokens if asker is Tokens else of_flows)(of_flows)


@inlined_part
def _of_tokens(waits: bool, asker: Tokens) -> Any:
    """Lays out what a destination asks."""
    d = asker.destinations[asker.numbers[LAST_ASKING]]
    can_wait, asked = d["num_holders"] > 0 or d["expected"] > 0, (asker.requests, d["head"], d["tail"] - d["head"])
    return 0, *asked, asker.holders, d["first_holder"], d["num_holders"], d["host"], can_wait, None


@inlined_part
def _of_flows(waits: bool, asker: Asking) -> Any:
    """Lays out what is asked of flows."""
    numbers, count = asker.numbers, count_asked(asker) if waits else 0
    asked = (asker.asked, numbers[FIRST], count)
    return numbers[PERIODS], *asked, asker.active, 0, numbers[ACTIVE], NOBODY, False, asker.routes


@inlined_part
def _show_nothing(now: float, senders: Any, asker: Tokens) -> None:
    return


@inlined_part
def _show_work_of(now: float, senders: Any, asker: Asking) -> None:
    show_work(now, senders, asker.staging)


_asked_of, _show_work = _by_asker(_of_tokens, _of_flows), _by_asker(_show_nothing, _show_work_of)


@inlined_part
def decision_of(network: Network, columns: Rows, played: Played, n: int) -> PacketDecision:
    """Lays out what network ``n`` asks, with what is kept of its flows, (num_flows,); also called from Python."""
    tables, senders = network.tables, network.senders
    asker: Any = network.asker
    net, now, state = played.networks[n], tables.clock[0], senders.state
    periods, asked, first_asked, num_asked, active, first_active, num_active, host, can_wait, routes = _asked_of(
        net["waits"], asker
    )
    _show_work(now, senders, asker)
    show_rates(now, active, first_active, num_active, state)
    return PacketDecision(
        n,
        net["waits"],
        now,
        periods,
        now,
        asked,
        first_asked,
        num_asked,
        active,
        first_active,
        num_active,
        host,
        can_wait,
        senders.order,
        0,
        net["num_flows"],
        tables.counts[COMPLETED],
        senders.completion_time,
        state,
        asker.controls,
        asker.network,
        routes,
        tables.record,
        0,
        columns,
        played.episodes,
        asker.arrival_time,
        tables.ports.capacity[0],
        tables.queue_counts,
    )


@inlined_part
def _give_token(network: Network, order: int, index: int, asker: Tokens) -> bool:
    give_order(network.tables.clock[0], order, index, asker)
    return False


@inlined_part
def _give_to_flow(network: Network, order: int, index: int, asker: Asking) -> bool:
    return carry_out(network.tables.clock[0], order, index, network.tables, network.senders, asker)


_give = _by_asker(_give_token, _give_to_flow)


@inlined_part
def give(network: Network, played: Played, n: int, order: int, index: int) -> None:
    """Carries out an ``Order``."""
    played.networks[n]["waits"] = _give(network, order, index, network.asker)


@inlined_part
def _waits_for_grant(num_over: int, num_flows: int, asker: Tokens) -> bool:
    return asker.numbers[ASKING] != NOBODY  # type: ignore[no-any-return]  # a boolean


@inlined_part
def _waits_for_order(num_over: int, num_flows: int, asker: Asking) -> bool:
    return asker.numbers[ASKED] > 0 or (num_over < num_flows and begins_period(num_over, asker))


_waits = _by_asker(_waits_for_grant, _waits_for_order)


@inlined_part
def _any_time(asker: Tokens) -> float:
    return np.inf


_next_time = _by_asker(_any_time, next_period_time)


@pasted_rule
def _run(network: Network, columns: Rows, played: Played, n: int, rules: Any) -> PacketDecision:
    """Runs a network until there is something to decide, or all flows are over."""
    tables, net = network.tables, played.networks[n]
    while True:
        if not net["waits"] and tables.counts[COMPLETED] < net["num_flows"]:
            run(network, net["num_flows"], _next_time(network.asker))
            net["waits"] = _waits(tables.counts[COMPLETED], net["num_flows"], network.asker)
        decision = decision_of(network, columns, played, n)
        if not net["waits"] or asks(rules, decision):
            return decision
        give(network, played, n, GO_ON, 0)


@inlined_part
def _take(network: Network, played: Played, rules: Any, decision: PacketDecision, action: Any) -> None:
    """Takes an action in a network."""
    order, index = take(rules, decision, action)
    if decision.is_due:
        give(network, played, decision.number, order, index)


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
        _take(network, played, rules, decision_of(network, columns, played, n), actions[e])
    decision = _run(network, columns, played, n, rules)
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
