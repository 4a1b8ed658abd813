"""Holds the tests to what passes on a slow and busy machine."""

import ast
import sys
import tomllib

import pytest
from hypothesis import HealthCheck, settings

from tests import processes
from tests.processes import PATIENCE, run, run_python
from tests.repository import ROOT

CLOCKS = {"subprocess", "time"}
"""Modules with which a test would wait for a time, or give up after one."""

TIMES = {"timeout", "startup_timeout", "iopub_timeout"}
"""Arguments with which it would."""


def test_a_process_that_fails_shows_all_that_it_printed() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"(?s)ended with status 1, not 0.*so far.*the reason"):
        run_python("import sys; print('so far'); sys.exit('the reason')")


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    with pytest.raises(pytest.fail.Exception, match="did not end within"):
        run(sys.executable, "-c", "import time; time.sleep(1e6)")


def test_no_limit_is_below_ten_minutes() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert 600 <= PATIENCE < options["timeout"]


def test_a_slow_example_is_no_failure() -> None:
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_tests_look_at_no_clock_and_start_processes_in_one_way() -> None:
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path == ROOT / "tests" / "processes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = set()
            if isinstance(node, ast.Import):
                names = CLOCKS & {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = CLOCKS & {node.module}
            elif isinstance(node, ast.Call):
                names = {
                    word.arg
                    for word in node.keywords
                    if word.arg in TIMES and isinstance(word.value, ast.Constant) and word.value.value is not None
                }
            elif isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.timeout":
                names = {"pytest.mark.timeout"}
            found += [f"{path.relative_to(ROOT)}:{node.lineno}: {name}" for name in sorted(names)]  # type: ignore[attr-defined]

    assert found == []
