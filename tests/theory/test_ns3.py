"""Holds transports to a packet simulator: deadlines, quartiles, stalls, and flows that start together."""

from typing import Final

import numpy as np
import pytest

from benchmarks.paper import losses, run

FAR_STARTS: Final = {(10, "mix", 250_000)}
"""A quarter slower: five large flows and five small ones, of which the packet simulator started two sets."""

FAR_POLICIES: Final = {"2018a_v1 lsdf"}
"""8 points fewer deadlines than in one run of the packet simulator, in which this policy met 5 points more than EDF."""


def test_tcp_meets_deadlines_within_three_points_and_its_quartiles_are_within_ten_percent() -> None:
    policies = run.compare_policies()
    assert [row.policy for row in policies] == ["fifo", "edf", "ssdf", "lsdf"]
    for row in policies:
        assert abs(row.points) <= run.POINTS_ALLOWED, row.policy
        assert np.abs(row.quartile_shares).max() <= run.SHARE_ALLOWED, row.policy


def test_one_to_ten_flows_over_tcp_that_start_together_complete_within_ten_percent() -> None:
    isolated = run.compare_isolated()
    assert {row.flows for row in isolated} == {1, 2, 3, 5, 7, 10}
    assert {row.kind for row in isolated} == {"same", "mix"}
    assert [row for row in isolated if abs(row.share) > run.SHARE_ALLOWED] == []


@pytest.fixture(scope="module")
def figures():
    return losses.read_figures()


def test_all_that_the_packet_simulator_ran_with_losses_is_compared_with_the_transports_as_they_are(figures) -> None:
    expected = [f"{setting} {policy}" for setting, policies in losses.NS3["policies"].items() for policy in policies]
    assert list(figures["policies"]) == expected
    assert list(figures["cells"]) == list(losses.TOKENS["cells"])
    assert len(losses.TOKENS["cells"]) == 2 * 2 * 4 * 2  # settings, variants, policies, numbers of tokens
    assert len(figures["isolated"]) == len(losses.NS3["isolated"]) == 35
    assert figures["transports"] == losses.figures_of_transports()


@pytest.mark.exhaustive
def test_a_policy_and_a_start_of_ten_flows_are_measured_again(figures) -> None:
    name = "2018a_v1 ssdf"
    measured = losses.measure_policy(*name.split(), 1)
    assert {key: values[0] for key, values in figures["policies"][name].items()} == {
        key: values[0] for key, values in measured.items()
    }
    start = next(each for each in losses.NS3["isolated"] if (each["flows"], each["size"]) == (10, 150_000))
    assert losses.measure_isolated(start, 1)["stalled"] == 0.0
    assert losses.NUM_STARTS >= 100


@pytest.mark.parametrize("name", ["2018_v2 ssdf 5", "2018a_v2 lifo 10"])
def test_a_cell_is_measured_again(figures, name: str) -> None:
    measured = losses.measure_cell(name, 1)
    runs_per_seed = len(figures["cells"][name]["deadline_hit_ratio"]) // len(losses.TOKENS["cells"][name])
    assert {key: values[::runs_per_seed] for key, values in figures["cells"][name].items()} == measured


def test_ten_tokens_and_five_meet_as_many_deadlines_as_in_the_packet_simulator() -> None:
    points = losses.cell_points()
    assert losses.root_mean_square(list(points.values())) <= losses.POINTS_ALLOWED
    assert {name: gap for name, gap in points.items() if abs(gap) > losses.CELL_ALLOWED} == {}


def test_deadlines_medians_and_stalls_are_those_of_the_packet_simulator(figures) -> None:
    far = set()
    for name, found in figures["policies"].items():
        setting, policy = name.split()
        printed = losses.NS3["policies"][setting][policy]
        points = 100 * (np.mean(found["deadline_hit_ratio"]) - printed["deadline_hit_ratio"])
        median = np.mean(found["median_fct_ms"]) / printed["median_fct_ms"] - 1
        if abs(points) >= losses.POINTS_ALLOWED or abs(median) >= losses.MEDIAN_ALLOWED:
            far.add(name)
        assert abs(100 * (np.mean(found["stalled"]) - printed["stalled"])) < losses.STALLED_ALLOWED, name
    assert far == FAR_POLICIES


def test_one_to_ten_flows_that_start_together_take_as_long_as_in_the_packet_simulator(figures) -> None:
    far = {
        (printed["flows"], printed["kind"], printed["size"])
        for printed, found in zip(losses.NS3["isolated"], figures["isolated"], strict=True)
        if abs(found["mean_fct_without_stalls_ms"] / printed["mean_fct_without_stalls_ms"] - 1)
        > losses.ISOLATED_ALLOWED
    }
    assert far == FAR_STARTS
