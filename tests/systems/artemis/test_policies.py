"""Holds the heuristics to what they stand for: they see float32 observations, and must choose as if they knew all."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.registration import make_policy
from tests.envs.episodes import play
from tests.systems.artemis.test_env import make

FloatArray = npt.NDArray[np.float64]
Score = Callable[[Simulation, npt.NDArray[np.int64]], FloatArray]

NEAR = 1e-5
"""Relative; scores that float32 cannot tell apart."""


def time_left(simulation: Simulation, rows: npt.NDArray[np.int64]) -> FloatArray:
    assert simulation.workload.deadline_span is not None
    return simulation.workload.arrival_time[rows] + simulation.workload.deadline_span[rows] - simulation.now


def ratio(simulation: Simulation, rows: npt.NDArray[np.int64]) -> FloatArray:
    assert simulation.workload.deadline_span is not None
    return simulation.workload.size[rows] / simulation.workload.deadline_span[rows]


def slack(simulation: Simulation, rows: npt.NDArray[np.int64]) -> FloatArray:
    return time_left(simulation, rows) - simulation.workload.size[rows] / 125e6


def hopeless_last(simulation: Simulation, rows: npt.NDArray[np.int64]) -> FloatArray:
    """Returns the times to the deadlines, behind all others where three flows that share the link come too late."""
    left = time_left(simulation, rows)
    needed = 4 * 250e-6 + 3 * simulation.workload.size[rows] / 125e6
    return np.where(left < needed, 1e3, 0.0) + left


SCORES: dict[str, Score] = {
    "fifo": lambda _, rows: np.arange(len(rows), dtype=np.float64),
    "lifo": lambda _, rows: -np.arange(len(rows), dtype=np.float64),
    "edf": time_left,
    "sjf": lambda simulation, rows: simulation.workload.size[rows],
    "ssdf": ratio,
    "lsdf": lambda simulation, rows: -ratio(simulation, rows),
    "least-slack": slack,
    "feasible-first": hopeless_last,
}
"""What each policy serves the smallest of."""


@pytest.mark.parametrize("name", SCORES)
def test_a_policy_chooses_as_if_it_knew_the_true_values(name: str) -> None:
    env = make(workload="gather-uniform", f=8)
    policy = make_policy(name, env)
    choices = 0

    def choose(wrapped: gym.Env, observation: np.ndarray, _: dict[str, Any]) -> int:
        nonlocal choices
        asking = env.simulation.asking
        assert asking is not None
        rows = asking.requests[asking.head : asking.tail][:8]
        score = SCORES[name](env.simulation, rows)
        chosen = int(policy.predict(observation)[0])
        assert score[chosen] <= score.min() + NEAR * np.abs(score[score < 1e2]).max(initial=1.0)
        if (score == score.min()).sum() > 1 and score[chosen] == score.min():
            assert chosen == int(np.argmin(score)), "a tie goes to the oldest"
        choices += len(rows) > 1
        return chosen

    play(env, choose, seed=1)

    assert choices > 20
