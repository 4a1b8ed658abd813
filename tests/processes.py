"""Runs programs, in processes of their own without a limit that a busy machine could meet, and reads their tables."""

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from flowsched_gym.core.errors import LONGEST_LINE
from tests.repository import ROOT

GLANCE: Final = 0.05
"""Time in s between two looks at what processes do."""
PATIENCE: Final = 3000.0
"""Longest that a process may take, in s: it is there to end one that hangs."""
LISTING: Final = """
import importlib, sys
module, name = sys.argv.pop(1).split(":")
status = getattr(importlib.import_module(module), name)()
heavy = "torch numba matplotlib hydra omegaconf simpy scipy stable_baselines3 pyarrow wandb rich".split()
print(sorted(set(heavy) & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


class Outcome(NamedTuple):
    """What a process left behind: its exit status and what it printed."""

    status: int
    out: str
    err: str


def check_refusal(outcome: Outcome, message: str, *, status: int = 2) -> None:
    """Holds a command that was refused to one line on standard error that fits on a screen, and nothing elsewhere."""
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (status, "", 1)
    assert outcome.err.startswith("flowsched")
    assert len(outcome.err.rstrip()) <= LONGEST_LINE
    assert message in outcome.err


def run(
    *words: str, status: int | None = 0, folder: Path = ROOT, stdout: int = subprocess.PIPE, **variables: str
) -> Outcome:
    """Runs a program of this checkout to its end; fails with all that it printed if it ends in another way.

    ``status`` is the exit status that is expected, None: any; ``variables`` are beside those of this process.
    """
    with subprocess.Popen(
        words,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"{words} did not end within {PATIENCE} s\n{out}\n{err}")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if status not in (None, process.returncode):
        pytest.fail(f"{words} ended with status {process.returncode}, not {status}\n{out}\n{err}")
    return Outcome(process.returncode, out or "", err)


def run_python(program: str, **variables: str) -> str:
    return run(sys.executable, "-W", "error", "-c", program, **variables).out.strip()


def heavy_imports(target: str, *words: str, folder: Path = ROOT) -> Outcome:
    """Runs a command, named as module:function; prints on standard error which packages it imports that take long."""
    return run(sys.executable, "-c", LISTING, target, *words, folder=folder)


def call(name: str, command: Callable[[], None], *words: str) -> int:
    """Runs a command of Hydra in this process, without its log; returns its status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [name, *words, "hydra/job_logging=none", "hydra/hydra_logging=none"])
        patch.setenv("HYDRA_FULL_ERROR", "1")  # as the command does, for as long as it runs
        try:
            command()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def rows_of(path: Path) -> list[dict[str, str]]:
    """Reads the table that a program has written."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def end(*words: str, number: int, started: Path) -> int:
    """Sends a signal to a program when all that it starts has begun; returns its status when all have ended.

    ``started`` is the file in which the two processes that it starts write their numbers.
    """
    with subprocess.Popen(
        words,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - a test has no threads at this time
    ) as process:
        while not started.exists() or len(started.read_text().split()) < 2:
            assert process.poll() is None
            time.sleep(GLANCE)
        process.send_signal(number)
        process.wait()
    while any(_runs(each) for each in started.read_text().split()):
        time.sleep(GLANCE)
    return process.returncode


def _heed_interrupts() -> None:
    """Lets a process end by an interrupt: a shell has what it starts in the background ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _runs(process: str) -> bool:
    """Returns whether a process runs; one that has ended may wait for a parent to ask."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
