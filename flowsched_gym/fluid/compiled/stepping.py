"""Steps environments in compiled code: reads actions, runs networks to their next decisions, observes and rewards."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.flows.decisions import Order, Results, act, asks, choose, final, mask, observe, reward
from flowsched_gym.fluid.compiled.loop import run
from flowsched_gym.fluid.compiled.orders import give
from flowsched_gym.fluid.compiled.records import Choosing
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables, controls_of, network_of, state_of
from flowsched_gym.fluid.decision import Decision, DecisionKind, periods_until
from flowsched_gym.fluid.routes import Routes
from flowsched_gym.machine_code.decorators import (
    chosen_by_presence,
    inlined_part,
    threaded_function,
)

_Asked = tuple[IntArray, int, int, IntArray, int, int, int, bool, Routes | None, int]
"""What a ``Decision`` is about: its fields from ``candidates`` to ``can_wait``, ``routes`` and ``num_periods``."""

_, ORDER, PATH, PERIOD = (int(kind) for kind in DecisionKind)
GO_ON: Final = int(Order.GO_ON)


@inlined_part
def _never(t: Tables, n: int, rules: Any, decision: Decision, choosing: None) -> bool:
    return False


@inlined_part
def _passes_period(t: Tables, n: int, rules: Any, decision: Decision, choosing: Choosing) -> bool:
    """Begins a period in which there is nothing to decide, and leaves out those before the next flow."""
    net = t.networks[n]
    if choosing.asks != PERIOD or net.asking == NOBODY:
        return False
    if asks(rules, decision):
        return False
    give(t, n, GO_ON, 0, choosing)
    if choosing.seconds < np.inf and net.arrived == net.delivered:
        choices = choosing.choices[n]
        choices.periods = max(choices.periods, periods_until(net.request_time, choosing.seconds))
    return True


_passes = chosen_by_presence(_never, _passes_period)


@inlined_part
def _take(t: Tables, n: int, rules: Any, decision: Decision, action: Any) -> None:
    """Takes an action in a network, whose flows delivered from now on count as delivered since."""
    net, episode = t.networks[n], t.episodes[n]
    if episode.num_decisions > 0:
        episode.num_before = net.delivered
        episode.acted_at = net.now
    order, index, is_replaced = act(rules, decision, action)
    episode.empty_slot_choices += is_replaced
    episode.num_decisions += 1
    if net.asking != NOBODY:
        give(t, n, order, index, t.choosing)


@threaded_function
def step(
    t: Tables,
    rules: Any,
    max_decisions: float,
    current: IntArray,
    numbers: IntArray,
    over: BoolArray,
    actions: npt.NDArray[Any],
    results: Results,
) -> tuple[int, int]:
    """Applies an action in environments that are not over, and runs each to its next decision or its end.

    ``current`` is the network of each environment, and ``over``, updated, whether it is over, (num_envs,) each;
    ``numbers`` are the environments to step, (count,). After ``max_decisions``, inf for no limit, episodes are
    truncated. ``actions`` are inside the space, (num_envs, ...), or (0, ...) to apply none: networks that have been
    loaded then run to their first decision, and what the environments show is written to ``results``, rewards and flags
    left as they are.

    Returns the number of flows that finished, and of these environments that are over.
    """
    acts = len(actions) > 0
    num_finished = 0
    num_over = 0
    for i in range(len(numbers)):
        e = numbers[i]
        n = current[e]
        results.num_finished[e] = 0
        if acts:
            results.reward[e] = 0.0
            results.terms[e, :] = 0.0
            results.terminated[e] = False
            results.truncated[e] = False
        if not acts or not over[e]:
            net = t.networks[n]
            episode = t.episodes[n]
            if acts:
                _take(t, n, rules, decision_of(t, n, t.choosing), actions[e])
            while True:
                run(t, n, net.num_flows)
                decision = decision_of(t, n, t.choosing)
                if not _passes(t, n, rules, decision, t.choosing):
                    break
            if acts:
                results.terminated[e] = not decision.is_due
                results.truncated[e] = decision.is_due and episode.num_decisions >= max_decisions
                over[e] = results.terminated[e] or results.truncated[e]
                results.num_finished[e] = net.delivered - episode.num_before
                for k in range(n * t.num_rows + episode.num_before, n * t.num_rows + net.delivered):
                    results.finished[num_finished] = t.delivered[k] - n * t.num_rows
                    num_finished += 1
                results.reward[e] = reward(rules, decision, episode.num_before, results.terms[e])
            observe(rules, decision, results.observation[e])
            mask(rules, decision, results.mask[e])
            final(rules, decision, results.final[e])
            results.time[e] = net.now
            results.host[e] = decision.host if decision.is_due else NOBODY
            results.empty_slot_choices[e] = episode.empty_slot_choices
        num_over += over[e]
    return num_finished, num_over


@threaded_function
def play(
    t: Tables,
    rules: Any,
    max_decisions: float,
    current: IntArray,
    numbers: IntArray,
    over: BoolArray,
    policy: Any,
    weights: FloatArray,
    scratch: FloatArray,
    room: npt.NDArray[Any],
    actions: npt.NDArray[Any],
    results: Results,
) -> int:
    """Plays environments that wait for a decision to their ends, each by a policy with weights of its own.

    It takes what ``step`` takes; besides a ``WeightedPolicy``, its weights, (num_envs, num_weights), its scratch, and
    room for the numbers of an action of each environment, (num_envs, count), which ``actions`` views. Of the results it
    writes observations, masks, times and ends, and adds rewards up; it returns the number of decisions.
    """
    num_decisions = 0
    for i in range(len(numbers)):
        e = numbers[i]
        n = current[e]
        net = t.networks[n]
        episode = t.episodes[n]
        decision = decision_of(t, n, t.choosing)
        while not over[e]:
            observe(rules, decision, results.observation[e])
            mask(rules, decision, results.mask[e])
            choose(policy, weights[e], results.observation[e], results.mask[e], scratch, room[e])
            _take(t, n, rules, decision, actions[e])
            num_decisions += 1
            while True:
                run(t, n, net.num_flows)
                decision = decision_of(t, n, t.choosing)
                if not _passes(t, n, rules, decision, t.choosing):
                    break
            results.reward[e] += reward(rules, decision, episode.num_before, results.terms[e])
            over[e] = not decision.is_due or episode.num_decisions >= max_decisions
        results.terminated[e] = not decision.is_due
        results.time[e] = net.now
    return num_decisions


@inlined_part
def _about_tokens(t: Tables, n: int, choosing: None) -> _Asked:
    """Lays out which requests wait for the token of a destination."""
    net = t.networks[n]
    index = net["asking"] if net["asking"] != NOBODY else net["last_asking"]
    d = t.destinations[n * t.most_destinations + index]
    waiting, can_wait = d["tail"] - d["head"], d["num_holders"] > 0 or d["expected"] > 0
    return t.requests, d["head"], waiting, t.holders, d["first_holder"], d["num_holders"], d["host"], can_wait, None, 0


@inlined_part
def _about_flows(t: Tables, n: int, choosing: Choosing) -> _Asked:
    """Lays out which flows compete, or which one needs a path."""
    net, choices = t.networks[n], choosing.choices[n]
    count = choices["num_asked"] if net["asking"] != NOBODY else 0
    if choosing.asks != ORDER:
        count = min(count, 1) if choosing.asks == PATH else 0
    first, first_active, about = choices["first_asked"], n * t.most_active, (choosing.routes, choices["periods"])
    return choosing.asked, first, count, t.active, first_active, net["num_active"], NOBODY, False, *about


_asked_of = chosen_by_presence(_about_tokens, _about_flows)


@inlined_part
def decision_of(t: Tables, n: int, choosing: Choosing | None) -> Decision:
    """Lays out what network ``n`` asks; also called from Python."""
    net = t.networks[n]
    candidates, first, count, active, first_active, num_active, host, can_wait, routes, periods = _asked_of(
        t, n, choosing
    )
    return Decision(
        n,
        net["asking"] != NOBODY,
        net["now"],
        periods,
        net["advanced_to"],
        candidates,
        first,
        count,
        active,
        first_active,
        num_active,
        host,
        can_wait,
        t.delivered,
        n * t.num_rows,
        net["num_flows"],
        net["delivered"],
        t.flows["completion_time"],
        state_of(t.flows),
        controls_of(t.flows),
        network_of(t, n, t.capacity),
        routes,
        t.record,
        t.flows,
        t.episodes,
    )
