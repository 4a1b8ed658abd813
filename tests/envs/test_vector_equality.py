"""Holds native vector environments to vectors of single ones: all that they return, and the events underneath."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

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
from tests.envs.episodes import SHORT, each_combination, exactly
from tests.envs.vectors import (
    NATIVE,
    RARE_TIES,
    TIES,
    Pair,
    SimultaneousFlows,
    actions_at,
    compare_on_ties,
    each_native,
    each_native_and_mode,
    make_native,
)
from tests.simulate import make_flows
from tests.strategies import simultaneous_flows

pytestmark = pytest.mark.usefixtures("event_logs")

DECISIONS = 17
"""Decisions, or steps, after which an episode is truncated."""

ARTEMIS, ROUTE, LONG_FLOWS = (
    find_environment(f"flowsched/{name}-v0") for name in ("Artemis", "MERPRoute", "AuTOLongFlows")
)
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode


@each_combination(NATIVE, discipline=("merp",), transport=("ideal", "tcp", "fixed"), goal=("las", "fq", "sjf"))
def test_a_native_vector_gives_what_single_environments_give(spec: EnvironmentSpec, arguments: dict[str, Any]) -> None:
    whole = Pair(spec, **(SHORT[spec.id] | arguments))
    whole.reset(seed=40)
    assert whole.play(120, seed=41) >= 3
    cut = Pair(spec, mode=SAME_STEP, **(SHORT[spec.id] | arguments | {"max_decisions": DECISIONS}))
    cut.reset(seed=40)
    assert cut.play(40, seed=41) >= 6


@each_native_and_mode
def test_it_truncates_with_the_time_limit_of_gymnasium(spec: EnvironmentSpec, mode: AutoresetMode) -> None:
    max_decisions = {NEXT_STEP: None, SAME_STEP: DECISIONS, DISABLED: DECISIONS + 1}[mode]
    pair = Pair(spec, mode=mode, max_episode_steps=DECISIONS, **(SHORT[spec.id] | {"max_decisions": max_decisions}))
    pair.reset(seed=42)
    assert pair.play(60, seed=43) >= 9


@each_native
@pytest.mark.parametrize(
    "mode", [NEXT_STEP, *(pytest.param(mode, marks=pytest.mark.exhaustive) for mode in (SAME_STEP, DISABLED))], ids=str
)
def test_it_does_so_where_many_events_are_simultaneous(spec: EnvironmentSpec, mode: AutoresetMode) -> None:
    compare_on_ties(spec, mode)


@pytest.mark.exhaustive
@each_native
def test_it_does_so_with_rare_disciplines(spec: EnvironmentSpec) -> None:
    compare_on_ties(spec, ties=RARE_TIES)


@pytest.mark.parametrize(
    ("spec", "arguments"),
    [pytest.param(spec, each, id=f"{spec.id}-{place}") for spec in NATIVE for place, each in enumerate(TIES[spec.id])],
)
@settings(max_examples=6)
@given(workload=simultaneous_flows(), seed=st.integers(0, 2**32 - 1))
def test_it_does_so_on_any_simultaneous_flows(spec, arguments, workload, seed) -> None:
    pair = Pair(spec, num_envs=2, workload=workload, **arguments)
    pair.reset(seed=46)
    pair.play(24, seed=seed)


@each_native
def test_resets_without_a_seed_go_on_as_those_of_single_environments(spec: EnvironmentSpec) -> None:
    pair = Pair(spec, **SHORT[spec.id])
    for seeds in (5, None, None, [7, 7, None], None, 5):
        pair.reset(seed=seeds)
        pair.play(4, seed=47)


@each_native_and_mode
def test_some_environments_can_be_reset_at_any_time(spec: EnvironmentSpec, mode: AutoresetMode) -> None:
    pair = Pair(spec, mode=mode, **SHORT[spec.id])
    pair.reset(seed=48)
    for place in range(12):
        mask = np.array([place % 2 == 0, place % 3 == 0, place % 4 == 0])
        if mask.any():
            pair.reset([None, place, None], reset_mask=mask)
        pair.play(9, seed=place)


@each_native
def test_an_environment_that_has_ended_can_be_reset_before_it_resets_itself(spec: EnvironmentSpec) -> None:
    pair = Pair(spec, **(SHORT[spec.id] | {"max_decisions": 5}))
    pair.reset(seed=49)
    for _ in range(5):
        over = pair.step(actions_at(pair.native, 0))
    assert over.all()
    pair.reset(reset_mask=np.array([True, False, False]))

    pair.play(12, seed=50)


def compare(spec: EnvironmentSpec, num_steps: int, *, mode: AutoresetMode = NEXT_STEP, **changes: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    arguments = {name: value for name, value in (SHORT[spec.id] | changes).items() if value is not None}
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
    compare(spec, 50, **arguments)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in WORKLOADS if "failures" not in name])
def test_every_workload_of_a_name_is_played_alike(name: str) -> None:
    spec = find_environment("flowsched/TAFETasks-v0") if name.startswith("tafe") else ARTEMIS
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


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=str)
@pytest.mark.parametrize(("name", "seconds"), [("gather-heavy", 0.4), ("gather-multi", 0.12)])
def test_episodes_of_any_length_make_room_for_themselves(name: str, seconds: float, mode: AutoresetMode) -> None:
    pair = Pair(ARTEMIS, 2, mode, workload=name, seconds=seconds, k=3, f=4)
    before = pair.native.simulation.num_rows
    pair.reset(seed=5)
    assert pair.play(260, seed=62) >= 3
    assert pair.native.simulation.num_rows > before


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
        *(pytest.param(each, name, marks=pytest.mark.exhaustive) for each in ROUTINGS for name in ("merp", "ps")),
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
    slots = {"thresholds": (1e5, 1e6), "n_l": 4, "period_ms": 20.0}
    compare(LONG_FLOWS, 100, **slots, hosts=8, flows=None, workload=flows, scope=scope)
