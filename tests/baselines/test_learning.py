"""Sees weights move and rates fall by updates, and holds REINFORCE and evolution to what they should learn."""

import copy
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from flowsched_gym.baselines.applications.training_run import train_and_compare
from flowsched_gym.baselines.configuration.algorithm_schemas import (
    A2CConfig,
    PPOConfig,
    SACConfig,
    TD3Config,
    ThesisA2CConfig,
)
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.callbacks import Schedules
from flowsched_gym.baselines.training.checkpoints import latest_checkpoint
from flowsched_gym.baselines.training.evolution import CmaEs
from flowsched_gym.baselines.training.reinforce import Reinforce, RunningAverages, discounted_returns
from flowsched_gym.baselines.training.starting import first_action, go_on_from, start_at, start_with_weights
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.baselines.training.training_envs import make_training_envs
from flowsched_gym.cli.app import main
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.envs.policies.scores import weighted_policy
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.models import read_model
from flowsched_gym.integrations.sb3 import load_policy, make_sb3_vec_env, save_model
from flowsched_gym.integrations.weighted import WeightedModel, read_terms
from flowsched_gym.players import kept_agents
from tests.baselines.small_training import compose_defaults, compose_training, compose_training_by_numbers

CHOICES: Final = ("a2c", "a2c_thesis", "maskable_ppo", "ppo", "reinforce")
NUMBERS: Final = ("ddpg", "ddpg_auto", "ppo_auto", "sac", "td3")
BATCH: Final = {"maskable_ppo": ("algorithm.batch_size=32",), "ppo_auto": ("algorithm.n_steps=16",)}
ARTEMIS: Final = "flowsched/Artemis-v0"
CONTENDED: Final[dict[str, Any]] = {"workload": "gather-heavy", "bursts": 20, "k": 3, "f": 6}
EVOLUTION: Final = ("algorithm=cmaes", "policy=weights", "algorithm.num_envs=8", "algorithm.population=4")
MASKS: Final = np.array([True, True, False])
"""What may be named in the game of guessing."""


class LearningRates(BaseCallback):
    """Remembers the rate of every update and the length of every rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: list[float] = []
        self.lengths: list[int] = []

    def _on_rollout_start(self) -> None:
        self._note()
        self.lengths.append(0)

    def _on_step(self) -> bool:
        self.lengths[-1] += self.training_env.num_envs
        return True

    def _on_training_end(self) -> None:
        self._note()

    def _note(self) -> None:
        if (rate := self.logger.name_to_value.pop("train/learning_rate", None)) is not None:
            self.rates.append(rate)


def model_of(config: Any) -> Any:
    env_id, kwargs = environment_arguments(config.env)
    algorithm = config.algorithm
    envs = make_training_envs(
        env_id, kwargs, num_envs=algorithm.num_envs, seed=0, reward_scale=1.0, vectorization=config.vectorization
    )
    return build_model(algorithm, config.policy, envs, seed=0)


def composed(algorithm: str, *overrides: str) -> tuple[Any, Any]:
    compose = compose_training if algorithm in CHOICES else compose_training_by_numbers
    return compose(f"algorithm={algorithm}", *BATCH.get(algorithm, ()), "vectorization=dummy", *overrides)


@pytest.mark.parametrize("algorithm", [*CHOICES, *NUMBERS])
def test_the_smallest_training_moves_the_weights(algorithm) -> None:
    smallest = 128 if algorithm == "a2c_thesis" else 64  # a rollout of 4 environments, of 32 steps or 16
    config, _ = composed(algorithm, f"total_timesteps={smallest}")
    model = model_of(config)
    before = copy.deepcopy(dict(model.policy.named_parameters()))

    model.learn(config.decisions, callback=[Schedules(config.algorithm)] if algorithm in CHOICES else None)

    moved = {name for name, weights in model.policy.named_parameters() if not torch.equal(weights, before[name])}
    assert any(name.startswith(("action_net", "actor.")) for name in moved)
    assert model.num_timesteps == smallest


@pytest.mark.parametrize(
    ("algorithm", "before", "decisions", "rates", "lengths"),
    [
        ("ppo", 0, 128, [1.0, 0.5], [64, 64]),
        ("ppo", 64, 128, [2 / 3, 1 / 3], [64, 64]),
        ("reinforce", 0, 160, [1.0, 2 / 3, 1 / 3], [64, 64, 32]),
        ("a2c", 0, 96, [1.0, 0.5], [64, 32]),
        ("sac", 0, 256, [1.0, 0.5], [128, 128]),
    ],
)
def test_rates_fall_by_updates_and_the_last_rollout_takes_what_is_left(algorithm, before, decisions, rates, lengths):
    own = ("algorithm.train_freq=32",) if algorithm == "sac" else ()
    config, _ = composed(algorithm, *own)
    model, seen = model_of(config), LearningRates()
    if before:
        model.learn(before)
    model.learn(decisions, callback=seen, log_interval=2**62, reset_num_timesteps=not before)

    assert seen.rates == pytest.approx([rate * config.algorithm.learning_rate for rate in rates])
    assert seen.lengths == lengths


def test_all_algorithms_make_the_same_number_of_decisions_and_none_that_learns_from_none() -> None:
    configs = (A2CConfig(name="a2c"), PPOConfig(name="ppo"), SACConfig(name="sac"), TD3Config(name="td3"))
    assert {each.decisions(10_000) for each in configs} == {10_048}
    sac, td3 = SACConfig(name="sac", learning_starts=1000), TD3Config(name="td3", gradient_steps=1, policy_delay=40)
    for config, total, message in (
        (
            ThesisA2CConfig(name="a2c_thesis", n_steps=16),
            960,
            r"a2c_thesis first .* after 1,025 .*1 of .*64 \* 16, and",
        ),
        (sac, 960, r"after 1,008 .*learning_starts = 1,000, .*16 \* 1"),
        (td3, 576, r"td3 first .* after 640 "),
    ):
        with pytest.raises(ConfigError, match=message):
            config.decisions(total)


BRIEF: Final = {
    "artemis": ("workload.bursts=2",),
    "auto_longflows": ("workload.flows=300", "env.hosts=4"),
    "auto_thresholds": ("workload.flows=200", "env.hosts=4", "env.period_flows=20"),
    "merp_order": ("workload.flows=30",),
    "merp_route": ("workload.flows=30",),
    "qcluster": ("workload.flows=50",),
    "tafe_tasks": ("workload.tasks=10",),
    "tafe_thresholds": ("workload.tasks=20",),
}
"""Short episodes of every environment."""


@pytest.mark.parametrize(
    "env",
    [pytest.param(env, marks=() if env in ("merp_order", "qcluster") else pytest.mark.exhaustive) for env in BRIEF],
)
def test_every_environment_is_trained_by_its_defaults(env, tmp_path) -> None:
    result = train_and_compare(*compose_defaults(f"env={env}", *BRIEF[env]), tmp_path)
    assert result["num_timesteps"] == 64
    assert (tmp_path / "comparison.png").stat().st_size > 0


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
        return MASKS


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


def test_it_learns_what_pays_names_nothing_masked_and_keeps_a_baseline_for_each_value_of_the_column(learned) -> None:
    seen = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    answers = learned.predict(seen, deterministic=True, action_masks=np.tile(MASKS, (4, 1)))[0]
    assert answers.tolist() == [[0], [0], [1], [1]]

    averages = learned.baselines.averages
    assert averages.keys() == {0.0, 1.0}
    assert averages[1.0] - averages[0.0] == pytest.approx(10.0, abs=0.3)


def test_a_saved_model_goes_on_with_its_baselines_and_acts_as_a_model_of_maskable_ppo(learned, tmp_path) -> None:
    observation = np.array([1.0, 0.0], dtype=np.float32)
    learned.save(tmp_path / "model")

    again = Reinforce.load(tmp_path / "model", device="cpu")
    actor = MaskablePPO.load(tmp_path / "model", device="cpu")

    assert again.baselines.averages == learned.baselines.averages
    assert actor.predict(observation, deterministic=True, action_masks=MASKS)[0].tolist() == [1]


def evolution_of(
    *, num_envs: int = 24, population: int = 12, seed: int = 0, sigma: float = 1.0, **kwargs: Any
) -> CmaEs:
    envs = make_sb3_vec_env(ARTEMIS, num_envs, **{**CONTENDED, **kwargs})
    shape = weighted_policy(envs.get_attr("layout", 0)[0], envs.action_space)
    arguments = {"kind": type(shape).__name__, "sizes": shape._asdict()}
    return CmaEs(WeightedModel, envs, population=population, seed=seed, sigma=sigma, policy_kwargs=arguments)


@pytest.fixture(scope="module")
def evolved() -> CmaEs:
    return evolution_of().learn(150_000)


def test_weights_are_found_that_beat_the_rules_on_unseen_episodes(evolved: CmaEs) -> None:
    """Sixty bursts of ten flows compete for three tokens: feasible-first is the best rule that only grants."""
    best = evaluate(ARTEMIS, "feasible-first", episodes=40, seed=700, kwargs=CONTENDED).values("deadline_hit_ratio")
    found = evaluate(ARTEMIS, evolved.policy, episodes=40, seed=700, kwargs=CONTENDED, label="found")
    gain = np.subtract(found.values("deadline_hit_ratio"), best)
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))


def test_the_best_of_the_last_means_is_kept_by_further_episodes(evolved: CmaEs) -> None:
    """Here it is not the last one, and other episodes agree."""
    last, kept = evolved.means[-1], evolved.policy.weights.numpy()
    assert sorted(np.all(evolved.means == kept, axis=1).tolist()) == [False] * 9 + [True]
    assert not np.array_equal(last, kept)
    envs: Any = evolved.get_env()
    seeds = [seed for seed in range(900, 912) for _ in range(2)]
    weights = np.tile([last, kept], (12, 1))
    values, _ = envs.envs.unwrapped.play(evolved.policy.shape, weights, seeds=seeds, metric="deadline_hit_ratio")
    assert values[1::2].mean() > values[::2].mean()


def test_a_seed_fixes_everything_on_any_number_of_threads(evolved: CmaEs) -> None:
    again = evolution_of(num_threads=2).learn(20_000)
    generations = len(again.costs)
    assert again.costs.tolist() == evolved.costs[:generations].tolist()
    assert evolution_of(seed=1).learn(20_000).costs.tolist() != again.costs.tolist()


def test_a_training_that_was_cut_off_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    for name, total, resume in (("whole", 3000, "false"), ("cut", 1200, "false"), ("cut", 3000, "true")):
        words = "policy.start={size: -5}", f"total_timesteps={total}", f"resume={resume}"
        composition = compose_training(*EVOLUTION, *words)
        (tmp_path / name / "run.json").unlink(missing_ok=True)  # it holds the number of decisions
        train(*composition, tmp_path / name)
    whole, cut = (read_model(tmp_path / name / "model.zip")["weights"]["weights"] for name in ("whole", "cut"))
    assert whole.tolist() == cut.tolist()
    assert np.any(np.array(whole.tolist()))
    assert int(latest_checkpoint(tmp_path / "cut" / "checkpoints").stem) >= 3000


@pytest.mark.exhaustive
def test_numbers_are_evolved_by_the_same_command(tmp_path: Path) -> None:
    words = (*EVOLUTION, "policy.constant=true", "total_timesteps=300")
    result = train_and_compare(*compose_training_by_numbers(*words), tmp_path)
    assert (result["num_timesteps"] >= 300, result["algorithm"]) == (True, "cmaes")


def test_a_model_file_acts_as_the_model_does_and_its_rule_can_be_read(evolved: CmaEs, tmp_path: Path, capsys) -> None:
    path = tmp_path / "model.zip"
    save_model(evolved, path)
    envs: Any = evolved.get_env()
    loaded: Any = load_policy(path, envs.envs)
    observation = envs.reset()
    masks = envs.action_masks()
    expected = evolved.predict(observation, action_masks=masks)[0].tolist()
    assert loaded.predict(observation, action_masks=masks)[0].tolist() == expected
    assert [int(loaded.predict(*row)[0]) for row in zip(observation, [None] * 24, [None] * 24, strict=True)]

    env: Any = gym.make(ARTEMIS, **CONTENDED)
    terms = read_terms(path, env, ("grant",))
    assert {term.action for term in terms} == {"grant"}
    size = next(term for term in terms if term.column == "size")
    assert size.meaning == "v / (v + 300000 B)"
    every = evolved.policy.terms(env.unwrapped.layout, ("grant",))
    numbers = [number for term in every for number in (term.weight, term.square) if number is not None]
    assert sorted(numbers) == sorted(evolved.policy.weights.tolist())
    # Where no flow can be postponed, two columns never vary: what they add is the same for every request.
    assert {term.column for term in every} - {term.column for term in terms} == {"present", "postponed"}
    before, present, one = (
        next(term for term in found if term.column == name)
        for found, name in ((every, "1"), (every, "present"), (terms, "1"))
    )
    assert one.weight == pytest.approx(before.weight + present.weight + present.square)
    words = ["--episodes", "2", *(f"--kwarg={name}={value}" for name, value in CONTENDED.items())]
    assert main(["evaluate", ARTEMIS, "--policy", str(path), "--explain", *words]) == 0
    printed = capsys.readouterr().out
    assert "\ngrant: " in printed
    assert "nearest rule of a few numbers: " in printed


def test_a_search_begins_with_the_rule_that_compares_one_column_or_with_the_numbers_of_a_rule(evolved: CmaEs) -> None:
    model = evolution_of()
    start_with_weights(model, {"size": -20})
    begun, sjf = (
        evaluate(ARTEMIS, policy, episodes=2, seed=5, kwargs=CONTENDED, label="begun").values("deadline_hit_ratio")
        for policy in (model.policy, "sjf")
    )
    assert begun.tolist() == sjf.tolist()
    model.learn(1)
    assert 0 < np.abs(model.means[-1] - model.start).max() < 10 * model.sigma

    lost = evolution_of(sigma=1e4)
    lost.begin_at(evolved.policy.weights.numpy())
    assert lost.learn(1).policy.weights.tolist() == evolved.policy.weights.tolist()  # the start is still the best
    with pytest.raises(ConfigError, match=r"policy\.start weighs 'length': the columns of a score are"):
        start_with_weights(evolution_of(), {"length": -20})

    further, kept = evolution_of(), kept_agents()["artemis-heavy/cmaes"]
    go_on_from(further, "model:artemis-heavy/cmaes", ARTEMIS, CONTENDED)
    assert further.policy.weights.tolist() == kept.policy(kept.make_env()).weights.tolist()
    with pytest.raises(ConfigError, match="model merp-order-tree/cmaes was trained for flowsched/MERPOrder-v0"):
        go_on_from(further, "model:merp-order-tree/cmaes", ARTEMIS, CONTENDED)

    env_id, numbers = "flowsched/TAFEThresholds-v0", [-0.5, 0.25]
    envs = make_sb3_vec_env(env_id, 4, workload="tafe-log")
    shape = weighted_policy(envs.get_attr("layout", 0)[0], envs.action_space)
    arguments = {"kind": type(shape).__name__, "sizes": shape._asdict()}
    setter = CmaEs(WeightedModel, envs, population=4, policy_kwargs=arguments)
    start_at(setter, first_action(numbers, env_id, {}))
    assert setter.predict(envs.reset())[0].tolist() == [numbers] * 4


@pytest.mark.exhaustive
def test_a_model_file_has_the_rule_whose_choice_is_a_feature_and_plays_in_other_networks(
    tmp_path: Path,
) -> None:
    words = "policy.rule=feasible-first", "policy.start={rule: 1}", "total_timesteps=300"
    train(*compose_training(*EVOLUTION, *words), tmp_path)
    model: Any = load_policy(tmp_path / "model.zip", gym.make(ARTEMIS, workload="gather-a1", bursts=4, k=3, f=4))
    model.set_weights(np.eye(len(model.weights))[-1])
    begun, rule = (
        evaluate(ARTEMIS, policy, episodes=2, seed=5, kwargs={**CONTENDED, "f": 4}, label="begun").values("mean_fct")
        for policy in (model, "feasible-first")
    )
    assert begun.tolist() == rule.tolist()
    other = {**CONTENDED, "k": 10, "f": 9}
    elsewhere: Any = load_policy(tmp_path / "model.zip", gym.make(ARTEMIS, **other))
    elsewhere.set_weights(np.eye(len(model.weights))[-1])
    begun, rule = (
        evaluate(ARTEMIS, policy, episodes=2, seed=5, kwargs=other, label="begun").values("mean_fct")
        for policy in (elsewhere, "feasible-first")
    )
    assert begun.tolist() == rule.tolist()  # which knows of other tokens, and sees other slots
    with pytest.raises(SpaceMismatchError, match="was trained with observations"):
        load_policy(tmp_path / "model.zip", gym.make(ARTEMIS, observation="paper"))
    with pytest.raises(ConfigError, match=r"policy\.rule is 'lifo': machine code knows no rule of that name"):
        train(*compose_training(*EVOLUTION, "policy.rule=lifo"), tmp_path / "lifo")


def test_what_cannot_be_evolved_or_explained_is_refused(tmp_path: Path, capsys) -> None:
    with pytest.raises(ConfigError, match="population is 12: it must divide the number of environments, 10"):
        evolution_of(num_envs=10)
    with pytest.raises(ConfigError, match=r"algorithm\.population is 6: it must divide algorithm\.num_envs, 8"):
        compose_training(*EVOLUTION, "algorithm.population=6")
    with pytest.raises(ConfigError, match="stepped by DummyVecEnv: evolution plays whole episodes in a native"):
        train(*compose_training(*EVOLUTION, "vectorization=dummy"), tmp_path)
    assert main(["evaluate", ARTEMIS, "--policy", "edf", "--explain"]) == 2
    assert "--explain prints the rules of models" in capsys.readouterr().err
