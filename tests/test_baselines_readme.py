"""Holds the list of baselines to what there is."""

import re

import pytest

from flowsched_gym.disciplines import DISCIPLINES
from flowsched_gym.registration import SYSTEMS, load_target
from tests.repository import ROOT

TEXT = (ROOT / "baselines" / "README.md").read_text(encoding="utf-8")
POLICIES = [
    (environment.id.removeprefix("flowsched/"), policy)
    for system in SYSTEMS
    for environment in system.environments
    for policy in environment.policies
]


@pytest.mark.parametrize(("environment", "policy"), POLICIES, ids=lambda value: getattr(value, "name", value))
def test_every_heuristic_has_a_row_with_its_class(environment, policy):
    assert f"| `{policy.name}` | {environment} | {policy.description} | `{policy.target}` |" in TEXT
    assert load_target(policy.target)


@pytest.mark.parametrize("name", DISCIPLINES)
def test_every_discipline_has_a_row_with_its_class(name):
    assert f"| `{name}` |" in TEXT
    assert f"`flowsched_gym.disciplines:{DISCIPLINES[name].__name__}`" in TEXT


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "algorithm").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_algorithm_has_a_row(path):
    assert f"`algorithm={path.stem}" in TEXT


def test_the_example_with_stable_baselines3_learns() -> None:
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    assert "400_000" in code
    names: dict = {}

    exec(compile(code.replace("400_000", "16_384"), "README.md", "exec"), names)

    assert names["model"].num_timesteps == 16_384
    assert names["model"].policy.optimizer.state
