"""Runs command lines in this process, without a progress bar, which would tell how busy the machine is."""

import math
from collections.abc import Callable

import pytest

from flowsched_gym.cli import main, output
from tests.processes import Outcome

Flowsched = Callable[..., Outcome]


@pytest.fixture
def flowsched(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Flowsched:
    """Runs ``flowsched`` with some arguments."""
    monkeypatch.setattr(output, "SECONDS_BEFORE_SHOWING", math.inf)

    def run(*arguments: object) -> Outcome:
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *capsys.readouterr())

    return run
