"""Holds the README to what the package does."""

import contextlib
import io
import json
import re

from benchmarks.paper.closeness import FIGURES, README, THEORY, readme
from benchmarks.paper.run import POINTS_ALLOWED, SHARE_ALLOWED


def test_the_generated_parts_of_the_readme_are_those_of_the_figures() -> None:
    assert README.read_text(encoding="utf-8") == readme(), "the README is stale: run `make paper`"


def test_the_figures_of_the_readme_are_inside_what_is_allowed() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert figures["exact"]["largest_relative_gap"] < 1e-9
    assert max(abs(figures["theory"][name] / mean - 1) for name, mean in THEORY.items()) < 0.01
    assert figures["ns3"]["largest_points"] < POINTS_ALLOWED
    assert figures["ns3"]["largest_quartile_share"] < SHARE_ALLOWED
    assert figures["ns3"]["largest_isolated_share"] < SHARE_ALLOWED


def test_the_first_example_prints_what_the_readme_shows() -> None:
    text = README.read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(import gymnasium.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown
