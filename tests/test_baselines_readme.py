"""Holds the list of baselines to what there is."""

import re

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


def test_every_heuristic_discipline_and_algorithm_has_a_row():
    for environment, policy in POLICIES:
        assert f"| `{policy.name}` | {environment} | {policy.description} | `{policy.target}` |" in TEXT
        assert load_target(policy.target)
    for name, discipline in DISCIPLINES.items():
        assert f"| `{name}` |" in TEXT
        assert f"`flowsched_gym.disciplines:{discipline.__name__}`" in TEXT
    for path in (ROOT / "configs" / "algorithm").glob("*.yaml"):
        assert f"`algorithm={path.stem}" in TEXT


def test_the_example_with_stable_baselines3_learns() -> None:
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    assert "400_000" in code
    names: dict = {}
    exec(compile(code.replace("400_000", "16_384"), "README.md", "exec"), names)
    assert names["model"].num_timesteps == 16_384
    assert names["model"].policy.optimizer.state
