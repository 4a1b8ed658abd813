"""Tells what happens when an episode is cut off."""

import gymnasium as gym
import pytest

from flowsched_gym.core.errors import SimulationError


def run_first_slots(env: gym.Env[object, int]) -> tuple[int, bool, bool, dict[str, float]]:
    """Grants the oldest request until the episode ends; returns decisions, flags and metrics."""
    env.reset(seed=3)
    for decisions in range(1, 10_000):
        _, _, terminated, truncated, info = env.step(0)
        if terminated or truncated:
            return decisions, terminated, truncated, info["episode_metrics"]
    raise AssertionError("the episode did not end")


def test_an_episode_is_truncated_after_its_decisions_with_metrics_of_the_deadlines_that_have_passed() -> None:
    env = gym.make("flowsched/Artemis-v0", workload="gather-heavy", k=3, f=10, max_decisions=120)

    decisions, terminated, truncated, metrics = run_first_slots(env)

    assert (decisions, terminated, truncated) == (120, False, True)
    simulation = env.unwrapped.simulation  # type: ignore[attr-defined]
    due = simulation.workload.arrival_time + simulation.workload.deadline_span <= simulation.now
    assert 0 < due.sum() < simulation.workload.num_flows
    assert metrics["deadlines_met"] + metrics["deadlines_missed"] == due.sum()
    with pytest.raises(SimulationError, match="no running episode"):
        env.step(0)


def test_an_episode_that_ends_with_its_last_allowed_decision_is_terminated_not_truncated() -> None:
    env = gym.make("flowsched/Artemis-v0", bursts=2, max_decisions=20)
    assert run_first_slots(env)[:3] == (20, True, False)
