"""Draws from one of several workloads: which one, how they are given, written down and refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flowsched_gym
from flowsched_gym.cli.app import main
from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.evaluation import evaluate, read_result, write_result
from flowsched_gym.workload import (
    WORKLOADS,
    FixedWorkload,
    OneOf,
    find_source,
    parse_variant,
    plain_variant,
    read_flows,
    read_workload_file,
    workload_label,
)

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
    assert (a1, small, a2) == (WORKLOADS["gather-a1"].config, parse_variant(SMALL), WORKLOADS["gather-a2"].config)
    assert isinstance(fixed, FixedWorkload)
    assert isinstance(same, FixedWorkload)
    assert isinstance(other, OneOf)
    assert workload_label({"one_of": given[:2]}) == "one of gather-a1, gather-heavy with num_bursts"
    assert workload_label({"one_of": given, "name": "mixed"}) == "mixed"


def test_a_file_is_written_down_with_all_that_its_members_need(folder: Path) -> None:
    plain = read_workload_file(folder / "mixed.yaml")
    again = json.loads(json.dumps(plain))
    assert plain_variant(again) == plain
    assert plain["name"] == "mixed"
    found, expected = (find_source(each) for each in (again, plain))
    assert isinstance(found, OneOf)
    assert isinstance(expected, OneOf)
    for index in (0, 1, 2, 4):
        assert found.sources[index] == expected.sources[index]
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
    write_result(result, folder / "result.json")
    kept = read_result(folder / "result.json")
    again = evaluate("flowsched/Artemis-v0", "edf", episodes=10, seed=3, kwargs=kept.kwargs)
    assert repr(again.episodes) == repr(result.episodes)
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
        ({"one_of": ["gather-a1"], "weight": [1]}, "no field 'weight': .*did you mean 'weights'"),
        ({"one_of": ["gather-a1"], "kind": "gather"}, "no field 'kind'"),
        ({"one_of": ["gather-a1"], "name": "gather-a2"}, "a workload of the package has it"),
    ],
    ids=str,
)
def test_a_mistake_is_refused_with_its_place(mapping: dict[str, Any], message: str) -> None:
    for read in (find_source, parse_variant, plain_variant):
        with pytest.raises(ConfigError, match=message):
            read(mapping)


def test_what_is_no_text_cannot_be_written_down_and_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="cannot be written down: it must be a name, a mapping or a file"):
        plain_variant({"one_of": [WORKLOADS["gather-a1"].config]})
    with pytest.raises(FlowFileError, match=r"nowhere\.csv does not exist"):
        find_source({"one_of": ["nowhere.csv"]})
    with pytest.raises(ConfigError, match="sources has the entry 'gather-a1'"):
        OneOf(sources=("gather-a1",))
    with pytest.raises(ConfigError, match="sources is"):
        OneOf(sources=())
