"""Holds what is printed about TAFE and about coflows to the committed results, and these to today's model."""

from typing import Any

import numpy as np
import pytest

from benchmarks.paper.coflow_rules import Coflows
from benchmarks.paper.coflows import RULES, SCHEMES
from benchmarks.paper.tafe import SEEDS, example, measure, studies
from benchmarks.paper.tafe_tables import REFERENCE, REFERENCE_SEBF, read_results
from flowsched_gym import replay
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.workload import coflow_sample, read_coflows

SWITCH: dict[str, Any] = {"topology": "big-switch", "num_hosts": 12, "capacity": 2**20}


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return read_results()


def test_the_results_have_every_study_point_scheme_and_seed(results: dict[str, Any]) -> None:
    for name, points in studies().items():
        assert list(results["tafe"]["studies"][name]) == list(points), name
        for key, point in points.items():
            found = results["tafe"]["studies"][name][key]
            assert list(found) == list(point.schemes), (name, key)
            assert {len(values) for metrics in found.values() for values in metrics.values()} == {len(SEEDS)}
    trace = results["coflows"]
    assert trace["complete"]
    assert list(trace["schemes"]) == list(trace["first"]) == list(SCHEMES)
    assert list(trace["rules"]) == list(RULES)


def test_the_example_is_still_the_models(results: dict[str, Any]) -> None:
    assert results["tafe"]["example"] == example()


@pytest.mark.parametrize(
    "names",
    [
        ("TAFE", "TAFE, serial", "FIFO-LM"),
        pytest.param(("D2TCP", "STF", "TAFE, 3 queues"), marks=pytest.mark.exhaustive),
    ],
    ids=", ".join,
)
def test_the_model_still_gives_the_results(results: dict[str, Any], names: tuple[str, ...]) -> None:
    point = studies()["log"]["load 0.8"]
    again, _ = measure(point._replace(schemes={name: point.schemes[name] for name in names}), SEEDS[:1])
    committed = results["tafe"]["studies"]["log"]["load 0.8"]
    assert again == {name: {metric: values[:1] for metric, values in committed[name].items()} for name in names}


def test_coflows_come_out_in_the_order_of_the_reference(results: dict[str, Any]) -> None:
    trace = results["coflows"]
    mean = {name: each["mean"] for name, each in trace["schemes"].items()}
    order = [mean[name] for name in REFERENCE]
    assert order == sorted(order)
    assert mean["SEBF"] == pytest.approx(REFERENCE_SEBF, rel=0.05)
    assert mean["STF, longest flow"] == pytest.approx(1.034 * REFERENCE_SEBF, rel=0.05)
    assert all(each["equal"] for each in trace["first"].values())
    for name, share in REFERENCE.items():
        assert trace["rules"][name] == pytest.approx(share * REFERENCE_SEBF, rel=0.07), name


@pytest.mark.parametrize(
    "scheme", [pytest.param(name, marks=pytest.mark.exhaustive if name == "SEBF" else ()) for name in SCHEMES]
)
def test_engines_agree_on_coflows(scheme: str) -> None:
    discipline, parameters = SCHEMES[scheme]
    arguments = SWITCH | {"discipline": discipline, "parameters": parameters}
    one, other = (replay(read_coflows(coflow_sample()), engine=each, **arguments) for each in ("simpy", "compiled"))
    np.testing.assert_array_equal(one.completion_time, other.completion_time)


def test_the_other_rules_agree_with_ours_on_one_coflow() -> None:
    flows = read_coflows(coflow_sample(), coflows=1)
    again = Coflows(flows, ports=6, capacity=2**20)
    ours = replay(flows, discipline="sebf", **SWITCH)
    for name, rule in RULES.items():
        if name not in ("fair", "Aalo-like"):
            assert rule(again) == pytest.approx(task_completion_times(ours).tct), name
