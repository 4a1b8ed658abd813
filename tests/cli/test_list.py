"""Reads what ``flowsched list`` prints."""

import json

import gymnasium
import pytest

from flowsched_gym.cli import output
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.packets.schedulers import SCHEDULERS
from flowsched_gym.registration import SYSTEMS
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import WORKLOADS


def test_everything_with_a_name_is_listed_with_a_description(flowsched) -> None:
    outcome = flowsched("list")

    assert outcome.status == 0
    assert outcome.err == ""
    headings = [line for line in outcome.out.splitlines() if not line.startswith(" ")]
    policies = [f"policies of {environment.id}:" for system in SYSTEMS for environment in system.environments]
    assert headings == [
        "environments:",
        "disciplines:",
        "schedulers:",
        *policies,
        "workloads:",
        "topologies:",
        "routings:",
    ]
    for name in (*WORKLOADS, *DISCIPLINES, *SCHEDULERS, *TOPOLOGIES):
        lines = [line for line in outcome.out.splitlines() if line.split()[0] == name]
        assert lines
        assert all(len(line.split(maxsplit=1)[1]) > 5 for line in lines)


def test_every_policy_of_every_environment_is_listed(flowsched) -> None:
    expected = {
        environment.id: [policy.name for policy in (*environment.policies, *environment.planners)]
        for system in SYSTEMS
        for environment in system.environments
    }
    found: dict[str, list[str]] = {}
    for line in flowsched("list").out.splitlines():
        if line.startswith("policies of "):
            names = found.setdefault(line.removeprefix("policies of ").removesuffix(":"), [])
        elif not line.startswith(" "):
            names = []
        else:
            names.append(line.split()[0])

    assert found == expected
    lists = json.loads(flowsched("list", "--json").out)["policies"]
    assert {owner: [entry["name"] for entry in entries] for owner, entries in lists.items()} == expected


def test_as_json_it_is_one_document_with_the_same_content(flowsched) -> None:
    outcome = flowsched("list", "--json")

    lists = json.loads(outcome.out)
    assert list(lists) == [
        "environments",
        "disciplines",
        "schedulers",
        "policies",
        "workloads",
        "topologies",
        "routings",
    ]
    assert [entry["name"] for entry in lists["workloads"]] == list(WORKLOADS)
    assert [entry["name"] for entry in lists["disciplines"]] == list(DISCIPLINES)
    assert all(entry["description"] for entries in lists.pop("policies").values() for entry in entries)
    assert all(entry["description"] for entries in lists.values() for entry in entries)
    registered = {name for name in gymnasium.registry if name.startswith("flowsched/")}
    assert {entry["name"] for entry in lists["environments"]} == registered


def test_on_a_narrow_terminal_long_lines_are_folded(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")

    output.print_definitions({"edf": "earliest deadline first " * 4}, width=5, indent="  ")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("  edf    earliest deadline")
    assert all(len(line) < 50 for line in lines)
    assert all(line.startswith(" " * 9) for line in lines[1:])
