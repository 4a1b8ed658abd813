"""Holds the docstring of every registered environment to its headings, its arguments and the columns it observes."""

import inspect
import re

from flowsched_gym.registration import load_target
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import combinations, core, each_environment, make

HEADINGS = [
    *("Description", "Action Space", "Observation Space", "Rewards", "Starting State", "Episode End", "Arguments"),
    *("Vectorized environment", "Version History", "Reference"),
]
"""Gymnasium's, in its order, and ours."""

TABLE_HEAD = ["column", "meaning", "unit", "encoding", "scale"]


def docstring(spec: EnvironmentSpec) -> str:
    return inspect.cleandoc(load_target(spec.entry_point).__doc__)


def section(spec: EnvironmentSpec, heading: str) -> str:
    return re.split(r"^## .*$", docstring(spec).split(f"## {heading}\n")[1], flags=re.MULTILINE)[0]


def tables(spec: EnvironmentSpec) -> list[list[list[str]]]:
    """Returns the cells of the observation tables, row by row: that of the default observation, and of others."""
    found: list[list[list[str]]] = []
    for line in section(spec, "Observation Space").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells == TABLE_HEAD:
            found.append([])
        elif line.startswith("|") and not set("".join(cells)) <= {"-"}:
            found[-1].append(cells)
    return found


@each_environment
def test_the_docstring_has_all_headings_in_their_order(spec: EnvironmentSpec) -> None:
    assert re.findall(r"^## (.*)$", docstring(spec), flags=re.MULTILINE) == HEADINGS
    version = spec.id.rpartition("-")[2]
    assert re.search(rf"^\* {version}: \S", section(spec, "Version History"), flags=re.MULTILINE)


@each_environment
def test_every_layout_is_made_of_columns_of_the_table(spec: EnvironmentSpec) -> None:
    described = [row[:4] for rows in tables(spec) for row in rows]
    assert "{columns" not in docstring(spec)
    for arguments in ({}, *combinations(spec)):
        for column in core(make(spec, **arguments)).layout.columns:
            assert [column.name, column.meaning, column.unit, column.encoding.value] in described, arguments


@each_environment
def test_every_member_of_a_choice_is_explained(spec: EnvironmentSpec) -> None:
    text = docstring(spec)
    members = {str(value) for arguments in combinations(spec) for value in arguments.values() if isinstance(value, str)}
    assert [member for member in sorted(members) if f"``{member}``" not in text and f'"{member}"' not in text] == []


@each_environment
def test_every_reward_term_is_named(spec: EnvironmentSpec) -> None:
    env = make(spec)
    env.reset(seed=1)
    terms = env.step(env.action_space.sample())[4]["reward_terms"]
    assert terms
    assert [term for term in terms if f"``{term}``" not in section(spec, "Rewards")] == []
