"""Holds TAFE's environment of thresholds to the discipline that it controls, and to hand-worked episodes."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.registration import find_environment, load_target
from flowsched_gym.systems.tafe.thresholds.env import TAFEThresholdsEnv
from flowsched_gym.systems.tafe.thresholds.rules import SCALE
from flowsched_gym.workload import workload_from_columns
from tests.envs.episodes import play
from tests.theory.test_tasks import flows

MEGABYTE_PER_SECOND = 8e-3
"""Gbps."""


def action_for(*thresholds: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return SCALE.action_of(np.array([thresholds]))[0].astype(np.float32)


@pytest.mark.parametrize("workload", ["tafe-log", "tafe-alibaba", "tafe-short", {"name": "tafe-log", "pattern": "dag"}])
def test_both_reward_terms_sum_to_the_task_completion_times(workload: Any) -> None:
    env = TAFEThresholdsEnv(workload, tasks=40, link_delay_us=100.0)
    steps = play(env, seed=1)
    expected = -task_completion_times(env.records()).tct.sum() / 0.01
    for term in ("unfinished", "tct"):
        assert sum(step.info["reward_terms"].get(term, 0.0) for step in steps) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_task_that_ends_with_a_period_is_rewarded_once(engine: str) -> None:
    workload = workload_from_columns(flows([0, 1], [1e6, 2e6], arrival_s=[0.0, 0.0]))
    env = TAFEThresholdsEnv(
        workload, link_gbps=MEGABYTE_PER_SECOND, period_flows=None, period_ms=250.0, reward="tct", engine=engine
    )
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
    env = TAFEThresholdsEnv(
        workload, link_gbps=MEGABYTE_PER_SECOND, queues=2, period_flows=None, period_ms=3e3, initial_thresholds=[1e6]
    )
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
    assert set(expected) | {"random"} == set(specs)
    for name, thresholds in expected.items():
        action, _ = load_target(specs[name].target).for_env(env).predict(np.zeros(env.layout.size, dtype=np.float32))
        found = SCALE.thresholds_of(action[np.newaxis].astype(np.float64))[0]
        assert found == pytest.approx(thresholds, rel=1e-5)
    with pytest.raises(ConfigError, match="queues is 4: the paper names thresholds for 3"):
        load_target(specs["paper"].target).for_env(TAFEThresholdsEnv("tafe-log", queues=4))
