"""Holds what is printed about AuTO to the committed results, and the results to today's model."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper import auto_delay, auto_long_flows
from benchmarks.paper.auto import (
    COMMAND,
    FIXED,
    FLOWS,
    MODELS,
    PHASES,
    SIZES,
    TOLD,
    TOLD_MIXTURE,
    best,
    changing,
    metrics_of,
    run_study,
    studies,
)
from benchmarks.paper.auto_figures import draw
from benchmarks.paper.auto_schemes import acting, learned, replayed, told_of_changes
from benchmarks.paper.auto_search import SEARCHED, THEORY, descend
from benchmarks.paper.auto_tables import LONGEST, MIXED, ability, auto_markdown, best_fixed, findings, read_results
from benchmarks.paper.merp import SEEDS
from benchmarks.paper.merp_tables import change
from flowsched_gym import __version__
from flowsched_gym.evaluation import make_environment, resolve_policy
from flowsched_gym.systems import Ability
from flowsched_gym.workload import make_workload

THRESHOLDS_ENV = "flowsched/AuTOThresholds-v0"


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
    for name, study in studies(60).items():
        schemes = part(study.schemes)
        found = run_study(replace(study, schemes=schemes), (0, 1), Path("no models"))
        assert list(found) == list(schemes), name
        assert all(len(values) == 2 for metrics in found.values() for values in metrics.values())


def test_thresholds_that_are_told_of_changes_change_nothing_where_all_traffic_has_the_same_ones():
    workload = make_workload("auto-changing", num_flows=1_000, change_every=0.2)
    limits = best("qlas", "web_search")
    told = told_of_changes(workload, lambda kinds: np.tile(limits, (len(kinds), 1)))
    flows = workload.draw(3)
    # The end of a period is one more time at which bytes are counted: the last bits differ.
    assert told(flows, 3).fct == pytest.approx(replayed("mlfq", thresholds=limits)(flows, 3).fct, rel=1e-9)


def test_thresholds_are_told_to_the_cluster_whose_traffic_changes():
    workload = make_workload("auto-changing", num_flows=1_000, change_every=0.2)
    rows = np.array([[1e3, 2e3, 3e3], [1e9, 2e9, 3e9]])
    flows = workload.draw(3)
    both = told_of_changes(workload, lambda kinds: rows[kinds % 2])(flows, 3).fct
    for limits in rows.tolist():
        assert both != pytest.approx(replayed("mlfq", thresholds=limits)(flows, 3).fct, rel=1e-3)


def test_a_policy_that_acts_in_the_environment_serves_the_flows_of_the_study():
    flows = make_workload("auto-web-search", num_flows=300).draw(0)
    fixed = acting(
        {"workload": "auto-web-search", "load": 0.7, "flows": 50, "initial_thresholds": "data_mining"},
        lambda arguments: resolve_policy("equal", make_environment(THRESHOLDS_ENV, arguments), seed=0),
    )
    records = fixed(flows, 0)
    assert records.size.tolist() == flows.size.tolist()
    assert records.fct.mean() == pytest.approx(replayed("mlfq", thresholds=[31623, 1e6, 31622777])(flows, 0).fct.mean())


def test_agents_are_found_by_listing_the_models(tmp_path):
    for folder, environment, kwargs in (
        ("auto-clusters", THRESHOLDS_ENV, {"workload": "auto-clusters"}),
        ("auto-clusters-long", "flowsched/AuTOLongFlows-v0", {"workload": "auto-clusters"}),
        ("auto-web-search", THRESHOLDS_ENV, {"flows": 100}),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ddpg.zip").touch()
        sidecar = {"environment": f"flowsched_gym:{environment}", "kwargs": kwargs}
        (tmp_path / folder / "ddpg.json").write_text(json.dumps(sidecar))
    assert list(learned(tmp_path, "auto-clusters")) == ["learned, auto-clusters/ddpg"]
    assert list(learned(tmp_path, "auto-web-search")) == ["learned, auto-web-search/ddpg"]
    assert learned(tmp_path, "auto-changing") == {}


def test_the_search_finds_the_least_of_a_cost_with_one_valley_and_keeps_the_order():
    goal = np.log([1e4, 1e5, 1e7])
    seen = []

    def cost(thresholds):
        seen.append(thresholds)
        return float(np.abs(np.log(thresholds) - goal).sum())

    found = descend(cost, [1e5, 1e6, 2e6])
    assert np.abs(np.log(found) - goal).max() < np.log(1.4)
    assert all(sorted(set(limits)) == limits for limits in seen)


def test_links_are_counted_once_in_ten_milliseconds():
    workload = make_workload("auto-changing", num_flows=150)
    flows = workload.draw(0)
    episode = auto_long_flows.play(flows, "ecmp", (1e4, 1e5, 1e6))
    assert np.diff(episode.time) == pytest.approx(0.01)
    assert episode.difference.max() > 0
    metrics = auto_long_flows.metrics_of(episode, flows, 1e6)
    assert 0 <= metrics["share_below_few"] <= 1
    assert metrics["max_difference"] >= metrics["mean_difference"] > 0


def test_agents_that_steer_long_flows_are_found_and_played():
    found = auto_long_flows.learned(MODELS)
    flows = make_workload("auto-changing", num_flows=150).draw(0)
    assert "learned, auto-long-flows/ppo" in found
    for file in found.values():
        episode = auto_long_flows.play(flows, file, (1e4, 1e5, 1e6))
        assert episode.records.fct.min() > 0


def test_the_agent_spreads_long_flows_better_than_a_hash():
    limits = auto_long_flows.THRESHOLDS["3 MB"]
    flows = auto_long_flows.workload_of(2_000).draw(SEEDS[0])
    agent = auto_long_flows.learned(MODELS)["learned, auto-long-flows/ppo"]
    hashed, learnt = (
        auto_long_flows.metrics_of(auto_long_flows.play(flows, policy, limits), flows, limits[-1])
        for policy in ("ecmp", agent)
    )
    assert learnt["mean_slowdown_long"] < 0.9 * hashed["mean_slowdown_long"]
    assert learnt["max_difference"] < hashed["max_difference"]
    assert learnt["mean_slowdown"] < hashed["mean_slowdown"]


def test_the_committed_results_are_complete(results):
    assert (results["command"], results["package_version"]) == (COMMAND, __version__)
    assert (results["seeds"], results["num_flows"]) == (list(SEEDS), FLOWS)
    parts, described = results["studies"]["figures 9 to 12"], studies()
    assert parts.keys() == described.keys()
    for name, found in parts.items():
        assert set(described[name].schemes) <= found.keys()
        others = found.keys() - set(described[name].schemes)
        assert all(scheme.startswith(("learned, ", "searched")) for scheme in others)
    assert results["studies"]["thresholds"].keys() == results["searched"].keys() == SIZES.keys()
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
    study = studies()[name]
    schemes = part(study.schemes)
    found = run_study(replace(study, schemes=schemes), SEEDS[:1], MODELS)
    for scheme in schemes:
        for metric, values in results["studies"]["figures 9 to 12"][name][scheme].items():
            assert found[scheme][metric][0] == pytest.approx(values[0], rel=1e-5), (scheme, metric)


def test_the_committed_phases_are_those_of_todays_model(results):
    study = changing(2.0, FLOWS)
    committed = results["studies"]["figures 9 to 12"]["changing every 2 s"][TOLD]
    found = metrics_of(study.schemes[TOLD](study.workload.draw(SEEDS[0]), SEEDS[0]), study.phase)
    assert len([metric for metric in found if "phase" in metric]) == 2 * PHASES
    for metric, values in committed.items():
        assert found[metric] == pytest.approx(values[0], rel=1e-5), metric


def test_the_committed_counts_of_long_flows_are_those_of_todays_model(results):
    limits = auto_long_flows.THRESHOLDS["3 MB"]
    flows = auto_long_flows.workload_of(FLOWS).draw(SEEDS[0])
    metrics = auto_long_flows.metrics_of(auto_long_flows.play(flows, "least-loaded", limits), flows, limits[-1])
    for metric, values in results["studies"]["long flows"]["3 MB"]["least-loaded"].items():
        assert metrics[metric] == pytest.approx(values[0], rel=1e-5), metric


def test_what_the_text_says_of_the_figures_holds(results):
    runs, searched = (results["studies"][name] for name in ("figures 9 to 12", "thresholds"))
    assert change(runs, "web search", "mean_fct", ("SRPT", "QLAS")).mean == pytest.approx(-0.35, abs=0.01)
    assert change(runs, "web search", "mean_fct", ("QLAS", "PS")).high < 0
    for size in SIZES:
        assert abs(change(searched, size, "mean_fct", (SEARCHED, THEORY)).mean) < 0.01
    for name in FIXED:
        assert change(runs, LONGEST, "mean_fct", ("SRPT", name)).high < 0
    assert change(runs, MIXED, "mean_fct", ("SRPT", "QLAS for each cluster")).high < -0.2
    staying = best_fixed(runs)
    assert staying == "QLAS for the mixture"
    assert abs(change(runs, LONGEST, "mean_fct", (TOLD_MIXTURE, staying)).mean) < 0.02
    assert change(runs, LONGEST, "mean_fct", (TOLD, staying)).low > 0
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
        assert "QLAS for the mixture" in findings(runs, point) or point in SIZES
        agent = next(name for name in found if name.startswith("learned"))
        assert f"`{agent}`" in findings(runs, point)
        assert findings(runs, point).rstrip().endswith("worse.")
    for point in long:
        assert findings(long, point, metric="mean_slowdown_long").rstrip().endswith("better.")


def test_every_figure_of_the_text_is_drawn(results, tmp_path):
    named = re.findall(r"\]\((\w+\.png)\)", auto_markdown(results))
    assert sorted(named) == sorted(path.name for path in draw(results, tmp_path))
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in named)
