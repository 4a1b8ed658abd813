"""Evolves weights on small instances: what is learned, that it repeats, goes on, is kept, and can be read."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.baselines.training.checkpoints import latest_checkpoint
from flowsched_gym.baselines.training.evolution import CmaEs
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.cli.app import main
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies.scores import weighted_policy
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.models import read_model
from flowsched_gym.integrations.sb3 import load_policy, make_sb3_vec_env, save_model
from flowsched_gym.integrations.weighted import WeightedModel, read_terms
from tests.baselines.small_training import compose_training, compose_training_by_numbers

ARTEMIS = "flowsched/Artemis-v0"
CONTENDED: dict[str, Any] = {"workload": "gather-heavy", "bursts": 20, "k": 3, "f": 6}
EVOLUTION = ("algorithm=cmaes", "policy=weights", "algorithm.num_envs=8", "algorithm.population=4")


def model_of(*, num_envs: int = 24, population: int = 12, seed: int = 0, **kwargs: Any) -> CmaEs:
    envs = make_sb3_vec_env(ARTEMIS, num_envs, **{**CONTENDED, **kwargs})
    shape = weighted_policy(envs.get_attr("layout", 0)[0], envs.action_space)
    arguments = {"kind": type(shape).__name__, "sizes": shape._asdict()}
    return CmaEs(WeightedModel, envs, population=population, seed=seed, policy_kwargs=arguments)


@pytest.fixture(scope="module")
def learned() -> CmaEs:
    return model_of().learn(150_000)


def composed(*overrides: str) -> Any:
    return compose_training(*EVOLUTION, *overrides)


def test_weights_are_found_that_beat_the_rules_on_unseen_episodes(learned: CmaEs) -> None:
    """Sixty bursts of ten flows compete for three tokens: feasible-first is the best rule that only grants."""
    best = evaluate(ARTEMIS, "feasible-first", episodes=40, seed=700, kwargs=CONTENDED).values("deadline_hit_ratio")
    found = evaluate(ARTEMIS, learned.policy, episodes=40, seed=700, kwargs=CONTENDED, label="found")
    gain = np.subtract(found.values("deadline_hit_ratio"), best)
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))


def test_a_seed_fixes_everything_on_any_number_of_threads(learned: CmaEs) -> None:
    again = model_of(num_threads=2).learn(20_000)
    generations = len(again.costs)
    assert again.costs.tolist() == learned.costs[:generations].tolist()
    assert model_of(seed=1).learn(20_000).costs.tolist() != again.costs.tolist()


def test_a_training_that_was_cut_off_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    for name, totals in (("whole", [3000]), ("cut", [1200, 3000])):
        for total in totals:
            resume = "resume=true" if total != totals[0] else "resume=false"
            config, content = composed(f"total_timesteps={total}", resume)
            (tmp_path / name / "run.json").unlink(missing_ok=True)  # it holds the number of decisions
            train(config, content, tmp_path / name, compare=False)
    whole, cut = (read_model(tmp_path / name / "model.zip")["weights"]["weights"] for name in ("whole", "cut"))
    assert whole.tolist() == cut.tolist()
    assert np.any(np.array(whole.tolist()))
    last = latest_checkpoint(tmp_path / "cut" / "checkpoints")
    assert last is not None
    assert int(last.stem) >= 3000


def test_numbers_are_evolved_by_the_same_command(tmp_path: Path) -> None:
    config, content = compose_training_by_numbers(*EVOLUTION, "policy.constant=true", "total_timesteps=300")
    result = train(config, content, tmp_path)
    assert result["num_timesteps"] >= 300
    assert result["algorithm"] == "cmaes"


def test_a_model_file_acts_as_the_model_does_and_its_rule_can_be_read(
    learned: CmaEs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.zip"
    save_model(learned, path)
    envs: Any = learned.get_env()
    loaded: Any = load_policy(path, envs.envs)
    observation = envs.reset()
    masks = envs.action_masks()
    expected = learned.predict(observation, action_masks=masks)[0].tolist()
    assert loaded.predict(observation, action_masks=masks)[0].tolist() == expected
    assert [int(loaded.predict(*row)[0]) for row in zip(observation, [None] * 24, [None] * 24, strict=True)]

    env: Any = gym.make(ARTEMIS, **CONTENDED)
    terms = read_terms(path, env, ("grant",))
    assert {term.action for term in terms} == {"grant"}
    size = next(term for term in terms if term.column == "size")
    assert size.meaning == "v / (v + 300000 B)"
    every = learned.policy.terms(env.unwrapped.layout, ("grant",))
    numbers = [number for term in every for number in (term.weight, term.square) if number is not None]
    assert sorted(numbers) == sorted(learned.policy.weights.tolist())
    # Where no flow can be postponed, two columns never vary: what they add is the same for every request.
    assert {term.column for term in every} - {term.column for term in terms} == {"present", "postponed"}
    before, present, one = (
        next(term for term in found if term.column == name)
        for found, name in ((every, "1"), (every, "present"), (terms, "1"))
    )
    assert present.square is not None
    assert one.weight == pytest.approx(before.weight + present.weight + present.square)
    words = ["--episodes", "2", *(f"--kwarg={name}={value}" for name, value in CONTENDED.items())]
    assert main(["evaluate", ARTEMIS, "--policy", str(path), "--explain", *words]) == 0
    printed = capsys.readouterr().out
    assert "v / (v + 300000 B)" in printed
    assert f"{size.weight:+.3g}" in printed


def test_what_cannot_be_evolved_or_explained_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="population is 12: it must divide the number of environments, 10"):
        model_of(num_envs=10)
    with pytest.raises(ConfigError, match=r"algorithm\.population is 6: it must divide algorithm\.num_envs, 8"):
        composed("algorithm.population=6")
    config, content = composed("vectorization=dummy")
    with pytest.raises(ConfigError, match="stepped by DummyVecEnv: evolution plays whole episodes in a native"):
        train(config, content, tmp_path)
    assert main(["evaluate", ARTEMIS, "--policy", "edf", "--explain"]) == 2
    assert "--explain prints the rules of models" in capsys.readouterr().err
