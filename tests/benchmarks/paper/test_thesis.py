"""Holds what is printed about chapter 4 of the Artemis thesis to what was played, and this to today's model."""

from typing import Any

import numpy as np
import pytest

from benchmarks.paper import thesis


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return thesis.read_thesis()


def test_every_policy_has_all_runs_and_every_agent_five_trainings(found: dict[str, Any]) -> None:
    for variant in thesis.VARIANTS:
        policies = found["variants"][variant]
        assert list(policies) == [*thesis.HEURISTICS, thesis.PACED, *thesis.AGENTS, *thesis.SEARCHES]
        for policy, each in policies.items():
            count = 5 * thesis.NUM_RUNS if policy in thesis.AGENTS else thesis.NUM_RUNS
            assert {len(values) for values in each["runs"].values()} == {count}, policy
    assert [list(counts) for counts in found["tokens"].values()] == [[str(count) for count in thesis.TOKENS]] * 2


def test_a_run_is_still_the_models(found: dict[str, Any]) -> None:
    again = thesis.measure("edf", thesis.VARIANTS["1"], num_runs=2)["runs"]
    committed = found["variants"]["1"]["edf"]["runs"]
    assert again == {name: values[:2] for name, values in committed.items()}


def test_the_figures_of_a_run_are_worked_out_by_hand() -> None:
    fct, span = np.array([0.03, 0.045, 0.045, 0.2]), np.array([0.04, 0.04, 0.05, 0.05])
    figures = thesis.figures_of(np.array([0.0, 0.1, 0.2, 0.3]), fct, span)
    assert (figures["deadline_hit_ratio"], figures["early"], figures["late"]) == (0.5, 0.25, 0.5)
    assert figures["stalled"] == 0.25
    assert (figures["wasted"], figures["late_met"]) == (1 / 3, 0.5)
    # Delivered at 30, 145, 245 and 500 ms: three gaps in 470 ms, where three gaps between arrivals take 300 ms.
    assert figures["mean_gap_ms"] == pytest.approx(470 / 3)
    assert figures["served_of_offered"] == pytest.approx(300 / 470)


def test_more_tokens_than_the_buffer_holds_and_too_few_are_both_slow(found: dict[str, Any]) -> None:
    medians = {count: np.mean(found["tokens"]["fifo"][str(count)]["runs"]["median_fct_ms"]) for count in thesis.TOKENS}
    best = min(medians, key=lambda count: medians[count])
    assert 5 <= best <= 15
    assert medians[1] > medians[2] > medians[3] > medians[5]
    assert medians[63] > medians[31] > 1.2 * medians[best]
