"""Holds episodes of bursts that machine code draws to those that their source draws, bit for bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.compiled.bursts import bursts_of, load_bursts
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import ARTEMIS_A1, GatherWorkload, Mix, Uniform

BURSTS = GatherWorkload(mix=ARTEMIS_A1, burst_rate=10.0, num_bursts=40)
SIZES = Uniform(low=1e5, high=5e5)
FIELDS = (("postponed", "?"), ("deadline_span", "f8"))
SEEDS = np.array([0, 1, 2**32, 2**53 - 1, 2**63 - 1])
ALIKE = (
    BURSTS,
    replace(BURSTS, shuffle=False),
    replace(BURSTS, num_bursts=1),
    replace(BURSTS, num_destinations=4, num_senders=20),
    replace(BURSTS, num_destinations=3, num_senders=64, pattern="scatter"),
    replace(
        BURSTS, mix=Mix(pairs=((1e5, np.inf), (2e5, 0.04), (3e5, 0.05)), counts=(1, 0, 2)), burst_rate=None, load=0.5
    ),
)
OTHERS = (
    replace(BURSTS, num_bursts=None, duration=1.0),
    replace(BURSTS, request_jitter=1e-4),
    replace(BURSTS, num_senders=65),
    replace(BURSTS, mix=Mix(pairs=ARTEMIS_A1.pairs, weights=(1.0, 1.0)), flows_per_burst=10),
    replace(BURSTS, mix=None, size=SIZES, flows_per_burst=10),
)


def new_networks(source: GatherWorkload, fields: Any = FIELDS) -> BatchSimulation:
    topology = big_switch(num_hosts=source.num_hosts, capacity=125e6, delay=1e-5)
    return BatchSimulation(len(SEEDS), 1, topology, Ps(), num_tokens=5, flow_fields=fields)


def loaded_one_by_one(source: GatherWorkload) -> BatchSimulation:
    networks = new_networks(source)
    for number, seed in enumerate(SEEDS.tolist()):
        networks.load(number, source.draw(seed))
    return networks


@pytest.mark.parametrize("source", ALIKE)
def test_drawn_episodes_are_those_of_the_source(source: GatherWorkload) -> None:
    networks, expected = new_networks(source), loaded_one_by_one(source)
    load = networks.burst_loader(source)
    assert load is not None
    order = np.array([3, 0, 4, 1, 2])
    assert load(order, SEEDS[order]).all()
    for number in range(len(SEEDS)):
        drawn, right = networks.columns(number), expected.columns(number)
        assert all(
            np.array_equal(drawn[name], right[name], equal_nan=drawn[name].dtype.kind == "f")
            for name in drawn.dtype.names
        )
    for name in ("now", "request_time", "num_flows", "num_destinations", "in_order"):
        assert (networks.tables.networks[name] == expected.tables.networks[name]).all()


def test_an_episode_that_lasts_too_long_to_go_unchecked_is_left() -> None:
    networks = new_networks(BURSTS)
    networks.grow(400)
    last = [BURSTS.draw(seed).arrival_time[-1] for seed in SEEDS.tolist()]
    bursts = bursts_of(BURSTS, networks.topology)
    assert bursts is not None
    loaded, spans = np.zeros(len(SEEDS), dtype=np.bool_), np.zeros((len(SEEDS), 400))
    load_bursts(networks.tables, bursts._replace(latest=np.median(last).item()), np.arange(5), SEEDS, spans, loaded)
    assert (loaded == (last < np.median(last))).all()
    assert loaded.sum() == 2  # of five, those before the median


@pytest.mark.parametrize("source", OTHERS)
def test_other_sources_are_left_to_numpy(source: GatherWorkload) -> None:
    assert new_networks(BURSTS).burst_loader(source) is None


def test_networks_that_keep_more_of_flows_are_left_to_numpy() -> None:
    assert new_networks(BURSTS, (("ideal_fct", "f8"),)).burst_loader(BURSTS) is None
