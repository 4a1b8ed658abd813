"""Holds what is printed about AuTO to the committed results, and these to today's model."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.paper import (
    auto,
    auto_agents,
    auto_delay,
    auto_long_flows,
    merp,
)
from benchmarks.paper.auto_schemes import SEARCHED, THEORY
from benchmarks.paper.auto_tables import LONGEST, MIXED, ability, best_fixed, findings
from benchmarks.paper.statements import change
from flowsched_gym import __version__
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import paired_ratio
from flowsched_gym.systems import Ability, Action, Information


@cache
def results_of_auto() -> dict[str, Any]:
    return read_json(auto.RESULTS)


def usual(schemes):
    """Leaves QSJF and queues served in turn out, whose engines no other test needs compiled."""
    return {
        name: scheme
        for name, scheme in schemes.items()
        if not name.startswith("QSJF") and not name.endswith("FIFO inside")
    }


each_part = pytest.mark.parametrize(
    "part", [usual, pytest.param(dict, marks=pytest.mark.exhaustive)], ids=["usual", "all"]
)


@pytest.mark.exhaustive
@each_part
def test_every_study_of_auto_runs(part, tmp_path):
    for name, study in auto.studies(60).items():
        schemes = part(study.schemes)
        found = auto.run_study(replace(study, schemes=schemes), (0, 1), tmp_path)
        assert list(found) == list(schemes), name
        assert all(len(values) == 2 for metrics in found.values() for values in metrics.values())


def test_the_results_of_auto_are_complete():
    results = results_of_auto()
    assert (results["command"], results["package_version"]) == (auto.COMMAND, __version__)
    assert (results["seeds"], results["num_flows"]) == (list(merp.SEEDS), auto.FLOWS)
    parts, described = results["studies"]["figures 9 to 12"], auto.studies()
    assert parts.keys() == described.keys()
    for name, found in parts.items():
        computed = {scheme for scheme in found if not scheme.startswith(("learned, ", "searched"))}
        assert computed == set(described[name].schemes)
    agents = results["agents"]
    assert agents.keys() >= auto_agents.EXPERIMENTS.keys() | auto_agents.REMEDIES.keys()
    assert agents.keys() <= {*auto_agents.sweeps()}
    for name, found in agents.items():
        assert len({len(found[key]) for key in ("curves", "learned", "spread")}) == 1, name
        both_on_mining = name == f"{auto_agents.BOTH}_mining"
        assert {len(values) for values in (*found["learned"], found["rule"])} == {3 if both_on_mining else 10}, name
    ten = [*auto_agents.EXPERIMENTS, f"{auto_agents.SRLA}_mining", f"{auto_agents.LRLA}_mining"]
    assert {len(agents[name]["curves"]) for name in ten} == {10}, "as many as the text says of each"
    assert agents[auto_agents.BOTH]["pairs"].keys() >= auto_agents.PAIRS.keys()
    assert results["studies"]["thresholds"].keys() == results["searched"].keys() == auto.SIZES.keys()
    assert results["studies"]["long flows"].keys() == auto_long_flows.THRESHOLDS.keys()
    for study in results["studies"].values():
        for runs in study.values():
            assert all(len(values) == len(merp.SEEDS) for metrics in runs.values() for values in metrics.values())
    rows = [(row["n_l"], row["m_l"]) for row in results["delays"]["long_flows"]]
    assert rows == list(auto_delay.SIZES)
    assert [row["observation"] for row in results["delays"]["thresholds"]] == list(auto_delay.OBSERVATIONS)


@each_part
@pytest.mark.parametrize("name", ["web search", "clusters"])
def test_the_results_of_auto_are_those_of_todays_model(name, part):
    study = auto.studies()[name]
    schemes = part(study.schemes)
    found = auto.run_study(replace(study, schemes=schemes), merp.SEEDS[:1], auto.MODELS)
    for scheme in schemes:
        for metric, values in results_of_auto()["studies"]["figures 9 to 12"][name][scheme].items():
            assert found[scheme][metric][0] == pytest.approx(values[0], rel=1e-5), (scheme, metric)


@pytest.mark.exhaustive
def test_the_phases_of_auto_are_those_of_todays_model():
    study = auto.changing(2.0, auto.FLOWS)
    committed = results_of_auto()["studies"]["figures 9 to 12"]["changing every 2 s"][auto.TOLD]
    found = auto.metrics_of(
        study.schemes[auto.TOLD](study.workload.draw(merp.SEEDS[0]), merp.SEEDS[0]), phase=study.phase
    )
    assert len([metric for metric in found if "phase" in metric]) == 2 * auto.PHASES
    for metric, values in committed.items():
        assert found[metric] == pytest.approx(values[0], rel=1e-5), metric


@pytest.mark.exhaustive
def test_the_counts_of_long_flows_are_those_of_todays_model():
    limits = auto_long_flows.THRESHOLDS["3 MB"]
    flows = auto_long_flows.workload_of(auto.FLOWS).draw(merp.SEEDS[0])
    metrics = auto_long_flows.metrics_of(auto_long_flows.play(flows, "least-loaded", limits), flows, limits[-1])
    for metric, values in results_of_auto()["studies"]["long flows"]["3 MB"]["least-loaded"].items():
        assert metrics[metric] == pytest.approx(values[0], rel=1e-5), metric


def test_what_the_text_says_of_autos_own_agents_holds():
    agents = results_of_auto()["agents"]
    srla, lrla = agents[auto_agents.SRLA], agents[auto_agents.LRLA]
    off = np.array(srla["spread"]) > auto_agents.CONSTANT
    assert off.sum() == 1
    assert paired_ratio(np.array(srla["learned"])[off], np.array(srla["rule"])).mean == pytest.approx(1.065, abs=5e-4)
    names = [name for name in agents if name.startswith(auto_agents.SRLA) and auto_agents.SUFFIX not in name]
    ends = sorted(curve[-1][1] for name in names for curve in agents[name]["curves"])
    assert ends[2:] == pytest.approx([0.0889] * (len(ends) - 2), abs=2e-4), "all but two, one with our observation"
    first, last = (np.array([curve[place][1] for curve in lrla["curves"]]) for place in (0, -1))
    assert np.mean(last) == pytest.approx(np.mean(first), rel=0.01)
    certain = np.array(lrla["spread"]) < auto_agents.CONSTANT
    learned = np.array(lrla["learned"])
    assert np.mean(learned[certain]) == pytest.approx(np.mean(learned[~certain]), rel=0.01)
    mining, long_flows = (agents[name + auto_agents.SUFFIX] for name in (auto_agents.SRLA, auto_agents.LRLA))
    assert max(mining["spread"]) < auto_agents.CONSTANT
    assert paired_ratio(np.array(mining["learned"]), np.array(mining["rule"])).low > 1
    assert min(np.mean(each) for each in long_flows["learned"]) > np.mean(long_flows["rule"])
    pairs = {name: np.array(values) for name, values in agents[auto_agents.BOTH]["pairs"].items()}
    trained = paired_ratio(pairs["both"], pairs["both, before"])
    assert trained.low < 1 < trained.high
    assert paired_ratio(pairs["both"], pairs["qlas"][0]).low > 1
    best = min(pairs["long flows alone"], key=np.mean)
    level = paired_ratio(best, pairs["qlas"][0])
    assert level.low < 1 < level.high


def test_an_experiment_that_was_not_trained_again_keeps_its_rows(tmp_path):
    kept = results_of_auto()["agents"]
    assert auto_agents.gather(tmp_path, kept) == kept


def test_what_the_text_says_of_the_figures_holds():
    runs, searched = (results_of_auto()["studies"][name] for name in ("figures 9 to 12", "thresholds"))
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
    for found in results_of_auto()["studies"]["long flows"].values():
        assert np.mean(found["least-attained"]["mean_slowdown"]) > np.mean(found["least-loaded"]["mean_slowdown"])
        assert np.mean(found["least-loaded"]["mean_difference"]) < np.mean(found["ecmp"]["mean_difference"])
    delays = results_of_auto()["delays"]
    for row in (*delays["thresholds"], *delays["long_flows"]):
        assert row["environment_ms"] < row["network_ms"], "an agent's forward pass takes longer than an environment"


def test_agents_are_compared_with_the_best_rule_that_does_and_knows_no_more():
    runs, long = (results_of_auto()["studies"][name] for name in ("figures 9 to 12", "long flows"))
    assert ability("QLAS, told of each change") == Ability(
        (Action.THRESHOLDS,), (Information.TRAFFIC, Information.CHANGES)
    )
    # Those that are told of sizes or changes, or order the flows inside a queue, are no measure for it.
    assert "against QLAS, matched, the best rule" in findings(runs, "data mining")
    for point, found in runs.items():
        if point == "incast":  # of rules alone
            continue
        assert "QLAS for the mixture" in findings(runs, point) or point in auto.SIZES
        agent = next(name for name in found if name.startswith("learned"))
        assert f"`{agent}`" in findings(runs, point)
        assert findings(runs, point).rstrip().endswith("worse.")
    for point in long:
        assert findings(long, point, metric="mean_slowdown_long").rstrip().endswith("better.")
