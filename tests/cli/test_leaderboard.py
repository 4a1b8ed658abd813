"""Regenerates leaderboards by ``flowsched leaderboard``."""

from pathlib import Path

import pytest

from flowsched_gym.evaluation import evaluate, result_name, write_result
from flowsched_gym.leaderboard import leaderboard_markdown
from tests.processes import check_refusal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for policy in ("edf", "fifo"):
        result = evaluate("flowsched/Artemis-v0", policy, episodes=2, seed=3, kwargs={"bursts": 3})
        write_result(result, tmp_path / "results" / result_name(result.environment, result.kwargs, policy))
    return tmp_path


def test_the_leaderboard_is_written_and_printed(flowsched, folder: Path) -> None:
    outcome = flowsched("leaderboard", "--folder", folder)
    assert outcome.status == 0
    assert outcome.err == ""
    assert outcome.out == leaderboard_markdown(folder) == (folder / "README.md").read_text()
    assert "| edf |" in outcome.out
    assert "| fifo |" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folder", "none"], "--folder is 'none': there is no such folder"),
        (["--folder", ".", "--episodes", "5"], "--episodes and --seed go with --run"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(flowsched, tmp_path, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    check_refusal(flowsched("leaderboard", *arguments), message)
    assert list(tmp_path.iterdir()) == []


def test_a_run_plays_every_heuristic_first(flowsched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def play(folder: Path, *, episodes: int, seed: int, progress) -> None:
        asked.update(folder=folder, episodes=episodes, seed=seed)
        (folder / "results").mkdir()
        result = evaluate("flowsched/Artemis-v0", "edf", episodes=1, seed=seed, kwargs={"bursts": 2})
        write_result(result, folder / "results" / "edf.json")

    monkeypatch.setattr("flowsched_gym.cli.leaderboard_command.play_settings", play)

    outcome = flowsched("leaderboard", "--folder", tmp_path, "--run", "--episodes", 7, "--seed", 9)

    assert outcome.status == 0
    assert asked == {"folder": tmp_path, "episodes": 7, "seed": 9}
    assert (tmp_path / "README.md").exists()
