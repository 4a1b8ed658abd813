"""Finds workloads in every form in which they may be given; goes through the named ones and what may be overridden."""

import math
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, FlowFileError, MissingDependencyError, WorkloadError
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import evaluate
from flowsched_gym.topology import crossing_shares, fat_tree, one_link, tree9
from flowsched_gym.workload import (
    MESSAGE_GAPS,
    WORKLOADS,
    Constant,
    Discrete,
    Exponential,
    JobWorkload,
    LogUniform,
    Mix,
    Overlay,
    Pareto,
    TaskWorkload,
    WorkloadSource,
    draw_flows,
    find_source,
    finding,
    first_flows,
    load_cdf,
    make_workload,
)
from tests.simulate import make_flows

FLOWS = make_flows([0.0, 1.0], [3.0, 4.0])
each_name = pytest.mark.parametrize("name", list(WORKLOADS))


def test_a_name_a_source_and_flows_are_found() -> None:
    source = make_workload("poisson-tree")
    assert find_source("poisson-tree") == source
    assert find_source(source) is source
    assert find_source(FLOWS).draw(3) is FLOWS


@pytest.mark.parametrize("name", ["own.yaml", "own.YML", "own.json"])
def test_a_workload_file_serves_wherever_a_workload_is_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / name
    # JSON is YAML too. The CDF file lies beside the file, not where the process is.
    path.write_text('{"kind": "poisson", "size": "sizes.csv", "load": 0.5, "flows": 4}')
    (path.parent / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    flows = find_source(path).draw(3)

    env: Any = gymnasium.make("flowsched/MERPOrder-v0", workload=str(path), link_gbps=10.0).unwrapped
    vector: Any = gymnasium.make_vec("flowsched/MERPOrder-v0", num_envs=1, workload=path)
    result = evaluate("flowsched/MERPOrder-v0", "srpt", episodes=1, seed=0, kwargs={"workload": path})

    assert flows.num_flows == 4
    assert env.config.workload == "own"
    assert env.source.capacity == 1.25e9, "the network's, as the file gives none"
    assert vector._sources[0].draw(0).num_flows == 4
    assert result.kwargs["workload"]["size"]["points"] == [[1000.0, 0.0], [3000.0, 1.0]]
    assert flowsched_gym.replay(path, discipline="srpt", seed=3).size.tolist() == flows.size.tolist()


def test_a_workload_file_is_read_once_for_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    path = tmp_path / "own.json"
    path.write_text('{"one_of": ["gather-a1", {"base": "gather-a2", "load": 0.5}]}')

    def reading(file: Path) -> Any:
        read.append(file)
        return read_json(file)

    monkeypatch.setattr(finding, "read_json", reading)
    env: Any = gymnasium.make("flowsched/Artemis-v0", workload=path, bursts=2).unwrapped
    assert read == [path]
    assert [each.num_bursts for each in env.source.sources] == [2, 2]


def test_a_replay_takes_the_name_of_a_workload_and_suggests_one() -> None:
    records = flowsched_gym.replay("gather-heavy", discipline="edf", topology="big-switch", seed=2)
    assert records.size.tolist() == make_workload("gather-heavy").draw(2).size.tolist()
    for take in (find_source, lambda name: flowsched_gym.replay(name, discipline="edf")):
        with pytest.raises(ConfigError, match=r"'gather-heavi' does not exist \(did you mean 'gather-heavy'"):
            take("gather-heavi")


def test_what_is_no_workload_and_a_file_that_is_not_there_or_describes_nothing_are_told_apart(tmp_path: Path) -> None:
    for workload in (7, None, 2.5, ["gather-a1"]):
        with pytest.raises(ConfigError, match=r"workload is .*: it must be a name, a file, a mapping, a Workload or"):
            find_source(workload)
    (tmp_path / "flow.txt").write_text("1\n")
    with pytest.raises(ConfigError, match=r"flow\.txt': the name of a file must end in \.csv.*flowsched import-flows"):
        find_source(str(tmp_path / "flow.txt"))
    with pytest.raises(FlowFileError, match=r"none\.parquet"):
        find_source("none.parquet")
    with pytest.raises(ConfigError, match=r"none\.yaml does not exist: a workload file is needed"):
        find_source("none.yaml")
    for content, message in (("- 1", "it must be a mapping"), ("base: [", "this is not YAML"), ("base: x", "'x' does")):
        (tmp_path / "own.yaml").write_text(content)
        with pytest.raises(ConfigError, match=rf"own\.yaml: .*{message}"):
            find_source(tmp_path / "own.yaml")
    for content in ("1", "true", "a: !!int x", "a: !!bool x", "a: !!int ''", r'a: "\Uffffffff"', f"a: {'1' * 5_000}"):
        (tmp_path / "own.yaml").write_text(content)
        with pytest.raises(ConfigError, match=r"own\.yaml: this is not YAML: "):
            find_source(tmp_path / "own.yaml")


@each_name
def test_every_named_workload_is_described_and_draws_no_unstable_load(name: str) -> None:
    config, described = make_workload(name), WORKLOADS[name]
    workload, first = config.draw(3), draw_flows(config, num_flows=37, seed=3)
    assert isinstance(config, WorkloadSource)
    assert workload.num_flows >= (400 if name.startswith("tafe") else 900)
    assert workload.num_hosts <= config.num_hosts
    load = config.offered_load
    assert 0.2 <= load < 1 if load is not None else hasattr(config, "sources") or config.arrivals == "closed"
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
    assert counts or isinstance(config, Overlay)
    small, plain = replace(config, **counts).draw(5), config.draw(5)
    assert small.size.tolist() == plain.size.tolist()
    assert small.destination.tolist() == plain.destination.tolist()


def test_the_load_of_each_workload_of_merp_is_that_of_the_busiest_link_of_its_network() -> None:
    for name, topology in (("poisson-pareto", one_link()), ("poisson-tree", tree9()), ("poisson-fat-tree", fat_tree())):
        config = make_workload(name)
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


def test_a_field_changes_alone_or_takes_the_place_of_those_that_it_excludes() -> None:
    pareto = {"kind": "pareto", "shape": 1.2, "mean": 1.5e5}
    discrete = {"kind": "discrete", "values": [1, 2], "probabilities": [0.5, 0.5]}
    pairs, mix = [[1e5, 0.02, 3], [2e5, math.inf, 1]], Mix(pairs=((1e5, 0.02), (2e5, math.inf)), counts=(3, 1))
    for name, overrides, expected in (
        ("gather-a1", {"load": 0.5}, {"load": 0.5, "burst_rate": None}),
        ("gather-a1-load", {"burst_rate": 12.0}, {"load": None, "burst_rate": 12.0, "duration": None}),
        ("gather-a1-load", {"duration": 3.0}, {"num_bursts": None, "duration": 3.0}),
        ("gather-a1", {"size": 2e5, "deadline": 1, "flows_per_burst": 4}, {"mix": None, "size": Constant(value=2e5)}),
        ("gather-uniform", {"mix": pairs}, {"mix": mix, "size": None, "deadline": None, "burst_size": 4}),
        ("poisson-exponential", {"rate": 7.0}, {"load": None, "rate": 7.0, "duration": None}),
        ("poisson-exponential", {"duration": 2.0}, {"num_flows": None, "duration": 2.0}),
        ("poisson-tree", {"shape": 1.05, "maximum": 1.5e9}, {"size": Pareto(shape=1.05, mean=1.5e6, maximum=1.5e9)}),
        ("poisson-tree", {"size": pareto, "load": 0.4}, {"size": Pareto(shape=1.2, mean=1.5e5), "offered_load": 0.4}),
        ("poisson-tree", {"size": {"kind": "exponential", "mean": 7.0}, "mean": 8.0}, {"size": Exponential(mean=8.0)}),
        ("poisson-tree", {"size": 5}, {"size": Constant(value=5.0)}),
        ("poisson-tree", {"size": "web_search"}, {"size": load_cdf("web_search")}),
        ("poisson-tree", {"size": {"kind": "cdf", "name": "w3", "minimum": 9}}, {"size": load_cdf("w3", minimum=9)}),
        ("poisson-tree", {"size": discrete}, {"size": Discrete(values=(1, 2), probabilities=(0.5, 0.5))}),
        ("poisson-tree", {"size": Exponential(mean=3)}, {"size": Exponential(mean=3)}),
        ("tafe-short", {}, {"num_tasks": 100, "num_clients": 3, "arrivals": "closed", "offered_load": None}),
        ("tafe-short", {"load": 0.9}, {"arrivals": None}),
        ("tafe-log", {"arrivals": "at-once"}, {"load": None}),
        ("tafe-log", {"arrivals": "closed", "servers": 2}, {"load": None, "deadline_factor": None, "num_hosts": 5}),
        ("tafe-log", {"size": "web_search"}, {"total": None}),
        ({"base": "gather-a1", "load": 0.5, "bursts": 7}, {"burst_rate": 9.0}, {"load": None, "num_bursts": 7}),
    ):
        config = make_workload(name, **overrides)
        assert {field: getattr(config, field) for field in expected} == expected, (name, overrides)
    tasks = {"kind": "tasks", "total_kb": {"kind": "loguniform", "low": 10, "high": 50}, "load": 0.5, "tasks": 20}
    assert find_source(tasks) == TaskWorkload(total=LogUniform(low=1e4, high=5e4), load=0.5, num_tasks=20)
    assert find_source({"base": "tafe-alibaba", "mean_size_kb": 30}) == JobWorkload(mean_size=3e4)


def test_bad_names_and_fields_are_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match="it must be a name, a mapping or a workload file"):
        make_workload(FLOWS, load=0.5)
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


COLUMNS = {
    "flow_id": [0, 1, 2],
    "task_id": [7, None, 2**60 + 1],
    "source": [1, 2, 3],
    "destination": [0, 0, 0],
    "size_bytes": [3e6, 1e6, 1e5],
    "arrival_s": [0.0, 0.001, 0.002],
    "deadline_s": [None, 0.5, None],
}


class FrameOfPolars:
    """What is used of a frame of Polars, which the tests do not install."""

    class Column:
        def __init__(self, entries: list) -> None:
            self.to_list = lambda: entries
            self.is_null = lambda: [each is None for each in entries]

        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return np.array(self.to_list())

    columns = tuple(COLUMNS)
    shape = (3, len(COLUMNS))

    def __getitem__(self, name: str) -> Column:
        return self.Column(COLUMNS[name])


@pytest.mark.parametrize(
    "given",
    [
        COLUMNS,
        pd.DataFrame(COLUMNS | {"task_id": pd.array(COLUMNS["task_id"], dtype="Int64")}),
        pd.DataFrame(COLUMNS | {"task_id": pd.array(COLUMNS["task_id"], dtype="Int64")}, index=[5, 3, 9]),
        FrameOfPolars(),
    ],
)
def test_flows_may_be_columns_of_a_mapping_or_frame_wherever_a_workload_is_taken(given: Any) -> None:
    flows = find_source(given).draw(0)
    assert flows.task_id.tolist() == [7, -1, 2**60 + 1]
    assert flows.deadline_span.tolist() == [math.inf, 0.5, math.inf]
    records = flowsched_gym.replay(given, discipline="srpt", topology="big-switch")
    assert records.size.tolist() == COLUMNS["size_bytes"]
    env = gymnasium.make("flowsched/MERPOrder-v0", workload={"one_of": [given]}, topology="tree9")
    env.reset(seed=0)
    unwrapped: Any = env.unwrapped
    assert unwrapped.workload.num_flows == 3


def test_a_faulty_frame_is_refused_by_row_column_and_value() -> None:
    frame = pd.DataFrame(COLUMNS).assign(task_id=1, after=[None, "0", math.nan])
    assert find_source(frame).draw(0).after.earlier.tolist() == [0]
    for wrong, message in (
        (frame.drop(columns="source"), "frame: missing column source"),
        (frame.assign(host=1), "frame: unknown column 'host'"),
        (pd.concat([frame, frame[["source"]]], axis=1), "frame: column source appears more than once"),
        (frame.assign(source=[1, None, 3]), "frame, row 1, column source: (None|nan): it must be a host number"),
        (frame.assign(size_bytes=["1", "2", "3"]), "frame, row 0, column size_bytes: '1'"),
    ):
        with pytest.raises(WorkloadError, match=message):
            find_source(wrong)


def test_records_become_a_frame_that_is_taken_as_flows_again(monkeypatch: pytest.MonkeyPatch) -> None:
    records = flowsched_gym.replay(COLUMNS, discipline="srpt", topology="big-switch")
    frame = records.to_frame()
    assert frame["task_id"].tolist() == [7, pd.NA, 2**60 + 1]
    assert frame["deadline_met"].tolist() == [pd.NA, True, pd.NA]
    np.testing.assert_array_equal(frame["completion_s"], records.completion_time)
    again = flowsched_gym.replay(frame[list(COLUMNS)], discipline="srpt", topology="big-switch")
    np.testing.assert_array_equal(again.fct, records.fct)
    with pytest.raises(ConfigError, match="library is 'arrow': it must be one of pandas, polars"):
        records.to_frame("arrow")
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(MissingDependencyError, match=f"{library} is needed to .*: pip install {library}"):
            records.to_frame(library)
