"""Holds that nothing below ``evaluation`` computes with what differs from machine to machine.

The lint step names the functions (``banned-api`` in pyproject.toml); here are the operators and the draws.
"""

import ast
from typing import Final

import numpy as np

from tests.repository import SOURCES

ABOVE: Final = tuple(
    f"flowsched_gym.{name}" for name in ("baselines", "cli", "configs", "evaluation", "integrations", "leaderboard")
)
BELOW: Final = [source for source in SOURCES if not source.module.startswith(ABOVE)]

DRAWS: Final = frozenset(
    name
    for name in dir(np.random.Generator)
    if not name.startswith("_") and name not in ("bit_generator", "random", "spawn", "bytes", "power")
)
"""Methods of NumPy's generators that it may change from version to version."""

SUMS_OF_INTEGERS: Final = frozenset(
    (
        *("envs.columns", "envs.decision", "envs.drawing.canvas", "envs.drawing.frame", "envs.drawing.tables"),
        *("envs.policies.scores", "search.search", "systems.qcluster.rules", "workload.gather"),
    )
)
"""Modules that use ``sum``, which rounds floats otherwise from Python 3.12 on, of counts alone."""


def is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and is_literal(node.operand))


def faults(tree: ast.Module) -> list[str]:
    """Lists the powers, matrix products and draws of a module, with their lines."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow | ast.MatMult):
            written_out = isinstance(node, ast.BinOp) and is_literal(node.left) and is_literal(node.right)
            if not written_out:
                found.append(f"line {node.lineno}: an operator that ends in the C library or in BLAS")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS:
            found.append(f"line {node.lineno}: {node.func.attr} of a generator; seeding.py has the draws")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("pow", "sum"):
            found.append(f"line {node.lineno}: {node.func.id}")
    return found


def test_modules_compute_and_draw_the_same_on_every_machine() -> None:
    for source in BELOW:
        sums = "sum" if source.module.removeprefix("flowsched_gym.") in SUMS_OF_INTEGERS else None
        found = [fault for fault in faults(source.parse()) if fault.rpartition(" ")[2] != sums]
        assert found == [], source.relative_path


def test_what_differs_is_found_and_what_is_exact_is_allowed() -> None:
    for line in ("x ** 2", "2 ** x", "x **= 2", "x @ y", "rng.integers(3)", "rng.normal()", "sum(x)"):
        assert len(faults(ast.parse(line))) == 1, line
    for line in ("2.0**-53", "10**9", "rng.random(3)", "integers(rng, 3)", "f(**x)", "math.fsum(x)"):
        assert faults(ast.parse(line)) == [], line
