"""Holds the files around the package to each other, and the tests to what passes on a slow and busy machine."""

import ast
import re
import shutil
import sys
import tomllib

import pytest
from hypothesis import HealthCheck, settings

import flowsched_gym
from tests import processes
from tests.processes import PATIENCE, run, run_python
from tests.repository import ROOT

MACHINE = re.compile(r"(?<![\w.])/(?:work|farm|root|home)/[\w.]|/opt/pypi|/tmp/bash_|\bfarm-(?:bench|studio)\b")
"""What would name the machine that a file was written on: home folders, workplaces, package mirrors."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def tracked_files() -> list[str]:
    """Returns the names of the files under version control, and skips the test outside of a checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return [name for name in run("git", "ls-files", "-z").out.split("\0") if name and (ROOT / name).exists()]


def test_every_file_gives_the_same_version() -> None:
    citation = re.search(r"^version: (\S+)$", read("CITATION.cff"), flags=re.MULTILINE)
    changelog = re.search(r"^## \[(?:Unreleased\] - )?(\d+\.\d+\.\d+)", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert citation is not None
    assert changelog is not None
    assert citation[1] == changelog[1] == flowsched_gym.__version__


def test_every_make_command_of_the_documents_exists() -> None:
    makefile = read("Makefile")
    named = {
        target
        for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci/run")
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", read(document), flags=re.MULTILINE)
    }

    assert {"demo", "test", "check"} <= named
    assert [target for target in sorted(named) if not re.search(rf"^{target}:", makefile, flags=re.MULTILINE)] == []


def test_every_script_that_the_makefile_runs_exists() -> None:
    makefile = read("Makefile")
    modules = re.findall(r"-m (?:flowsched_gym\.)?((?:baselines|benchmarks)\.[\w.]+)", makefile)
    paths = [module.replace(".", "/") + ".py" for module in modules]
    assert {path.split("/")[0] for path in paths} == {"baselines", "benchmarks"}
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_no_file_names_the_machine_that_it_was_written_on() -> None:
    for line in ("see /" + "work/main/x", "cache in /root/.cache", "path=/home/user", "--find-links /opt/pypi"):
        assert MACHINE.search(line), line
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name in tracked_files()
        if name != "tests/test_repository.py"
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8", errors="ignore").splitlines(), start=1)
        if MACHINE.search(line)
    ]

    assert found == []


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


def test_no_limit_is_below_ten_minutes_and_no_example_is_too_slow() -> None:
    options = tomllib.loads(read("pyproject.toml"))["tool"]["pytest"]["ini_options"]
    assert 600 <= PATIENCE < options["timeout"]
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
