"""Writes workloads, and choices of one of several, as mappings: each is drawn, written down, read again, or refused."""

import json
import math
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.cli.app import main
from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import (
    ARTEMIS_A1,
    WORKLOADS,
    ClusterWorkload,
    Constant,
    Exponential,
    FixedWorkload,
    GatherWorkload,
    Incast,
    Mix,
    OneOf,
    Pareto,
    PoissonWorkload,
    RandomFailures,
    Traffic,
    find_source,
    load_cdf,
    make_workload,
    read_flows,
    read_workload,
)
from flowsched_gym.workload.named import KINDS
from tests.envs.episodes import SHORT, each_environment, play
from tests.workload.test_poisson import CABLES

A1 = [{"size_kb": 350, "deadline_ms": 40, "count": 5}, {"size_kb": 250, "deadline_ms": 50, "count": 5}]
GATHER = {"kind": "gather", "mix": [[1e5, 0.02, 3]], "load": 0.5, "bursts": 3}
W3 = Traffic(size=load_cdf("w3"), load=0.5)
MIX = Mix(pairs=((1e5, 0.02),), counts=(3,))
WEIGHTED = [{"size": 1e5, "weight": 0.25}, {"size_mb": 1, "deadline": 0.5, "weight": 0.75}]

EXAMPLES: list[tuple[dict[str, Any], Any]] = [
    (
        {"kind": "gather", "mix": A1, "burst_rate": 30.0, "bursts": 100},
        GatherWorkload(mix=ARTEMIS_A1, burst_rate=30.0, num_bursts=100),
    ),
    (
        {"kind": "scatter", "mix": [[1e5, 0.02, 3]], "load": 0.5, "seconds": 2, "destinations": 3, "senders": 7},
        GatherWorkload(pattern="scatter", mix=MIX, load=0.5, duration=2, num_destinations=3, num_senders=7),
    ),
    (
        {"kind": "gather", "mix": WEIGHTED, "flows_per_burst": 1, "load": 0.5, "bursts": 9},
        GatherWorkload(
            mix=Mix(pairs=((1e5, math.inf), (1e6, 0.5)), weights=(0.25, 0.75)),
            flows_per_burst=1,
            load=0.5,
            num_bursts=9,
        ),
    ),
    (
        {"kind": "poisson", "pattern": "all-to-all", "hosts": 16, "load": 0.6, "capacity_gbps": 2, "flows": 1000}
        | {"size": {"kind": "pareto", "shape": 1.5, "mean": 1.5e6}, "deadline_ms": 40}
        | {"failures": {"count": 3, "at": 0.5, "repair_after_ms": 250}},
        PoissonWorkload(
            size=Pareto(shape=1.5, mean=1.5e6),
            deadline=Constant(value=0.04),
            pattern="all-to-all",
            num_hosts=16,
            load=0.6,
            capacity=2.5e8,
            num_flows=1000,
            failures=RandomFailures(cables=CABLES, count=3, at=0.5, repair_after=0.25),
        ),
    ),
    (
        {"kind": "clusters", "hosts": 8, "clusters": 2, "change_every_ms": 500, "flows": 50}
        | {"traffic": [["w3", 0.5], {"size_kb": {"kind": "exponential", "mean": 100}, "load": 0.25}]}
        | {"incast": {"burst_rate": 9.0, "senders": 4, "size_kb": 10}},
        ClusterWorkload(
            num_hosts=8,
            num_clusters=2,
            traffic=(W3, Traffic(size=Exponential(mean=1e5), load=0.25)),
            change_every=0.5,
            incast=Incast(burst_rate=9.0, senders=4, size=Constant(value=1e4)),
            num_flows=50,
        ),
    ),
    ({"base": "auto-incast", "traffic": (W3,)}, make_workload("auto-incast", traffic=[["w3", 0.5]])),
    ({"base": "gather-heavy", "load": 0.5}, make_workload("gather-heavy", load=0.5)),
    ({"name": "gather-heavy", "mix": [[1e5, 0.02, 3]]}, make_workload("gather-heavy", mix=[[1e5, 0.02, 3]])),
    ({"name": "mine", "base": "poisson-tree", "shape": 1.2}, make_workload("poisson-tree", shape=1.2)),
]


@pytest.mark.parametrize(("mapping", "config"), EXAMPLES)
def test_a_mapping_is_the_workload_that_its_class_makes_and_is_read_again(mapping, config) -> None:
    plain = read_workload(mapping).plain()
    assert find_source(mapping) == config
    assert find_source(json.loads(json.dumps(plain, allow_nan=False))) == config
    assert read_workload(plain).plain() == plain
    assert read_workload(plain).label == read_workload(mapping).label


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_of_the_package_is_itself_and_none_takes_a_field_away_or_is_refused_by_its_name(name: str) -> None:
    assert find_source({"name": name}) == find_source({"base": name}) == make_workload(name)
    for field in fields(WORKLOADS[name].config):
        variant = {"base": name, field.name: None}
        try:
            config = find_source(variant)
        except ConfigError as error:
            assert re.search(rf"\b{field.name}\b", str(error).partition("': ")[2])  # noqa: PT017 - some are allowed
            continue
        assert getattr(config, field.name) is None
        assert find_source(json.loads(json.dumps(read_workload(variant).plain()))) == config


@pytest.mark.parametrize("size", ["mine.csv", {"kind": "cdf-file", "path": "mine.csv"}])
def test_a_cdf_file_lies_beside_the_mapping_and_is_written_down_as_points(size: object, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    mapping = {"kind": "poisson", "size": size, "load": 0.5, "flows": 20}
    plain = read_workload(mapping, tmp_path).plain()
    assert read_workload(mapping, tmp_path).source.size.mean == 2000.0  # type: ignore[attr-defined]
    assert plain["size"] == {"kind": "empirical", "points": [[1000.0, 0.0], [3000.0, 1.0]], "minimum": 0.0}
    assert find_source(plain) == read_workload(mapping, tmp_path).source


def test_a_variant_shows_its_name_or_what_it_changes() -> None:
    changed = {"name": "gather-heavy", "load": 0.5, "bursts": 3}
    assert read_workload({"name": "mine", "base": "gather-heavy", "load": 0.5}).label == "mine"
    assert read_workload({"base": "gather-heavy"}).label == "gather-heavy"
    assert read_workload(changed).label == "gather-heavy with load, num_bursts"
    assert read_workload({"kind": "poisson", "size": 3, "load": 0.5, "flows": 3}).label == "unnamed poisson"


def test_every_key_is_honoured_or_refused() -> None:
    for mapping, message in (
        ({}, f"it must have a kind ({', '.join(KINDS)}), or as its base or name a workload"),
        ({"name": "gather-hevy"}, "workload 'gather-hevy' does not exist (did you mean 'gather-heavy'?)"),
        ({"kind": "gathr"}, "kind of the workload is 'gathr': it must be one of gather"),
        ({"kind": "poisson", "base": "gather-a1"}, "base 'gather-a1' and kind 'poisson': give one of them"),
        ({"name": "gather-a1", "base": "gather-a2"}, "a workload of the package has it, choose another"),
        ({"name": "<b>", **GATHER}, "name of the workload is '<b>': it must be a text of at most 80 letters"),
        ({"name": "mine", **GATHER, "burstss": 3}, "workload 'mine' has no field 'burstss'"),
        ({**GATHER, "num_bursts": 3}, "gives bursts and num_bursts: they mean the same"),
        ({**GATHER, "deadline_kb": 3}, "has no field 'deadline_kb'"),
        ({**GATHER, "pattern": "scatter"}, "pattern is 'scatter': kind gather makes it gather"),
        ({**GATHER, "mix": [{"size": 3}]}, "mix: an entry is {'size': 3}: it must have a size, and either a count"),
        ({**GATHER, "mix": [{"size": 3, "countt": 3}]}, "mix has no field 'countt' (did you mean 'count'"),
        ({**GATHER, "mix": [[3, 3, 3], {"size": 3, "weight": 3}]}, "mix: some entries have count and some weight"),
        ({"kind": "poisson", "load": 0.5, "flows": 3}, "size is missing: kind poisson needs it"),
        ({"base": "poisson-tree", "size_kb": "w3"}, "size_kb is 'w3': with a unit it must be a number"),
        ({"base": "poisson-tree", "size_kb": {"kind": "cdf", "name": "w3"}}, "kind 'cdf' has sizes in B"),
        ({"base": "auto-clusters", "traffic": [{"size": 3}]}, "traffic: load is missing in {'size': 3}"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            find_source(mapping)
    for size in (10**400, {"kind": "discrete", "values": [[[[1.0]]]], "probabilities": [1.0]}):
        for key in ("size", "size_kb"):
            with pytest.raises(ConfigError):
                find_source({"kind": "poisson", "load": 0.5, "flows": 3, key: size})


@each_environment
def test_every_environment_plays_a_variant_as_it_plays_the_workload_that_it_names(spec: EnvironmentSpec) -> None:
    arguments = {**SHORT[spec.id], "max_decisions": 12}
    name = arguments.pop("workload", None) or gym.make(spec.id).unwrapped.config.workload or "poisson-pareto"  # type: ignore[attr-defined]
    own = {key: arguments.pop(key) for key in ("bursts", "flows") if key in arguments}
    by_name = play(gym.make(spec.id, workload=name, **own, **arguments), seed=3)
    by_mapping = play(gym.make(spec.id, workload={"name": "mine", "base": name, **own}, **arguments), seed=3)
    assert len(by_name) == len(by_mapping)
    for one, other in zip(by_name, by_mapping, strict=True):
        np.testing.assert_equal(one.observation, other.observation)
        assert one.reward == other.reward
    assert gym.make(spec.id, workload={"name": "mine", "base": name}, **arguments).unwrapped.config.workload == "mine"  # type: ignore[attr-defined]


def test_a_variant_takes_hosts_and_capacity_of_the_network_where_it_gives_none() -> None:
    flows = {"size": 1e4, "load": 0.5, "flows": 30, "pattern": "all-to-all"}
    arguments = {"hosts": 8, "link_gbps": 2.0}
    taken = gym.make("flowsched/AuTOThresholds-v0", workload={"kind": "poisson", **flows}, **arguments).unwrapped
    own = {"kind": "poisson", **flows, "hosts": 4, "capacity_gbps": 1}
    given = gym.make("flowsched/AuTOThresholds-v0", workload=own, **arguments).unwrapped
    assert (taken._source.num_hosts, taken._source.capacity) == (8, 2.5e8)  # type: ignore[attr-defined]
    assert (given._source.num_hosts, given._source.capacity) == (4, 1.25e8)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="workload 'unnamed poisson' has 9 hosts: the network has 8"):
        gym.make("flowsched/AuTOThresholds-v0", workload={**own, "hosts": 9}, **arguments)


def test_failures_without_cables_are_those_between_aggregation_and_core_whatever_the_arity() -> None:
    workload = {"base": "poisson-fat-tree", "failures": {"count": 2}, "flows": 20}
    env = gym.make("flowsched/MERPRoute-v0", workload=read_workload(workload).plain(), arity=6).unwrapped
    assert env._source.num_hosts == 54  # type: ignore[attr-defined]
    assert env._source.failures.cables[0] == (4 * 54, 5 * 54)  # type: ignore[attr-defined]
    assert read_workload(workload).leaves_open("failures")
    assert not read_workload({**workload, "failures": {"count": 1, "cables": [[64, 80]]}}).leaves_open("failures")


SMALL = {"base": "gather-heavy", "bursts": 3}
YAML = """
one_of:
  - gather-a1
  - {base: gather-heavy, bursts: 3}
  - {kind: poisson, size: sizes.csv, load: 0.5, flows: 7}
  - flows.csv
  - other.yaml
weights: [0, 1, 1, 1, 1]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mixed.yaml").write_text(YAML)
    (tmp_path / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    (tmp_path / "flows.csv").write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,1e5,0.1\n")
    (tmp_path / "other.yaml").write_text("name: other\none_of: [{base: gather-a2, bursts: 1}]\n")
    return tmp_path


def test_an_episode_is_one_of_the_source_that_its_seed_chooses_by_weight() -> None:
    sources = tuple(WORKLOADS[name].config.with_num_flows(10) for name in ("gather-a1", "gather-a2", "poisson-tree"))
    source = OneOf(sources=sources, weights=(1, 3, 0))
    chosen = Counter(sources.index(source.chosen(seed)) for seed in range(400))
    assert chosen[2] == 0
    assert chosen[1] / 400 == pytest.approx(0.75, abs=0.07)  # three standard deviations
    even = Counter(sources.index(OneOf(sources=sources).chosen(seed)) for seed in range(400))
    assert min(even.values()) > 100
    for seed in range(5):
        assert (source.draw(seed).size == source.chosen(seed).draw(seed).size).all()
    assert source.num_hosts == 11
    assert source.with_num_flows(20).draw(1).num_flows == 20


def test_members_may_be_names_mappings_files_flows_and_sources(folder: Path) -> None:
    flows = read_flows(folder / "flows.csv")
    given = ["gather-a1", SMALL, folder / "flows.csv", folder / "other.yaml", flows, WORKLOADS["gather-a2"].config]
    source = find_source({"one_of": given})
    assert isinstance(source, OneOf)
    a1, small, fixed, other, same, a2 = source.sources
    assert (a1, small, a2) == (WORKLOADS["gather-a1"].config, find_source(SMALL), WORKLOADS["gather-a2"].config)
    assert isinstance(fixed, FixedWorkload)
    assert isinstance(same, FixedWorkload)
    assert isinstance(other, OneOf)
    assert read_workload({"one_of": given[:2]}).label == "one of gather-a1, gather-heavy with num_bursts"
    assert read_workload({"one_of": given, "name": "mixed"}).label == "mixed"


def test_a_file_is_written_down_with_all_that_its_members_need(folder: Path) -> None:
    plain = read_workload(folder / "mixed.yaml").plain()
    again = json.loads(json.dumps(plain))
    assert read_workload(again).plain() == plain
    assert plain["name"] == "mixed"
    found, expected = (find_source(given).sources for given in (again, plain))  # type: ignore[attr-defined]
    assert (found[:3], found[4]) == (expected[:3], expected[4])
    members: Any = plain["one_of"]
    assert members[0] == "gather-a1"
    assert members[2]["size"]["points"] == [[1000.0, 0.0], [3000.0, 1.0]]
    assert members[3] == str(folder / "flows.csv")
    assert members[4]["one_of"] == [{"base": "gather-a2", "num_bursts": 1}]
    assert plain["weights"] == [0, 1, 1, 1, 1]


def test_it_is_evaluated_replayed_and_drawn_from_the_command_line(folder: Path, capsys) -> None:
    path = str(folder / "mixed.yaml")
    (folder / "drawn.yaml").write_text("one_of: [gather-a1, gather-heavy]\n")
    result = evaluate("flowsched/Artemis-v0", "edf", episodes=10, seed=3, kwargs={"workload": path})
    assert set(result.values("num_flows").tolist()) == {30.0, 7.0, 1.0, 10.0}
    source = find_source(path)
    for seed in range(3):
        records = flowsched_gym.replay(path, discipline="srpt", topology="big-switch", num_hosts=11, seed=seed)
        assert len(records.fct) == source.draw(seed).num_flows
    out = folder / "out.csv"
    assert main(["workload", str(folder / "drawn.yaml"), "--flows", "25", "--out", str(out)]) == 0
    assert read_flows(out).num_flows == 25
    assert main(["workload", path, "--flows", "25", "--out", str(out)]) == 2
    assert "FixedWorkload cannot draw so many" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"one_of": []}, r"one_of is \[\]: it must be a list of workloads, at least one"),
        ({"one_of": "gather-a1"}, "one_of is 'gather-a1': it must be a list of workloads"),
        ({"one_of": None}, "one_of is None: it must be a list of workloads"),
        ({"one_of": ["gather-a1", 3]}, r"one_of\[1\]: workload is 3: it must be a name"),
        ({"one_of": ["gather-a1", "gather-a3"]}, r"one_of\[1\]: workload 'gather-a3' does not exist"),
        ({"one_of": [SMALL, {**SMALL, "burts": 3}]}, r"one_of\[1\]: workload 'gather-heavy' has no field 'burts'"),
        ({"one_of": [{"one_of": ["gather-a1", "x"]}]}, r"one_of\[0\]: one_of\[1\]: workload 'x' does not exist"),
        ({"one_of": ["gather-a1"], "weights": [1, 2]}, "weights has 2 numbers: it must have 1"),
        ({"one_of": ["gather-a1"], "weights": [0]}, r"weights is \[0\]: one of them must be > 0"),
        ({"one_of": ["gather-a1"], "weights": [-1]}, "each must be finite and >= 0"),
        ({"one_of": ["gather-a1"], "weights": "even"}, "weights is 'even': it must be a list of numbers"),
        ({"one_of": ["gather-a1"], "weight": [1]}, "no field 'weight' .*did you mean 'weights'"),
        ({"one_of": ["gather-a1"], "kind": "gather"}, "no field 'kind'"),
        ({"one_of": ["gather-a1"], "name": "gather-a2"}, "a workload of the package has it"),
    ],
    ids=str,
)
def test_a_mistake_is_refused_with_its_place(mapping: dict[str, Any], message: str) -> None:
    for read in (find_source, lambda given: read_workload(given).plain()):
        with pytest.raises(ConfigError, match=message):
            read(mapping)


def test_what_is_no_text_cannot_be_written_down_and_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="cannot be written down: it must be a name, a mapping or a file"):
        read_workload({"one_of": [WORKLOADS["gather-a1"].config]}).plain()
    with pytest.raises(FlowFileError, match=r"nowhere\.csv does not exist"):
        find_source({"one_of": ["nowhere.csv"]})
    with pytest.raises(ConfigError, match="sources has the entry 'gather-a1'"):
        OneOf(sources=("gather-a1",))
    with pytest.raises(ConfigError, match="sources is"):
        OneOf(sources=())
