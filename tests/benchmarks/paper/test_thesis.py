"""Holds what is printed about chapter 4 of the Artemis thesis to what was played, and this to today's model."""

from typing import Any

import numpy as np
import pytest

from benchmarks.paper.thesis import (
    AGENTS,
    HEURISTICS,
    NUM_RUNS,
    PACED,
    PERCENTS,
    SEARCHES,
    TOKENS,
    VARIANTS,
    figures_of,
    measure,
    met_so_far,
    read_thesis,
)
from benchmarks.paper.thesis_figures import draw
from benchmarks.paper.thesis_matches import nearest
from benchmarks.paper.thesis_tables import DOCUMENT, thesis_markdown


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return read_thesis()


def test_the_page_is_made_of_what_was_played(found: dict[str, Any]) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == thesis_markdown(found), "run: make paper"


def test_every_policy_has_all_runs_and_every_agent_five_trainings(found: dict[str, Any]) -> None:
    for variant in VARIANTS:
        policies = found["variants"][variant]
        assert list(policies) == [*HEURISTICS, PACED, *AGENTS, *SEARCHES]
        for policy, each in policies.items():
            count = 5 * NUM_RUNS if policy in AGENTS else NUM_RUNS
            assert {len(values) for values in each["runs"].values()} == {count}, policy
    assert [list(counts) for counts in found["tokens"].values()] == [[str(count) for count in TOKENS]] * 2


def test_a_run_is_still_the_models(found: dict[str, Any]) -> None:
    again = measure("edf", VARIANTS["1"], num_runs=2)["runs"]
    committed = found["variants"]["1"]["edf"]["runs"]
    assert again == {name: values[:2] for name, values in committed.items()}


def test_the_figures_of_a_run_are_worked_out_by_hand() -> None:
    fct, span = np.array([0.03, 0.045, 0.045, 0.2]), np.array([0.04, 0.04, 0.05, 0.05])
    figures = figures_of(np.array([0.0, 0.1, 0.2, 0.3]), fct, span)
    assert (figures["deadline_hit_ratio"], figures["early"], figures["late"]) == (0.5, 0.25, 0.5)
    assert figures["stalled"] == 0.25
    assert (figures["wasted"], figures["late_met"]) == (1 / 3, 0.5)
    # Delivered at 30, 145, 245 and 500 ms: three gaps in 470 ms, where three gaps between arrivals take 300 ms.
    assert figures["mean_gap_ms"] == pytest.approx(470 / 3)
    assert figures["served_of_offered"] == pytest.approx(300 / 470)


def test_deadlines_met_so_far_are_counted_after_every_ten_bursts() -> None:
    met = np.arange(1000) % 100 < 40
    assert met_so_far(met) == pytest.approx([0.4] * 10)
    assert met_so_far(np.arange(200) < 100) == [1.0, 0.5]


def test_an_agent_matches_the_policy_whose_percentiles_are_nearest() -> None:
    def played(hit_ratio: float, scale: float) -> dict[str, Any]:
        times = [scale * (1 + percent) for percent in PERCENTS]
        return {"runs": {"deadline_hit_ratio": [hit_ratio]}, "fct_ms": times, "gaps_ms": times}

    policies = {
        "agent": played(0.6, 1.1),
        "edf": played(0.5, 1.0),
        "ssdf": played(0.62, 2.0),
        "lsdf": played(0.5, 1.0),
    }
    assert nearest(policies, "agent", "deadlines met") == "ssdf (2.0 points)"
    assert nearest(policies, "agent", "completion times, tail") == "edf, lsdf (9.5 %)"


def test_more_tokens_than_the_buffer_holds_and_too_few_are_both_slow(found: dict[str, Any]) -> None:
    medians = {count: np.mean(found["tokens"]["fifo"][str(count)]["runs"]["median_fct_ms"]) for count in TOKENS}
    best = min(medians, key=lambda count: medians[count])
    assert 5 <= best <= 15
    assert medians[1] > medians[2] > medians[3] > medians[5]
    assert medians[63] > medians[31] > 1.2 * medians[best]


def test_figures_are_drawn(found: dict[str, Any], tmp_path) -> None:
    assert all(path.stat().st_size > 10_000 for path in draw(found, tmp_path))
