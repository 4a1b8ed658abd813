"""Holds native vector environments to single ones, whatever arguments and flows they are made with."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import WORKLOADS, Workload, draw_flows, make_workload
from tests.environments import CASES
from tests.envs.episodes import SHORT
from tests.envs.vectors import NATIVE, Pair, actions_at, each_native, exactly, make_native
from tests.simulate import make_flows

pytestmark = pytest.mark.usefixtures("event_logs")


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
