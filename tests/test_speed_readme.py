"""Holds the page about speed to the figures that were measured."""

import json

from benchmarks.speed.vector import FIGURES, NUM_ENVS, README, VARIED, readme


def test_the_generated_part_of_the_page_about_speed_is_that_of_the_figures() -> None:
    assert README.read_text(encoding="utf-8") == readme(), "it is stale: python -m benchmarks.speed.vector --write"


def test_the_figures_are_of_a_whole_run() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    cases = {"simpy"} | {f"{kind} {number}" for kind in ("artemis", "cartpole") for number in NUM_ENVS}
    cases |= {f"{name} {value}" for name, values in VARIED.items() for value in values}

    assert set(figures["rates"]) == cases
    assert "--quick" not in figures["command"]
