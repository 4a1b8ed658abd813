"""Runs command lines in this process, without a progress bar, which would tell how busy the machine is."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from flowsched_gym.cli import main, output
from tests.leaderboard.test_forged_files import TINY
from tests.processes import Outcome

Flowsched = Callable[..., Outcome]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a suite, where the user is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny-v1.json").write_text(json.dumps(TINY))
    return tmp_path


@pytest.fixture
def flowsched(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Flowsched:
    """Runs ``flowsched`` with some arguments."""
    monkeypatch.setattr(output, "SECONDS_BEFORE_SHOWING", math.inf)

    def run(*arguments: object) -> Outcome:
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *capsys.readouterr())

    return run
