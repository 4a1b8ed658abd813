"""Holds vectors of every registered environment, as Stable-Baselines3 sees them, to its own ``DummyVecEnv``."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import flatdim
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.integrations.sb3 import SB3VecEnv, make_sb3_vec_env
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import ENVIRONMENTS, SHORT, each_environment
from tests.envs.vectors import actions_at, any_actions

ARTEMIS = "flowsched/Artemis-v0"
STEPS = 150

MASKED = [spec for spec in ENVIRONMENTS if hasattr(gym.make(spec.id).unwrapped, "action_masks")]

CASES: list[tuple[str, dict[str, Any]]] = [
    *((spec.id, arguments) for spec in ENVIRONMENTS for arguments in ({}, {"max_decisions": 7})),
    (ARTEMIS, {"defer": "wait", "reward": "lagged", "transport": "tcp"}),
    (ARTEMIS, {"defer": "to-back", "observation": "paper", "destinations": 3, "max_decisions": 40}),
]
"""Ids and arguments besides those that make an episode short; episodes of some of them are truncated."""


def single(env_id: str, **arguments: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, **SHORT[env_id] | arguments)


def dummy(env_id: str, num_envs: int = 3, **arguments: Any) -> DummyVecEnv:
    return DummyVecEnv([partial(single, env_id, **arguments)] * num_envs)


def ours(env_id: str = ARTEMIS, num_envs: int = 3, **arguments: Any) -> SB3VecEnv:
    return make_sb3_vec_env(env_id, num_envs, **SHORT[env_id] | arguments)


def assert_same(found: Any, expected: Any) -> None:
    """Compares infos exactly, types included; values of a dict may be made when they are read."""
    assert isinstance(found, type(expected))
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert_same_arrays(found, expected)
    else:
        assert type(found) is type(expected)
        np.testing.assert_equal(found, expected)


def assert_same_arrays(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("mode", [None, pytest.param("sync", marks=pytest.mark.exhaustive)], ids=["native", "sync"])
@pytest.mark.parametrize(("env_id", "arguments"), CASES, ids=str)
def test_a_vector_gives_what_the_environments_give_one_after_the_other(env_id, arguments, mode) -> None:
    vector, separate = ours(env_id, vectorization_mode=mode, **arguments), dummy(env_id, **arguments)
    assert vector.seed(11) == separate.seed(11)
    assert vector.get_attr("layout") == separate.get_attr("layout")
    assert vector.get_attr("config", [0, 2]) == separate.get_attr("config", [0, 2])
    assert vector.has_attr("layout")
    assert vector.observation_space == separate.observation_space
    assert vector.action_space == separate.action_space
    assert_same_arrays(vector.reset(), separate.reset())
    assert_same(vector.reset_infos, separate.reset_infos)
    rng, ends, truncations = np.random.default_rng(3), 0, 0
    assert is_masking_supported(vector) is is_masking_supported(separate)
    for _ in range(STEPS):
        if is_masking_supported(vector):
            assert_same_arrays(get_action_masks(vector), get_action_masks(separate))
        actions = any_actions(vector.envs, rng)
        found, expected = vector.step(actions), separate.step(actions)
        for one, other in zip(found[:3], expected[:3], strict=True):
            assert_same_arrays(one, other)
        for index in range(vector.num_envs):
            if expected[2][index]:
                assert_same(found[3][index], expected[3][index])
                ends += 1
                truncations += found[3][index]["TimeLimit.truncated"]
                assert found[3][index]["episode_metrics"]["num_flows"] > 0
            else:
                assert found[3][index] == {}
        assert_same(vector.reset_infos, separate.reset_infos)

    assert ends >= vector.num_envs, "no environment began a second episode"
    assert (truncations > 0) is ("max_decisions" in arguments)


@each_environment
def test_a_seed_for_each_environment_is_used_at_the_next_reset_and_only_there(spec: EnvironmentSpec) -> None:
    vector, other = ours(spec.id), ours(spec.id)
    vector.seed([8, 8, 9])
    other.seed(8)

    def begin(envs: SB3VecEnv) -> Any:
        # The first observation may be of an empty network, whatever the seed.
        return np.stack([np.array(envs.reset()), np.array(envs.step(actions_at(envs.envs, 0))[0])], axis=1)

    first, second = begin(vector), begin(other)
    assert_same_arrays(first[1], first[0])
    assert_same_arrays(first[2], second[1])

    assert (begin(vector) != first).any()
    vector.seed(np.array([8, 8, 9]))
    assert_same_arrays(begin(vector), first)
    seeds = vector.seed()
    drawn = begin(vector)
    assert vector.seed(seeds[0]) == seeds, "a seed that is drawn is told"
    assert_same_arrays(begin(vector), drawn)


def test_some_environments_begin_anew_while_the_others_stay_where_they_are() -> None:
    vector = ours()
    vector.seed(3)
    vector.reset()
    for _ in range(5):
        before, *_ = vector.step(np.zeros(3, dtype=np.int64))
    infos = list(vector.reset_infos)
    vector.set_options({"reset_mask": np.array([False, True, False])})
    after = vector.reset()
    assert_same_arrays(after[[0, 2]], before[[0, 2]])
    assert (after[1] != before[1]).any()
    assert vector.reset_infos[0] is infos[0]
    assert vector.reset_infos[1]["time"] != infos[1]["time"]
    assert (vector.reset() != after).any(axis=1).all(), "the mask was for one reset only"


def test_what_vectors_and_their_seeds_cannot_be_is_refused_as_elsewhere() -> None:
    vector = ours()
    for ask in (vector.action_masks, lambda: vector.step([0, 0, 0])):
        with pytest.raises(SimulationError, match=r"there is no episode yet: call reset\(\) first"):
            ask()
    for seed, message in ((1.5, r"seed is 1\.5: it must be an integer >= 0"), ([1, 2], "one for each of 3 env")):
        with pytest.raises(ConfigError, match=message):
            vector.seed(seed)
    vector.reset()
    vector.close()
    with pytest.raises(SimulationError, match="the environments are closed"):
        vector.step([0, 0, 0])
    with pytest.raises(ConfigError, match="vectorization_mode is 'fast': it must be one of"):
        ours(vectorization_mode="fast")


def test_options_are_for_all_environments_alike_which_are_of_the_package() -> None:
    vector = ours()
    vector.set_options([{"colour": 1}] * 3)
    with pytest.raises(ConfigError, match=r"options is {'colour': 1}: this environment knows"):
        vector.reset()
    with pytest.raises(ConfigError, match="environment is 'CartPole-v1': it must be one of flowsched/"):
        make_sb3_vec_env("CartPole-v1", 2)
    with pytest.raises(ConfigError, match="a vector environment takes one dict for all environments"):
        vector.set_options([{}, {}, {"colour": 1}])
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
        envs = gym.make_vec(ARTEMIS, 2, "sync", vector_kwargs={"autoreset_mode": mode}, **SHORT[ARTEMIS])
        with pytest.raises(ConfigError, match=rf"autoreset_mode is {mode}: .* needs AutoresetMode.SAME_STEP"):
            SB3VecEnv(envs)


@pytest.mark.parametrize("spec", MASKED, ids=lambda spec: spec.id)
def test_masks_are_supported_and_stand_in_one_array_as_well(spec: EnvironmentSpec) -> None:
    vector = ours(spec.id)
    vector.reset()
    assert is_masking_supported(vector)
    rows = vector.env_method("action_masks")
    assert isinstance(rows, list)
    assert [row.shape for row in rows] == [(flatdim(vector.action_space),)] * 3
    assert_same_arrays(vector.action_masks(), np.stack(rows))
    assert_same_arrays(vector.env_method("action_masks", indices=[2, 0])[1], rows[0])
    assert_same_arrays(vector.vector_infos["action_mask"], np.stack(rows).astype(np.int8))


def test_attributes_can_be_set_where_environments_are_objects_of_their_own() -> None:
    with pytest.raises(AttributeError, match="the environments of ArtemisVectorEnv have no attributes that can be set"):
        ours().set_attr("note", 1)
    vector = ours(vectorization_mode="sync")
    vector.set_attr("note", [1, 2])
    vector.set_attr("note", 5, indices=[0, 2])
    assert vector.get_attr("note") == [5, [1, 2], 5]


def test_wrappers_of_single_environments_are_found_and_those_of_vectors_may_stand_between() -> None:
    envs = gym.vector.SyncVectorEnv(
        [lambda: Monitor(single(ARTEMIS)), partial(single, ARTEMIS)], autoreset_mode=AutoresetMode.SAME_STEP
    )
    assert SB3VecEnv(envs).env_is_wrapped(Monitor) == [True, False]
    assert ours().env_is_wrapped(Monitor, indices=[0, 1]) == [False, False]
    doubled = SB3VecEnv(gym.wrappers.vector.TransformReward(ours().envs, lambda rewards: 2 * rewards))
    plain = ours(render_mode="rgb_array")
    for each in (doubled, plain):
        each.seed(1)
        each.reset()
    pairs = [[each.step(np.zeros(3, dtype=np.int64))[1] for each in (doubled, plain)] for _ in range(40)]
    assert all((twice == 2 * once).all() for twice, once in pairs)
    assert sum(once.sum() for _, once in pairs) > 0
    assert is_masking_supported(doubled)


def test_frames_are_drawn_side_by_side() -> None:
    vector, separate = (make(ARTEMIS, num_envs=2, render_mode="rgb_array") for make in (ours, dummy))
    for envs in (vector, separate):
        envs.seed(4)
        envs.reset()
    assert_same_arrays(vector.render(), separate.render())
    assert_same_arrays(vector.get_images()[1], separate.get_images()[1])


@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO], ids=lambda algorithm: algorithm.__name__)
def test_algorithms_learn_the_same_weights_as_on_separate_environments_monitored_and_normalised(algorithm) -> None:
    def learned(make: Callable[..., Any]) -> Any:
        monitored = VecMonitor(make(ARTEMIS, num_envs=4, max_decisions=25), info_keywords=("episode_metrics",))
        envs = VecNormalize(monitored, gamma=0.9)
        envs.seed(6)
        batch = {} if algorithm is A2C else {"batch_size": 64}
        model = algorithm("MlpPolicy", envs, n_steps=32, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}, **batch)
        return model.learn(384)

    on_vector, on_separate = learned(ours), learned(dummy)
    for name, weights in on_separate.policy.state_dict().items():
        assert weights.equal(on_vector.policy.state_dict()[name]), name
    found, expected = (
        [(e["r"], e["l"], e["episode_metrics"]) for e in model.ep_info_buffer] for model in (on_vector, on_separate)
    )
    assert found == expected
    assert len(found) >= 12
    assert sum(reward for reward, *_ in found) > 0
