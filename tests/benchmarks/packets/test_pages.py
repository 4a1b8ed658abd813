"""Holds the page of packets beside ns-3 and the fluid to the figures kept, and some of these to today's model."""

import re

import numpy as np
import pytest

import flowsched_gym
from benchmarks.packets.against_ns3 import SETTINGS, by_class, play, within_leaf
from benchmarks.packets.from_fluid import (
    NUM_EPISODES,
    ONE_QUEUE,
    SUITE,
    Levels,
    RankedLevels,
    environment,
    figures_of,
    in_packets,
    network_of,
)
from benchmarks.packets.from_fluid import (
    SETTINGS as PLAYED,
)
from benchmarks.packets.page import DOCUMENT, FIGURES, FROM_FLUID, document, draw
from benchmarks.packets.survivors import kendall_tau
from flowsched_gym.core.files import read_json
from tests.packets.test_ns3 import columns, flow_columns
from tests.simulate import make_flows

SENDERS = {"payload": 10, "header": 0, "initial_window": 1_000}


def test_the_page_and_its_picture_are_made_of_the_figures(tmp_path) -> None:
    figures, from_fluid = read_json(FIGURES), read_json(FROM_FLUID)
    text = document(figures, from_fluid)
    assert DOCUMENT.read_text(encoding="utf-8") == text, "run: python -m benchmarks.packets.against_ns3 FOLDER --write"
    drawn = draw(figures, tmp_path)
    assert re.findall(r"\]\((\w+\.png)\)", text) == [drawn.name]
    assert drawn.stat().st_size > 10_000
    assert len(figures["runs"]) == 20
    assert {"static", *PLAYED["auto-thresholds-incast"]} < set(
        from_fluid["settings"]["auto-thresholds-incast"]["policies"]
    )
    assert len(from_fluid["seeds"]) >= NUM_EPISODES


@pytest.mark.parametrize(("setting", "name"), [("d11", "dm50s1"), ("c11", "dm50s1")])
def test_the_figures_beside_ns3_are_those_of_todays_model(setting: str, name: str) -> None:
    found, lone = columns(name), columns("lone")
    flows = flow_columns(found)
    near, far = (
        np.interp(flows["size_bytes"], lone["size_bytes"], lone[f"{column}_us"]) for column in ("d11_i", "d11_x")
    )
    alone = np.where(within_leaf(SETTINGS[setting], flows), near, far) / 1e6
    fct = {"ns3": found[f"{setting}_us"] / 1e6, "packets": play(SETTINGS[setting], flows).fct}
    kept = read_json(FIGURES)["runs"][f"{setting}.{name}"]["classes"]
    for label, each in by_class(flows["size_bytes"], alone, fct).items():
        for key, values in each.items():
            assert kept[label][key] == pytest.approx(values, rel=1e-3, abs=1e-4), (label, key)


def test_the_figures_beside_the_fluid_are_those_of_todays_model() -> None:
    name = "tafe-thresholds-changing"
    kept = read_json(FROM_FLUID)["settings"][name]["policies"][ONE_QUEUE]
    env = environment(name)
    env.reset(seed=SUITE.test[0])
    fluid = flowsched_gym.replay(env.unwrapped.workload, discipline="ps", engine="compiled", **network_of(env))
    for way, records in {"fluid": fluid, **in_packets(env, None)}.items():
        for key, value in figures_of(records).items():
            assert kept[way][key][0] == pytest.approx(value, rel=1e-5), (way, key)


def test_levels_of_groups_are_those_of_pias_by_the_sender() -> None:
    flows = make_flows([0.0] * 4, [100.0] * 4, source=[1, 2, 3, 4])
    limits, groups = np.array([[35.0], [75.0]]), np.array([0, 0, 1, 1])

    def queues(scheduler, **parameters: object) -> list[int]:
        how = {"capacity": 1.0, "keep_trace": True, "parameters": SENDERS | parameters}
        return flowsched_gym.replay_packets(flows, scheduler=scheduler, **how).trace.queue.tolist()

    apart = queues(Levels(limits, groups, np.zeros(4)))
    for group, limit in zip((slice(0, 20), slice(20, 40)), limits, strict=True):
        assert apart[group] == queues("pias", thresholds=limit)[group]
    assert apart[:20] != apart[20:]


def test_tasks_in_order_are_served_one_after_the_other() -> None:
    flows = make_flows([0.0] * 3, [100.0] * 3, source=[1, 2, 3])
    ranked = RankedLevels(np.array([[1_000.0]]), np.zeros(3, dtype=np.int64), np.array([2.0, 0.0, 1.0]))
    records = flowsched_gym.replay_packets(flows, scheduler=ranked, capacity=1.0, parameters=SENDERS)
    assert records.fct.tolist() == [300.0, 100.0, 200.0]


def test_kendalls_tau_counts_pairs_and_leaves_equal_ones_out() -> None:
    order = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall_tau(order, order) == 1
    assert kendall_tau(order, -order) == -1
    assert kendall_tau(order, np.array([1.0, 2.0, 4.0, 3.0])) == pytest.approx(4 / 6)
    tied = np.array([1.0, 1.0, 3.0, 4.0])
    assert kendall_tau(tied, tied) == 1
