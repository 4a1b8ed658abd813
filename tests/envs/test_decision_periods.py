"""Lets a small system decide once per period, worked by hand, on both engines: what it sets, and when it is asked."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium import spaces

from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.periods import Period
from flowsched_gym.envs import DecisionEnv, NetworkSetup
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.flows.decisions import DecisionKind, Order
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.machine_code.numerics import squash
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import FixedWorkload, Workload
from tests.simulate import make_flows

GO_ON = int(Order.GO_ON)
LIVE = Column.squashed("live", "active flows", "flows", 10.0)


class SmallRules(NamedTuple):
    """Sets a threshold of 1 to 5 B where at least ``least`` flows are active, and may hold flow 0 in a queue."""

    least: int
    pinned: int
    threshold: int

    def asks(self, decision: Decision) -> bool:
        return decision.num_active >= self.least

    def act(self, decision: Decision, action: npt.NDArray[np.float64]) -> tuple[int, int, bool]:
        decision.record.thresholds[decision.number, self.threshold] = 3.0 + 2.0 * action[0]
        decision.record.pinned[decision.first_row] = self.pinned
        decision.record.changed[decision.number] = 1
        return GO_ON, 0, False

    def observe(self, decision: Decision, observation: npt.NDArray[np.float32]) -> None:
        observation[0] = squash(float(decision.num_active), 10.0)

    def reward(self, decision: Decision, num_before: int, terms: npt.NDArray[np.float64]) -> float:
        terms[0] = decision.num_delivered - num_before
        return float(terms[0])


def small_env(
    flows: Workload,
    period: Period,
    engine: str,
    least: int = 0,
    *,
    pinned: int = -1,
    threshold: int = 0,
    rate_caps: bool = False,
) -> DecisionEnv[SmallRules]:
    """Makes an environment of four hosts with links of 1 B/s, and begins its episode."""
    network = NetworkSetup(
        topology=big_switch(num_hosts=4, capacity=1.0, delay=0.25),
        new_discipline=lambda: Mlfq([3.0]),
        asks=DecisionKind.PERIOD,
        period=period,
        rate_caps=rate_caps,
    )
    env = DecisionEnv(
        SmallRules(least, pinned, threshold),
        spaces.Box(-1.0, 1.0, (1,), np.float32),
        source=FixedWorkload(workload=flows),
        network=network,
        layout=Layout(context=(LIVE,), slot=(), num_slots=1),
        terms=("finished",),
        engine=engine,
    )
    env.reset(seed=1)
    return env


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_a_step_lasts_until_something_is_to_be_decided_and_the_first_is_paid_for_all_before_it(engine: str) -> None:
    hosts = {"source": [0, 1, 0, 1, 0], "destination": [2, 2, 2, 3, 3]}
    flows = make_flows([0.0, 5.0, 8.0, 8.0, 1e6], [1.0, 1.0, 4.0, 4.0, 1.0], **hosts)
    env = small_env(flows, Period(seconds=1.0), engine, least=2)

    # The periods begin at 0, 1, 2, ...; two flows are active from 8 s on.
    now, steps = [env.simulation.now], []
    while not steps or not steps[-1][2]:
        steps.append(env.step(np.array([0.5], dtype=np.float32)))
        now.append(env.simulation.now)
    assert now[:4] == [8.0, 9.0, 10.0, 11.0]
    assert [step[1] for step in steps[:3]] == [2.0, 0.0, 0.0]
    assert [step[4]["finished"] for step in steps[:3]] == [(0, 1), (), ()]
    # The periods before the last flow are left out, and counted.
    assert now[-1] == 1e6 + 1.5
    assert env.simulation.num_periods == 10**6 + 2


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_an_action_holds_from_its_period_on(engine: str) -> None:
    # With a threshold of 1 B, flow 0 goes behind flow 1 when that comes; with 5 B they share. Bytes travel for 0.5 s.
    flows = make_flows([0.0, 1.5], [4.0, 1.0], source=[0, 1], destination=[2, 2])
    done = []
    for action in (-1.0, 1.0):
        env = small_env(flows, Period(seconds=1.0), engine)
        finished = False
        while not finished:
            _, _, finished, _, info = env.step(np.array([action], dtype=np.float32))
            assert info.keys().isdisjoint({"action_mask", "empty_slot_choices"})
        done.append(env.records().completion_time.tolist())
    assert done == [[5.5, 3.0], [5.5, 4.0]]


def test_a_largest_rate_is_refused_where_the_network_was_not_made_for_any(monkeypatch: pytest.MonkeyPatch) -> None:
    def cap(self: SmallRules, decision: Decision, action: npt.NDArray[np.float64]) -> tuple[int, int, bool]:
        decision.controls.rate_cap[decision.first_row] = 0.5
        return GO_ON, 0, False

    monkeypatch.setattr(SmallRules, "act", cap)
    flows = make_flows([0.0], [4.0], source=[0], destination=[2])
    action = np.array([0.0], dtype=np.float32)
    with pytest.raises(SimulationError, match=r"SmallRules\.act sets largest rates .* with rate_caps=True"):
        small_env(flows, Period(seconds=1.0), "simpy").step(action)
    env = small_env(flows, Period(seconds=20.0), "simpy", rate_caps=True)
    env.step(action)
    assert env.records().completion_time.tolist() == [8.5]


def test_periods_without_flows_do_not_count_where_rules_say_that_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flows = make_flows([0.0, 1e9], [1.0, 1.0], source=[0, 1], destination=[2, 3])
    env = small_env(flows, Period(seconds=1.0), "simpy", least=1)
    while not env.step(np.array([0.0], dtype=np.float32))[2]:
        pass
    assert env.simulation.now == 1e9 + 1.5
    monkeypatch.delattr(SmallRules, "asks")
    with pytest.raises(ConfigError, match="an episode would have about 1e\\+09"):
        small_env(flows, Period(seconds=1.0), "simpy")


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_an_action_that_writes_where_nothing_is_raises_an_error(engine: str) -> None:
    flows = make_flows([0.0], [4.0], source=[0], destination=[2])
    message = "index 1 is out of bounds" if engine == "simpy" else "^the environment's rules read or write beyond"
    for wrong, error, told in (
        ({"threshold": 1}, IndexError, message),
        (
            {"pinned": 2},
            SimulationError,
            "pinned is beyond the last queue: it must be -1, or 0 to the number of thresholds",
        ),
    ):
        with pytest.raises(error, match=told):
            small_env(flows, Period(seconds=1.0), engine, **wrong).step(np.array([0.0], dtype=np.float32))


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_decision_shows_the_flows_as_they_are(engine: str) -> None:
    # Host 0 sends 4 B and host 1 sends 2 B to host 2, and flow 0 is held behind flow 1; delays are 0.25 s a link.
    flows = make_flows([0.0, 0.0, 50.0], [4.0, 2.0, 1.0], source=[0, 1, 0], destination=[2, 2, 3])
    env = small_env(flows, Period(flows=1), engine, pinned=1)
    first = env.decision()
    assert (first.is_due, first.now, first.num_periods, first.num_delivered) == (True, 0.0, 1, 0)
    assert sorted(first.active[: first.num_active].tolist()) == [0, 1]
    action = np.array([0.0], dtype=np.float32)
    step = env.step(action)
    shown = env.decision()

    assert step[4]["finished"] == (1,)
    assert (shown.now, shown.num_periods, shown.num_flows) == (2.5, 2, 3)
    assert shown.active[: shown.num_active].tolist() == [0]
    assert [each[0] for each in (shown.state.attained, shown.state.remaining, shown.state.rate)] == [0.5, 3.5, 1.0]
    assert shown.delivered[: shown.num_delivered].tolist() == [1]
    assert env.step(action)[4]["finished"] == (0,)
    # Nothing is active before 50 s, and the last step ends with the last byte.
    last = env.step(action)
    assert (last[1:3], last[4]["finished"]) == ((1.0, True), (2,))
