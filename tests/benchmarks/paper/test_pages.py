"""Holds the pages of the papers, and the figures in them, to the committed results."""

import re

import pytest

from benchmarks.paper import auto_figures, merp_figures, qcluster_figures, tafe_figures, thesis, thesis_figures
from benchmarks.paper import auto_tables as auto
from benchmarks.paper import merp_tables as merp
from benchmarks.paper import qcluster_tables as qcluster
from benchmarks.paper import tafe_tables as tafe
from benchmarks.paper import thesis_tables as thesis_page

PAGES = {
    "auto": (auto.read_results, auto.auto_markdown, None, auto_figures.draw),
    "merp": (merp.read_results, merp.merp_markdown, None, merp_figures.draw),
    "qcluster": (qcluster.read_results, qcluster.qcluster_markdown, qcluster.DOCUMENT, qcluster_figures.draw),
    "tafe": (tafe.read_results, tafe.tafe_markdown, tafe.DOCUMENT, tafe_figures.draw),
    "thesis": (thesis.read_thesis, thesis_page.thesis_markdown, thesis_page.DOCUMENT, thesis_figures.draw),
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
