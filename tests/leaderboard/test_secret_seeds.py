"""Holds claims to episodes whose seeds nobody knew, and rows to what is known of them."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import ModelFile, Run, make_environment, read_result, write_result
from flowsched_gym.integrations.archive import read_archive, write_archive
from flowsched_gym.integrations.models import save_model
from flowsched_gym.leaderboard import load_suite, read_results, secret_seeds
from flowsched_gym.leaderboard.play import model_digest
from flowsched_gym.leaderboard.secret_seeds import LEVEL, probability_of_claim, secret_block
from tests.cli.conftest import flowsched, tiny  # noqa: F401 - fixtures
from tests.leaderboard.test_forged_files import TINY, digested

SUITE = {
    "schema": "flowsched-suite/1",
    "name": "tasks-v1",
    "seeds": {"training": [1 << 32, (1 << 63) - 1], "validation": [100, 109], "test": [60_000, 60_011]},
    "settings": {
        "short": {
            "environment": "flowsched/TAFETasks-v0",
            "kwargs": {"workload": "tafe-log", "tasks": 12, "f": 8},
            "metric": "mean_tct",
        }
    },
}
FIRST = """
class First:
    @classmethod
    def for_env(cls, env, *, seed):
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 0, state
"""
CHEAT = """
from flowsched_gym.evaluation import make_environment
from flowsched_gym.players import make_policy


class Cheat:
    '''Rebuilds an episode whose seed is public, and looks up what its setting hides.'''

    def __init__(self, env):
        self.same, self.episodes = env, 0
        self.full = make_environment("flowsched/TAFETasks-v0", {**KWARGS, "information": "full"})
        self.rule = make_policy("stf", self.full, seed=0)

    @classmethod
    def for_env(cls, env, *, seed):
        return cls(env)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        if episode_start[0]:
            self.public, self.told = (env.reset(seed=60_000 + self.episodes)[0] for env in (self.same, self.full))
            self.episodes += 1
        if self.public is None or not (self.public == observation).all():
            self.public = None
            return 0, state
        action, _ = self.rule.predict(self.told)
        self.public, self.told = (env.step(action)[0] for env in (self.same, self.full))
        return action, state
""".replace("KWARGS", repr(SUITE["settings"]["short"]["kwargs"]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user is: a suite, an honest policy and one that cheats."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks-v1.json").write_text(json.dumps(SUITE))
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "cheat.py").write_text(CHEAT)
    return tmp_path


def test_a_policy_that_looks_public_seeds_up_is_caught_by_ten_secret_ones(flowsched, folder, monkeypatch):  # noqa: F811
    run = ("leaderboard", "run", "--suite", "tasks-v1.json", "--policy")
    assert flowsched(*run, "cheat.py").status == 0
    assert flowsched(*run, "first.py").status == 0
    verify = ("leaderboard", "verify", "--suite", "tasks-v1.json", "--mark", "--fresh", 10)

    # Of honest claims one in a hundred is accused, and of false ones some are not: these seeds are always the same.
    monkeypatch.setattr("flowsched_gym.leaderboard.verification.secret_seeds", lambda _, count: list(range(count)))
    caught = flowsched(*verify, "leaderboard/short_cheat.json", "--policy", "cheat.py")
    assert (caught.status, caught.err) == (1, "")
    assert "cheat.py in 10 episodes on secret seeds: mean TCT, ms minus " in caught.out
    assert "DOES NOT AGREE, p = 0.00" in caught.out
    assert not (folder / "leaderboard" / "secret-seeds").exists()

    honest = flowsched(*verify, "leaderboard/short_first.json", "--policy", "first.py")
    assert honest.status == 0, honest.out
    assert "agrees, p = " in honest.out
    assert "seeds 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n" in honest.out
    cheat, first = read_results("leaderboard")
    assert (cheat.secret, first.policy, first.secret.differences["mean_tct"].shape) == (None, "first", (1, 10))
    table = flowsched("leaderboard", "table", "--suite", "tasks-v1.json").out
    assert "\nfirst (verified) " in table
    assert "Yours, which nobody has verified: cheat;" in table

    # What was kept is computed anew from its actions, and what was altered is refused.
    again = ("leaderboard", "verify", "--suite", "tasks-v1.json", "leaderboard/short_first.json")
    assert "episodes on secret seeds that were kept: mean TCT, ms minus " in flowsched(*again).out
    kept = folder / "leaderboard" / "secret-seeds" / "short_first" / "policy.json"
    content = json.loads(kept.read_text())
    content["runs"][0]["episodes"]["metrics"]["mean_slowdown"][0] *= 1.5
    values = content["runs"][0]["episodes"]["metrics"]["mean_slowdown"]
    content["intervals"]["mean_slowdown"]["mean"] = float(np.mean(values))
    kept.write_text(json.dumps(digested(content)))
    refused = flowsched(*again)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert f"{kept.relative_to(folder)} is not what its actions give" in refused.err


def test_a_mark_needs_a_policy_and_ten_episodes(flowsched, folder):  # noqa: F811
    flowsched("leaderboard", "run", "--suite", "tasks-v1.json", "--policy", "first.py")
    for words, message in (
        (("--fresh", 20), "short_first.json: a mark needs a policy at hand (--policy)"),
        (("--fresh", 9, "--policy", "first.py"), "short_first.json: a mark needs at least 10 episodes (--fresh)"),
    ):
        outcome = flowsched(
            "leaderboard", "verify", "leaderboard/short_first.json", "--suite", "tasks-v1.json", "--mark", *words
        )
        assert (outcome.status, outcome.err.count("\n"), message in outcome.err) == (2, 1, True), outcome.err


def test_secret_seeds_come_from_the_whole_range_one_by_one_and_never_from_the_suite():
    suite = load_suite("standard-v3")
    drawn = secret_seeds.secret_seeds(suite.taken, 300)
    assert len(set(drawn)) == 300
    assert not any(seed in taken for taken in suite.taken for seed in drawn)
    assert max(drawn) - min(drawn) > 0.9 * (1 << 32)
    assert np.diff(sorted(drawn)).max() < 1 << 28
    assert secret_block((range(0, 5), range(7, 1 << 63)), 2) == range(5, 7)
    with pytest.raises(ConfigError, match="no 3 seeds in a row free"):
        secret_block((range(0, 5), range(7, 1 << 63)), 3)


@pytest.mark.parametrize("draw", ["normal", "exponential", "standard_cauchy"])
def test_at_most_one_honest_claim_in_a_hundred_is_accused_however_differences_are_distributed(draw, monkeypatch):
    monkeypatch.setattr(secret_seeds, "NUM_PERMUTATIONS", 499)
    sample = getattr(np.random.default_rng(1), draw)
    found = [probability_of_claim(sample(size=30), sample(size=10)) for _ in range(400)]
    assert sum(p < LEVEL for p in found) <= 9, "four are expected; more than nine come once in a hundred times"


def test_a_claim_of_two_standard_deviations_does_not_survive_ten_episodes_and_one_episode_judges_nothing():
    generator = np.random.default_rng(2)
    found = [probability_of_claim(generator.normal(2, 1, 30), generator.normal(0, 1, 10)) for _ in range(20)]
    assert max(found) < LEVEL
    assert probability_of_claim(np.zeros(30), np.zeros(1)) is None
    assert probability_of_claim(np.zeros(30), np.zeros(10)) == 1.0


@pytest.fixture
def models(tiny: Path) -> Path:  # noqa: F811
    """A folder with one model, and the same network twice more in other archives."""
    torch.set_num_threads(1)
    env = make_environment("flowsched/Artemis-v0", TINY["settings"]["short"]["kwargs"])
    first = tiny / "mine" / "seed0.zip"
    save_model(PPO("MlpPolicy", env, device="cpu", seed=0, n_steps=8, batch_size=8), first, origin={"seed": 0})
    with zipfile.ZipFile(first) as archive, zipfile.ZipFile(first.with_name("seed1.zip"), "w") as other:
        for name in reversed(archive.namelist()):
            other.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), archive.read(name))
    content = read_archive(first, "model", "flowsched-model/2")
    write_archive(first.with_name("seed2.zip"), content | {"origin": {"seed": 2}})
    return first.parent


@pytest.mark.exhaustive
def test_one_network_in_three_archives_is_one_training_and_named(flowsched, models):  # noqa: F811
    assert len({path.read_bytes() for path in models.iterdir()}) == 3
    assert len({model_digest(path) for path in models.iterdir()}) == 1
    run = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "mine", "--policy", "edf")
    outcome = flowsched(*run)
    assert "\nmine (learned, 1 distinct of 3 seeds, actions only) " in outcome.out, outcome.err
    verify = ("leaderboard", "verify", "leaderboard/short_mine.json", "--suite", "tiny-v1.json", "--fresh", 0)
    alone = flowsched(*verify)
    assert "its 3 runs are 1 that differ: equal ones are one training" in alone.out
    assert "  no models at hand (--policy, --models) back 3 trainings\n" in alone.out
    assert "actions only: no model at hand has" in alone.out
    assert alone.status == 1
    backed = flowsched(*verify, "--models", ".")
    assert "each model chooses the actions of its run in 100.0 % of the decisions or more\n" in backed.out
    assert "actions only" not in backed.out
    assert backed.status == 0

    # Digests that were invented change nothing of that; models at hand tell them, and actions that are not theirs.
    path = Path("leaderboard/short_mine.json")
    content = json.loads(path.read_text())
    for number, each in enumerate(content["runs"]):
        each["model"]["digest"] = f"{number:032x}"
    path.write_text(json.dumps(digested(content)))
    for invented in (flowsched(*verify), flowsched(*verify, "--models", "mine")):
        assert "  no models at hand (--policy, --models) back 3 trainings\n" in invented.out
        assert invented.status == 1
    assert "holds other models than those that it names" in flowsched(*verify, "--policy", "mine").err
    result = read_result("leaderboard/short_edf.json")
    models_of = [ModelFile(name=each.name, digest=model_digest(each)) for each in (models / "seed0.zip",)]
    forged = replace(
        result, policy="mine", source="mine/seed0.zip", runs=(replace(result.runs[0], model=models_of[0]),)
    )
    write_result(forged, path)
    outcome = flowsched(*verify, "--policy", "mine/seed0.zip")
    assert "% of the decisions or more: THEY ARE NOT ITS OWN, for which 99.5 % are due" in outcome.out
    assert outcome.status == 1


@pytest.mark.exhaustive
def test_the_best_of_several_trainings_in_each_episode_are_actions_only_or_not_those_of_the_model(flowsched, models):  # noqa: F811
    content = read_archive(models / "seed0.zip", "model", "flowsched-model/2")
    weights = {name: value + 0.1 * torch.randn(value.shape) for name, value in content["weights"].items()}
    write_archive(models / "seed1.zip", content | {"weights": weights, "origin": {"seed": 1}})
    (models / "seed2.zip").unlink()
    flowsched("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "mine")
    result = read_result(path := Path("leaderboard/short_mine.json"))
    first, second = result.runs
    pairs = zip(first.episodes, second.episodes, strict=True)
    best = tuple(max(pair, key=lambda each: each.metrics["deadline_hit_ratio"]) for pair in pairs)
    assert 0 < sum(each is not own for each, own in zip(best, first.episodes, strict=True)) < len(best)
    write_result(replace(result, runs=(Run(model=first.model, episodes=best),)), path)
    verify = ("leaderboard", "verify", path, "--suite", "tiny-v1.json", "--fresh", 0)
    alone = flowsched(*verify)
    assert (alone.status, "actions only: no model at hand has" in alone.out) == (0, True)
    for known in (("--models", "."), ("--policy", "mine/seed0.zip")):
        caught = flowsched(*verify, *known)
        assert (caught.status, "THEY ARE NOT ITS OWN" in caught.out) == (1, True), caught.out


@pytest.mark.exhaustive
def test_a_model_that_was_replaced_under_its_path_is_played_again(flowsched, models):  # noqa: F811
    run = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "mine/seed0.zip")
    assert flowsched(*run).status == 0
    assert "1 were there already" in flowsched(*run).err
    content = read_archive(models / "seed0.zip", "model", "flowsched-model/2")
    weights = {name: value + 0.1 for name, value in content["weights"].items()}
    write_archive(models / "seed0.zip", content | {"weights": weights})
    assert "were there already" not in flowsched(*run).err
    (result,) = read_results("leaderboard")
    assert result.runs[0].model.digest == model_digest(models / "seed0.zip")


def test_policies_of_one_name_do_not_overwrite_each_other_and_another_version_is_named(flowsched, folder):  # noqa: F811
    for name in ("v1", "v2"):
        (folder / f"{name}.py").write_text(FIRST.replace("First", "Agent"))
    run = ("leaderboard", "run", "--suite", "tasks-v1.json", "--policy")
    assert flowsched(*run, "v1:Agent").status == 0
    path = folder / "leaderboard" / "short_agent.json"
    before = path.read_bytes()
    for again in ((), ("--again",)):
        outcome = flowsched(*run, "v2:Agent", *again)
        assert (outcome.status, outcome.err.count("\n"), path.read_bytes()) == (2, 1, before)
        assert "short_agent.json has the result of v1:Agent, which v2:Agent would replace: give another" in outcome.err
    result = read_result(path)
    versions = {**result.made.versions, "flowsched-gym": "0.0.9"}
    write_result(replace(result, made=replace(result.made, versions=versions)), path)
    outcome = flowsched("leaderboard", "verify", path, "--suite", "tasks-v1.json")
    assert outcome.status == 0, outcome.out
    assert "  warning: it was made by flowsched-gym 0.0.9, this is " in outcome.out

    # Numbers that this version does not give are named as well, and are no longer those of the file.
    values = (content := json.loads(path.read_text()))["runs"][0]["episodes"]["metrics"]["mean_slowdown"]
    values[0] *= 1.5
    content["intervals"]["mean_slowdown"]["mean"] = float(np.mean(values))
    path.write_text(json.dumps(digested(content)))
    outcome = flowsched("leaderboard", "verify", path, "--suite", "tasks-v1.json")
    assert outcome.status == 1
    assert "NOT AS CLAIMED: Agent on short" in outcome.out
    assert "  warning: it was made by flowsched-gym 0.0.9, this is " in outcome.out
    assert "is not what its actions give: run 0, episode with seed 60000: mean_slowdown is " in outcome.out
