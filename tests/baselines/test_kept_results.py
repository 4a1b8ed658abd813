"""Keeps results of rules beside runs, and gives them back for the same episodes alone."""

from flowsched_gym.baselines.applications import comparison, kept_results
from flowsched_gym.baselines.applications.comparison import heuristics_of, play_all

ENVIRONMENT = "flowsched/Artemis-v0"
KWARGS = {"workload": "gather-heavy", "bursts": 2}


def play(folder, **changes):
    asked = {"kwargs": KWARGS, "episodes": 2, "seed": 5} | changes
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
    for number, changes in enumerate(({"seed": 6}, {"episodes": 1}, {"kwargs": KWARGS | {"k": 2}}), 2):
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
