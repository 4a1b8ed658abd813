"""Holds the public names to `__all__`, and the import of the package to what a light core may load."""

import ast
import importlib
import json

import flowsched_gym
from tests.processes import run_python
from tests.repository import SOURCES, Source

HEAVY = frozenset(
    "hydra matplotlib numba pandas PIL pyarrow scipy simpy stable_baselines3 torch wandb".split()  # noqa: SIM905
)
"""Packages that `import flowsched_gym` must leave alone, by import name."""


def names_handed_on(source: Source) -> set[str]:
    """Returns the names that a module imports from the package at its top level and does not use itself."""
    tree = source.parse()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {
        alias.asname or alias.name
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("flowsched_gym")
        for alias in statement.names
    }
    return imported - used


def test_every_name_that_a_package_hands_on_stands_in_its_all_and_can_be_imported() -> None:
    for source in SOURCES:
        module = importlib.import_module(source.module)
        declared = list(getattr(module, "__all__", ()))
        handed_on = {name for name in names_handed_on(source) if not name.startswith("_")}

        assert handed_on <= set(declared), (
            f"{source.relative_path}: not in __all__: {sorted(handed_on - set(declared))}"
        )
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
