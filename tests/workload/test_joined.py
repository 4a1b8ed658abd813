"""Workloads that lie one over the other, or follow one another in time: drawn, written down, played, or refused."""

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.cli.app import main
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.evaluation.result_files import _names_a_file
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import (
    NO_TASK,
    WORKLOADS,
    FixedWorkload,
    InTurn,
    Overlay,
    draw_flows,
    find_source,
    make_workload,
    read_flows,
    read_workload,
    with_future,
)
from tests.envs.episodes import SHORT, each_environment, play

BURSTS = {"base": "gather-heavy", "bursts": 4}
SINGLE = {"kind": "poisson", "size_kb": 100, "load": 0.2, "seconds": 0.1}
TASKS = {"base": "tafe-log", "tasks": 3, "pattern": "sequential"}
OVERLAY: dict[str, Any] = {"overlay": [BURSTS, SINGLE, TASKS]}
IN_TURN: dict[str, Any] = {"in_turn": ["gather-a1", "gather-heavy"], "each_for_ms": 200, "phases": 3}


def test_an_overlay_has_the_flows_of_each_source_in_the_order_of_arrival() -> None:
    flows = find_source({"overlay": [BURSTS, SINGLE]}).draw(1)
    assert flows.flow_id.tolist() == list(range(flows.num_flows))
    assert (np.diff(flows.arrival_time) >= 0).all()
    of_bursts = flows.task_id != NO_TASK
    assert np.count_nonzero(of_bursts) == 40
    assert set(flows.size[of_bursts]) == {350e3, 250e3}
    assert set(flows.size[~of_bursts]) == {1e5}
    assert np.isinf(flows.deadline_span[~of_bursts]).all()
    assert find_source({"overlay": [BURSTS, SINGLE]}).num_hosts == 11


def test_equal_sources_have_flows_of_their_own_and_tasks_of_their_own() -> None:
    flows = find_source({"overlay": [TASKS, TASKS]}).draw(4)
    assert np.unique(flows.task_id).tolist() == list(range(6))
    assert len(np.unique(flows.size)) == flows.num_flows
    earlier, later = flows.after.rows(flows.flow_id)
    assert (flows.task_id[earlier] == flows.task_id[later]).all()
    assert len(later) == flows.num_flows - 6  # a sequence of n flows has n - 1 that wait


def test_failures_of_an_overlay_are_those_of_its_sources() -> None:
    failing = {"base": "poisson-fat-tree-failures", "flows": 5}
    flows = find_source({"overlay": [{"base": "poisson-fat-tree", "flows": 5}, failing]}).draw(2)
    assert flows.link_changes.num_changes == 6
    with pytest.raises(ConfigError, match="links of workloads in turn stay up"):
        find_source({"in_turn": [failing], "each_for": 1, "phases": 1}).draw(0)


def test_a_phase_has_the_flows_that_its_source_draws_before_the_next_one() -> None:
    source = find_source(
        {
            "in_turn": [
                {"kind": "poisson", "size": size, "rate": rate, "flows": 400, "pattern": "all-to-all", "hosts": 3}
                for size, rate in ((1e3, 1000.0), (1e5, 200.0))
            ],
            "each_for": 0.25,
            "phases": 4,
        }
    )
    flows = source.draw(3)
    phase = (flows.arrival_time / 0.25).astype(int)
    assert (flows.size == np.where(phase % 2, 1e5, 1e3)).all()
    counts = np.bincount(phase)
    assert len(counts) == 4
    assert counts[0] != counts[2]  # drawn anew
    assert counts.tolist() == pytest.approx([250, 50, 250, 50], abs=60)  # four standard deviations
    assert (np.diff(flows.arrival_time) >= 0).all()


def test_a_source_that_ends_leaves_the_rest_of_its_phase_empty_and_tasks_keep_their_order() -> None:
    flows = find_source({"in_turn": [{**TASKS, "arrivals": "at-once"}], "each_for": 5.0, "phases": 2}).draw(0)
    assert set(flows.arrival_time) == {0.0, 5.0}
    assert np.unique(flows.task_id).tolist() == list(range(6))
    assert len(flows.after.rows(flows.flow_id)[0]) == flows.num_flows - 6


@pytest.mark.parametrize("mapping", [{"overlay": [BURSTS, SINGLE]}, IN_TURN], ids=["overlay", "in_turn"])
def test_more_flows_begin_with_the_same_ones(mapping: dict[str, Any], tmp_path) -> None:
    config = find_source(mapping)
    few, many = (draw_flows(config, num_flows=number, seed=5) for number in (30, 300))
    assert few.num_flows == 30
    assert few.size.tolist() == many.size[:30].tolist()
    assert few.arrival_time.tolist() == many.arrival_time[:30].tolist() == config.draw(5).arrival_time[:30].tolist()
    (tmp_path / "own.json").write_text(json.dumps(mapping))
    assert main(["workload", str(tmp_path / "own.json"), "--flows", "30", "--out", str(tmp_path / "own.csv")]) == 0
    assert read_flows(tmp_path / "own.csv").num_flows == 30


@pytest.mark.parametrize("mapping", [OVERLAY, IN_TURN], ids=["overlay", "in_turn"])
def test_a_mapping_is_written_down_and_read_again(mapping: dict[str, Any]) -> None:
    plain = read_workload(mapping).plain()
    assert find_source(json.loads(json.dumps(plain))) == find_source(mapping)
    assert read_workload(plain).plain() == plain
    assert not read_workload(mapping).leaves_open("capacity")
    assert read_workload({**mapping, "name": "mine"}).label == "mine"
    assert read_workload(IN_TURN).label == "in turn gather-a1, gather-heavy"
    assert not _names_a_file(mapping)
    assert _names_a_file({"overlay": [{"kind": "poisson", "size": "own.csv"}]})


@each_environment
@pytest.mark.parametrize("key", ["overlay", "in_turn"])
def test_both_engines_play_it_alike_and_arguments_change_each_source(spec: EnvironmentSpec, key: str) -> None:
    arguments = {**SHORT[spec.id], "max_decisions": 12}
    name = arguments.pop("workload", None) or gym.make(spec.id).unwrapped.config.workload or "poisson-pareto"  # type: ignore[attr-defined]
    turns = {"each_for": 0.05, "phases": 2} if key == "in_turn" else {}
    several = {key: [name, {"name": "mine", "base": name}], **turns}
    slow, fast = (
        play(gym.make(spec.id, workload=several, engine=engine, **arguments), seed=3)
        for engine in ("simpy", "compiled")
    )
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_equal(one.observation, other.observation)
        assert one.reward == other.reward
    envs = gym.make_vec(spec.id, num_envs=2, workload=[several, name], **arguments)
    observations, _ = envs.reset(seed=[3, 4])
    np.testing.assert_equal(observations[0], slow[0].observation)
    envs.close()


def test_named_ones_are_changed_in_each_of_their_sources_and_what_a_source_lacks_is_refused() -> None:
    env = gym.make("flowsched/Artemis-v0", workload="artemis-changing", bursts=2).unwrapped
    assert [each.num_bursts for each in env._source.sources] == [2, 2, 2]  # type: ignore[attr-defined]
    shorter = {"base": "artemis-changing", "phases": 3}
    env = gym.make("flowsched/Artemis-v0", workload=shorter, bursts=2).unwrapped
    assert [each.num_bursts for each in env._source.sources] == [2, 2, 2]  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="load changes drawn bursts: workload 'PoissonWorkload' has none"):
        gym.make("flowsched/Artemis-v0", workload="artemis-background", load=0.5)
    assert make_workload("artemis-changing", each_for_ms=100).each_for == 0.1  # type: ignore[union-attr]


@pytest.mark.exhaustive
def test_a_search_plays_it_and_a_future_keeps_its_tasks_apart() -> None:
    kwargs = {"workload": {"overlay": [BURSTS, SINGLE]}, "k": 3, "max_decisions": 8}
    played = evaluate("flowsched/Artemis-v0", "search", episodes=1, seed=0, kwargs=kwargs)
    assert played.values("num_flows")[0] > 40  # those of four bursts, and single ones
    source = WORKLOADS["tafe-mixed"].config
    past, future = source.draw(0), source.draw(1)
    flows = with_future(past, future, now=1.0)
    old = past.task_id[past.arrival_time <= 1.0]
    assert not set(old) & set(flows.task_id[len(old) :])


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"overlay": []}, r"overlay is \[\]: it must be a list of workloads, at least one"),
        ({"overlay": ["gather-a1", "gather-a3"]}, r"overlay\[1\]: workload 'gather-a3' does not exist"),
        ({"overlay": ["gather-a1"], "weights": [1]}, "workload with overlay has no field 'weights'"),
        ({"overlay": ["gather-a1"], "in_turn": ["gather-a1"]}, "no field 'in_turn'"),
        ({"in_turn": ["gather-a1"], "phases": 2}, "each_for is missing: in_turn needs it"),
        ({"in_turn": ["gather-a1"], "each_for": 1}, "one of num_phases and num_flows"),
        ({"in_turn": ["gather-a1"], "each_for": 0, "phases": 2}, "each_for is 0: it must be a finite number > 0"),
        ({"in_turn": ["gather-a1"], "each_for": 1, "phases": 0}, "num_phases is 0"),
        ({"in_turn": ["gather-a1"], "each_for_kb": 1, "phases": 1}, "no field 'each_for_kb'"),
    ],
    ids=str,
)
def test_a_mistake_is_refused(mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_source(mapping)


def test_sources_that_are_none_or_without_an_end_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"sources is \(\)"):
        Overlay(sources=())
    fixed = FixedWorkload(workload=make_workload("gather-a1").draw(0))
    with pytest.raises(ConfigError, match="FixedWorkload cannot draw so many"):
        Overlay(sources=(fixed,)).with_num_flows(3)
    with pytest.raises(ConfigError, match="more than 10000 phases are not allowed"):
        InTurn(sources=(make_workload("gather-a1"),), each_for=1e-9, num_flows=5).draw(0)
