"""Holds environments to what Gymnasium's spaces and wrappers, PyTorch and TorchRL take for granted."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import NumpyToTorch

from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import ENVIRONMENTS, SHORT, each_environment, make
from tests.envs.vectors import actions_at, each_native, make_native

each_masked = pytest.mark.parametrize(
    "spec",
    [each for each in ENVIRONMENTS if hasattr(make(each).unwrapped, "action_masks")],
    ids=lambda spec: spec.id,
)


@each_masked
def test_spaces_sample_by_the_mask_in_the_infos(spec: EnvironmentSpec) -> None:
    env: Any = make(spec)
    for seed in range(3):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        over = False
        for _ in range(20):
            mask, masks = info["action_mask"], env.unwrapped.action_masks()
            assert (mask.dtype, masks.dtype) == (np.int8, np.bool_)
            assert mask.tolist() == masks.tolist()
            action = env.action_space.sample(mask)
            first = np.cumsum(np.append(0, env.action_space.nvec[:-1])) if env.action_space.shape else 0
            assert masks[first + action].all(), "what the mask leaves out is not drawn"
            *_, over, _, info = env.step(action)
            if over:
                break


@each_masked
def test_several_choices_are_sampled_by_a_tuple_of_masks_too_as_gymnasium_has_it(spec: EnvironmentSpec) -> None:
    space: Any = make(spec).action_space
    if space.shape:
        masks = tuple(np.arange(count, dtype=np.int8) == count - 1 for count in space.nvec)
        as_tuple = space.sample(tuple(mask.astype(np.int8) for mask in masks))
        assert as_tuple.tolist() == space.sample(np.concatenate(masks).astype(np.int8)).tolist()
        assert as_tuple.tolist() == (space.nvec - 1).tolist()
        assert space == gym.spaces.MultiDiscrete(space.nvec)


@each_masked
def test_vectors_of_both_kinds_have_the_masks_as_one_array_of_int8(spec: EnvironmentSpec) -> None:
    native, single = make_native(spec, 2), gym.make_vec(spec.id, 2, "sync", **SHORT[spec.id])
    for envs in (native, single):
        _, infos = envs.reset(seed=3)
        assert (infos["action_mask"].dtype, len(infos["action_mask"])) == (np.int8, 2)
        assert envs.single_action_space.contains(envs.single_action_space.sample(infos["action_mask"][1]))
    assert native.action_masks().dtype == np.bool_


def objects_in(infos: Any, where: str = "infos") -> Iterator[str]:
    """Yields which arrays of infos hold objects."""
    for name, value in infos.items():
        if isinstance(value, dict):
            yield from objects_in(value, f"{where}[{name!r}]")
        elif value.dtype == object:
            yield f"{where}[{name!r}]"


@each_native
@pytest.mark.parametrize("mode", AutoresetMode)
def test_infos_of_vectors_are_numbers_but_for_what_gymnasium_itself_keeps_as_objects(
    spec: EnvironmentSpec, mode: AutoresetMode
) -> None:
    envs = make_native(spec, 2, autoreset_mode=mode, max_episode_steps=3)
    assert list(objects_in(envs.reset(seed=0)[1])) == []
    infos: list[Any] = [envs.step(actions_at(envs, 0))[4] for _ in range(3)]
    expected = ["infos['final_obs']"] if mode is AutoresetMode.SAME_STEP else []
    assert [name for each in infos for name in objects_in(each)] == expected


@each_native
def test_gymnasiums_wrapper_gives_infos_to_pytorch_until_episodes_have_ended(spec: EnvironmentSpec) -> None:
    envs = make_native(spec, 2)
    tensors = NumpyToTorch(envs)
    _, infos = tensors.reset(seed=0)
    ended = 0
    for _ in range(400):
        _, _, over, _, infos = tensors.step(torch.as_tensor(actions_at(envs, 0)))
        assert isinstance(infos["time"], torch.Tensor)
        if over.any():
            assert isinstance(infos["episode_metrics"]["num_flows"], torch.Tensor)
            ended += 1
            break
    assert ended


def test_the_lists_of_finished_flows_of_vectors_are_had_by_an_argument() -> None:
    with pytest.raises(ConfigError, match="finished is 'yes': it must be true or false"):
        gym.make_vec("flowsched/Artemis-v0", 2, finished="yes")
    envs = gym.make_vec("flowsched/Artemis-v0", 2, finished=True, **SHORT["flowsched/Artemis-v0"])
    _, infos = envs.reset(seed=0)
    assert infos["finished"].tolist() == [(), ()]


@each_environment
def test_an_unknown_argument_is_told_in_pythons_words_by_which_libraries_try_without_it(spec: EnvironmentSpec) -> None:
    for make_one in (gym.make, gym.make_vec):
        with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'frameskip'") as error:
            make_one(f"flowsched_gym:{spec.id}", frameskip=1)
        assert isinstance(error.value, FlowSchedError)
        assert "\n" not in str(error.value)
