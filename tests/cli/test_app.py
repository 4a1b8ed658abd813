"""Holds the command line to its exit statuses and to one line for each error, and watches what it lists and shows."""

import argparse
import dataclasses
import io
import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import gymnasium
import pytest

from flowsched_gym.cli import app, package_commands
from flowsched_gym.cli import output as output_module
from flowsched_gym.cli.arguments import key_values, parse_value, positive_integer, positive_number, seed
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.units import time_left
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.machine_code import messages as compiling
from flowsched_gym.packets.schedulers import SCHEDULERS
from flowsched_gym.registration import ENVIRONMENTS, find_environment, load_target
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import WORKLOADS
from tests.cases import few_of
from tests.processes import check_refusal, heavy_imports, run

INTERRUPTED = """
import os, signal, sys
from flowsched_gym.cli import main, output

def interrupt(bar, done, total):
    print(len(os.listdir(sys.argv[1])))
    os.kill(os.getpid(), int(sys.argv[2]))

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has what it starts ignore it
output.ProgressBar.__call__ = interrupt
sys.exit(main(sys.argv[3:]))
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

ENDLESS = "x" * 20_000

LIST = (sys.executable, "-m", "flowsched_gym.cli", "list")


def test_bad_usage_is_one_line_on_standard_error_and_status_2(flowsched) -> None:
    for words, message in (
        ("", "flowsched: error: the following arguments are required: COMMAND (see flowsched --help)"),
        ("dance", "flowsched: error: argument COMMAND: invalid choice: 'dance'"),
        ("evaluat flowsched/Artemis-v0", "(did you mean 'evaluate'?)"),
        ("list --jason", "flowsched list: error: unrecognized arguments: --jason (did you mean '--json'?)"),
        ("evaluate e --policy edf --workload x", "arguments: --workload x (did you mean --kwarg workload=x?)"),
        ("replay x.csv --discipline mlfq --thresholds=1e5", "(did you mean --param thresholds=1e5?)"),
        ("replay x.csv --discipline edf y --z", "unrecognized arguments: y --z (see"),
        ("workload gather-a1 --flows 0 --out x.csv", "argument --flows: '0': it must be an integer >= 1"),
        ("replay x.csv", "flowsched replay: error: the following arguments are required: --discipline"),
        ("replay x.csv --discipline edf --link-gbps 1 --capacity 5", "not allowed with argument"),
        (f"workload gather-a1 --flows {10**14} --out x.csv", "of 10 senders would draw 1e+14 flows"),
        (f"evaluate flowsched/Artemis-v0 --policy edf --episodes {10**30}", "it must be an integer from 1 to 9223372"),
        ("compile flowsched/MERPRoute-v1", "did you mean 'flowsched/MERPRoute-v0'?"),
        ("compile flowsched/Artemis-v0 --kwarg kk=3", "has no argument 'kk'"),
        ("list --arguments flowsched/Artemi-v0", "did you mean 'flowsched/Artemis-v0'"),
        (ENDLESS, "invalid choice: 'xxx"),
        (f"list {ENDLESS}", "(see flowsched list --help)"),
        (f"workload {ENDLESS} --flows 3 --out x.csv", "flowsched: error: workload 'xxx"),
        (f"workload gather-a1 --flows 3 --out {ENDLESS}.csv", "File name too long"),
    ):
        check_refusal(flowsched(*words.split()), message)
    check_refusal(flowsched("list", "a\n\x1b[31mb"), r"unrecognized arguments: a \x1b[31mb (see flowsched list --help)")


@pytest.mark.parametrize("command", [[], ["list"], ["workload"], ["replay"], ["evaluate"], ["leaderboard"]])
def test_every_command_has_help_which_imports_nothing_heavy(command: list[str]) -> None:
    outcome = heavy_imports("flowsched_gym.cli:main", *command, "--help")
    assert outcome.err == "[]\n"
    assert "usage: flowsched" in outcome.out
    assert "\x1b" not in outcome.out


def test_an_error_that_nobody_foresaw_is_one_line_too_and_the_traceback_is_shown_on_request(flowsched, monkeypatch):
    def fail() -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(package_commands, "inventory", fail)
    message = "unforeseen RuntimeError: first line second line (FLOWSCHED_TRACEBACK=1 shows where)\n"
    check_refusal(flowsched("list"), message, status=1)

    monkeypatch.setenv(app.TRACEBACK_VARIABLE, "1")
    assert "Traceback" in flowsched("list").err


@pytest.mark.parametrize("number", few_of([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], [signal.SIGTERM]))
def test_a_request_to_end_leaves_with_its_status_and_nothing_half_written(number: int, tmp_path: Path) -> None:
    words = "workload", "gather-a1", "--flows", "200000", "--out", str(tmp_path / "flows.csv")
    outcome = run(sys.executable, "-c", INTERRUPTED, str(tmp_path), str(int(number)), *words, status=128 + number)
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


def test_values_are_json_where_they_can_be_and_text_otherwise() -> None:
    for text, value in (
        ("5", 5),
        ("-2.5e-3", -2.5e-3),
        ("true", True),
        ("None", None),
        ("[1e5, 1e6]", [1e5, 1e6]),
        ("1e5,1e6", [1e5, 1e6]),
        ('{"kind": "exponential", "mean": 5}', {"kind": "exponential", "mean": 5}),
        *((text, text) for text in ("none", "fifo", "a,b", "[1,", "NaN")),
    ):
        parsed = parse_value(text)
        assert (parsed, type(parsed)) == (value, type(value))


def test_keys_and_values_are_parted_at_the_first_equals_sign_and_other_forms_are_refused() -> None:
    assert key_values("--param", ["a=1", "file=x=y"]) == {"a": 1, "file": "x=y"}
    for entries, message in (
        *(([wrong], f"--param is '{wrong}': it must be key=value") for wrong in ("a", "=5", "a-b=5")),
        (["a=5", "a=6"], "--param gives a twice"),
        ([f"a={'[' * 100_000}"], "it is nested too deeply"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            key_values("--param", entries)


def test_numbers_out_of_range_are_refused() -> None:
    for read, texts, message in (
        (positive_integer, "0 -1 1.5 many 1e3", "it must be an integer >= 1"),
        (positive_number, "0 -1 nan inf many", "it must be a finite number > 0"),
        (seed, "-1", "it must be an integer >= 0"),
    ):
        for text in ("", *texts.split()):
            with pytest.raises(argparse.ArgumentTypeError, match=message):
                read(text)
    assert seed("0") == 0


def test_everything_with_a_name_is_listed_with_a_description(flowsched) -> None:
    outcome = flowsched("list")

    assert (outcome.status, outcome.err) == (0, "")
    found: dict[str, dict[str, str]] = {}
    for line in outcome.out.splitlines():
        if not line.startswith(" "):
            entries = found.setdefault(line.removesuffix(":"), {})
        else:
            name, description = line.split(maxsplit=1)
            entries[name] = description
    names = {
        "environments": [name for name in gymnasium.registry if name.startswith("flowsched/")],
        **{"disciplines": list(DISCIPLINES), "schedulers": list(SCHEDULERS)},
        **{f"policies of {spec.id}": list(spec.named_policies) for spec in ENVIRONMENTS.values()},
        **{"workloads": list(WORKLOADS), "topologies": list(TOPOLOGIES), "routings": list(found["routings"])},
    }
    assert [(title, list(entries)) for title, entries in found.items()] == list(names.items())
    assert all(len(description) > 5 for entries in found.values() for description in entries.values())

    lists = json.loads(flowsched("list", "--json").out)
    lists |= {f"policies of {owner}": entries for owner, entries in lists.pop("policies").items()}
    assert {
        title: {entry["name"]: entry["description"] for entry in entries} for title, entries in lists.items()
    } == found


def test_the_arguments_of_an_environment_are_listed_with_their_meanings(flowsched) -> None:
    outcome = flowsched("list", "--arguments", "flowsched/Artemis-v0")

    title, *lines = outcome.out.splitlines()
    assert title == "arguments of flowsched/Artemis-v0:"
    names = [field.name for field in dataclasses.fields(load_target(find_environment("flowsched/Artemis-v0").config))]
    assert [line.split(maxsplit=1)[0] for line in lines] == names
    assert "flows that a destination lets send at once (tokens): integer >= 1; default: 3" in outcome.out


def test_what_was_compiled_is_not_compiled_again(flowsched) -> None:
    words = ("compile", "flowsched/Artemis-v0", "--kwarg", "k=3")
    assert flowsched(*words).out.startswith("flowsched/Artemis-v0 is compiled (")
    assert "compiling" not in run(sys.executable, "-m", "flowsched_gym.cli", *words, FLOWSCHED_QUIET="").err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(output_module.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    return now


def shown_by(stream: io.StringIO, clock: list[float], seconds_per_step: float, steps: int = 20) -> str:
    with ProgressBar("reading", stream) as progress:
        for step in range(steps):
            clock[0] += seconds_per_step
            progress(step + 1, steps)
    return stream.getvalue()


PERCENTS = (2, *range(10, 100, 10))
"""When a line is written, of a task of 100 s."""


def test_a_task_of_less_than_two_seconds_shows_nothing_and_a_log_a_plain_line_every_ten_per_cent(clock) -> None:
    for stream in (Terminal(), io.StringIO()):
        assert shown_by(stream, clock, seconds_per_step=0.09) == ""
    shown = shown_by(io.StringIO(), clock, seconds_per_step=0.5, steps=200)
    lines = [f"reading: {percent}%, {(100 - percent) // 60}:{(100 - percent) % 60:02d} left" for percent in PERCENTS]
    assert shown.splitlines() == [*lines, "reading: 100%"]
    with ProgressBar("reading", slow := io.StringIO()) as progress:
        clock[0] += 3.0
        progress(0, 10)
    assert slow.getvalue() == "reading: 0%\n"
    assert (time_left(0.5, 4000), time_left(0.25, 20), time_left(1, 9)) == ("1:06:40 left", "1:00 left", "0:00 left")


def test_a_long_task_draws_a_bar_in_place_seldom_and_wipes_it(clock: list[float]) -> None:
    frames = shown_by(Terminal(), clock, seconds_per_step=1.0).split("\r")
    assert frames[1].startswith("reading [###---")
    assert "10%, 0:18 left" in frames[1]
    assert "95%, 0:01 left" in frames[-4]
    assert frames[-2].strip() == ""
    assert len(frames[-2]) >= len(frames[1])
    assert 15 <= shown_by(Terminal(), clock, seconds_per_step=0.001, steps=4000).count("[") <= 21


def test_a_line_about_the_compiler_stands_above_the_bar(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiling.QUIET_VARIABLE)
    monkeypatch.setattr(compiling, "_writers", [lambda line: pytest.fail("it is printed elsewhere")])
    stream = Terminal()
    with ProgressBar("reading", stream) as progress:
        clock[0] += 3
        progress(1, 2)
        compiling.tell("compiling")
        clock[0] += 1
        progress(2, 2)

    frames = stream.getvalue().split("\r")
    assert frames[1].startswith("reading [####")
    assert frames[2].strip() == ""
    assert frames[3] == "compiling\n"
    assert frames[4].startswith("reading [####")
    assert len(compiling._writers) == 1, "it is the bar's no more"
