"""Holds native vector environments to single ones, whatever arguments and flows they are made with."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.flows.records import DEADLINE_TOLERANCE, latest_completion
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.systems.merp.route.config import core_cables
from flowsched_gym.topology import ROUTINGS
from flowsched_gym.workload import (
    WORKLOADS,
    LinkChanges,
    PoissonWorkload,
    RandomFailures,
    Workload,
    draw_flows,
    make_workload,
)
from tests.environments import CASES
from tests.envs.episodes import SHORT
from tests.envs.vectors import NATIVE, Pair, SimultaneousFlows, actions_at, each_native, exactly, make_native
from tests.simulate import make_flows

pytestmark = pytest.mark.usefixtures("event_logs")

ARTEMIS, ROUTE, LONG_FLOWS = (
    find_environment(f"flowsched/{name}-v0") for name in ("Artemis", "MERPRoute", "AuTOLongFlows")
)
LONG: dict[str, Any] = {"hosts": 8, "flows": None, "thresholds": (1e5, 1e6), "n_l": 4, "period_ms": 20.0}


def compare(
    spec: EnvironmentSpec, num_steps: int, *, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **given: Any
) -> Pair:
    """Plays random steps in both, and returns them."""
    arguments = {name: value for name, value in (SHORT[spec.id] | given).items() if value is not None}
    pair = Pair(spec, 2, mode, **arguments)
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@pytest.mark.parametrize(
    ("spec", "arguments"),
    [
        pytest.param(spec, arguments, id=f"{spec.id} {place}")
        for spec in NATIVE
        for place, arguments in enumerate(CASES[spec.id].varied)
    ],
)
def test_every_argument_is_heeded(spec: EnvironmentSpec, arguments: dict[str, Any]) -> None:
    compare(spec, 100, **arguments)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in WORKLOADS if "failures" not in name])
def test_every_workload_of_a_name_is_played_alike(name: str) -> None:
    spec = next(
        spec for spec in NATIVE if spec.id == f"flowsched/{'TAFETasks' if name.startswith('tafe') else 'Artemis'}-v0"
    )
    compare(spec, 120, workload=name, bursts=None, max_decisions=50)


def with_gaps() -> Workload:
    """Returns flows whose ids have gaps, whose requests come out of order, some without a deadline."""
    flows = draw_flows(make_workload("poisson-tree"), num_flows=40, seed=7)
    spans = np.where(flows.flow_id % 4, 0.05, np.inf)
    return replace(flows, flow_id=3 * flows.flow_id + 5, arrival_time=flows.arrival_time[::-1], deadline_span=spans)


def own(spec: EnvironmentSpec) -> dict[str, Any]:
    """Returns arguments beside which flows of one's own may be given."""
    own = {"topology": "tree9"} if "Order" in spec.id else {"hosts": 9} if "AuTO" in spec.id else {}
    period = {"period_ms": 20.0} if "LongFlows" in spec.id else {"period_us": 2e3} if "QCluster" in spec.id else {}
    return {"workload": None, "bursts": None, "flows": None, "tasks": None, "load": None} | own | period


@each_native
def test_own_flows_are_played_alike_with_the_ids_that_they_have(spec: EnvironmentSpec) -> None:
    flows = with_gaps()
    pair = compare(spec, 60, **own(spec) | {"workload": flows})
    pair.reset(seed=63)
    finished: list[int] = []
    while not pair.step(actions_at(pair.native, 0)).any():
        finished += pair.infos["finished"][1]

    assert sorted([*finished, *pair.infos["finished"][1]]) == flows.flow_id.tolist()


@each_native
def test_episodes_of_few_decisions_and_of_none_are_played_alike(spec: EnvironmentSpec) -> None:
    for gap in (0.0, 0.2):
        flows = make_flows([0.0, gap], [1e6, 1e6], source=[0, 1], destination=[3, 2])
        for mode in AutoresetMode:
            compare(spec, 12, mode=mode, **own(spec) | {"workload": flows})


@each_native
def test_two_environments_of_one_seed_do_the_same_whoever_stands_beside_them(spec: EnvironmentSpec) -> None:
    few, many = make_native(spec, 1), make_native(spec, 20)
    few.reset(seed=[8])
    many.reset(seed=[8 if number == 13 else number for number in range(20)])
    for place in range(110):
        found, expected = many.step(actions_at(many, place)), few.step(actions_at(few, place))
        for one, other in zip(found[:4], expected[:4], strict=True):
            assert exactly(one[13]) == exactly(other[0])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize(("name", "seconds"), [("gather-heavy", 0.4), ("gather-multi", 0.12)])
def test_episodes_of_any_length_make_room_for_themselves(name: str, seconds: float, mode: AutoresetMode) -> None:
    pair = Pair(ARTEMIS, 2, mode, workload=name, seconds=seconds, k=3, f=4)
    before = pair.native.simulation.num_rows
    pair.reset(seed=5)
    num_ended = pair.play(260, seed=62)
    assert num_ended >= 3
    assert pair.native.simulation.num_rows > before


@pytest.mark.parametrize("transport", ["ideal", "tcp"])
def test_equal_flows_of_one_instant_are_played_alike(transport: str) -> None:
    rows = np.arange(36)
    hosts = {"source": 3 + rows % 4, "destination": rows % 3}
    flows = make_flows(np.zeros(36), np.full(36, 1e5), span=np.full(36, 0.01), **hosts)
    arguments = {"workload": flows, "bursts": None, "k": 3, "f": 4, "transport": transport, "defer": "wait"}
    for delay in (0.0, 250.0):
        compare(ARTEMIS, 120, link_delay_us=delay, **arguments)


def test_a_flow_that_arrives_at_the_latest_time_meets_its_deadline() -> None:
    span = float(np.nextafter(3.0 / (1.0 + DEADLINE_TOLERANCE), np.inf))
    assert latest_completion(np.array([span])).tolist() == [3.0]
    for allowed, reward in ((span, 1.0), (span - 1e-12, 0.0)):
        flows = make_flows([0.0], [3.0], span=[allowed])
        pair = Pair(ARTEMIS, 1, workload=flows, link_gbps=8e-9, link_delay_us=0.0)
        pair.reset(seed=64)
        assert pair.step(np.zeros(1, dtype=np.int64)).all()

        assert pair.native.records(0).completion_time.tolist() == [3.0]
        assert pair.infos["reward_terms"]["deadline_met"].tolist() == [reward]


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
        return replace(flows, link_changes=LinkChanges.of(sorted(rows, key=lambda row: row[0])))


@pytest.mark.parametrize(
    ("rerouting", "discipline"),
    [
        ("ecmp", "merp"),
        *(
            pytest.param(rerouting, discipline, marks=pytest.mark.exhaustive)
            for rerouting in ROUTINGS
            for discipline in ("merp", "ps")
        ),
    ],
)
def test_cables_that_fail_and_come_up_again_at_any_instant_are_heeded_alike(rerouting: str, discipline: str) -> None:
    arguments = {"workload": FailingCables(), "flows": None, "rerouting": rerouting, "discipline": discipline}
    for delay in (0.0, 5e5):
        pair = compare(ROUTE, 90, link_gbps=8e-9, link_delay_us=delay, **arguments)
        assert (pair.native.simulation.tables.choosing.choices["next_change"] > 0).any()


def test_links_that_fail_again_and_again_make_room_for_their_changes() -> None:
    failures = RandomFailures(cables=core_cables(16), mean_time_up=0.02, mean_time_down=0.005, until=0.2)
    source = make_workload("poisson-fat-tree", num_flows=60, failures=failures)
    assert isinstance(source, PoissonWorkload)
    compare(ROUTE, 150, workload=source, flows=None)


@pytest.mark.parametrize("scope", ["server", "network"])
def test_links_fail_under_long_flows_alike(scope: str) -> None:
    source = make_workload("auto-web-search", num_hosts=8, num_flows=120, load=0.8, capacity=3 * 125e6)
    assert isinstance(source, PoissonWorkload)
    # Planes 0 and 1 lose links of hosts again and again; plane 2 keeps all.
    cables = tuple((plane * 16 + host, plane * 16 + 8 + host) for plane in (0, 1) for host in range(8))
    failures = RandomFailures(cables=cables, mean_time_up=0.1, mean_time_down=0.05, until=0.5)
    flows = replace(source, failures=failures)
    compare(LONG_FLOWS, 100, **LONG, workload=flows, scope=scope)
