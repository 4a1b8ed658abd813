"""Holds the pages of the papers, and the figures in them, to the committed results."""

import re

import pytest

from benchmarks.paper import (
    auto_figures,
    auto_tables,
    merp_figures,
    merp_tables,
    qcluster_figures,
    qcluster_tables,
    tafe_figures,
    tafe_tables,
    thesis,
    thesis_figures,
    thesis_tables,
)

PAGES = {
    "auto": (auto_tables.read_results, auto_tables.auto_markdown, None, auto_figures.draw),
    "merp": (merp_tables.read_results, merp_tables.merp_markdown, None, merp_figures.draw),
    "qcluster": (
        qcluster_tables.read_results,
        qcluster_tables.qcluster_markdown,
        qcluster_tables.DOCUMENT,
        qcluster_figures.draw,
    ),
    "tafe": (tafe_tables.read_results, tafe_tables.tafe_markdown, tafe_tables.DOCUMENT, tafe_figures.draw),
    "thesis": (thesis.read_thesis, thesis_tables.thesis_markdown, thesis_tables.DOCUMENT, thesis_figures.draw),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_and_its_figures_are_made_of_the_results(name, tmp_path) -> None:
    read, write, document, draw = PAGES[name]
    results = read()
    assert results.get("complete", True)
    text = write(results)
    if document:
        assert document.read_text(encoding="utf-8") == text, "run: make paper"
    drawn = draw(results, tmp_path)
    assert {path.name for path in drawn} == set(re.findall(r"\]\((\w+\.png)\)", text))
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000 for path in drawn)
