"""Holds the page of packets beside ns-3 and the fluid to the figures kept, and some of these to today's model."""

import re

import numpy as np
import pytest
from PIL import Image

from benchmarks.packets import survivors
from benchmarks.packets.against_ns3 import SETTINGS, by_class, within_leaf
from benchmarks.packets.against_ns3 import play as play_flows
from benchmarks.packets.from_fluid import NUM_EPISODES, PAPERS, SUITE, play, results_of, ways_in_packets
from benchmarks.packets.from_fluid import SETTINGS as PLAYED
from benchmarks.packets.page import DOCUMENT, FIGURES, FROM_FLUID, document, draw
from benchmarks.packets.survivors import AGENTS, TRACK, compare, kendall_tau
from benchmarks.registry_tables import ROOT, with_part
from benchmarks.rules import tuned_rules
from flowsched_gym.core.files import read_json
from tests.packets.test_ns3 import columns, flow_columns


def test_the_page_and_its_picture_are_made_of_the_figures(tmp_path) -> None:
    figures, from_fluid = read_json(FIGURES), read_json(FROM_FLUID)
    text = document(figures, from_fluid)
    assert DOCUMENT.read_text(encoding="utf-8") == text, "run: python -m benchmarks.packets.against_ns3 FOLDER --write"
    drawn = draw(figures, tmp_path)
    assert re.findall(r"\]\((\w+\.png)\)", text) == [drawn.name, survivors.PICTURE]
    assert drawn.stat().st_size > 10_000
    assert len(figures["runs"]) == 20
    for name, named in PLAYED.items():
        rules, policies = {*named, *tuned_rules(name)}, set(from_fluid["settings"][name]["policies"])
        assert rules < policies, name
        assert policies - rules <= set(AGENTS), name
    assert len(from_fluid["seeds"]) >= NUM_EPISODES


def test_the_papers_settings_are_played_in_the_fluid_as_the_leaderboard_has_them() -> None:
    settings = read_json(FROM_FLUID)["settings"]
    assert set(PAPERS) <= set(settings)
    for name, players in PAPERS.items():
        if name not in settings:
            continue
        metric, results = settings[name]["metric"], results_of(name)
        for player in players:
            runs = [[each.metrics[metric] for each in run.episodes] for run in results[player].runs]
            kept = settings[name]["policies"][player]
            assert kept["fluid"] == pytest.approx(np.mean(runs, axis=0), rel=1e-5), (name, player)  # six digits
            assert set(kept) >= {"dctcp", "cubic"}, (name, player)
        assert set(settings[name]["policies"]) == set(players)


def test_the_readme_the_track_of_the_leaderboard_and_their_figure_are_made_of_the_figures() -> None:
    compared = compare(read_json(FROM_FLUID))
    again = "python -m benchmarks.packets.from_fluid --settings --write"
    for (name, part), content in survivors.parts(compared).items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text == with_part(text, part, content), f"{name} is stale: {again}"
        assert f"]({DOCUMENT.parent.relative_to((ROOT / name).parent)}/{survivors.PICTURE})" in text
    with Image.open(DOCUMENT.with_name(survivors.PICTURE)) as picture:
        assert picture.info["Description"] == survivors.description(compared), again


def test_an_agent_and_few_rules_in_a_further_way_have_a_column_counts_and_a_panel(monkeypatch, tmp_path) -> None:
    drawn = np.random.default_rng(0).uniform(size=(3, NUM_EPISODES)) + np.array([[3.0], [1.0], [9.0]])
    policies = {name: {"fluid": each.tolist()} for name, each in zip(("cmaes", "sjf", "fifo"), drawn, strict=True)}
    for policy, times in (("cmaes", 1.0), ("sjf", 9.0)):
        policies[policy]["ns3"] = (times * drawn[0]).tolist()
    monkeypatch.setattr(survivors, "TRACK", {**TRACK, "ns3": "in ns-3"})
    measures = ("mean_fct", "deadline_hit_ratio")
    compared = compare({"settings": {each: {"metric": each, "policies": policies} for each in measures}})
    found = [(each.way, each.rule, each.verdict) for each in compared]
    assert found[:2] == [("fluid", "sjf", "worse"), ("ns3", "sjf", "better")]
    assert found[2:] == [("fluid", "fifo", "worse"), ("ns3", "sjf", "worse")]
    assert "| worse | 2 | in ns-3 | 1 | 0 | 1 |" in survivors.counts(compared)
    assert "| **better** +88.9 " in survivors.track(compared, survivors.TRACK)
    assert survivors.draw(compared, tmp_path).stat().st_size > 5_000


def test_a_comparison_says_better_worse_or_equal_by_the_interval_and_the_measure() -> None:
    drawn = np.random.default_rng(0).uniform(size=(3, NUM_EPISODES)) + np.array([[1.0], [3.0], [9.0]])
    policies = {name: {"fluid": each.tolist()} for name, each in zip(("cmaes", "sjf", "fifo"), drawn, strict=True)}
    by_measure = {"mean_fct": "better", "deadline_hit_ratio": "worse"}
    for measure, verdict in by_measure.items():
        (found,) = compare({"settings": {"some": {"metric": measure, "policies": policies}}})
        assert found.verdict == verdict
    assert found.rule == "fifo"
    (same,) = compare(
        {"settings": {"some": {"metric": "mean_fct", "policies": {"cmaes": policies["sjf"], "sjf": policies["sjf"]}}}}
    )
    assert (same.verdict, same.difference.mean) == ("equal", 0.0)
    (own,) = compare({"settings": {"some": {"metric": "mean_fct", "own": "fifo", "policies": policies}}})[1:]
    assert (own.policy, own.rule, own.verdict) == ("fifo", "sjf", "worse")


@pytest.mark.parametrize(("setting", "name"), [("d11", "dm50s1"), ("c11", "dm50s1")])
def test_the_figures_beside_ns3_are_those_of_todays_model(setting: str, name: str) -> None:
    found, lone = columns(name), columns("lone")
    flows = flow_columns(found)
    near, far = (
        np.interp(flows["size_bytes"], lone["size_bytes"], lone[f"{column}_us"]) for column in ("d11_i", "d11_x")
    )
    alone = np.where(within_leaf(SETTINGS[setting], flows), near, far) / 1e6
    fct = {"ns3": found[f"{setting}_us"] / 1e6, "packets": play_flows(SETTINGS[setting], flows).fct}
    kept = read_json(FIGURES)["runs"][f"{setting}.{name}"]["classes"]
    for label, each in by_class(flows["size_bytes"], alone, fct).items():
        for key, values in each.items():
            assert kept[label][key] == pytest.approx(values, rel=1e-3, abs=1e-4), (label, key)


@pytest.mark.exhaustive
def test_the_figures_beside_the_fluid_are_those_of_todays_model() -> None:
    name = "merp-order-pareto"
    figures, setting = read_json(FROM_FLUID), SUITE.settings[name]
    kept = figures["settings"][name]["policies"]["srpt"]
    for way, kwargs in ways_in_packets({**setting.kwargs, "engine": "compiled"}).items():
        assert play(name, "srpt", kwargs, figures["seeds"][:1]) == kept[way][:1], way


def test_kendalls_tau_counts_pairs_and_leaves_equal_ones_out() -> None:
    order = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall_tau(order, order) == 1
    assert kendall_tau(order, -order) == -1
    assert kendall_tau(order, np.array([1.0, 2.0, 4.0, 3.0])) == pytest.approx(4 / 6)
    tied = np.array([1.0, 1.0, 3.0, 4.0])
    assert kendall_tau(tied, tied) == 1
