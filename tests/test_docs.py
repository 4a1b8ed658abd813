"""Runs the examples of the documents, one after the other in each."""

import contextlib
import io
import re

import pytest

from flowsched_gym.topology import TOPOLOGIES
from tests.repository import ROOT

DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples_run_and_print_what_is_shown(path) -> None:
    blocks = re.findall(r"```(python|text)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    printed = io.StringIO()
    for language, block in blocks:
        if language == "text":
            assert printed.getvalue() == block
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, path.name, "exec"), names)
            assert printed.getvalue()

    assert blocks


def test_every_topology_is_described() -> None:
    text = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8")
    assert [name for name in TOPOLOGIES if f"| `{name}` |" not in text] == []


def test_processes_and_resources_are_where_the_page_on_simpy_says() -> None:
    text = (ROOT / "docs" / "simpy.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([\w.]+)` \| `(\w+\.py)` \|", text, re.MULTILINE)

    assert len(named) == 7
    for name, file in named:
        source = (ROOT / "flowsched_gym" / "simulation" / file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"(def|class) {part}\b", source), (name, file)
