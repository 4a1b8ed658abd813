"""Holds the native vector environment of Artemis to single environments, whatever its flows are drawn from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.errors import ConfigError, FlowFileError
from flowsched_gym.model.rules.transport.progress import DEADLINE_TOLERANCE, latest_completion
from flowsched_gym.systems.artemis import SYSTEM
from flowsched_gym.systems.artemis.vector import ArtemisVectorEnv
from flowsched_gym.workload import (
    WORKLOADS,
    FixedWorkload,
    Uniform,
    Workload,
    WorkloadSource,
    draw_flows,
    make_workload,
    write_flows,
)
from tests.envs.vectors import Pair, exactly, keep_event_logs
from tests.flows import make_flows

SPEC = SYSTEM.environments[0]


@pytest.fixture(autouse=True, scope="module")
def event_logs() -> Iterator[None]:
    """Lets all environments of this module keep their events."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        keep_event_logs(monkeypatch)
        yield


def compare(num_steps: int, *, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(SPEC, 2, mode, **arguments)
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


FAILING = [name for name, named in WORKLOADS.items() if getattr(named.config, "failures", None) is not None]


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in FAILING])
def test_every_workload_of_a_name_is_played_alike(name: str) -> None:
    compare(120, workload=name, k=3, f=4, max_decisions=50)


@pytest.mark.parametrize("name", FAILING)
def test_a_workload_whose_links_fail_is_refused(name: str) -> None:
    for make in (gym.make, gym.make_vec):
        with pytest.raises(ConfigError, match="workload has link changes"):
            make(SPEC.id, workload=name)


@pytest.mark.parametrize(
    "arguments",
    [
        {"burst_rate": 35.0},
        {"load": 0.9, "link_gbps": 10.0},
        {"destinations": 5, "bursts": 3},
        {"k": 1, "f": 1},
        {"k": 40, "f": 12},
        {"link_delay_us": 0.0},
        {"link_delay_us": 20_000.0, "transport": "tcp"},
    ],
    ids=str,
)
def test_every_number_that_is_an_argument_is_heeded(arguments: dict[str, Any]) -> None:
    compare(100, workload="gather-heavy", **({"bursts": 4} | arguments))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize(("name", "seconds"), [("gather-heavy", 0.4), ("gather-multi", 0.12)])
def test_episodes_of_any_length_make_room_for_themselves(name: str, seconds: float, mode: AutoresetMode) -> None:
    pair = Pair(SPEC, 2, mode, workload=name, seconds=seconds, k=3, f=4)
    before = pair.native.simulation.num_rows
    pair.reset(seed=5)
    num_ended = pair.play(260, seed=62)

    assert num_ended >= 3
    assert pair.native.simulation.num_rows > before


def test_episodes_without_flows_are_refused_as_single_environments_refuse_them() -> None:
    pair = Pair(SPEC, 1, workload="gather-heavy", seconds=0.02)
    refused = []
    for envs in (pair.native, pair.single):
        refused.append([])
        for seed in range(20):
            try:
                envs.reset(seed=seed)
            except ConfigError as error:
                refused[-1].append((seed, str(error)))

    assert refused[0] == refused[1]
    assert 0 < len(refused[0]) < 20
    assert all("the episode drawn has no flow: ask for more bursts" in each for _, each in refused[0])


def with_gaps() -> Workload:
    """Returns flows whose ids have gaps, whose requests come out of order, some without a deadline."""
    flows = draw_flows(make_workload("gather-multi"), num_flows=40, seed=7)
    assert flows.deadline_span is not None
    return Workload(
        flow_id=3 * flows.flow_id + 5,
        source=flows.source,
        destination=flows.destination,
        size=flows.size,
        arrival_time=flows.arrival_time[::-1],
        deadline_span=np.where(flows.flow_id % 4, flows.deadline_span, np.inf),
    )


@pytest.mark.parametrize("form", ["flows", "source", "file", "path"])
def test_own_flows_are_played_alike_with_the_ids_that_they_have(form: str, tmp_path: Path) -> None:
    flows, path = with_gaps(), tmp_path / "flows.csv"
    write_flows(flows, path)
    workload: Any = {"flows": flows, "source": FixedWorkload(workload=flows), "file": str(path), "path": path}[form]
    pair = compare(150, workload=workload, k=2, f=4, defer="to-back")
    pair.reset(seed=63)
    finished: list[int] = []
    while not pair.step(np.zeros(2, dtype=np.int64)).any():
        finished += pair.infos["finished"][1]

    assert sorted([*finished, *pair.infos["finished"][1]]) == flows.flow_id.tolist()


def test_a_flow_alone_is_played_alike() -> None:
    flows = Workload(flow_id=[9], source=[4], destination=[2], size=[1e6], arrival_time=[0.25])  # type: ignore[arg-type]
    for mode in AutoresetMode:
        compare(12, workload=flows, mode=mode)


@pytest.mark.parametrize("transport", ["ideal", "tcp"])
def test_equal_flows_of_one_instant_are_played_alike(transport: str) -> None:
    count = 36
    flows = Workload(
        flow_id=np.arange(count),
        source=3 + np.arange(count) % 4,
        destination=np.arange(count) % 3,
        size=np.full(count, 1e5),
        arrival_time=np.zeros(count),
        deadline_span=np.full(count, 0.01),
    )
    for delay in (0.0, 250.0):
        compare(120, workload=flows, k=3, f=4, transport=transport, link_delay_us=delay, defer="wait")


@pytest.mark.parametrize(
    "source",
    [
        make_workload("gather-heavy", request_jitter=0.01, num_bursts=5),
        make_workload("gather-heavy", shuffle=False, num_bursts=5),
        make_workload("gather-multi", num_senders=25, num_bursts=5),
        make_workload("scatter-a1", num_bursts=5, num_senders=30, num_destinations=2),
        make_workload("gather-uniform", size=Uniform(low=1.0, high=2.0), num_bursts=5),
    ],
    ids=["jitter", "unshuffled", "senders", "scatter", "tiny"],
)
def test_sources_with_other_fields_are_played_alike(source: WorkloadSource) -> None:
    compare(120, workload=source, k=2, f=4)


def test_two_environments_of_one_seed_do_the_same_whoever_stands_beside_them() -> None:
    few, many = (ArtemisVectorEnv(count, "gather-heavy", bursts=4, k=3, f=4) for count in (1, 40))
    few.reset(seed=[8])
    many.reset(seed=[8 if number == 33 else number for number in range(40)])
    for place in range(110):
        found, expected = many.step(np.full(40, place % 4)), few.step(np.full(1, place % 4))
        for one, other in zip(found[:4], expected[:4], strict=True):
            assert exactly(one[33]) == exactly(other[0])


def test_arguments_that_cannot_be_are_refused_as_single_environments_refuse_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="k is 0"):
        ArtemisVectorEnv(2, k=0)
    with pytest.raises(ConfigError, match="render_mode is 'film'"):
        ArtemisVectorEnv(2, render_mode="film")
    with pytest.raises(TypeError, match="tokens"):
        ArtemisVectorEnv(2, tokens=3)
    (tmp_path / "flows.csv").write_text("flow_id\n1\n", encoding="utf-8")
    with pytest.raises(FlowFileError, match="flows\\.csv"):
        ArtemisVectorEnv(2, tmp_path / "flows.csv")


def test_a_flow_that_arrives_at_the_latest_time_meets_its_deadline() -> None:
    span = float(np.nextafter(3.0 / (1.0 + DEADLINE_TOLERANCE), np.inf))
    assert latest_completion(np.array([span])).tolist() == [3.0]
    for allowed, reward in ((span, 1.0), (span - 1e-12, 0.0)):
        flows = make_flows([0.0], [3.0], span=[allowed])
        pair = Pair(SPEC, 1, workload=flows, link_gbps=8e-9, link_delay_us=0.0)
        pair.reset(seed=64)
        assert pair.step(np.zeros(1, dtype=np.int64)).all()

        assert pair.native.records(0).completion_time.tolist() == [3.0]
        assert pair.infos["reward_terms"]["deadline_met"].tolist() == [reward]
