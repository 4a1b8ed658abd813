"""Holds vectors of every registered environment to what its environments give one by one."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import SHORT, action_at, each_environment, make, play

MODES = ("sync", pytest.param("async", marks=pytest.mark.exhaustive), "vector_entry_point")
"""Gymnasium's own ways to run a vector, and a native one where there is one."""

each_mode = pytest.mark.parametrize("mode", MODES)


def make_vector(spec: EnvironmentSpec, mode: str, num_envs: int, *, same_step: bool = False) -> Any:
    """Makes a vector of environments with short episodes."""
    if mode == "vector_entry_point" and spec.vector_entry_point is None:
        pytest.skip(f"{spec.id} has no native vector environment")
    arguments: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP} if same_step else {}
    if mode != "vector_entry_point":
        arguments = {"vector_kwargs": arguments}
    return gym.make_vec(spec.id, num_envs=num_envs, vectorization_mode=mode, **arguments, **SHORT[spec.id])


@each_environment
@each_mode
def test_a_vector_of_environments_gives_what_each_of_them_gives_alone(spec: EnvironmentSpec, mode: str) -> None:
    vector = make_vector(spec, mode, 3)
    singles = [make(spec) for _ in range(3)]
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert vector.single_action_space == singles[0].action_space
    assert vector.single_observation_space == singles[0].observation_space
    observations, infos = vector.reset(seed=20)
    if "action_mask" in infos:
        assert np.array_equal(vector.call("action_masks"), infos["action_mask"])
    for number, env in enumerate(singles):
        assert (env.reset(seed=20 + number)[0] == observations[number]).all()
    over, ends = [False] * 3, 0
    vector.action_space.seed(5)
    for _ in range(150):
        actions = vector.action_space.sample()
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        for number, env in enumerate(singles):
            if over[number]:
                observation, info = env.reset()
                expected: tuple[Any, ...] = (observation, 0.0, False, False, info)
            else:
                expected = env.step(actions[number])
            over[number] = bool(expected[2] or expected[3])
            assert (observations[number] == expected[0]).all()
            assert (rewards[number], terminated[number], truncated[number]) == expected[1:4]
            assert infos["time"][number] == expected[4]["time"]
            assert tuple(infos["finished"][number]) == expected[4]["finished"]
            assert np.array_equal(infos.get("action_mask", [None] * 3)[number], expected[4].get("action_mask"))
            if over[number]:
                ends += 1
                assert infos["episode_metrics"]["mean_fct"][number] == expected[4]["episode_metrics"]["mean_fct"]
    vector.close()

    assert ends >= 3, "no environment of the vector began a second episode"


@each_environment
@each_mode
def test_a_vector_that_resets_in_the_same_step_keeps_the_last_observation_and_info(spec, mode) -> None:
    vector = make_vector(spec, mode, 2, same_step=True)
    vector.reset(seed=23)
    action = action_at(vector.single_action_space, 0)
    last = [play(make(spec), lambda *_: action, seed=23 + number)[-1] for number in range(2)]
    ended = [False, False]
    while not all(ended):
        _, _, terminated, _, infos = vector.step(np.stack([action] * 2))
        for number in np.flatnonzero(terminated):
            if not ended[number]:
                ended[number] = True
                metrics = infos["final_info"]["episode_metrics"]
                assert (infos["final_obs"][number] == last[number].observation).all()
                assert metrics["max_fct"][number] == last[number].info["episode_metrics"]["max_fct"]
    vector.close()
