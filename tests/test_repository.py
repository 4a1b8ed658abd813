"""Holds the files around the package to each other: versions, commands, integration, and no trace of a machine."""

import re
import shutil

import pytest

import flowsched_gym
from tests.processes import run
from tests.repository import ROOT

TARGETS = ("help", "demo", "test", "lint", "test-all", "coverage", "check", "bench", "paper", "clean")

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


def test_the_makefile_has_the_targets() -> None:
    for target in TARGETS:
        assert re.search(rf"^{target}:", read("Makefile"), flags=re.MULTILINE), target


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


def test_continuous_integration_runs_what_a_contributor_runs() -> None:
    script = read(".ci/run")
    assert "set -euo pipefail" in script
    assert script.rstrip().endswith("make check")
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_no_file_names_the_machine_that_it_was_written_on() -> None:
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name in tracked_files()
        if name != "tests/test_repository.py"
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8", errors="ignore").splitlines(), start=1)
        if MACHINE.search(line)
    ]

    assert found == []


def test_a_line_that_names_a_machine_is_found() -> None:
    for line in ("see /" + "work/main/x", "cache in /root/.cache", "path=/home/user", "--find-links /opt/pypi"):
        assert MACHINE.search(line), line
