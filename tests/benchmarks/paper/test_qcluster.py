"""Holds what is printed about QCluster to the committed results, and the results to today's model."""

from typing import Any

import numpy as np
import pytest

from benchmarks.paper.qcluster import measure
from benchmarks.paper.qcluster_studies import Point, static_thresholds, studies
from benchmarks.paper.qcluster_tables import first_packets, read_results
from flowsched_gym.workload import load_cdf


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return read_results()


@pytest.fixture(scope="module")
def described() -> dict[str, dict[str, Point]]:
    return studies()


def test_the_results_have_every_study_point_scheme_and_seed(
    results: dict[str, Any], described: dict[str, dict[str, Point]]
) -> None:
    for name, points in described.items():
        assert list(results["studies"][name]) == list(points), name
        for key, point in points.items():
            found = results["studies"][name][key]
            assert list(found) == list(point.schemes), (name, key)
            assert {len(values) for metrics in found.values() for values in metrics.values()} == {len(point.seeds)}


def test_the_model_still_gives_the_results(results: dict[str, Any], described: dict[str, dict[str, Point]]) -> None:
    for name, scheme in (("W1, lossless", "PIAS-OPT"), ("queues W1, DCTCP", "QC-LAS, 8 queues")):
        point = described[name]["0.9"]
        again = measure(point._replace(seeds=point.seeds[:1], schemes={scheme: point.schemes[scheme]}))
        committed = results["studies"][name]["0.9"][scheme]
        assert again == {scheme: {metric: values[:1] for metric, values in committed.items()}}


def test_thresholds_of_theory_are_as_good_as_what_a_search_finds(results: dict[str, Any]) -> None:
    for key, each in results["search"].items():
        fct = each["mean_fct"]
        assert fct["theory"] < 1.02 * fct["searched"], key
        workload, load = key.split(" at ")
        for name, thresholds in static_thresholds(workload, float(load)).items():
            assert each["thresholds"][name] == thresholds, (key, name)


def test_most_packets_of_w1_are_the_first_of_their_message() -> None:
    packets = np.ceil(load_cdf("w1").sample(np.random.default_rng(0), 200_000) / 1460)
    assert first_packets("w1") == pytest.approx(len(packets) / packets.sum(), abs=0.005)
