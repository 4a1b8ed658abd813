"""Damages result files at random: each is read as it should be, or refused by one error that names it."""

from pathlib import Path

import pytest

from flowsched_gym.core.errors import FlowSchedError
from flowsched_gym.leaderboard import write_leaderboard
from tests.faults.generator import damaged_bytes, damaged_json, share
from tests.repository import ROOT

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
CHUNKS = 5


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_damaged_result_file_is_refused_by_name_or_is_a_result_that_can_be_shown(chunk: int, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    document = tmp_path / "README.md"
    document.write_text("as before")
    refused = 0
    for number in share(500, 40)[chunk::CHUNKS]:
        source = RESULTS[number % len(RESULTS)]
        path = folder / f"{number}.json"
        if number % 2:
            path.write_bytes(damaged_bytes(source.read_bytes(), number))
        else:
            path.write_text(damaged_json(source.read_text(encoding="utf-8"), number), encoding="utf-8")
        reason = ""
        try:
            write_leaderboard(tmp_path)
        except FlowSchedError as error:
            reason = str(error)
        if reason:
            refused += 1
            assert str(path) in reason, number
            assert reason.isprintable(), number
            assert document.read_text(encoding="utf-8") == "as before", number
        else:
            assert all(line.isprintable() for line in document.read_text(encoding="utf-8").splitlines()), number
            document.write_text("as before")
        path.unlink()
        assert sorted(each.name for each in tmp_path.iterdir()) == ["README.md", "results"], number
    assert refused
