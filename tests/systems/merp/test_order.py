"""Holds the ordering environment to hand-worked episodes, and its heuristics to the disciplines that they are.

In the hand-worked episodes links carry 1 B/s and, but for one, take no time. Seconds are far from the scale of the
observations, which then tell four digits.
"""

from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.evaluation import make_environment
from flowsched_gym.flows.decisions import OrderDecision
from flowsched_gym.players import make_policy
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.order.policies import MostDelayed, NextDelayed
from flowsched_gym.workload import Workload
from tests.cases import exact_cases
from tests.envs.episodes import core, following, play
from tests.simulate import make_flows

ID = "flowsched/MERPOrder-v0"

ONE_BYTE_PER_SECOND = 8e-9
"""Gbps."""
FOUR_DIGITS = 1e-4


def by_hand(workload: Workload, **arguments: Any) -> MERPOrderEnv:
    """Makes an environment for hand-worked flows, and begins its episode."""
    env = MERPOrderEnv(workload, link_gbps=ONE_BYTE_PER_SECOND, **arguments)
    env.reset(seed=0)
    return env


def three_flows() -> Workload:
    return make_flows([0.0, 3.0, 0.0], [3.0, 3.0, 4.0])


def slots(env: MERPOrderEnv, *names: str) -> list[list[float]]:
    """Returns columns of the slots in which a flow competes, decoded."""
    observation = env._observe()
    present = env.layout.slot_column(observation, "present") == 1.0
    return [env.layout.slot_column(observation, name)[present].tolist() for name in names]


@pytest.mark.parametrize(
    ("actions", "finish"),
    [
        pytest.param([0, 1], [3.0, 6.0, 10.0], id="A, B, C: SRPT"),
        pytest.param([0, 0], [3.0, 10.0, 7.0], id="A, C, B: MERP"),
        pytest.param([1, 1, 0], [7.0, 10.0, 4.0], id="C, A, B"),
    ],
)
def test_the_motivating_example_goes_as_the_agent_decides(actions: list[int], finish: list[float]) -> None:
    env = by_hand(three_flows(), f=3)
    assert [env.step(action)[2] for action in actions] == [False] * (len(actions) - 1) + [True]
    assert env.records().completion_time.tolist() == pytest.approx(finish)


def test_a_decision_is_asked_when_a_flow_arrives_and_when_one_has_finished_and_two_are_left() -> None:
    env = by_hand(make_flows([0.0, 1.0, 2.0], [4.0, 4.0, 4.0]))
    times = [env.simulation.now, *(env.step(0)[4]["time"] for _ in range(3))]
    # The second flow arrives at 1, the third at 2, the first finishes at 4; then the last two send one after the other.
    assert times == [1.0, 2.0, 4.0, 12.0]


def test_terms_of_the_reward_are_paid_when_flows_finish() -> None:
    env = by_hand(make_flows([0.0, 0.0, 0.0], [1.0, 2.0, 4.0]))
    steps = [env.step(action) for action in (0, 0)]

    # At 1 s the first has finished with a slowdown of 1; the others at 3 and 7 s, with 3 / 2 and 7 / 4.
    assert [step[4]["finished"] for step in steps] == [(0,), (1, 2)]
    for name, first, second in (
        ("lexicographic", 1.0, 7 / 4 + 3 / 4 + 1 / 4 - 1.0),
        ("max_slowdown", 1.0, 3 / 4),
        ("slowdown", 1.0, 3 / 2 + 7 / 4),
        ("fct", 1.0 / 0.02, 10.0 / 0.02),
    ):
        assert [step[4]["reward_terms"][name] for step in steps] == pytest.approx([-first, -second]), name


def test_the_terms_of_an_episode_add_up_to_what_the_flows_suffered() -> None:
    env = MERPOrderEnv(flows=120, f=4)
    steps = play(env, seed=3)
    slowdown = np.sort(env.records().slowdown)[::-1]

    expected = {
        "lexicographic": (slowdown[:8] * 0.5 ** np.arange(8)).sum(),
        "max_slowdown": slowdown[0],
        "slowdown": slowdown.sum(),
        "fct": env.records().fct.sum() / 0.02,
    }
    for term, value in expected.items():
        total = sum(step.info["reward_terms"].get(term, 0.0) for step in steps)
        assert total == pytest.approx(-value, rel=1e-12)


def test_what_finished_before_the_first_decision_is_paid_to_the_first_action() -> None:
    env = by_hand(make_flows([0.0, 5.0, 5.0], [2.0, 1.0, 1.0]), reward="slowdown")
    _, info = env.reset(seed=0)
    assert (info["time"], info["finished"], info["reward_terms"]) == (5.0, (), {})
    _, reward, terminated, _, info = env.step(0)

    assert terminated
    assert info["finished"] == (0, 1, 2)
    assert reward == pytest.approx(-(1.0 + 1.0 + 2.0))


@pytest.mark.parametrize(("action", "replaced"), [(0, 0), (3, 1)])
def test_where_no_two_flows_compete_any_action_ends_the_episode(action: int, replaced: int) -> None:
    env = by_hand(make_flows([0.0, 5.0], [1.0, 1.0]), f=4)
    observation, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [True, False, False, False]
    assert env.layout.context_column(observation, "competing") == 0.0
    _, reward, terminated, truncated, info = env.step(action)

    assert (terminated, truncated) == (True, False)
    assert info["finished"] == (0, 1)
    assert info["empty_slot_choices"] == replaced
    assert reward == pytest.approx(-1.5)


def test_columns_say_what_the_flows_are() -> None:
    env = by_hand(three_flows(), f=4)
    assert slots(env, "size", "remaining", "waiting", "ideal_fct") == [
        pytest.approx(column, rel=FOUR_DIGITS) for column in ([3.0, 4.0], [3.0, 4.0], [0.0, 0.0], [3.0, 4.0])
    ]
    env.step(1)
    # At 3 s flow 2 has 1 of 4 B left, flow 0 all of its 3 B; flow 1 arrives with 3 B: 7 B are left in all.
    columns = slots(env, "size", "remaining", "waiting", "slowdown_so_far", "slowdown_if_last")

    assert columns == [
        pytest.approx(column, rel=FOUR_DIGITS)
        for column in ([3.0, 4.0, 3.0], [3.0, 1.0, 3.0], [3.0, 3.0, 0.0], [1.0, 0.75, 0.0], [10 / 3, 10 / 4, 7 / 3])
    ]
    observation, layout = env._observe(), env.layout
    context = {column.name: float(layout.context_column(observation, column.name)) for column in layout.context}
    assert context == pytest.approx(
        {"competing": 3.0, "live": 3.0, "backlog": 7.0, "max_slowdown": 0.0, "max_slowdown_so_far": 1.0},
        rel=FOUR_DIGITS,
    )
    assert env.step(1)[4]["time"] == pytest.approx(4.0)
    assert float(layout.context_column(env._observe(), "max_slowdown")) == pytest.approx(1.0)


def test_the_most_delayed_flow_is_the_one_with_the_largest_sum_as_it_is_encoded() -> None:
    env = by_hand(three_flows(), f=4)
    env.step(1)
    # As in the test above: so far 1, 0.75 and 0, if last 10/3, 10/4 and 7/3, waiting 3, 3 and 0.
    for weights, first in (((1, 0, 0), 0), ((-1, 0, 0), 2), ((0, -1, 0), 2), ((0, 0, 1), 2)):
        assert MostDelayed(env.layout, *weights).predict(env._observe())[0] == first


def test_where_the_most_delayed_flow_has_begun_the_next_on_another_link_is_chosen() -> None:
    layout = MERPOrderEnv(f=4).layout
    policy, chosen = NextDelayed(layout, 0.0, 1.0, 0.0), np.zeros(1, dtype=np.int64)
    # Backlogs are (7 - 3) * 10, (6 - 2) * 10 and (3 - 1) * 10 B: the first two share a link. As it is encoded, the
    # slowdown of the third if it were last is 3 / 8, that of the first 7 / 12: 0.21 more, of which 0.3 are allowed.
    given: dict[str, list[float]] = {"size": [10, 10, 10], "remaining": [5, 10, 10], "waiting": [3, 2, 1]}
    given |= {"slowdown_so_far": [3, 2, 1], "slowdown_if_last": [7, 6, 3]}
    changes: list[tuple[dict[str, list[float]], float, int]] = [
        ({}, 0.3, 2),
        ({}, 0.2, 0),
        ({"slowdown_if_last": [7, 5.5, 3]}, 0.3, 1),
        ({"remaining": [10, 10, 10]}, 0.3, 0),
        ({"remaining": [5, 10, 5]}, 0.3, 0),
        ({"waiting": [3, 2, 0]}, 0.3, 0),
        ({"waiting": [3, 0, 0]}, 0.3, 2),
    ]
    for change, policy.margin, first in changes:
        observation = np.zeros(layout.size, dtype=np.float32)
        for name, values in {**given, **change}.items():
            scale = layout.slot_scale(name)
            observation[layout.slot_slice(name)] = [value / (value + scale) for value in [*values, 0.0]]
        policy.record().choose(np.zeros(0), observation, np.zeros(0, dtype=np.bool_), np.zeros(0), chosen)
        assert policy.predict(observation)[0] == chosen[0] == first


def test_on_the_tree_flows_compete_that_share_a_link() -> None:
    # Hosts 0 to 2 are one rack: the first three share its uplink, the fourth stays inside rack 1, alone.
    env = by_hand(make_flows([0.0] * 4, [1.0] * 4, source=[0, 1, 2, 4], destination=[3, 6, 7, 5]), topology="tree9")
    pending = env.simulation.pending
    assert isinstance(pending, OrderDecision)

    assert pending.rows.tolist() == [0, 1, 2]
    assert slots(env, "slowdown_if_last") == [pytest.approx([3.0, 3.0, 3.0])]
    observation = env._observe()
    assert float(env.layout.context_column(observation, "live")) == pytest.approx(4.0)
    assert float(env.layout.context_column(observation, "backlog")) == pytest.approx(3.0)


def test_on_the_tree_the_flow_that_goes_first_takes_its_whole_path_and_others_what_is_left() -> None:
    env = by_hand(make_flows([0.0] * 3, [1.0] * 3, source=[0, 1, 0], destination=[3, 3, 1]), topology="tree9")
    env.step(2)
    # From 0 to 1 goes first and takes the uplink of host 0: from 0 to 3 has to wait, from 1 to 3 has not.
    assert env.records().completion_time.tolist() == pytest.approx([2.0, 1.0, 1.0])


def test_slowdowns_count_delays_and_what_they_are_if_last_does_not() -> None:
    env = by_hand(make_flows([0.0, 0.0], [1.0, 1.0]), link_delay_us=2e6)
    assert slots(env, "ideal_fct", "slowdown_if_last") == [
        pytest.approx([3.0, 3.0], rel=FOUR_DIGITS),
        pytest.approx([2.0, 2.0], rel=FOUR_DIGITS),
    ]
    env.step(0)

    assert env.records().completion_time.tolist() == pytest.approx([3.0, 4.0])
    assert env.records().slowdown.tolist() == pytest.approx([1.0, 4.0 / 3.0])


VDG = [case for case in exact_cases("vdg") if len(case["size"]) > 1]
DISCIPLINES = {"fifo": "fifo", "sjf": "psjf", "srpt": "srpt", "vdg": "merp"}
"""What each heuristic is on one link while all flows are seen."""


@pytest.mark.parametrize("policy", DISCIPLINES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"flows": 300, "load": 0.95},
        {"workload": "poisson-web-search", "flows": 300, "load": 0.6},
        {"workload": "poisson-exponential", "flows": 300, "link_gbps": 10.0},
    ],
    ids=str,
)
def test_on_one_link_a_heuristic_is_its_discipline(policy: str, arguments: dict[str, Any]) -> None:
    capacity = 1.25e8 * arguments.get("link_gbps", 1.0)
    env = make_environment(ID, {"f": 400} | arguments)
    for seed in range(2):
        last = play(env, following(make_policy(policy, env, seed=1)), seed=seed)[-1]
        expected = flowsched_gym.replay(core(env).workload, discipline=DISCIPLINES[policy], capacity=capacity)
        assert last.info["empty_slot_choices"] == 0
        assert core(env).records().fct.tolist() == pytest.approx(expected.fct.tolist(), rel=1e-9)


@pytest.mark.parametrize("case", VDG, ids=lambda case: case["id"])
def test_vdg_puts_first_whom_the_exact_solution_puts_first(case: dict[str, Any]) -> None:
    count = len(case["size"])
    env = make_environment(ID, {"f": count})
    policy = make_policy("vdg", env)
    layout = core(env).layout
    order = np.lexsort((np.arange(count), case["arrival"]))
    size, remaining = np.array(case["size"], dtype=float)[order], np.array(case["remaining"], dtype=float)[order]
    so_far = (case["now"] - np.array(case["arrival"], dtype=float)[order]) * case["capacity"] / size
    observation = np.zeros(layout.size, dtype=np.float32)
    # The unit of bytes does not matter to an order: it is chosen so that sizes are about the scale of the columns.
    unit = layout.slot_scale("size") / size.max()
    for name, values in (("size", unit * size), ("remaining", unit * remaining), ("slowdown_so_far", so_far)):
        observation[layout.slot_slice(name)] = values / (values + layout.slot_scale(name))

    assert int(order[policy.predict(observation)[0]]) == case["order_first_to_last"][0]
