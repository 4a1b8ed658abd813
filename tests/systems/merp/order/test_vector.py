"""Holds the native vector environment of MERP's ordering to single environments, whatever its flows are drawn from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.errors import ConfigError
from flowsched_gym.systems.merp.order import ORDER
from flowsched_gym.systems.merp.order.vector import MERPOrderVectorEnv
from flowsched_gym.workload import FixedWorkload, Workload, draw_flows, make_workload, write_flows
from tests.envs.vectors import Pair, exactly, keep_event_logs
from tests.flows import make_flows


@pytest.fixture(autouse=True, scope="module")
def event_logs() -> Iterator[None]:
    """Lets all environments of this module keep their events."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        keep_event_logs(monkeypatch)
        yield


def compare(num_steps: int, *, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(ORDER, 2, mode, **arguments)
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@pytest.mark.parametrize(
    "arguments",
    [
        {"flows": 50},
        {"flows": 50, "topology": "tree9", "f": 1},
        {"flows": 50, "topology": "tree9", "load": 0.5, "f": 40, "link_gbps": 10.0},
        {"flows": 40, "link_delay_us": 20_000.0, "reward": "fct"},
        {"flows": 40, "workload": "poisson-web-search"},
        {"flows": 40, "workload": "poisson-exponential", "topology": "tree9"},
        {"workload": "gather-heavy", "max_decisions": 60},
        {"workload": "gather-uniform", "max_decisions": 60, "reward": "slowdown"},
    ],
    ids=str,
)
def test_every_argument_is_heeded(arguments: dict[str, Any]) -> None:
    compare(110, **arguments)


def with_gaps() -> Workload:
    """Returns flows whose ids have gaps and that come out of order."""
    flows = draw_flows(make_workload("poisson-tree"), num_flows=40, seed=7)
    return Workload(
        flow_id=3 * flows.flow_id + 5,
        source=flows.source,
        destination=flows.destination,
        size=flows.size,
        arrival_time=flows.arrival_time[::-1],
    )


@pytest.mark.parametrize("form", ["flows", "source", "file", "path"])
@pytest.mark.parametrize("topology", ["one-link", "tree9"])
def test_own_flows_are_played_alike_with_the_ids_that_they_have(form: str, topology: str, tmp_path: Path) -> None:
    flows, path = with_gaps(), tmp_path / "flows.csv"
    write_flows(flows, path)
    workload: Any = {"flows": flows, "source": FixedWorkload(workload=flows), "file": str(path), "path": path}[form]
    pair = compare(150, workload=workload, topology=topology, f=4)
    pair.reset(seed=63)
    finished: list[int] = []
    while not pair.step(np.zeros(2, dtype=np.int64)).any():
        finished += pair.infos["finished"][1]

    assert sorted([*finished, *pair.infos["finished"][1]]) == flows.flow_id.tolist()


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_episodes_of_one_decision_and_of_none_are_played_alike(gap: float) -> None:
    flows = make_flows([0.0, gap], [1e6, 1e6])
    for mode in AutoresetMode:
        compare(12, workload=flows, mode=mode, f=2)


def test_two_environments_of_one_seed_do_the_same_whoever_stands_beside_them() -> None:
    few, many = (MERPOrderVectorEnv(count, topology="tree9", flows=80, f=4) for count in (1, 40))
    few.reset(seed=[8])
    many.reset(seed=[8 if number == 33 else number for number in range(40)])
    for place in range(160):
        found, expected = many.step(np.full(40, place % 4)), few.step(np.full(1, place % 4))
        for one, other in zip(found[:4], expected[:4], strict=True):
            assert exactly(one[33]) == exactly(other[0])


def test_arguments_that_cannot_be_are_refused_as_single_environments_refuse_them() -> None:
    with pytest.raises(ConfigError, match="f is 0"):
        MERPOrderVectorEnv(2, f=0)
    with pytest.raises(ConfigError, match="render_mode is 'film'"):
        MERPOrderVectorEnv(2, render_mode="film")
    with pytest.raises(TypeError, match="tokens"):
        MERPOrderVectorEnv(2, tokens=3)


def test_links_that_change_are_refused() -> None:
    with pytest.raises(ConfigError, match="link"):
        MERPOrderVectorEnv(1, "poisson-fat-tree-failures").reset(seed=0)
