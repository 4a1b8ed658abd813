"""Holds REINFORCE to returns and baselines worked out by hand, and has it learn."""

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from flowsched_gym.baselines.training.reinforce import Reinforce, RunningAverages, discounted_returns


class Guess(gym.Env):
    """Pays 1 for naming the right one of two numbers, plus 10 at one of two places; a third must not be named."""

    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.MultiDiscrete([3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._right = int(self.np_random.integers(2))
        self._place = int(self.np_random.integers(2))
        return np.array([self._right, self._place], dtype=np.float32), {}

    def step(self, action):
        assert action[0] < 2
        reward = float(action[0] == self._right) + 10.0 * self._place
        return np.zeros(2, dtype=np.float32), reward, True, False, {}

    def action_masks(self):
        return np.array([True, True, False])


def test_returns_end_with_the_episode_and_with_the_rollout() -> None:
    rewards = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    starts = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    returns = discounted_returns(rewards, starts, 0.5)
    assert returns.tolist() == [[3.0, 1.0], [4.0, 4.0], [4.0, 4.0]]


def test_each_group_has_its_own_average_which_moves_by_its_rate() -> None:
    averages = RunningAverages(0.5)
    first = averages.update(np.array([0.0, 0.0, 1.0]), np.array([1.0, 3.0, 10.0]))
    second = averages.update(np.array([0.0, 1.0, 2.0]), np.array([6.0, 10.0, 7.0]))
    assert first.tolist() == [2.0, 2.0, 10.0]
    assert second.tolist() == [2.0, 10.0, 7.0]
    assert averages.averages == {0.0: 4.0, 1.0: 10.0, 2.0: 7.0}


@pytest.fixture(scope="module")
def learned() -> Reinforce:
    """Holds a model that has learned to guess."""
    envs = DummyVecEnv([Guess] * 8)
    settings = {"n_steps": 32, "gamma": 0.0, "learning_rate": 0.01, "ent_coef": 0.0, "seed": 0, "device": "cpu"}
    model = Reinforce("MlpPolicy", envs, baseline_rate=0.2, baseline_column=1, **settings)
    return model.learn(16_000)


def test_it_learns_what_pays_and_names_nothing_that_is_masked(learned) -> None:
    masks = np.array([True, True, False])

    answers = [
        learned.predict(np.array([right, place], dtype=np.float32), deterministic=True, action_masks=masks)[0].tolist()
        for right in (0, 1)
        for place in (0, 1)
    ]

    assert answers == [[0], [0], [1], [1]]


def test_it_keeps_a_baseline_for_each_value_of_the_column(learned) -> None:
    averages = learned.baselines.averages
    assert averages.keys() == {0.0, 1.0}
    assert averages[1.0] - averages[0.0] == pytest.approx(10.0, abs=0.3)


def test_a_saved_model_goes_on_with_its_baselines_and_acts_as_a_model_of_maskable_ppo(learned, tmp_path) -> None:
    learned.save(tmp_path / "model")
    observation = np.array([1.0, 0.0], dtype=np.float32)

    again = Reinforce.load(tmp_path / "model", device="cpu")
    actor = MaskablePPO.load(tmp_path / "model", device="cpu")

    assert again.baselines.averages == learned.baselines.averages
    masks = np.array([True, True, False])
    assert actor.predict(observation, deterministic=True, action_masks=masks)[0].tolist() == [1]
