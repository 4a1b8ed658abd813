"""Holds the page about speed to the figures that were measured."""

import json
from types import ModuleType

import pytest

from benchmarks.speed import network, training, vector
from benchmarks.speed.page import README, page_with


@pytest.mark.parametrize(
    ("module", "lay_out"),
    [(vector, vector.table), (network, network.tables), (training, training.table)],
    ids=["vector", "network", "training"],
)
def test_the_generated_parts_of_the_page_about_speed_are_those_of_the_figures(module: ModuleType, lay_out) -> None:
    current = README.read_text(encoding="utf-8")
    assert current == page_with(module.FIGURES, lay_out), f"it is stale: python -m {module.__name__} --write"
    assert "--quick" not in json.loads(module.FIGURES.read_text(encoding="utf-8"))["command"]


@pytest.mark.parametrize("module", [vector, network], ids=["vector", "network"])
def test_the_figures_are_of_a_whole_run(module: ModuleType) -> None:
    figures = json.loads(module.FIGURES.read_text(encoding="utf-8"))
    assert set(figures["rates"]) == set(module.cases(1))
