"""Holds the environment of tasks to hand-worked episodes, to disciplines and to the best that can be had.

In the hand-worked episodes links carry 1 B/s, CPUs are whole, and bytes and seconds are the scales of observations.
"""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.registration import find_environment, load_target
from flowsched_gym.systems.tafe.tasks.env import TAFETasksEnv
from flowsched_gym.workload import Precedence, Workload, make_workload, workload_from_columns
from tests.envs.episodes import play
from tests.simulate import make_flows
from tests.theory.test_tasks import flows

ONE_BYTE_PER_SECOND = 8e-9
"""Gbps."""


def by_hand(workload: object, **arguments: Any) -> TAFETasksEnv:
    """Makes an environment for hand-worked flows, and begins its episode."""
    scales = {"typical_kb": 1e-3, "reward_scale_ms": 1e3}
    env = TAFETasksEnv(workload, link_gbps=ONE_BYTE_PER_SECOND, **scales | arguments)  # type: ignore[arg-type]
    env.reset(seed=0)
    return env


def two_by_two() -> Workload:
    """The paper's example (Figure 2): two tasks of two flows, each a second on the CPU and one on the link."""
    return workload_from_columns(flows([0, 0, 1, 1], [1.0] * 4, cpu_s=[1.0] * 4))


def times(env: TAFETasksEnv) -> list[float]:
    found: list[float] = task_completion_times(env.records()).tct.tolist()
    return found


def heuristic(env: TAFETasksEnv, name: str) -> Any:
    return load_target(find_environment("flowsched/TAFETasks-v0").named_policies[name].target).for_env(env)


def played(env: TAFETasksEnv, policy: str, seed: int = 0) -> float:
    """Plays an episode by a heuristic; returns the sum of its rewards."""
    chooser = heuristic(env, policy)
    steps = play(env, lambda _, observation, __: int(chooser.predict(observation)[0]), seed=seed)
    return sum(step.reward for step in steps)


@pytest.mark.parametrize(("barrier", "tct"), [("flow", [3.0, 5.0]), ("task", [4.0, 6.0])])
def test_the_papers_example_goes_as_the_queues_of_the_paper_have_it(barrier: str, tct: list[float]) -> None:
    env = by_hand(two_by_two(), barrier=barrier)
    assert played(env, "fifo") == pytest.approx(-sum(tct))
    assert times(env) == pytest.approx(tct)


def candidates(env: TAFETasksEnv) -> list[int]:
    """Returns the rows of the flows that compete."""
    decision = env.decision()
    rows: list[int] = decision.candidates[decision.first_candidate :][: decision.num_candidates].tolist()
    return rows


def test_links_are_asked_for_before_cpus_in_the_same_instant() -> None:
    env = by_hand(workload_from_columns(flows([0, 0, 1, 1], [2.0] * 4, cpu_s=[1.0] * 4)))
    asked = []
    for action in (3, 0, 0, 0):
        on_cpu = env.layout.context_column(env._observe(), "on_cpu")
        asked.append((env.simulation.now, float(on_cpu), candidates(env)))
        env.step(action)
    # Flow 3 runs first and sends from 1 s on, when 0 runs; at 2 s that needs the link, and the CPU is free.
    assert asked == [(0.0, 1.0, [0, 1, 2, 3]), (1.0, 1.0, [0, 1, 2]), (2.0, 0.0, [0, 3]), (2.0, 1.0, [1, 2])]


def test_hosts_have_cpus_of_their_own_and_the_network_comes_first() -> None:
    workload = replace(
        make_flows(np.zeros(6), np.ones(6), source=[0, 0, 1, 1, 2, 2], destination=[3] * 6),
        task_id=np.array([0, 1, 0, 1, 0, 1]),
        cpu_time=np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
    )
    env = by_hand(workload, topology="big-switch", cpus=[1.0, 1.0, 1.0, 1.0])
    asked = []
    for _ in range(3):
        asked.append(candidates(env))
        env.step(1)
    assert asked == [[4, 5], [0, 1], [2, 3]]
    assert env.simulation.now == 1.0
    # At 1 s flows 1 and 3 are through with their CPUs: with flow 4, which waits, they compete for the way to host 3.
    assert candidates(env) == [1, 3, 4]


@pytest.mark.parametrize("tail_weight", [0.0, 3.0])
@pytest.mark.parametrize("workload", ["tafe-log", "tafe-alibaba", {"name": "tafe-log", "pattern": "dag"}, "tafe-short"])
def test_rewards_sum_to_the_task_completion_times_and_the_largest(workload: object, tail_weight: float) -> None:
    env = TAFETasksEnv(workload, tasks=30, link_delay_us=300.0, tail_weight=tail_weight)  # type: ignore[arg-type]
    steps = play(env, seed=3)
    tct = task_completion_times(env.records()).tct

    assert len(tct) == 30
    assert sum(step.info["reward_terms"].get("unfinished", 0.0) for step in steps) == pytest.approx(-tct.sum() / 0.01)
    expected = -(tct.sum() + tail_weight * tct.max()) / 0.01
    assert sum(step.reward for step in steps) == pytest.approx(expected, rel=1e-12)


def test_the_shortest_task_first_is_the_best_where_all_tasks_are_there() -> None:
    tasks, sizes = [0, 0, 1, 1, 2], [2.0, 3.0, 1.0, 1.0, 4.0]
    workload = workload_from_columns(flows(tasks, sizes))
    best = -np.inf
    for order in itertools.permutations(range(5)):
        env, total, over = by_hand(workload), 0.0, False
        while not over:
            rows = candidates(env)
            _, reward, over, _, _ = env.step(min(range(len(rows)), key=lambda slot: order.index(rows[slot])))
            total += float(reward)
        best = max(best, total)

    assert best == pytest.approx(-(2.0 + 6.0 + 11.0))
    assert played(by_hand(workload, information="full"), "stf") == pytest.approx(best)


@pytest.mark.parametrize(
    ("policy", "discipline", "parameters"),
    [("fifo", "tafe", {}), ("tafe-shortest", "tafe", {"within": "shortest"}), ("srpt", "srpt", {})],
)
def test_policies_are_the_disciplines_that_they_are_named_after(
    policy: str, discipline: str, parameters: dict[str, object]
) -> None:
    name = "tafe-log" if policy == "srpt" else "tafe-alibaba"
    source = make_workload(name, num_tasks=40, load=0.9)
    env = TAFETasksEnv(source, f=300, information="full")
    if policy == "tafe-shortest":
        chooser = heuristic(env, policy)
        chooser.limits = chooser.limits[:0]  # one level, so that no task is demoted between decisions
        play(env, lambda _, observation, __: int(chooser.predict(observation)[0]), seed=5)
    else:
        played(env, policy, seed=5)
    expected = replay(env.workload, discipline=discipline, parameters=parameters)

    np.testing.assert_allclose(env.records().completion_time, expected.completion_time, rtol=1e-9)


def test_columns_say_how_flows_and_their_tasks_stand() -> None:
    workload = replace(
        make_flows([0.0, 0.0, 3.0, 3.0, 3.0], [4.0, 2.0, 6.0, 1.0, 5.0], source=[0] * 5, destination=[1] * 5),
        task_id=np.array([0, 0, 1, 1, 0]),
        cpu_time=np.array([0.0, 0.0, 0.0, 0.0, 2.0]),
        after=Precedence(earlier=np.array([1]), later=np.array([3])),
    )
    env = by_hand(workload, information="full")
    env.step(0)
    # At 3 s flow 0 has sent 3 of 4 B, 1 waits, 2 arrives, 3 comes after 1, and 4 begins to run.
    observation = env._observe()
    found = {column.name: env.layout.slot_column(observation, column.name)[:3].tolist() for column in env.layout.slot}
    expected = {
        "present": [1.0, 1.0, 1.0],
        "waiting": [3.0, 3.0, 0.0],
        "attained": [3.0, 0.0, 0.0],
        "task_time": [3.0, 3.0, 0.0],
        "task_sent": [3.0, 3.0, 0.0],
        "task_active": [3.0, 3.0, 1.0],
        "task_finished": [0.0, 0.0, 0.0],
        "task_slot": [0.0, 0.0, 2 / 16],
        "remaining": [1.0, 2.0, 6.0],
        "unsent": [1.0, 2.0, 6.0],
        "task_left": [8.0, 8.0, 7.0],
        "task_longest": [5.0, 5.0, 6.0],
        "task_cpu_left": [2.0, 2.0, 0.0],
    }
    assert {name: pytest.approx(values, rel=1e-5) for name, values in expected.items()} == found
    context = {column.name: env.layout.context_column(observation, column.name) for column in env.layout.context}
    assert context == pytest.approx({"on_cpu": 0.0, "competing": 3.0, "active": 4.0, "tasks": 2.0}, rel=1e-5)


def test_an_agent_that_sees_what_is_attained_is_not_told_what_is_left() -> None:
    short, long = (make_flows([0.0, 0.0], [size, size]) for size in (3.0, 1000.0))
    seen = [by_hand(workload)._observe() for workload in (short, long)]
    assert seen[0].tolist() == seen[1].tolist()
