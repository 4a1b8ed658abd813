"""Compares the wheel with the tree, imports with declared dependencies, and public names with `__all__`."""

import ast
import email
import importlib
import importlib.metadata
import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import flowsched_gym
from tests.processes import Outcome, run, run_python
from tests.repository import FOLDERS, ROOT, SOURCES, Source

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]

BLOCKED = (
    *("hydra", "matplotlib", "omegaconf", "PIL", "pyarrow", "pygame", "sb3_contrib", "scipy", "stable_baselines3"),
    *("torch", "wandb"),
)
"""Packages that only an extra brings, by import name."""

TYPES_ALONE = "_typeshed"
"""What type checkers bring themselves, imported for them alone."""

INSTALLED = importlib.metadata.packages_distributions()
"""Distributions of this environment by import name."""


def files_below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def requirements(names: list[str]) -> Iterator[Requirement]:
    """Yields requirements by other packages; an extra of our own stands for its requirements."""
    for requirement in map(Requirement, names):
        if requirement.name == "flowsched-gym":
            yield from requirements([item for extra in sorted(requirement.extras) for item in EXTRAS[extra]])
        else:
            yield requirement


def distributions(extras: list[str]) -> set[str]:
    asked = PYPROJECT["project"]["dependencies"] + [item for extra in extras for item in EXTRAS[extra]]
    return {canonicalize_name(requirement.name) for requirement in requirements(asked)}


def imported_distributions(source: Source, *, at_import: bool) -> set[str]:
    """Returns the distributions that a module imports, at its top level or inside its functions."""
    tree = source.parse()
    top_level = {id(statement) for statement in tree.body}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and (id(node) in top_level) == at_import:
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names |= {module.partition(".")[0] for module in modules}
    third_party = names - set(sys.stdlib_module_names) - {"flowsched_gym", TYPES_ALONE}
    return {canonicalize_name(INSTALLED.get(name, [name])[0]) for name in third_party}


def test_the_wheel_holds_exactly_the_files_of_the_tree(wheel: Path) -> None:
    expected = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in files_below(ROOT / folder)
        if path.name != "README.md"
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert packed == expected


def test_the_wheel_carries_the_licence_and_the_commands(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name.partition(".dist-info/")[2] for name in archive.namelist() if ".dist-info/" in name]
        metadata = next(name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        commands = archive.read(metadata).decode()

    assert "licenses/LICENSE" in names
    for command in ("flowsched", "flowsched-train", "flowsched-tune", "flowsched-evaluate", "flowsched-heuristics"):
        assert f"{command} = flowsched_gym." in commands


def test_the_description_for_an_index_has_no_link_or_picture_that_is_not_there(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.message_from_bytes(archive.read(metadata))
    description = str(message.get_payload())

    assert message["Description-Content-Type"] == "text/markdown"
    assert len(description) > 5_000
    assert "The glossary explains all other terms." in description
    assert [link for link in re.findall(r"\]\(([^)]*)\)", description) if not link.startswith("https://")] == []
    assert "![" not in description


@pytest.mark.parametrize("target", PYPROJECT["project"]["scripts"].values(), ids=PYPROJECT["project"]["scripts"].keys())
def test_every_command_leads_to_a_function(target: str) -> None:
    entry_point = importlib.metadata.EntryPoint(name="command", group="console_scripts", value=target)
    assert callable(entry_point.load())


def test_what_the_package_imports_is_declared_and_what_it_imports_at_import_is_a_dependency_of_the_core() -> None:
    core, everything = distributions([]), distributions(list(EXTRAS))
    for source in SOURCES:
        at_import, later = (imported_distributions(source, at_import=each) for each in (True, False))
        is_light = not source.module.startswith(("flowsched_gym.baselines", "flowsched_gym.integrations"))
        assert at_import <= (core if is_light else everything), source.relative_path
        assert later <= everything, source.relative_path


def test_every_extra_that_an_error_message_names_exists() -> None:
    named = {
        keyword.value.value
        for source in SOURCES
        for node in ast.walk(source.parse())
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("MissingDependencyError")
        for keyword in node.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Constant)
    }

    assert named
    assert named <= set(EXTRAS)


def test_the_pinned_versions_satisfy_what_the_package_asks_for() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    asked = PYPROJECT["project"]["dependencies"] + [item for extra in EXTRAS.values() for item in extra]
    problems = [
        f"{requirement} is pinned to {pinned.get(canonicalize_name(requirement.name))}"
        for requirement in requirements(asked)
        if not requirement.specifier.contains(pinned.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]

    assert problems == []


def run_without_extras(program: str, *, status: int = 0) -> Outcome:
    """Runs a program in which the packages of the extras cannot be imported."""
    blocker = f"""
import importlib.machinery, sys

class Blocker(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in {BLOCKED!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Blocker
"""
    return run(sys.executable, "-c", blocker + program, status=status)


def test_artemis_runs_on_the_light_core_alone() -> None:
    program = """
import gymnasium

env = gymnasium.make("flowsched_gym:flowsched/Artemis-v0")
observation, info = env.reset(seed=1)
for _ in range(20):
    observation, reward, terminated, truncated, info = env.step(0)
print(observation in env.observation_space)

from gymnasium.utils.env_checker import check_env

check_env(env.unwrapped)  # in all render modes that the environment lists
print(env.metadata["render_modes"])
"""
    assert run_without_extras(program).out == "True\n['ansi']\n"


@pytest.mark.parametrize("command", ["train", "tune"])
def test_a_training_command_without_its_extra_names_the_pip_command(command: str) -> None:
    program = f"import sys; from flowsched_gym.baselines import entry; sys.exit(entry.{command}())"
    outcome = run_without_extras(program, status=2)
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert "pip install 'flowsched-gym[train]'" in outcome.err


HEAVY = frozenset(
    "hydra matplotlib numba pandas PIL pyarrow scipy simpy stable_baselines3 torch wandb".split()  # noqa: SIM905
)
"""Packages that `import flowsched_gym` must leave alone, by import name."""


def test_every_public_name_can_be_imported() -> None:
    for source in SOURCES:
        module = importlib.import_module(source.module)
        declared = list(getattr(module, "__all__", ()))
        assert len(declared) == len(set(declared)), source.relative_path
        assert [name for name in declared if not hasattr(module, name)] == [], source.relative_path


def answer_of(program: str) -> set[str]:
    return set(json.loads(run_python(program)))


def test_dir_of_the_package_shows_every_public_name_before_its_first_use() -> None:
    shown = answer_of("import json, flowsched_gym; print(json.dumps(dir(flowsched_gym)))")
    assert set(flowsched_gym.__all__) <= shown


def test_importing_the_package_loads_no_heavy_library() -> None:
    modules = answer_of("import json, sys, flowsched_gym; print(json.dumps(sorted(sys.modules)))")
    loaded = {name.partition(".")[0] for name in modules}
    assert "flowsched_gym" in loaded
    assert loaded.isdisjoint(HEAVY), f"import flowsched_gym loads {sorted(loaded.intersection(HEAVY))}"
