"""Holds what is printed about MERP, QCluster, TAFE, coflows and the Artemis thesis to the committed results.

These are held to today's model and to what independent simulators give; all pages and figures are made of them.
"""

import re
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.paper import (
    auto,
    auto_tables,
    merp,
    merp_tables,
    qcluster,
    qcluster_studies,
    qcluster_tables,
    tafe,
    tafe_tables,
    thesis,
    thesis_tables,
)
from benchmarks.paper.coflow_rules import Coflows
from benchmarks.paper.coflows import RULES, SCHEMES
from benchmarks.paper.statements import change, page, read_statements
from flowsched_gym import __version__, replay
from flowsched_gym.core.files import read_json
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.leaderboard import Table
from flowsched_gym.workload import coflow_sample, read_coflows
from tests.cases import few_of

PAGES = {
    "auto": (partial(read_json, auto.RESULTS), auto_tables.auto_markdown, None, auto_tables.draw),
    "merp": (partial(read_json, merp.RESULTS), merp_tables.merp_markdown, None, merp_tables.draw),
    "qcluster": (
        partial(read_json, qcluster.RESULTS),
        qcluster_tables.qcluster_markdown,
        qcluster_tables.DOCUMENT,
        qcluster_tables.draw,
    ),
    "tafe": (tafe_tables.read_results, tafe_tables.tafe_markdown, tafe_tables.DOCUMENT, tafe_tables.draw),
    "thesis": (
        partial(read_json, thesis.FIGURES),
        thesis_tables.thesis_markdown,
        thesis_tables.DOCUMENT,
        thesis_tables.draw,
    ),
}
RATES = ("MERP", "pFabric")
ROUTES = ("MEMR", "ECMP")
SWITCH: dict[str, Any] = {"topology": "big-switch", "num_hosts": 12, "capacity": 2**20}


@cache
def results_of(paper: str) -> dict[str, Any]:
    return PAGES[paper][0]()


@cache
def points_of(paper: str) -> dict[str, dict[str, Any]]:
    """Returns the studies of QCluster or TAFE by name and point."""
    return {"qcluster": qcluster_studies, "tafe": tafe}[paper].studies()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_and_its_figures_are_made_of_the_results(name, tmp_path, monkeypatch) -> None:
    # Labels would have each figure laid out once more for each of its panels.
    monkeypatch.setattr(Figure, "draw_without_rendering", lambda _: None)
    _, write, document, draw = PAGES[name]
    results = results_of(name)
    assert results.get("complete", True)
    text = write(results)
    if document:
        assert document.read_text(encoding="utf-8") == text, "run: make paper"
    drawn = draw(results, tmp_path)
    assert {path.name for path in drawn} == set(re.findall(r"\]\((\w+\.png)\)", text))
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000 for path in drawn)


@pytest.mark.parametrize("paper", ["merp", "qcluster", "tafe"])
def test_the_results_have_every_study_point_scheme_and_seed(paper: str) -> None:
    results = results_of(paper)
    if paper == "merp":
        expected = {
            name: dict.fromkeys(study.points, (study.schemes, merp.SEEDS)) for name, study in merp.STUDIES.items()
        }
        assert (results["command"], results["package_version"]) == (merp.COMMAND, __version__)
        assert results["seeds"] == list(merp.SEEDS)
        assert len(results["seeds"]) >= 10
    else:
        expected = {
            name: {key: (point.schemes, getattr(point, "seeds", tafe.SEEDS)) for key, point in points.items()}
            for name, points in points_of(paper).items()
        }
    studies = results["tafe"]["studies"] if paper == "tafe" else results["studies"]
    assert [*studies] == [*expected]
    for name, points in expected.items():
        assert [*studies[name]] == [*points], name
        for key, (schemes, seeds) in points.items():
            found = studies[name][key]
            assert [*found] == [*schemes], (name, key)
            assert {len(values) for metrics in found.values() for values in metrics.values()} == {len(seeds)}


def test_the_motivating_example_is_the_papers() -> None:
    found = {name: merp.example(discipline) for name, discipline in merp.EXAMPLE_SCHEMES.items()}
    assert found["SRPT"]["mean_fct"] == pytest.approx(16 / 3)
    assert found["MERP"]["mean_fct"] == pytest.approx(17 / 3)
    assert max(found["MERP"]["slowdown"]) == pytest.approx(7 / 3)
    # The paper prints the ratio of flow C; that of A is larger.
    assert found["PS"]["slowdown"] == pytest.approx([2.5, 7 / 3, 2.375])


@pytest.mark.parametrize("name", few_of(merp.STUDIES, ("routes", "failures")))
def test_each_study_of_merp_runs(name) -> None:
    study = merp.STUDIES[name]
    point, fields = list(study.points.items())[-1]
    short = replace(study, points={point: dict(fields) | {"num_flows": 20}})
    found = merp.measure({name: short}, seeds=(0, 1), engine="simpy")["studies"][name][point]
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
        pytest.param("routes", "0.2", tuple(merp.STUDIES["routes"].schemes), marks=pytest.mark.exhaustive),
    ],
)
def test_the_results_of_merp_are_those_of_todays_model(name, point, schemes) -> None:
    study = replace(merp.STUDIES[name], schemes={scheme: merp.STUDIES[name].schemes[scheme] for scheme in schemes})
    found = merp.run_schemes(study, point, merp.SEEDS[0], "compiled")
    for scheme in schemes:
        for metric, values in results_of("merp")["studies"][name][point][scheme].items():
            assert found[scheme][metric] == pytest.approx(values[0], rel=1e-5), (scheme, metric)


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
def test_the_changes_are_as_large_as_independent_simulators_give_them(study, point, metric, schemes, most) -> None:
    found = change(results_of("merp")["studies"][study], point, metric, schemes)
    assert found.mean <= most
    assert found.high <= most, "the interval leaves it open"


@pytest.mark.parametrize(
    ("paper", "name", "key", "schemes"),
    [
        pytest.param("qcluster", "W1, lossless", "0.9", ("PIAS-OPT",), marks=pytest.mark.exhaustive),
        pytest.param("qcluster", "W6, DCTCP", "0.9", ("QC-LAS", "QC-SRPT with PDA"), marks=pytest.mark.exhaustive),
        ("tafe", "log", "load 0.8", ("TAFE", "TAFE, serial", "FIFO-LM")),
        pytest.param("tafe", "packets, load 0.9", "tafe-short", ("D2TCP", "TAFE, both"), marks=pytest.mark.exhaustive),
        pytest.param("tafe", "log", "load 0.8", ("D2TCP", "STF", "TAFE, 3 queues"), marks=pytest.mark.exhaustive),
    ],
)
def test_the_model_still_gives_the_results(paper, name, key, schemes) -> None:
    point = points_of(paper)[name][key]
    point = point._replace(schemes={scheme: point.schemes[scheme] for scheme in schemes})
    if paper == "tafe":
        again, committed = tafe.measure(point, tafe.SEEDS[:1])[0], results_of("tafe")["tafe"]
    else:
        again, committed = qcluster.measure(point._replace(seeds=point.seeds[:1])), results_of("qcluster")
    found = committed["studies"][name][key]
    assert again == {scheme: {metric: values[:1] for metric, values in found[scheme].items()} for scheme in schemes}


def test_the_example_of_tafe_is_still_the_models() -> None:
    assert results_of("tafe")["tafe"]["example"] == tafe.example()


def test_every_statement_of_the_papers_names_runs_and_how_they_differ() -> None:
    merps, tafes, autos = results_of("merp"), results_of("tafe")["tafe"], results_of("auto")
    runs = {
        "MERP": merps["studies"] | {name: merps[name] for name in ("balance", "paths")},
        "TAFE": tafes["studies"] | {"sizes": tafes["sizes"]},
        "AuTO": autos["studies"] | auto_tables.further_runs(autos),
        "Artemis": thesis_tables.studies_of(results_of("thesis")),
    }
    for paper, studies in runs.items():
        statements = read_statements(paper)
        assert statements, paper
        for each in statements:
            assert each.differs or each.study == "paths", each
            known = [name for name in studies if fnmatch(name, each.study)]
            assert known or not each.study, each
            assert not each.study or any(each.point in (*studies[name], "each", "") for name in known), each


def test_every_statement_of_qcluster_was_run_somewhere() -> None:
    studies = results_of("qcluster")["studies"]
    for paper in ("QCluster", "QCluster, tried"):
        for each in read_statements(paper):
            assert each.differs, each
            kinds = qcluster_tables.KINDS.values()
            assert any(qcluster_tables.found_for(each, studies, *kind) for kind in kinds), each


def test_a_text_has_a_field_for_each_table_and_a_wrong_name_is_an_error() -> None:
    table = Table(columns=("policy", "met"), rows=(("edf", "1"),))
    filled = page("thesis", "percents", table=table)
    assert filled.endswith(f"\n\n{table.markdown()}")
    with pytest.raises(KeyError, match="table"):
        page("thesis", "percents", tables=table)


def test_what_the_text_says_of_merps_two_examples_holds() -> None:
    assert results_of("merp")["paths"]["0"]["SRPT"] == {name: [value] for name, value in merp.two_paths().items()}
    found = results_of("merp")["balance"]["1 s"]
    again = {name: merp.balance(merp.BALANCED[name], merp.SEEDS[:1]) for name in ("ECMP", "MEMR")}
    for name, each in again.items():
        assert each == {metric: values[:1] for metric, values in found[name].items()}, name
    assert max(found["ECMP"]["long_sd"]) == 0
    assert min(found["ECMP"]["other_sd"]) > 0.4 > 0.25 > max(found["MEMR"]["other_sd"])


def test_what_the_text_says_of_tafes_machines_and_sequences_holds() -> None:
    studies = results_of("tafe")["tafe"]["studies"]
    pair = ("TAFE, both", "D2TCP")
    assert abs(change(studies["machines, at once"], tafe.SIX, "tct", pair).mean) < 0.02
    assert change(studies["machines, at once"], f"{tafe.SIX}, 4 times as fast", "tct", pair).high < -0.1
    for mode in ("closed loop", "at once", "load 0.9"):
        assert change(studies[f"sequential, {mode}"], "tafe-log", "tct", ("TAFE, 3 queues", "PIAS")).low > 0
        parallel = studies[f"parallel, {mode}"]
        assert change(parallel, "tafe-log", "in_order", ("TAFE, 3 queues", "PIAS")).high < 0
        assert max(parallel["tafe-log"]["TAFE, 3 queues"]["useless"]) == 0
        assert parallel["tafe-log"]["PIAS"]["useless"] == parallel["tafe-log"]["TAFE, both"]["useless"]


def test_coflows_come_out_in_the_order_of_the_reference() -> None:
    trace, reference, sebf = results_of("tafe")["coflows"], tafe_tables.REFERENCE, tafe_tables.REFERENCE_SEBF
    assert trace["complete"]
    assert list(trace["schemes"]) == list(SCHEMES)
    assert list(trace["rules"]) == list(RULES)
    mean = {name: each["mean"] for name, each in trace["schemes"].items()}
    order = [mean[name] for name in reference]
    assert order == sorted(order)
    assert mean["SEBF"] == pytest.approx(sebf, rel=0.05)
    assert mean["STF, longest flow"] == pytest.approx(1.034 * sebf, rel=0.05)
    for name, share in reference.items():
        assert trace["rules"][name] == pytest.approx(share * sebf, rel=0.07), name


def test_the_other_rules_agree_with_ours_on_one_coflow() -> None:
    flows = read_coflows(coflow_sample(), coflows=1)
    again = Coflows(flows, ports=6, capacity=2**20)
    ours = replay(flows, discipline="sebf", **SWITCH)
    for name, rule in RULES.items():
        if name not in ("fair", "Aalo-like"):
            assert rule(again) == pytest.approx(task_completion_times(ours).tct), name


def test_every_policy_of_the_thesis_has_all_runs_and_every_agent_ten_trainings() -> None:
    found = results_of("thesis")
    for variant, workload in thesis.VARIANTS.items():
        policies = found["variants"][variant]
        assert list(policies) == [*thesis.HEURISTICS, thesis.PACED, *thesis.AGENTS, *thesis.SEARCHES]
        for policy, each in policies.items():
            trained = thesis.NUM_TRAININGS if policy in thesis.AGENTS else 0
            assert len(each.get("favourites", ())) == trained, policy
            assert policy not in thesis.AGENTS or len(thesis.trainings(workload, policy)) == trained
            count = max(trained, 1) * thesis.NUM_RUNS
            assert {len(values) for values in each["runs"].values()} == {count}, policy
    assert [list(counts) for counts in found["tokens"].values()] == [[str(count) for count in thesis.TOKENS]] * 2


def test_a_run_of_the_thesis_is_still_the_models() -> None:
    again = thesis.measure("edf", thesis.VARIANTS["1"], num_runs=2)["runs"]
    committed = results_of("thesis")["variants"]["1"]["edf"]["runs"]
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


def test_more_tokens_than_the_buffer_holds_and_too_few_are_both_slow() -> None:
    runs = {int(count): each["runs"] for count, each in results_of("thesis")["tokens"]["fifo"].items()}
    medians = {count: np.mean(each["median_fct_ms"]) for count, each in runs.items()}
    best = min(medians, key=lambda count: medians[count])
    assert 5 <= best <= 15
    assert medians[1] > medians[2] > medians[3] > medians[5]
    assert medians[63] > medians[31] > 1.2 * medians[best]
