"""Steps environments in compiled code: reads actions, runs networks to their next decisions, observes and rewards."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.flows.decisions import (
    NOBODY,
    DecisionKind,
    Order,
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
from flowsched_gym.fluid.compiled.loop import run
from flowsched_gym.fluid.compiled.orders import give
from flowsched_gym.fluid.compiled.records import Choosing
from flowsched_gym.fluid.compiled.tables import Tables, controls_of, network_of, state_of
from flowsched_gym.fluid.decision import Decision, periods_until
from flowsched_gym.machine_code.decorators import (
    chosen_by_presence,
    inlined_part,
    threaded_function,
)
from flowsched_gym.topology.routes import Routes

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
    """Takes an action in a network."""
    order, index = take(rules, decision, action)
    if decision.is_due:
        give(t, n, order, index, t.choosing)


@inlined_part
def _run(t: Tables, n: int, rules: Any) -> Decision:
    """Runs a network to its next decision or its end."""
    while True:
        run(t, n, t.networks[n].num_flows)
        decision = decision_of(t, n, t.choosing)
        if not _passes(t, n, rules, decision, t.choosing):
            return decision


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

    ``rules`` to ``over`` are those of ``Environments``. ``actions`` are inside the space, (num_envs, ...), or (0, ...)
    to apply none: networks that have been loaded then run to their first decision, and what the environments show is
    written to ``results``, rewards and flags left as they are.

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
            forget_step(results, e)
        if not acts or not over[e]:
            if acts:
                _take(t, n, rules, decision_of(t, n, t.choosing), actions[e])
            decision = _run(t, n, rules)
            if acts:
                num_finished = note_step(rules, decision, max_decisions, over, results, e, num_finished)
            note_shown(rules, decision, results, e)
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
        decision = decision_of(t, n, t.choosing)
        while not over[e]:
            observe(rules, decision, results.observation[e])
            mask(rules, decision, results.mask[e])
            choose(policy, weights[e], results.observation[e], results.mask[e], scratch, room[e])
            _take(t, n, rules, decision, actions[e])
            num_decisions += 1
            decision = _run(t, n, rules)
            results.reward[e] += reward(rules, decision, t.episodes[n].num_before, results.terms[e])
            over[e] = not decision.is_due or t.episodes[n].num_decisions >= max_decisions
        results.terminated[e] = not decision.is_due
        results.time[e] = decision.now
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
        n,
        t.flows,
        t.episodes,
    )
