"""Holds policies to all workloads, to single environments and steps, and to each other."""

from collections.abc import Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.envs.policies import Policy, RandomSlot
from flowsched_gym.envs.policies.policy import record_of
from flowsched_gym.envs.policies.scores import RULE, LinearScores, choose_for_all, weighted_policy
from flowsched_gym.evaluation import evaluate
from flowsched_gym.flows.metrics import summary
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.systems.artemis.config import ArtemisConfig
from flowsched_gym.systems.artemis.rules import artemis_layout
from tests.environments import CASES
from tests.envs.episodes import ENVIRONMENTS, SHORT, core, each_environment, following, make, play


def test_the_random_policy_chooses_each_request_about_equally_often() -> None:
    layout = artemis_layout(ArtemisConfig(f=4))
    observation = np.zeros(layout.size, dtype=np.float32)
    observation[layout.slot_slice("size")] = [0.5, 0.5, 0.5, 0.0]
    counts = np.bincount(RandomSlot(layout, seed=1).predict(np.tile(observation, (3000, 1)))[0], minlength=4)
    assert counts[3] == 0
    # A binomial count has a standard deviation of 26 here: five of them.
    assert counts[:3] == pytest.approx([1000] * 3, abs=130)


SETTINGS: dict[str, list[Mapping[str, object]]] = {}
for _setting in load_suite("standard").settings.values():
    SETTINGS.setdefault(_setting.spec.id, []).append(_setting.kwargs)

OF_UNLIKE_PARTS = ("artemis-background", "poisson-tree-bursts")
"""Workloads whose parts have no argument in common that would shorten them."""
WHOLE = {
    spec.id: {name: None for name in ("bursts", "load", "flows") if name in SHORT[spec.id]} for spec in ENVIRONMENTS
}
EACH_TABLE = [
    pytest.param(spec, arguments, id=f"{spec.id}-{'-'.join(map(str, short.values()))}")
    for spec in ENVIRONMENTS
    for chosen in [*({"workload": name} for name in spec.workloads), *SETTINGS.get(spec.id, [])]
    for short in [{name: value for name, value in chosen.items() if name != "flows"}]
    for arguments in [short | (WHOLE[spec.id] if short.get("workload") in OF_UNLIKE_PARTS else CASES[spec.id].slower)]
]
"""Every workload, and every setting of the leaderboard; both with the short episodes of the tests."""


@pytest.mark.parametrize(("spec", "arguments"), EACH_TABLE)
def test_every_policy_plays_everything_that_tables_are_made_for(spec, arguments) -> None:
    for name in spec.heuristics:
        env = make(spec, **find_player(name, spec).arguments(arguments))
        steps = play(env, following(make_policy(name, env, seed=1)), seed=16)
        assert steps[-1].terminated, name
        assert steps[-1].info.get("empty_slot_choices", 0) == 0, name


@each_environment
def test_every_policy_serves_a_vector_as_it_serves_each_environment(spec: EnvironmentSpec) -> None:
    for name in spec.heuristics:
        arguments = find_player(name, spec).arguments(SHORT[spec.id])
        vector = gym.make_vec(spec.id, num_envs=4, vectorization_mode="sync", **arguments)
        together, alone = make_policy(name, vector, seed=3), make_policy(name, gym.make(spec.id, **arguments), seed=3)
        observations, _ = vector.reset(seed=21)
        for _ in range(30):
            actions = together.predict(observations)[0]
            assert actions.tolist() == [alone.predict(row)[0].tolist() for row in observations], name
            observations = vector.step(actions)[0]
        memory = object()
        action, state = alone.predict(observations[0], state=memory, episode_start=np.array([True]), deterministic=True)
        assert isinstance(alone, Policy)
        assert vector.single_action_space.contains(action), name
        assert state is memory


SEEDS: Final = (3, 3, 5, 8)
TO_BACK: Final = ("flowsched/Artemis-v0", {"defer": "to-back"}, {})
WEIGHTED: Final = (TO_BACK, ("flowsched/Artemis-v0", {"defer": "wait", "max_decisions": 20}, {"width": 3}))
OTHERS: Final = tuple((spec.id, {}, {}) for spec in ENVIRONMENTS if spec.id != TO_BACK[0])


def made(env_id: str, kwargs: dict[str, Any], options: dict[str, Any], **vector: Any) -> tuple[Any, Any, Any]:
    """Makes environments, a policy for them, and random weights."""
    envs: Any = gym.make_vec(env_id, num_envs=len(SEEDS), **{**SHORT[env_id], **kwargs}, **vector).unwrapped
    policy = weighted_policy(envs.layout, envs.single_action_space, **options)
    return envs, policy, np.random.default_rng(1).normal(size=(len(SEEDS), policy.num_weights))


@pytest.mark.parametrize(
    ("env_id", "kwargs", "options"),
    [*WEIGHTED, *(pytest.param(*one, marks=pytest.mark.exhaustive) for one in OTHERS)],
)
def test_whole_episodes_are_those_of_single_steps(env_id: str, kwargs: dict[str, Any], options: dict[str, Any]) -> None:
    envs, policy, weights = made(env_id, kwargs, options)
    metric = find_environment(env_id).metric
    values, num_decisions = envs.play(policy, weights, seeds=SEEDS, metric=metric)

    steps = 0
    for row, seed in enumerate(SEEDS):
        env: Any = gym.make(env_id, **{**SHORT[env_id], **kwargs}, engine="compiled").unwrapped
        observation, info = env.reset(seed=seed)
        shape = env.action_space.shape or (1,)
        over = False
        while not over:
            action = np.zeros((1, *shape), dtype=env.action_space.dtype)
            masks = np.atleast_2d(info.get("action_mask", np.zeros(0))).astype(np.bool_)
            scratch = np.zeros(policy.scratch_size)
            choose_for_all(policy, weights[row : row + 1], observation[np.newaxis], masks, scratch, action)
            taken = action[0] if env.action_space.shape else int(action[0, 0])
            observation, _, terminated, truncated, info = env.step(taken)
            over = terminated or truncated
            steps += 1
        assert info["episode_metrics"][metric] == values[row]
        assert summary(env.records()).num_finished == summary(envs.records(row)).num_finished
    assert steps == num_decisions


def test_threads_change_nothing_and_the_next_episodes_are_fresh() -> None:
    alone, policy, weights = made(*TO_BACK)
    together, _, _ = made(*TO_BACK, num_threads=2)
    played = [envs.play(policy, weights, seeds=SEEDS, metric="mean_fct") for envs in (alone, together)]
    assert played[0][0].tolist() == played[1][0].tolist()
    assert played[0][1] == played[1][1]
    fresh, _, _ = made(*TO_BACK)
    assert alone.reset(seed=9)[0].tolist() == fresh.reset(seed=9)[0].tolist()
    assert np.unique(alone.play(policy, np.zeros_like(weights), seeds=[4] * 4, metric="mean_fct")[0]).size == 1


def test_a_weight_on_one_column_is_the_rule_that_compares_it() -> None:
    """Of equals the first slot wins, as with the heuristics."""
    envs, policy, weights = made("flowsched/Artemis-v0", {"f": 4}, {})
    assert isinstance(policy, LinearScores)
    names = [(feature.name, feature.power) for feature in policy.features(envs.layout)]
    for column, heuristic in (("size", "sjf"), ("time_left", "edf"), ("slack", "least-slack")):
        weights[:] = 0.0
        weights[:, names.index((column, 1))] = -1.0
        rule = make_policy(heuristic, envs)
        observation, _ = envs.reset(seed=list(SEEDS))
        for _ in range(30):
            actions = np.zeros((len(SEEDS), 1), dtype=np.int64)
            choose_for_all(policy, weights, observation, envs.action_masks(), np.zeros(0), actions)
            expected, _ = rule.predict(observation, deterministic=True)
            assert actions[:, 0].tolist() == expected.tolist()
            observation, *_ = envs.step(expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("flowsched/Artemis-v0", "feasible-first"),
        ("flowsched/MERPOrder-v0", "vdg"),
    ],
)
def test_a_weight_on_what_a_rule_chooses_is_that_rule(env_id: str, name: str) -> None:
    envs, _, _ = made(env_id, {}, {})
    policy = weighted_policy(envs.layout, envs.single_action_space, rule=record_of(make_policy(name, envs)))
    assert policy.features(envs.layout)[-1].name == RULE
    weights, metric = np.zeros((len(SEEDS), policy.num_weights)), find_environment(env_id).metric
    weights[:, -1] = 1.0
    played, _ = envs.play(policy, weights, seeds=SEEDS, metric=metric)
    rule = [evaluate(env_id, name, episodes=1, seed=seed, kwargs=SHORT[env_id]).values(metric)[0] for seed in SEEDS]
    assert played.tolist() == rule
    assert envs.play(policy, 0.0 * weights, seeds=SEEDS, metric=metric)[0].tolist() != rule


def test_hidden_units_see_the_slot_and_the_mean_of_all() -> None:
    """Two slots of one column, one unit: its inputs, by hand, and what is added to the linear score."""
    policy = LinearScores(num_context=0, num_slots=2, num_columns=1, num_kinds=1, num_others=0, width=1)
    linear, unit = [0.0] * 5, [2.0, 4.0, -1.0]
    for out, expected in ((1.0, 1), (-1.0, 0)):
        weights = np.array([[*linear, *unit, out]])
        action, scratch = np.zeros((1, 1), dtype=np.int64), np.zeros(1)
        columns = np.array([[0.25, 0.75]], dtype=np.float32)
        choose_for_all(policy, weights, columns, np.ones((1, 2), dtype=np.bool_), scratch, action)
        assert scratch[0] == 4.0 * 0.5 - 1.0
        assert action[0, 0] == expected


@each_environment
def test_every_environment_has_a_policy_whose_weights_have_names(spec: EnvironmentSpec) -> None:
    env = core(make(spec, engine="compiled"))
    policy = weighted_policy(env.layout, env.action_space)
    assert len(policy.features(env.layout)) == policy.num_weights > 0


@pytest.mark.parametrize("env_id", [spec.id for spec in ENVIRONMENTS if "same" in spec.named_policies])
def test_the_same_level_is_the_action_of_every_period(env_id: str) -> None:
    envs = gym.make_vec(env_id, num_envs=2, **SHORT[env_id])
    policy = make_policy("same:level=-0.3", envs)
    actions, _ = policy.predict(envs.reset(seed=0)[0])
    assert actions.shape == (2, *envs.single_action_space.shape)
    assert (actions == np.float32(-0.3)).all()
    with pytest.raises(ConfigError, match=r"level is 1\.5: it must be from -1 to 1"):
        make_policy("same:level=1.5", envs)


def test_what_cannot_be_played_is_refused() -> None:
    envs, policy, weights = made(*TO_BACK)
    for wrong, message in (
        ({"weights": weights[1:]}, r"weights have shape \(3, \d+\): it must be \(4, \d+\)"),
        ({"metric": "mean"}, "metric is 'mean': it must be one of"),
        ({"seeds": (1, 2)}, "seed has 2 entries: it must have one for each of 4"),
        ({"seeds": (1, 2, 3, -1)}, "seed of environment 3 is -1: it must be an integer >= 0"),
    ):
        arguments = {"weights": weights, "seeds": SEEDS, "metric": "mean_fct", **wrong}
        with pytest.raises(ConfigError, match=message):
            envs.play(policy, **arguments)
    with pytest.raises(ConfigError, match="width is 3: hidden units score slots"):
        weighted_policy(envs.layout, gym.spaces.Box(-1, 1, (2,)), width=3)
    with pytest.raises(ConfigError, match="rule is given: rules name slots"):
        weighted_policy(envs.layout, gym.spaces.Box(-1, 1, (2,)), rule=record_of(make_policy("edf", envs)))
    with pytest.raises(ConfigError, match="no policy of a few weights is known for it"):
        weighted_policy(envs.layout, gym.spaces.Discrete(2))


def test_where_there_is_no_mask_every_action_is_allowed() -> None:
    layout = Layout(context=(), slot=(Column.fraction("load", "its load"),), num_slots=3)
    policy, random = weighted_policy(layout, gym.spaces.Discrete(4), width=2), np.random.default_rng(4)
    weights, observations = random.normal(size=(9, policy.num_weights)), random.random((9, 3)).astype(np.float32)
    chosen = []
    for masks in (np.ones((9, 4), dtype=np.bool_), np.zeros((9, 0), dtype=np.bool_)):
        actions = np.zeros((9, 1), dtype=np.int64)
        choose_for_all(policy, weights, observations, masks, np.zeros(policy.scratch_size), actions)
        chosen.append(actions.ravel().tolist())
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) > 1
