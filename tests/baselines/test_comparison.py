"""Compares models and rules that played the same episodes, and keeps the results of rules beside runs."""

from dataclasses import replace

import numpy as np
import pytest

from flowsched_gym.baselines.applications import comparison, kept_results
from flowsched_gym.baselines.applications.comparison import Comparison, heuristics_of, play_all
from flowsched_gym.baselines.applications.comparison_report import verdicts, write_comparison
from flowsched_gym.evaluation import EvaluationResult, ModelFile, Run, evaluate
from flowsched_gym.leaderboard import compare

METRIC = "deadline_hit_ratio"
MODEL = ModelFile(name="model.zip", digest="")
RULE = "edf, the best rule with its actions and information"
ARGUMENTS = {"workload": "gather-heavy", "bursts": 2}


@pytest.fixture(scope="module")
def edf() -> EvaluationResult:
    return evaluate("flowsched/Artemis-v0", "edf", episodes=10, seed=0, kwargs=ARGUMENTS)


def named(result: EvaluationResult, policy: str, add: float = 0.0, spread: float = 0.0) -> EvaluationResult:
    """Returns a result under another name, its metric raised by the same in each episode, or by more and less."""
    changes = add + spread * np.tile([1.0, -1.0], 5)
    episodes = tuple(
        replace(episode, metrics=episode.metrics | {METRIC: episode.metrics[METRIC] + float(change)})
        for episode, change in zip(result.runs[0].episodes, changes, strict=True)
    )
    return replace(result, policy=policy, source=None, runs=(Run(model=MODEL, episodes=episodes),))


def compared(*results: EvaluationResult) -> Comparison:
    fct = {result.policy: (np.ones(3),) * 10 for result in results}
    return Comparison(results=results, fct=fct, learned=("ppo",))


def test_a_model_that_equals_a_heuristic_stands_behind_it_and_is_not_told_apart(edf, tmp_path) -> None:
    text, _ = write_comparison(compared(named(edf, "ppo"), edf), tmp_path, metric=METRIC, title="a tie")
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["edf", "ppo"]
    assert lines[-1] == f"ppo and {RULE}, are not told apart: they are equal in every episode"
    assert lines[-1] in (tmp_path / "comparison.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("add", "spread", "sentence"),
    [
        (0.01, 0.0, f"ppo is better than {RULE}: deadlines met, % +1.0 [+1.0, +1.0]"),
        (-0.01, 0.0, f"ppo is worse than {RULE}: deadlines met, % -1.0 [-1.0, -1.0]"),
        (0.001, 0.1, f"ppo and {RULE}, are not told apart: deadlines met, % +0.1 ["),
    ],
)
def test_a_difference_counts_where_its_interval_leaves_zero_out(add, spread, sentence, edf) -> None:
    (found,) = verdicts(compare([named(edf, "ppo", add, spread), edf], metric=METRIC), METRIC)
    assert found.startswith(sentence)


ENVIRONMENT = "flowsched/Artemis-v0"


def play(folder, **changes):
    asked = {"kwargs": ARGUMENTS, "episodes": 2, "seed": 5} | changes
    contestants = heuristics_of(ENVIRONMENT, ["edf", "random"])
    return play_all(ENVIRONMENT, asked.pop("kwargs"), contestants, bound=True, kept=folder, **asked)


def figures(found):
    return [(result.policy, result.seeds, result.values("deadline_hit_ratio").tolist()) for result in found.results]


def test_what_was_played_is_not_played_again(tmp_path, monkeypatch) -> None:
    first = play(tmp_path)
    played: list[str] = []
    for name in ("evaluate", "evaluate_bound"):
        monkeypatch.setattr(comparison, name, lambda *_, label="bound", **__: played.append(label))
    again = play(tmp_path)

    assert played == []
    assert figures(again) == figures(first)
    assert all((again.fct[name][1] == first.fct[name][1]).all() for name in ("edf", "random"))


def test_other_arguments_episodes_seeds_sources_and_files_are_played(tmp_path, monkeypatch) -> None:
    play(tmp_path)
    kept = len(list(tmp_path.iterdir()))
    for number, changes in enumerate(({"seed": 6}, {"episodes": 1}, {"kwargs": ARGUMENTS | {"k": 2}}), 2):
        play(tmp_path, **changes)
        assert len(list(tmp_path.iterdir())) == number * kept
    monkeypatch.setattr(kept_results, "_sources", lambda: "changed")
    play(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5 * kept
    play(tmp_path, kwargs={"workload": {"base": "gather-heavy", "bursts": 2}})
    assert len(list(tmp_path.iterdir())) == 5 * kept


def test_what_cannot_be_read_is_played_again(tmp_path) -> None:
    first = play(tmp_path)
    for path in tmp_path.rglob("result.json"):
        path.write_text("{", encoding="utf-8")
    assert figures(play(tmp_path)) == figures(first)
