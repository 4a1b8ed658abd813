"""Holds every public object to a docstring whose first line is a sentence."""

import ast
from collections.abc import Iterator

import pytest

from tests.repository import SOURCES

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public_objects(tree: ast.Module, module: str) -> Iterator[tuple[str, Documented]]:
    """Yields the module, its public functions and classes, and the public methods of those, with their full names."""
    waiting: list[tuple[str, Documented]] = [(module, tree)]
    while waiting:
        name, node = waiting.pop()
        yield name, node
        if isinstance(node, ast.Module | ast.ClassDef):
            waiting += [
                (f"{name}.{child.name}", child)
                for child in node.body
                if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and not child.name.startswith("_")
                and not is_repeated_declaration(child)
            ]


def is_repeated_declaration(node: Documented) -> bool:
    decorators = [] if isinstance(node, ast.Module) else [ast.unparse(item) for item in node.decorator_list]
    return any(name.endswith(("overload", ".setter", "override")) for name in decorators)


def faults(docstring: str | None) -> list[str]:
    """Returns what keeps the first line of a docstring from being a sentence."""
    if not docstring or not docstring.strip():
        return ["has no docstring"]
    first, *rest = docstring.splitlines()
    found = []
    if not (first[:1].isupper() or first[:1] in "`*0123456789"):
        found.append("does not begin with a capital letter")
    if not first.rstrip().endswith("."):
        found.append("does not end its first line with a full stop")
    if len(first.split()) < 2:
        found.append("has a first line of fewer than two words")
    if rest and rest[0].strip():
        found.append("has no empty line after the first")
    return found


def test_the_first_line_of_every_public_docstring_is_a_sentence() -> None:
    problems = [
        f"{name} {fault}"
        for source in SOURCES
        for name, node in public_objects(source.parse(), source.module)
        for fault in faults(ast.get_docstring(node))
    ]

    assert problems == []


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        (None, "has no docstring"),
        ("returns the size of a flow.", "does not begin with a capital letter"),
        ("Returns the size", "does not end its first line with a full stop"),
        ("Size.", "has a first line of fewer than two words"),
        ("Returns the size.\nMore text.", "has no empty line after the first"),
    ],
)
def test_a_docstring_that_is_no_sentence_is_found(docstring: str | None, fault: str) -> None:
    assert faults(docstring) == [fault]
