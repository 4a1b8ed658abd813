"""Holds the native vector environment of MERP's routing to single environments, whatever its flows are drawn from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.errors import ConfigError, WorkloadError
from flowsched_gym.systems.merp.route import ROUTE
from flowsched_gym.systems.merp.route.config import core_cables
from flowsched_gym.systems.merp.route.vector import MERPRouteVectorEnv
from flowsched_gym.topology import ROUTINGS
from flowsched_gym.workload import FixedWorkload, LinkChanges, PoissonWorkload, RandomFailures, Workload, make_workload
from tests.envs.vectors import Pair, SimultaneousFlows, keep_event_logs


@pytest.fixture(autouse=True, scope="module")
def event_logs() -> Iterator[None]:
    """Lets all environments of this module keep their events."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        keep_event_logs(monkeypatch)
        yield


def compare(num_steps: int, *, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(ROUTE, 2, mode, **arguments)
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@dataclass(frozen=True)
class FailingCables(SimultaneousFlows):
    """Draws simultaneous flows, while cables fail and come up again at the same instants."""

    def draw(self, seed: int) -> Workload:
        """Draws flows and changes; each cable ends up."""
        flows = super().draw(seed)
        generator = np.random.default_rng(seed)
        rows: list[tuple[float, int, bool]] = []
        for cable in generator.permutation(len(core_cables(16)))[:9].tolist():
            failure = int(generator.integers(6))
            repair = failure + int(generator.integers(1, 5))
            rows += [(float(failure), link, False) for link in core_cables(16)[cable]]
            rows += [(float(repair), link, True) for link in core_cables(16)[cable]]
        return Workload(
            flow_id=flows.flow_id,
            source=flows.source,
            destination=flows.destination,
            size=flows.size,
            arrival_time=flows.arrival_time,
            link_changes=LinkChanges.of(sorted(rows, key=lambda row: row[0])),
        )


@pytest.mark.parametrize("discipline", ["merp", "ps"])
@pytest.mark.parametrize("rerouting", ROUTINGS)
def test_cables_that_fail_and_come_up_again_at_any_instant_are_heeded_alike(rerouting: str, discipline: str) -> None:
    for delay in (0.0, 5e5):
        pair = compare(
            90,
            workload=FailingCables(),
            link_gbps=8e-9,
            link_delay_us=delay,
            rerouting=rerouting,
            discipline=discipline,
        )
        assert (pair.native.simulation.tables.choosing.choices["next_change"] > 0).any()


@pytest.mark.parametrize(
    "arguments",
    [
        {"load": 0.9},
        {"link_gbps": 10.0, "link_delay_us": 10.0},
        {"arity": 6, "failures": 8},
        {"workload": "poisson-fat-tree-failures", "rerouting": "memr"},
        {"workload": "poisson-web-search"},
        {"workload": "gather-a1", "flows": None},
    ],
    ids=str,
)
def test_every_number_that_is_an_argument_is_heeded(arguments: dict[str, Any]) -> None:
    compare(90, **({"flows": 40} | arguments))


def test_links_that_fail_again_and_again_make_room_for_their_changes() -> None:
    failures = RandomFailures(cables=core_cables(16), mean_time_up=0.02, mean_time_down=0.005, until=0.2)
    source = make_workload("poisson-fat-tree", num_flows=60, failures=failures)
    assert isinstance(source, PoissonWorkload)
    compare(150, workload=source, rerouting="least-loaded")


def test_an_episode_without_a_choice_ends_with_its_first_step() -> None:
    flows = Workload(
        flow_id=[3, 9],  # type: ignore[arg-type]
        source=[0, 2],  # type: ignore[arg-type]
        destination=[1, 3],  # type: ignore[arg-type]
        size=[1e6, 2e6],  # type: ignore[arg-type]
        arrival_time=[0.25, 0.5],  # type: ignore[arg-type]
    )
    for mode in AutoresetMode:
        pair = compare(12, workload=FixedWorkload(workload=flows), mode=mode)
        assert pair.native.config.workload == "FixedWorkload"


def test_flows_that_lose_all_their_paths_are_refused_as_single_environments_refuse_them() -> None:
    lost = Workload(
        flow_id=[0],  # type: ignore[arg-type]
        source=[0],  # type: ignore[arg-type]
        destination=[4],  # type: ignore[arg-type]
        size=[1e6],  # type: ignore[arg-type]
        arrival_time=[0.0],  # type: ignore[arg-type]
        link_changes=LinkChanges.of([(0.0, 0, False)]),
    )
    for make in (gym.make, gym.make_vec):
        with pytest.raises(WorkloadError, match="leave the flow in row 0 none of its 4 paths"):
            make(ROUTE.id, workload=lost)


def test_arguments_that_cannot_be_are_refused_as_single_environments_refuse_them() -> None:
    with pytest.raises(ConfigError, match="arity is 3"):
        MERPRouteVectorEnv(2, arity=3)
    with pytest.raises(ConfigError, match="num_envs is 0"):
        MERPRouteVectorEnv(0)
    with pytest.raises(TypeError, match="paths"):
        MERPRouteVectorEnv(2, paths=3)
