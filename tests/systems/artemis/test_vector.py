"""Holds the native vector environment of Artemis to single environments, whatever its flows are drawn from."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.flows.records import DEADLINE_TOLERANCE, latest_completion
from flowsched_gym.systems.artemis import SYSTEM
from flowsched_gym.workload import Workload
from tests.envs.vectors import Pair
from tests.simulate import make_flows

pytestmark = pytest.mark.usefixtures("event_logs")

SPEC = SYSTEM.environments[0]


def compare(num_steps: int, *, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(SPEC, 2, mode, **arguments)
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize(("name", "seconds"), [("gather-heavy", 0.4), ("gather-multi", 0.12)])
def test_episodes_of_any_length_make_room_for_themselves(name: str, seconds: float, mode: AutoresetMode) -> None:
    pair = Pair(SPEC, 2, mode, workload=name, seconds=seconds, k=3, f=4)
    before = pair.native.simulation.num_rows
    pair.reset(seed=5)
    num_ended = pair.play(260, seed=62)
    assert num_ended >= 3
    assert pair.native.simulation.num_rows > before


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
