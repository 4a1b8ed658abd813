"""Holds TAFE's environments to hand-worked episodes, to disciplines and to the best that can be had.

In the hand-worked episodes of tasks links carry 1 B/s, CPUs are whole, and bytes and seconds are the scales of
observations; in those of thresholds links carry 1 MB/s.
"""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies.policy import record_of
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.registration import find_environment, load_target
from flowsched_gym.systems.tafe.tasks.config import Information, TAFETasksConfig
from flowsched_gym.systems.tafe.tasks.env import TAFETasksEnv
from flowsched_gym.systems.tafe.tasks.policies import (
    EstimatedTask,
    Johnson,
    JohnsonRatio,
    LeastSent,
    LeastWork,
    ShortestTask,
)
from flowsched_gym.systems.tafe.tasks.rules import tasks_layout
from flowsched_gym.systems.tafe.thresholds.env import TAFEThresholdsEnv
from flowsched_gym.systems.tafe.thresholds.rules import SCALE
from flowsched_gym.workload import Precedence, make_workload, workload_from_columns
from tests.envs.episodes import following, play
from tests.simulate import make_flows
from tests.theory.test_tasks import flows

ONE_BYTE_PER_SECOND, MEGABYTE_PER_SECOND = 8e-9, 8e-3
"""Gbps."""
SOURCES = ["tafe-log", "tafe-alibaba", "tafe-short", {"name": "tafe-log", "pattern": "dag"}]


def by_hand(workload: object, **arguments: Any) -> TAFETasksEnv:
    """Makes an environment for hand-worked flows, and begins its episode."""
    scales = {"typical_kb": 1e-3, "reward_scale_ms": 1e3}
    env = TAFETasksEnv(workload, link_gbps=ONE_BYTE_PER_SECOND, **scales | arguments)  # type: ignore[arg-type]
    env.reset(seed=0)
    return env


def heuristic(env: TAFETasksEnv, name: str) -> Any:
    return load_target(find_environment("flowsched/TAFETasks-v0").named_policies[name].target).for_env(env)


def played(env: TAFETasksEnv, policy: str, seed: int = 0) -> float:
    """Plays an episode by a heuristic; returns the sum of its rewards."""
    return sum(step.reward for step in play(env, following(heuristic(env, policy)), seed=seed))


@pytest.mark.parametrize(("barrier", "tct"), [("flow", [3.0, 5.0]), ("task", [4.0, 6.0])])
def test_the_papers_example_goes_as_the_queues_of_the_paper_have_it(barrier: str, tct: list[float]) -> None:
    # Figure 2: two tasks of two flows, each a second on the CPU and one on the link.
    env = by_hand(workload_from_columns(flows([0, 0, 1, 1], [1.0] * 4, cpu_s=[1.0] * 4)), barrier=barrier)
    assert played(env, "fifo") == pytest.approx(-sum(tct))
    assert task_completion_times(env.records()).tct.tolist() == pytest.approx(tct)


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
@pytest.mark.parametrize("workload", SOURCES)
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
    chooser = heuristic(env, policy)
    if policy == "tafe-shortest":
        chooser.limits = chooser.limits[:0]  # one level, so that no task is demoted between decisions
    play(env, following(chooser), seed=5)
    expected = replay(env.workload, discipline=discipline, parameters=parameters)

    np.testing.assert_allclose(env.records().completion_time, expected.completion_time, rtol=1e-9)


def shown(config: TAFETasksConfig, **slots: list[float]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Makes an observation with these values, in usual flows or in flows, in its first slots."""
    layout = tasks_layout(config)
    observation = np.zeros(layout.size, dtype=np.float32)
    for name, values in {"present": [1.0] * len(next(iter(slots.values()))), **slots}.items():
        flows = 4.0 if name in ("task_active", "task_finished") else 1.0
        encoded = values if name == "present" else [value / (value + flows) for value in values]
        observation[layout.slot_slice(name)][: len(values)] = encoded
    return observation


def test_the_least_work_counts_time_on_cpus_where_the_fewest_bytes_do_not() -> None:
    config = TAFETasksConfig(f=4, information=Information.FULL)
    observation = shown(config, task_left=[3.0, 2.0, 2.5], task_cpu_left=[1.0, 4.0, 0.5])
    assert ShortestTask(tasks_layout(config)).predict(observation)[0] == 1
    assert LeastWork(tasks_layout(config)).predict(observation)[0] == 2


def test_johnson_prefers_flows_that_are_soon_done_with_a_cpu_and_have_much_to_send() -> None:
    config = TAFETasksConfig(f=4, information=Information.FULL)
    same = {"task_left": [3.0, 3.0], "task_cpu_left": [1.0, 1.0]}
    for remaining, unsent, first in (([1.0, 0.5], [2.0, 2.0], 1), ([1.0, 0.5], [2.8, 2.0], 0)):
        observation = shown(config, **same, remaining=remaining, unsent=unsent)
        assert Johnson(tasks_layout(config)).predict(observation)[0] == first
        assert LeastWork(tasks_layout(config)).predict(observation)[0] == 0


def test_the_ratio_of_johnson_halves_bytes_where_a_backlog_waits_and_is_one_on_links() -> None:
    layout = tasks_layout(config := TAFETasksConfig(f=4, information=Information.FULL))
    # On a CPU 4 / 2 < 3.2 * 2 / 3; with half of the bytes 4 / 1.5 > 3.2 * 2 / 2.5; without bytes 4 > 3.2, as on links.
    observation = shown(config, task_left=[3.0, 1.0], task_cpu_left=[1.0, 2.2], remaining=[1.0, 2.0], unsent=[1.0, 1.0])
    policy, chosen = JohnsonRatio(layout), np.zeros(1, dtype=np.int64)
    for on_cpu, active, unsent, first in ((1, 2, 1, 0), (1, 5, 1, 1), (0, 2, 1, 1), (1, 2, 0, 1)):
        observation[: layout.num_context] = on_cpu, 2 / (2 + 4), active / (active + 4), 0.0
        policy.numbers = float(unsent), 3.0
        record_of(policy).choose(np.zeros(0), observation, np.zeros(0, dtype=np.bool_), np.zeros(0), chosen)
        assert policy.predict(observation)[0] == chosen[0] == first


def test_a_task_is_as_short_as_its_finished_flows_say() -> None:
    config = TAFETasksConfig(f=4)
    observation = shown(config, task_sent=[1.0, 4.0, 4.0], task_finished=[0.0, 4.0, 4.0], task_active=[2.0, 3.0, 2.0])
    assert LeastSent(tasks_layout(config)).predict(observation)[0] == 0
    assert EstimatedTask(tasks_layout(config)).predict(observation)[0] == 2


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


def action_for(*thresholds: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return SCALE.action_of(np.array([thresholds]))[0].astype(np.float32)


@pytest.mark.parametrize("workload", SOURCES)
def test_both_reward_terms_sum_to_the_task_completion_times(workload: Any) -> None:
    env = TAFEThresholdsEnv(workload, tasks=40, link_delay_us=100.0)
    steps = play(env, seed=1)
    expected = -task_completion_times(env.records()).tct.sum() / 0.01
    for term in ("unfinished", "tct"):
        assert sum(step.info["reward_terms"].get(term, 0.0) for step in steps) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_task_that_ends_with_a_period_is_rewarded_once(engine: str) -> None:
    workload = workload_from_columns(flows([0, 1], [1e6, 2e6], arrival_s=[0.0, 0.0]))
    periods = {"link_gbps": MEGABYTE_PER_SECOND, "period_flows": None, "period_ms": 250.0}
    env = TAFEThresholdsEnv(workload, reward="tct", engine=engine, **periods)
    steps = play(env, lambda *_: action_for(1e8, 5e8), seed=0)
    # They end at 1 s and at 3 s, on the boundaries of periods.
    assert [step.reward for step in steps if step.reward] == pytest.approx([-100.0, -300.0])
    assert sum(env.layout.context_column(step.observation, "medium_finished") > 0 for step in steps) == 2


@pytest.mark.parametrize("within", ["serial", "shortest", "remaining"])
def test_thresholds_that_never_move_are_those_of_the_discipline(within: str) -> None:
    env = TAFEThresholdsEnv("tafe-alibaba", tasks=30, within=within, barrier="task")
    play(env, lambda *_: action_for(1e6, 1e7), seed=4)
    thresholds = SCALE.thresholds_of(action_for(1e6, 1e7)[np.newaxis].astype(np.float64))[0]
    parameters = {"thresholds": thresholds, "within": within, "barrier": "task"}
    expected = replay(env.workload, discipline="tafe", parameters=parameters)
    # Shares by what is left are set anew at each period, in closed form: the last bits are others.
    np.testing.assert_allclose(env.records().completion_time, expected.completion_time, rtol=1e-9)


def test_the_best_threshold_is_just_above_the_small_task() -> None:
    """A task of 8 MB and, half a second later, one of 1 MB, at 1 MB/s."""
    workload = workload_from_columns(flows([0, 0, 1], [4e6, 4e6, 1e6], arrival_s=[0.0, 0.0, 0.5]))
    found = {}
    for threshold in (4e5, 1.1e6, 5e6, 1e8):
        env = TAFEThresholdsEnv(workload, link_gbps=MEGABYTE_PER_SECOND, queues=2, reward_scale_ms=1e3, period_flows=1)
        steps = play(env, lambda *_, threshold=threshold: action_for(threshold), seed=0)  # type: ignore[misc]
        found[threshold] = -sum(step.reward for step in steps)
    # Demoted itself at 0.9 s, it waits for the other to end at 8.4 s; let pass at 1.1 s, at 5 s, or never.
    expected = {4e5: 8.4 + 8.5, 1.1e6: 9.0 + 1.6, 5e6: 9.0 + 5.5, 1e8: 8.0 + 8.5}
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_observation_counts_tasks_and_what_they_have_sent() -> None:
    workload = workload_from_columns(
        flows([0, 0, 1], [2e6, 4e6, 1e6], arrival_s=[0.0, 0.0, 1.5], cpu_s=[0.0, 0.0, 9.0])
    )
    periods = {"link_gbps": MEGABYTE_PER_SECOND, "period_flows": None, "period_ms": 3e3}
    env = TAFEThresholdsEnv(workload, queues=2, initial_thresholds=[1e6], **periods)
    env.reset(seed=0)
    observation = env.step(action_for(1e6))[0]
    # At 3 s the first flow has finished, of the second 1 MB is sent, and the small task is on the CPU.
    found = {column.name: env.layout.slot_column(observation, column.name).tolist() for column in env.layout.slot}
    expected = {"tasks": [1.0, 1.0], "flows": [1.0, 1.0], "sent": [0.0, 1e6], "left": [1e6, 3e6]}
    assert {name: pytest.approx(values, rel=1e-5) for name, values in expected.items()} == found


def test_policies_set_what_they_are_named_after() -> None:
    env = TAFEThresholdsEnv("tafe-alibaba", tasks=20)
    mean, part_of_largest = env.paper_thresholds
    expected = {
        "paper": [mean, part_of_largest],
        "thirds": [part_of_largest / 0.75 / 3, part_of_largest / 0.75 * 2 / 3],
        "tenfold": [1e5, 1e6],
        "constant": [1e5, 1e7],
    }
    specs = find_environment("flowsched/TAFEThresholds-v0").named_policies
    assert set(expected) | {"random", "same"} == set(specs)
    for name, thresholds in expected.items():
        action, _ = load_target(specs[name].target).for_env(env).predict(np.zeros(env.layout.size, dtype=np.float32))
        found = SCALE.thresholds_of(action[np.newaxis].astype(np.float64))[0]
        assert found == pytest.approx(thresholds, rel=1e-5)
    with pytest.raises(ConfigError, match="queues is 4: the paper names thresholds for 3"):
        load_target(specs["paper"].target).for_env(TAFEThresholdsEnv("tafe-log", queues=4))
