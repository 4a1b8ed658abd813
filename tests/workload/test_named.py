"""Goes through the registry of named workloads, and through what may be overridden."""

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.registration import SYSTEMS, load_target
from flowsched_gym.topology import crossing_shares, fat_tree, one_link, tree9
from flowsched_gym.workload import (
    MESSAGE_GAPS,
    WORKLOADS,
    Constant,
    Discrete,
    Distribution,
    Exponential,
    GatherWorkload,
    Mix,
    Pareto,
    PoissonWorkload,
    WorkloadSource,
    draw_flows,
    first_flows,
    load_cdf,
    make_workload,
)
from tests.repository import ROOT

each_name = pytest.mark.parametrize("name", list(WORKLOADS))


@each_name
def test_every_named_workload_is_described_and_draws_no_unstable_load(name: str) -> None:
    config, described = make_workload(name), WORKLOADS[name]
    workload, first = config.draw(3), draw_flows(config, num_flows=37, seed=3)
    assert isinstance(config, WorkloadSource)
    assert workload.num_flows >= (400 if name.startswith("tafe") else 1000)
    assert workload.num_hosts <= config.num_hosts
    load = config.offered_load
    assert 0.2 <= load < 1 if load is not None else config.arrivals == "closed"
    assert described.name == name
    assert 10 < len(described.description) <= 110
    assert "\n" not in described.description
    assert first.size.tolist() == workload.size[:37].tolist()
    assert first.arrival_time.tolist() == workload.arrival_time[:37].tolist()


@each_name
def test_counts_of_numpy_draw_what_pythons_do(name: str) -> None:
    """An unsigned number of eight bits that is multiplied by another, or negated, is no longer what it was."""
    config: Any = make_workload(name)
    counts = {
        field.name: np.min_scalar_type(value).type(value)
        for field in fields(config)
        if type(value := getattr(config, field.name)) is int
    }
    assert counts
    small, plain = replace(config, **counts).draw(5), config.draw(5)
    assert small.size.tolist() == plain.size.tolist()
    assert small.destination.tolist() == plain.destination.tolist()


def test_a_load_takes_the_place_of_the_burst_rate_and_the_other_way_round() -> None:
    config = make_workload("gather-a1", load=0.5)
    assert isinstance(config, GatherWorkload)
    assert (config.load, config.burst_rate) == (0.5, None)
    config = make_workload("gather-a1-load", burst_rate=12.0, duration=3.0)
    assert isinstance(config, GatherWorkload)
    assert (config.load, config.burst_rate) == (None, 12.0)
    assert (config.num_bursts, config.duration) == (None, 3.0)
    config = make_workload("poisson-exponential", rate=7.0, duration=2.0)
    assert isinstance(config, PoissonWorkload)
    assert (config.load, config.rate, config.num_flows, config.duration) == (None, 7.0, None, 2.0)


def test_the_load_of_each_workload_of_merp_is_that_of_the_busiest_link_of_its_network() -> None:
    for name, topology in (("poisson-pareto", one_link()), ("poisson-tree", tree9()), ("poisson-fat-tree", fat_tree())):
        config = make_workload(name)
        assert isinstance(config, PoissonWorkload)
        bytes_per_second = config.flow_rate * config.size.mean * crossing_shares(topology)
        assert (bytes_per_second / topology.capacity).max() == pytest.approx(config.offered_load, rel=1e-12)


def test_three_cables_between_aggregation_and_core_are_down_from_the_start_and_any_may_be() -> None:
    config, names = make_workload("poisson-fat-tree-failures"), fat_tree(arity=4).link_names
    changes = config.draw(2).link_changes
    assert changes.time.tolist() == [0.0] * 6
    assert not changes.up.any()
    up, down = ([names[link] for link in changes.link[first::2]] for first in (0, 1))
    assert len(set(up)) == 3
    assert down == [name.removesuffix("up") + "down" for name in up]
    inner = {link for link, name in enumerate(names) if name.startswith("aggregation")}
    assert {link for cable in config.failures.cables for link in cable} == inner
    assert all(names[down] == names[up].removesuffix("up") + "down" for up, down in config.failures.cables)


@pytest.mark.parametrize(
    ("overrides", "sizes"),
    [
        ({"shape": 1.05, "maximum": 1.5e9}, Pareto(shape=1.05, mean=1.5e6, maximum=1.5e9)),
        ({"size": {"kind": "pareto", "shape": 1.2, "mean": 1.5e5}}, Pareto(shape=1.2, mean=1.5e5)),
        ({"size": {"kind": "exponential", "mean": 7.0}, "mean": 8.0}, Exponential(mean=8.0)),
    ],
)
def test_the_sizes_change_field_by_field_and_the_load_stays(overrides: dict[str, object], sizes: Distribution) -> None:
    config = make_workload("poisson-tree", load=0.4, num_flows=70, **overrides)
    assert (config.size, config.load) == (sizes, 0.4)
    assert config.offered_load == pytest.approx(0.4)
    assert config.draw(0).num_flows == 70
    assert sizes.mean == config.size.mean


def test_sizes_replace_a_mix_and_a_mix_replaces_sizes() -> None:
    sizes = make_workload("gather-a1", size=2e5, deadline=0.03, flows_per_burst=4)
    assert isinstance(sizes, GatherWorkload)
    assert sizes.mix is None
    assert set(sizes.draw(0).size) == {2e5}
    mix = make_workload("gather-uniform", mix=[[1e5, 0.02, 3], [2e5, math.inf, 1]])
    assert isinstance(mix, GatherWorkload)
    assert mix.mix == Mix(pairs=((1e5, 0.02), (2e5, math.inf)), counts=(3, 1))
    assert (mix.size, mix.deadline, mix.burst_size) == (None, None, 4)


def test_distributions_may_be_plain_values() -> None:
    for plain, distribution in (
        (5, Constant(value=5.0)),
        ("web_search", load_cdf("web_search")),
        ({"kind": "cdf", "name": "w3", "minimum": 100}, load_cdf("w3", minimum=100)),
        (
            {"kind": "discrete", "values": [1, 2], "probabilities": [0.5, 0.5]},
            Discrete(values=(1, 2), probabilities=(0.5, 0.5)),
        ),
        (Exponential(mean=3), Exponential(mean=3)),
    ):
        assert make_workload("poisson-exponential", size=plain).size == distribution


def test_bad_names_and_fields_are_refused_with_what_is_allowed() -> None:
    for workload in ({"base": "gather-a1", "load": 0.5}, "own.yaml", "flows.csv", 3):
        with pytest.raises(ConfigError, match="it must be a name; find_source takes mappings, files and flows"):
            make_workload(workload)  # type: ignore[arg-type]
    for name, overrides, messages in (
        ("gather-a3", {}, ["workload 'gather-a3' does not exist (did you mean 'gather-a", "there are gather-a1, "]),
        ("gather-a1", {"flows": 5}, ["workload 'gather-a1' has no field 'flows'", "it has pattern, mix, size"]),
        ("gather-a1", {"brust_rate": 5}, ["did you mean 'burst_rate'?"]),
        ("poisson-tree", {"shap": 1.2}, ["has no field 'shap' (did you mean 'shape'?)", ", shape, mean, maximum"]),
        ("poisson-tree", {"shape": 0.9}, ["shape is 0.9: without a maximum it must be > 1"]),
        ("poisson-tree", {"failures": 3}, ["failures is 3: it must be RandomFailures or None"]),
        ("gather-a1", {"size": "websearch"}, ["size: size distribution 'websearch' does not exist: there are"]),
        ("gather-a1", {"size": {"kind": "gamma"}}, ["size: kind is 'gamma': it must be one of constant, discrete"]),
        ("gather-a1", {"size": {"kind": "uniform", "low": 1}}, ["size: kind 'uniform' does not take", "high"]),
        ("gather-a1", {"mix": [[1e5, 0.02]]}, ["mix is [[100000.0, 0.02]]: it must be a Mix or a sequence of triples"]),
        ("auto-clusters", {"load": 0.5}, ["workload 'auto-clusters' has no field 'load'", "it has traffic, num_hosts"]),
        ("auto-clusters", {"traffic": [["w9", 0.5]]}, ["traffic: size: size distribution 'w9' does not exist"]),
        ("auto-incast", {"incast": {"senders": 3}}, ["incast: burst_rate is missing in {'senders': 3}: it must have"]),
    ):
        with pytest.raises(ConfigError) as error:
            make_workload(name, **overrides)
        for message in messages:
            assert message in str(error.value)


def test_more_flows_than_there_are_cannot_be_cut_off() -> None:
    workload = make_workload("gather-a1").draw(0)
    assert first_flows(workload, 0).num_flows == 0
    with pytest.raises(WorkloadError, match="1001 flows are wanted of a workload that has 1000"):
        first_flows(workload, 1001)


def test_qclusters_messages_load_one_port_and_its_connections_carry_several() -> None:
    for name, gap in MESSAGE_GAPS.items():
        config = make_workload(name)
        flows = config.draw(1)
        assert config.capacity == 1.25e9
        assert flows.size.sum() / flows.arrival_time[-1] == pytest.approx(0.6 * config.capacity, rel=0.3)
        connections = len({*zip(flows.source.tolist(), flows.destination.tolist(), strict=True)})
        assert 4 * connections < flows.num_flows
        assert gap > 0
    deadlines = make_workload("qcluster-deadlines").draw(1)
    assert ((deadlines.size < 1e5) == (deadlines.deadline_span < math.inf)).all()


FOLDER = ROOT / "configs" / "workload"
ARGUMENTS = [
    set(load_target(environment.config).__dataclass_fields__)
    for system in SYSTEMS
    for environment in system.environments
]


def test_every_named_workload_has_its_yaml_and_no_other_exists() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(WORKLOADS)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_workloads_yaml_has_its_name_and_arguments_of_an_environment_that_are_not_set(path: Path) -> None:
    content = pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))
    assert content.pop("name") == path.stem
    assert any(set(content) <= arguments for arguments in ARGUMENTS)
    assert all(value is None for value in content.values())
