"""Listens to what is told of the compiler: one line when something is compiled, none when it is on disk."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flowsched_gym.machine_code import messages as compiling
from tests.processes import run

PROGRAM = """
import numpy as np
from flowsched_gym.fluid.compiled.events import _insert_timer
timers = np.zeros(2, dtype=[("time", np.float64), ("kind", np.int64), ("row", np.int64)])
_insert_timer(timers, 0, 0, 1.5, 1, 0)
"""
"""Calls the smallest part of the engine."""


def errors_of(folder: Path, **variables: str) -> list[str]:
    """Runs the program in a fresh process; returns the lines on standard error."""
    variables = {"FLOWSCHED_QUIET": "", "NUMBA_CACHE_DIR": str(folder)} | variables
    outcome = run(sys.executable, "-W", "error", "-c", PROGRAM, **variables)
    assert outcome.out == ""
    return outcome.err.splitlines()


def test_the_first_process_on_a_machine_is_told_once_and_the_next_ones_are_not(tmp_path: Path) -> None:
    (line,) = errors_of(tmp_path / "told")
    assert line.startswith("flowsched: compiling the engine")
    assert errors_of(tmp_path / "told") == errors_of(tmp_path / "quiet", FLOWSCHED_QUIET="1") == []


class Compiler:
    """Signals compilations as Numba does, to an announcer of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self._listener = compiling._Announcer()

    def __call__(self, *names: str) -> None:
        """Compiles functions in 0.6 s, the later ones for the sake of the first."""
        signals = [SimpleNamespace(data={"dispatcher": DISPATCHERS[name]}) for name in names]
        for signal in signals:
            self._listener.on_start(signal)
        self.now += 0.6
        for signal in reversed(signals):
            self._listener.on_end(signal)


def dispatcher(module: str, *, lazily_compiled: bool) -> SimpleNamespace:
    def each() -> None: ...

    each.__module__ = module
    return SimpleNamespace(py_func=each, lazily_compiled=lazily_compiled)


DISPATCHERS = {
    "rule": dispatcher("flowsched_gym.any", lazily_compiled=True),
    "other rule": dispatcher("flowsched_gym.other", lazily_compiled=True),
    "load": dispatcher("flowsched_gym.any", lazily_compiled=False),
    "run": dispatcher("flowsched_gym.other", lazily_compiled=False),
    "step": dispatcher("flowsched_gym.third", lazily_compiled=False),
    "user's": dispatcher("my_own_package", lazily_compiled=False),
}


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    monkeypatch.delenv(compiling.QUIET_VARIABLE)
    made = Compiler()
    monkeypatch.setattr(compiling, "_writers", [made.lines.append])
    monkeypatch.setattr(compiling.time, "monotonic", lambda: made.now)  # type: ignore[attr-defined]
    return made


def test_each_engine_is_one_line_and_rules_are_one_after_a_second_together(compiler: Compiler) -> None:
    compiler("user's")
    compiler("rule")
    compiler("other rule", "rule")
    assert compiler.lines == []
    for _ in range(3):
        compiler("rule")
    (line,) = compiler.lines
    assert "rules" in line

    for _ in range(2):  # the second is for another discipline
        compiler("load")
        compiler("run", "rule", "other rule")
        compiler("step", "run")
    assert ["the engine of vector environments" in line for line in compiler.lines] == [False, True, True]


def test_a_process_without_standard_error_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiling.QUIET_VARIABLE)
    monkeypatch.setattr(sys, "stderr", None)
    compiling.tell("nothing")
