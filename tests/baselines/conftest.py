"""Stands in for native vector environments where there is none yet."""

from functools import partial
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from flowsched_gym.baselines import training_envs
from flowsched_gym.integrations.sb3 import SB3VecEnv
from flowsched_gym.registration import SYSTEMS


class KeptVector(SyncVectorEnv):
    """Hands out and takes its state as native vector environments do, as the episodes of its environments."""

    def get_state(self) -> list[training_envs.Episode]:
        """Returns where it is."""
        return list(self.call("episode"))

    def set_state(self, state: list[training_envs.Episode]) -> None:
        """Goes there."""
        for env, episode in zip(self.envs, state, strict=True):
            env.get_wrapper_attr("repeat")(episode)


def make_kept_vector(env_id: str, num_envs: int, **kwargs: Any) -> SB3VecEnv:
    """Makes a vector of environments that remember their episodes."""
    make = partial(gym.make, env_id, **kwargs)
    return SB3VecEnv(
        KeptVector(
            [lambda: training_envs.RepeatableEpisode(make(), 1.0)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP
        )
    )


@pytest.fixture(autouse=True, scope="session")
def native_vectors():
    """Has the trainer step such vectors in place of native ones."""
    if all(spec.vector_entry_point for system in SYSTEMS for spec in system.environments):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_envs, "make_sb3_vec_env", make_kept_vector)
        patch.setattr(training_envs, "_has_native", lambda env_id: True)
        yield
