"""Holds the YAML of the named workloads against the registry."""

from pathlib import Path

import pytest

from flowsched_gym.registration import SYSTEMS, load_target
from flowsched_gym.workload import WORKLOADS
from tests.repository import ROOT

yaml = pytest.importorskip("yaml")

FOLDER = ROOT / "configs" / "workload"
ARGUMENTS = [
    set(load_target(environment.config).__dataclass_fields__)
    for system in SYSTEMS
    for environment in system.environments
]


def test_every_named_workload_has_its_yaml_and_no_other_exists() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(WORKLOADS)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_workloads_yaml_has_its_name_and_arguments_of_an_environment_that_are_not_set(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content.pop("name") == path.stem
    assert any(set(content) <= arguments for arguments in ARGUMENTS)
    assert all(value is None for value in content.values())
