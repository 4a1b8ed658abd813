"""Runs command lines in this process."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from flowsched_gym.cli import main


class Outcome(NamedTuple):
    """What a command line left behind."""

    status: int
    out: str
    err: str


Flowsched = Callable[..., Outcome]


@pytest.fixture
def flowsched(capsys: pytest.CaptureFixture[str]) -> Flowsched:
    """Runs ``flowsched`` with some arguments."""

    def run(*arguments: object) -> Outcome:
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *capsys.readouterr())

    return run
