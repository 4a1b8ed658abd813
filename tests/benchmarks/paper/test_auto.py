"""Holds what is printed about AuTO to the committed results, and the results to today's model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper import auto, auto_delay, auto_long_flows
from benchmarks.paper.auto_search import SEARCHED, THEORY
from benchmarks.paper.auto_tables import LONGEST, MIXED, ability, best_fixed, findings, read_results
from benchmarks.paper.merp import SEEDS
from benchmarks.paper.merp_tables import change
from flowsched_gym import __version__
from flowsched_gym.systems import Ability


def usual(schemes):
    """Leaves QSJF out, whose engine no other test needs compiled."""
    return {name: scheme for name, scheme in schemes.items() if not name.startswith("QSJF")}


each_part = pytest.mark.parametrize(
    "part", [usual, pytest.param(dict, marks=pytest.mark.exhaustive)], ids=["usual", "all"]
)


@pytest.fixture(scope="module")
def results():
    return read_results()


@each_part
def test_every_study_runs(part):
    for name, study in auto.studies(60).items():
        schemes = part(study.schemes)
        found = auto.run_study(replace(study, schemes=schemes), (0, 1), Path("no models"))
        assert list(found) == list(schemes), name
        assert all(len(values) == 2 for metrics in found.values() for values in metrics.values())


def test_the_committed_results_are_complete(results):
    assert (results["command"], results["package_version"]) == (auto.COMMAND, __version__)
    assert (results["seeds"], results["num_flows"]) == (list(SEEDS), auto.FLOWS)
    parts, described = results["studies"]["figures 9 to 12"], auto.studies()
    assert parts.keys() == described.keys()
    for name, found in parts.items():
        computed = {scheme for scheme in found if not scheme.startswith(("learned, ", "searched"))}
        assert computed == set(described[name].schemes)
    assert results["studies"]["thresholds"].keys() == results["searched"].keys() == auto.SIZES.keys()
    assert results["studies"]["long flows"].keys() == auto_long_flows.THRESHOLDS.keys()
    for study in results["studies"].values():
        for runs in study.values():
            assert all(len(values) == len(SEEDS) for metrics in runs.values() for values in metrics.values())
    rows = [(row["n_l"], row["m_l"]) for row in results["delays"]["long_flows"]]
    assert rows == list(auto_delay.SIZES)
    assert [row["observation"] for row in results["delays"]["thresholds"]] == list(auto_delay.OBSERVATIONS)


def test_the_own_work_of_an_environment_takes_less_than_its_agents_forward_pass(results):
    for row in (*results["delays"]["thresholds"], *results["delays"]["long_flows"]):
        assert row["environment_ms"] < row["network_ms"]


@each_part
@pytest.mark.parametrize("name", ["web search", "clusters"])
def test_the_committed_results_are_those_of_todays_model(results, name, part):
    study = auto.studies()[name]
    schemes = part(study.schemes)
    found = auto.run_study(replace(study, schemes=schemes), SEEDS[:1], auto.MODELS)
    for scheme in schemes:
        for metric, values in results["studies"]["figures 9 to 12"][name][scheme].items():
            assert found[scheme][metric][0] == pytest.approx(values[0], rel=1e-5), (scheme, metric)


def test_the_committed_phases_are_those_of_todays_model(results):
    study = auto.changing(2.0, auto.FLOWS)
    committed = results["studies"]["figures 9 to 12"]["changing every 2 s"][auto.TOLD]
    found = auto.metrics_of(study.schemes[auto.TOLD](study.workload.draw(SEEDS[0]), SEEDS[0]), study.phase)
    assert len([metric for metric in found if "phase" in metric]) == 2 * auto.PHASES
    for metric, values in committed.items():
        assert found[metric] == pytest.approx(values[0], rel=1e-5), metric


def test_the_committed_counts_of_long_flows_are_those_of_todays_model(results):
    limits = auto_long_flows.THRESHOLDS["3 MB"]
    flows = auto_long_flows.workload_of(auto.FLOWS).draw(SEEDS[0])
    metrics = auto_long_flows.metrics_of(auto_long_flows.play(flows, "least-loaded", limits), flows, limits[-1])
    for metric, values in results["studies"]["long flows"]["3 MB"]["least-loaded"].items():
        assert metrics[metric] == pytest.approx(values[0], rel=1e-5), metric


def test_what_the_text_says_of_the_figures_holds(results):
    runs, searched = (results["studies"][name] for name in ("figures 9 to 12", "thresholds"))
    assert change(runs, "web search", "mean_fct", ("SRPT", "QLAS")).mean == pytest.approx(-0.35, abs=0.01)
    assert change(runs, "web search", "mean_fct", ("QLAS", "PS")).high < 0
    for size in auto.SIZES:
        assert abs(change(searched, size, "mean_fct", (SEARCHED, THEORY)).mean) < 0.01
    for name in auto.FIXED:
        assert change(runs, LONGEST, "mean_fct", ("SRPT", name)).high < 0
    assert change(runs, MIXED, "mean_fct", ("SRPT", "QLAS for each cluster")).high < -0.2
    staying = best_fixed(runs)
    assert staying == "QLAS for the mixture"
    assert abs(change(runs, LONGEST, "mean_fct", (auto.TOLD_MIXTURE, staying)).mean) < 0.02
    assert change(runs, LONGEST, "mean_fct", (auto.TOLD, staying)).low > 0
    assert change(runs, MIXED, "mean_fct", ("QLAS for each cluster", staying)).low > 0
    for found in results["studies"]["long flows"].values():
        assert np.mean(found["least-attained"]["mean_slowdown"]) > np.mean(found["least-loaded"]["mean_slowdown"])
        assert np.mean(found["least-loaded"]["mean_difference"]) < np.mean(found["ecmp"]["mean_difference"])


def test_agents_are_compared_with_the_best_rule_that_does_and_knows_no_more(results):
    runs, long = (results["studies"][name] for name in ("figures 9 to 12", "long flows"))
    assert ability("QLAS, told of each change") == Ability(("thresholds",), ("traffic", "changes"))
    # Those that are told of sizes or changes, or order the flows inside a queue, are no measure for it.
    assert "against QLAS, matched, the best rule" in findings(runs, "data mining")
    for point, found in runs.items():
        assert "QLAS for the mixture" in findings(runs, point) or point in auto.SIZES
        agent = next(name for name in found if name.startswith("learned"))
        assert f"`{agent}`" in findings(runs, point)
        assert findings(runs, point).rstrip().endswith("worse.")
    for point in long:
        assert findings(long, point, metric="mean_slowdown_long").rstrip().endswith("better.")
