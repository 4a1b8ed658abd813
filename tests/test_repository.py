"""Holds the files around the package to each other; a process of a test that fails or hangs tells of it."""

import re
import shutil
import sys

import pytest

import flowsched_gym
from tests import processes
from tests.processes import run, run_python
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


def test_every_make_command_of_the_documents_and_every_script_of_the_makefile_exists() -> None:
    makefile, documents = read("Makefile"), ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci/run")
    named = {
        target
        for document in documents
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", read(document), re.MULTILINE)
    }
    modules = re.findall(r"-m (?:flowsched_gym\.)?((?:baselines|benchmarks)\.[\w.]+)", makefile)
    paths = [module.replace(".", "/") + ".py" for module in modules]

    assert {"demo", "test", "check"} <= named
    assert [target for target in sorted(named) if not re.search(rf"^{target}:", makefile, flags=re.MULTILINE)] == []
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


def test_a_process_that_fails_shows_all_that_it_printed() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"(?s)ended with status 1, not 0.*so far.*the reason"):
        run_python("import sys; print('so far'); sys.exit('the reason')")


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    with pytest.raises(pytest.fail.Exception, match="did not end within"):
        run(sys.executable, "-c", "import time; time.sleep(1e6)")
