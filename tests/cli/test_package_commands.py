"""Reads what ``flowsched list`` prints, compiles beforehand, and watches the progress display."""

import dataclasses
import io
import json
import sys

import gymnasium
import pytest

from flowsched_gym.cli import output as output_module
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.machine_code import messages as compiling
from flowsched_gym.packets.schedulers import SCHEDULERS
from flowsched_gym.registration import ENVIRONMENTS, find_environment, load_target
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import WORKLOADS
from tests.processes import check_refusal, run

COMPILE = ("compile", "flowsched/Artemis-v0", "--kwarg", "k=3")


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
    assert any(
        "flows that a destination lets send at once (tokens): integer >= 1; default: 10" in line for line in lines
    )
    check_refusal(flowsched("list", "--arguments", "flowsched/Artemi-v0"), "did you mean 'flowsched/Artemis-v0'")


def test_what_was_compiled_is_not_compiled_again(flowsched) -> None:
    outcome = flowsched(*COMPILE)
    assert outcome.status == 0
    assert outcome.out.startswith("flowsched/Artemis-v0 is compiled (")
    assert "compiling" not in run(sys.executable, "-m", "flowsched_gym.cli", *COMPILE, FLOWSCHED_QUIET="").err


def test_a_wrong_name_or_argument_is_refused_before_anything_is_compiled(flowsched) -> None:
    assert "did you mean 'flowsched/MERPRoute-v0'?" in flowsched("compile", "flowsched/MERPRoute-v1").err
    assert "has no argument 'kk'" in flowsched("compile", "flowsched/Artemis-v0", "--kwarg", "kk=3").err


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


def test_a_task_of_less_than_two_seconds_shows_nothing_and_a_log_a_plain_line_every_ten_per_cent(clock) -> None:
    for stream in (Terminal(), io.StringIO()):
        assert shown_by(stream, clock, seconds_per_step=0.09) == ""
    shown = shown_by(io.StringIO(), clock, seconds_per_step=0.5, steps=200)
    assert shown.splitlines() == ["reading: 2%", *(f"reading: {percent}%" for percent in range(10, 101, 10))]


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
