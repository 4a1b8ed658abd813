"""The toy system works on both engines, with masks, pictures, states and a vector environment, in 150 lines."""

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.envs.drawing import draw_frame
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import exactly
from tests.envs.pictures import table
from tests.envs.vectors import Pair
from tests.simulate import make_flows
from tests.systems.serial.serial import SerialEnv

SPEC = EnvironmentSpec(
    id="tests/Serial-v0",
    description="which of two requests a destination serves next",
    entry_point="tests.systems.serial.serial:SerialEnv",
    vector_entry_point="tests.systems.serial.serial:SerialVectorEnv",
    config="tests.systems.serial.serial:SerialConfig",
    workloads=("gather-a1",),
    policies=(),
)
THREE = make_flows([0.0, 0.0, 0.0], [250_000.0, 125_000.0, 500_000.0], source=[1, 2, 3])
"""Flows that take 2, 1 and 4 ms at 1 Gbit/s."""


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    gym.register(SPEC.id, entry_point=SPEC.entry_point, vector_entry_point=SPEC.vector_entry_point)


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_the_shortest_first_is_best(engine: str) -> None:
    returns = {}
    for actions in ([0, 0, 0], [1, 0, 0], [1, 1, 0]):
        env = gym.make(SPEC.id, workload=THREE, engine=engine)
        env.reset(seed=0)
        steps = [env.step(action) for action in actions]
        assert [step[2] for step in steps] == [False, False, True]
        assert steps[-1][4]["empty_slot_choices"] == 0
        returns[tuple(actions)] = sum(float(step[1]) for step in steps)

    assert max(returns, key=returns.__getitem__) == (1, 0, 0)


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_it_shows_sizes_masks_and_pictures(engine: str) -> None:
    env = gym.make(SPEC.id, workload=THREE, engine=engine, render_mode="ansi").unwrapped
    assert isinstance(env, SerialEnv)
    observation, info = env.reset(seed=0)

    assert env.layout.slot_column(observation, "size").tolist() == pytest.approx([250_000, 125_000], rel=1e-6)
    assert info["action_mask"].tolist() == env.action_masks().tolist() == [True, True]
    assert "1 more, hidden from the agent" in str(env.render())
    assert (draw_frame(env.panels()) != 255).any()
    env.step(1)
    assert table(env.panels(), "Requests") == [["flow 0", "1 to 0", "250 KB"], ["flow 2", "3 to 0", "500 KB"]]
    assert table(env.panels(), "Just finished") == [["flow 1", "2 to 0", "125 KB", "1.00 ms", "x 1.00"]]
    assert env.step(1)[4]["action_mask"].tolist() == [True, False]
    assert "Which request is next?" in str(env.render())
    state = env.get_state()
    last = exactly(env.step(1))
    env.set_state(state)
    assert exactly(env.step(1)) == last


def test_many_are_what_single_ones_are() -> None:
    pair = Pair(SPEC, num_envs=3, workload="gather-heavy", max_episode_steps=60)
    pair.reset(seed=1)

    assert pair.play(num_steps=150, seed=2) > 0
    assert np.all(pair.infos["time"] >= 0.0)
