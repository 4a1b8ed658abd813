"""Reads what ``flowsched list`` prints, and compiles beforehand."""

import dataclasses
import json
import sys

import gymnasium
import pytest

from flowsched_gym.cli import output
from flowsched_gym.fluid.disciplines import DISCIPLINES
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
    policies = {f"policies of {spec.id}": list(spec.named_policies) for spec in ENVIRONMENTS.values()}
    names = {
        "environments": [name for name in gymnasium.registry if name.startswith("flowsched/")],
        **{"disciplines": list(DISCIPLINES), "schedulers": list(SCHEDULERS)},
        **policies,
        **{"workloads": list(WORKLOADS), "topologies": list(TOPOLOGIES), "routings": list(found["routings"])},
    }
    assert {title: list(entries) for title, entries in found.items()} == names
    assert list(found) == list(names)
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


def test_on_a_narrow_terminal_long_lines_are_folded(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")

    output.print_definitions({"edf": "earliest deadline first " * 4}, width=5, indent="  ")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("  edf    earliest deadline")
    assert all(len(line) < 50 for line in lines)
    assert all(line.startswith(" " * 9) for line in lines[1:])


def test_what_was_compiled_is_not_compiled_again(flowsched) -> None:
    outcome = flowsched(*COMPILE)
    assert outcome.status == 0
    assert outcome.out.startswith("flowsched/Artemis-v0 is compiled (")
    assert "compiling" not in run(sys.executable, "-m", "flowsched_gym.cli", *COMPILE, FLOWSCHED_QUIET="").err


def test_a_wrong_name_or_argument_is_refused_before_anything_is_compiled(flowsched) -> None:
    assert "did you mean 'flowsched/MERPRoute-v0'?" in flowsched("compile", "flowsched/MERPRoute-v1").err
    assert "has no argument 'kk'" in flowsched("compile", "flowsched/Artemis-v0", "--kwarg", "kk=3").err
