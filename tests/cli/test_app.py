"""Holds the command line to its exit statuses and to one line for each error."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from flowsched_gym import __version__
from flowsched_gym.cli import app, package_commands
from flowsched_gym.core.errors import LONGEST_LINE
from tests.processes import check_refusal, run

INTERRUPTED = """
import os, signal, sys
from flowsched_gym.cli import main, output

def interrupt(bar, done, total):
    print(len(os.listdir(sys.argv[1])))
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it
output.ProgressBar.__call__ = interrupt
sys.exit(main(sys.argv[2:]))
"""
"""Runs a command line, interrupted when it first tells how far it is; prints how many files a folder then has."""

UNIMPORTED = """
import sys
from flowsched_gym.cli import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
sys.exit(main(["list"]))
"""
"""Lists what there is, and is interrupted when it imports a module."""

IMPORTED = """
import sys
from flowsched_gym.cli import main
status = main(sys.argv[1:])
heavy = {"torch", "numba", "matplotlib", "hydra", "simpy", "scipy", "stable_baselines3", "pyarrow"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""
"""Runs a command line; prints which of the packages that take long to import it has imported."""

ENDLESS = "x" * 20_000

LIST = (sys.executable, "-m", "flowsched_gym.cli", "list")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "flowsched: error: the following arguments are required: COMMAND (see flowsched --help)"),
        ("dance", "flowsched: error: argument COMMAND: invalid choice: 'dance'"),
        ("list --jason", "flowsched list: error: unrecognized arguments: --jason (did you mean '--json'?)"),
        ("evaluate e --policy edf --workload x", "arguments: --workload x (did you mean --kwarg workload=x?)"),
        ("evaluate e --policy edf --policie=x", "arguments: --policie=x (did you mean '--policy'?)"),
        ("replay x.csv --discipline mlfq --thresholds=1e5", "(did you mean --param thresholds=1e5?)"),
        ("replay x.csv --discipline edf y --z", "unrecognized arguments: y --z (see"),
        ("workload gather-a1 --flows 0 --out x.csv", "argument --flows: '0': it must be an integer >= 1"),
        ("workload gather-a1 --flows 9 --load nan --out x.csv", "--load: 'nan': it must be a finite"),
        ("replay x.csv", "flowsched replay: error: the following arguments are required: --discipline"),
        ("replay x.csv --discipline edf --link-gbps 1 --capacity 5", "not allowed with argument"),
        ("evaluate e --policy edf --episodes 1 --seed -1", "--seed: '-1': it must be an integer >="),
        (f"workload gather-a1 --flows {10**14} --out x.csv", "of 10 senders would draw 1e+14 flows"),
        (f"evaluate flowsched/Artemis-v0 --policy edf --episodes {10**30}", "it must be an integer from 1 to 9223372"),
    ],
)
def test_bad_usage_is_one_line_on_standard_error_and_status_2(flowsched, words: str, message: str) -> None:
    check_refusal(flowsched(*words.split()), message)


def test_a_word_without_end_is_refused_in_a_line_that_fits_on_a_screen(flowsched) -> None:
    for words, message in (
        ([ENDLESS], "invalid choice: 'xxx"),
        (["list", ENDLESS], "(see flowsched list --help)"),
        (["workload", ENDLESS, "--flows", "3", "--out", "x.csv"], "flowsched: error: workload 'xxx"),
        (["workload", "gather-a1", "--flows", "3", "--out", f"{ENDLESS}.csv"], "File name too long"),
    ):
        outcome = flowsched(*words)
        check_refusal(outcome, message)
        assert len(outcome.err.rstrip()) <= LONGEST_LINE


def test_a_word_of_several_lines_is_refused_in_one(flowsched) -> None:
    check_refusal(flowsched("list", "a\n\x1b[31mb"), r"unrecognized arguments: a \x1b[31mb (see flowsched list --help)")


@pytest.mark.parametrize("command", [[], ["list"], ["workload"], ["replay"], ["evaluate"], ["leaderboard"]])
def test_every_command_has_help_which_imports_nothing_heavy(command: list[str]) -> None:
    outcome = run(sys.executable, "-c", IMPORTED, *command, "--help")
    assert outcome.err == "[]\n"
    assert "usage: flowsched" in outcome.out
    assert "\x1b" not in outcome.out


def test_the_version_is_that_of_the_package(flowsched) -> None:
    assert flowsched("--version") == (0, f"flowsched-gym {__version__}\n", "")


def test_an_error_that_nobody_foresaw_is_one_line_too_and_the_traceback_is_shown_on_request(
    flowsched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(package_commands, "inventory", fail)
    message = "unforeseen RuntimeError: first line second line (FLOWSCHED_TRACEBACK=1 shows where)\n"
    check_refusal(flowsched("list"), message, status=1)

    monkeypatch.setenv(app.TRACEBACK_VARIABLE, "1")
    assert "Traceback" in flowsched("list").err


def test_an_interrupt_leaves_with_130_and_nothing_half_written(tmp_path: Path) -> None:
    words = "workload", "gather-a1", "--flows", "200000", "--out", str(tmp_path / "flows.csv")
    outcome = run(sys.executable, "-c", INTERRUPTED, str(tmp_path), *words, status=130)
    assert (outcome.out, outcome.err) == ("1\n", "flowsched: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["flowsched_gym.cli.app", "flowsched_gym.cli.package_commands"])
def test_an_interrupt_of_the_imports_leaves_with_130_too(module: str) -> None:
    assert run(sys.executable, "-c", UNIMPORTED, module, status=130) == (130, "", "flowsched: interrupted\n")


def test_a_reader_that_stops_early_hears_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert run(*LIST, stdout=writer).err == ""
    finally:
        os.close(writer)


def test_without_standard_streams_nothing_is_wrong() -> None:
    run("/bin/sh", "-c", f"exec {shlex.join(LIST)} >&- 2>&-")


def test_the_command_line_works_as_a_process_of_its_own() -> None:
    _, out, err = run(*LIST, "--json")
    assert err == ""
    assert "flowsched/Artemis-v0" in [entry["name"] for entry in json.loads(out)["environments"]]
