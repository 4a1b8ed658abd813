"""Holds the policies of every registered environment to its workloads, its vectors and each other."""

from collections.abc import Mapping

import gymnasium as gym
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.registration import heuristic_arguments, make_policy
from flowsched_gym.systems import EnvironmentSpec
from tests.environments import CASES
from tests.envs.episodes import ENVIRONMENTS, SHORT, each_environment, make, play

SETTINGS: dict[str, list[Mapping[str, object]]] = {}
for _setting in load_suite("standard").settings.values():
    SETTINGS.setdefault(_setting.spec.id, []).append(_setting.kwargs)

EACH_TABLE = [
    pytest.param(spec, arguments, id=f"{spec.id}-{'-'.join(map(str, short.values()))}")
    for spec in ENVIRONMENTS
    for chosen in [*({"workload": name} for name in spec.workloads), *SETTINGS.get(spec.id, [])]
    for short in [{name: value for name, value in chosen.items() if name != "flows"}]
    for arguments in [short | CASES[spec.id].slower]
]
"""Every workload, and every setting of the leaderboard; both with the short episodes of the tests."""


@pytest.mark.parametrize(("spec", "arguments"), EACH_TABLE)
def test_every_policy_plays_everything_that_tables_are_made_for(spec, arguments) -> None:
    for name in spec.heuristics:
        env = make(spec, **heuristic_arguments(spec, arguments, name))
        policy = make_policy(name, env, seed=1)
        steps = play(env, lambda _, observation, __, policy=policy: policy.predict(observation)[0], seed=16)  # type: ignore[misc]
        assert steps[-1].terminated, name
        assert steps[-1].info.get("empty_slot_choices", 0) == 0, name


@each_environment
def test_every_policy_serves_a_vector_as_it_serves_each_environment(spec: EnvironmentSpec) -> None:
    for name in spec.heuristics:
        arguments = heuristic_arguments(spec, SHORT[spec.id], name)
        vector = gym.make_vec(spec.id, num_envs=4, vectorization_mode="sync", **arguments)
        together, alone = make_policy(name, vector, seed=3), make_policy(name, gym.make(spec.id, **arguments), seed=3)
        observations, _ = vector.reset(seed=21)
        for _ in range(30):
            actions = together.predict(observations)[0]
            assert actions.tolist() == [alone.predict(row)[0].tolist() for row in observations], name
            observations = vector.step(actions)[0]


@each_environment
def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(spec: EnvironmentSpec) -> None:
    known = ", ".join(spec.named_policies)
    with pytest.raises(ConfigError, match=rf"policy is 'oracle': .* has {known}"):
        make_policy("oracle", make(spec))
