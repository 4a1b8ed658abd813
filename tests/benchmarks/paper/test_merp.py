"""Holds what is printed about MERP to the committed results, and the results to what independent simulators give."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper.merp import COMMAND, EXAMPLE_SCHEMES, SEEDS, STUDIES, example, measure, run_schemes
from benchmarks.paper.merp_tables import change, read_results
from flowsched_gym import __version__

RATES = ("MERP", "pFabric")
ROUTES = ("MEMR", "ECMP")


@pytest.fixture(scope="module")
def results():
    return read_results()


def test_the_motivating_example_is_the_papers():
    found = {name: example(discipline) for name, discipline in EXAMPLE_SCHEMES.items()}
    assert found["SRPT"]["mean_fct"] == pytest.approx(16 / 3)
    assert found["MERP"]["mean_fct"] == pytest.approx(17 / 3)
    assert max(found["MERP"]["slowdown"]) == pytest.approx(7 / 3)
    # The paper prints the ratio of flow C; that of A is larger.
    assert found["PS"]["slowdown"] == pytest.approx([2.5, 7 / 3, 2.375])


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_runs(name):
    study = STUDIES[name]
    point, fields = list(study.points.items())[-1]
    short = replace(study, points={point: dict(fields) | {"num_flows": 20}})
    found = measure({name: short}, seeds=(0, 1), engine="simpy")["studies"][name][point]
    assert list(found) == list(study.schemes)
    values = np.array([list(metrics.values()) for metrics in found.values()])
    assert values.shape[2] == 2
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("name", "point", "schemes"),
    [
        ("one link", "0.8", ("MERP", "pFabric", "TCP")),
        pytest.param("one link", "0.8", ("pFabric by size",), marks=pytest.mark.exhaustive),
        ("routes", "0.2", ROUTES),
        pytest.param("routes", "0.2", tuple(STUDIES["routes"].schemes), marks=pytest.mark.exhaustive),
    ],
)
def test_the_committed_results_are_those_of_todays_model(results, name, point, schemes):
    study = replace(STUDIES[name], schemes={scheme: STUDIES[name].schemes[scheme] for scheme in schemes})
    found = run_schemes(study, point, SEEDS[0], "compiled")
    for scheme in schemes:
        for metric, values in results["studies"][name][point][scheme].items():
            assert found[scheme][metric] == pytest.approx(values[0], rel=1e-5), (scheme, metric)


def test_the_committed_results_are_complete(results):
    assert len(results["seeds"]) >= 10
    assert (results["command"], results["package_version"]) == (COMMAND, __version__)
    assert results["seeds"] == list(SEEDS)
    assert results["studies"].keys() == STUDIES.keys()
    for name, runs in results["studies"].items():
        assert runs.keys() == STUDIES[name].points.keys()
        for found in runs.values():
            assert found.keys() == STUDIES[name].schemes.keys()
            assert all(len(values) == len(SEEDS) for metrics in found.values() for values in metrics.values())


@pytest.mark.parametrize(
    ("study", "point", "metric", "schemes", "most"),
    [
        ("tree", "0.8", "max_slowdown", RATES, -0.30),
        ("tree", "0.8", "p999_fct", RATES, -0.10),
        ("one link", "0.8", "mean_fct", RATES, 0.10),
        ("routes", "0.6", "mean_fct", ROUTES, -0.15),
        *(("failures", number, "mean_fct", ROUTES, -0.20) for number in "123"),
    ],
)
def test_the_changes_are_as_large_as_independent_simulators_give_them(results, study, point, metric, schemes, most):
    found = change(results["studies"][study], point, metric, schemes)
    assert found.mean <= most
    assert found.high <= most, "the interval leaves it open"
