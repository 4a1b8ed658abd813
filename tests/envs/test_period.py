"""Lets a small system act once per period: what it sees and sets, worked by hand."""

from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium import spaces

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period
from flowsched_gym.envs import FluidControl, NetworkView, PeriodEnv
from flowsched_gym.envs.columns import Column, Encoding, Layout
from flowsched_gym.fluid.disciplines import Mlfq, Srpt
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import FixedWorkload, Workload
from tests.simulate import make_flows

LONG_FLOWS: Final = "flowsched/AuTOLongFlows-v0"
Action = npt.NDArray[np.float64]


class SmallControl(FluidControl[Action]):
    """Sets a threshold of 1 to 5 B, holds the oldest live flow in the last queue, and caps the rate of the others."""

    sets_rate_caps = True
    layout = Layout(
        context=(Column(name="live", meaning="active flows", unit="1", encoding=Encoding.SQUASHED, scale=10.0),),
        slot=(),
        num_slots=1,
    )
    action_space = spaces.Box(0.0, 1.0, (2,))
    terms = ("slowdown",)

    def new_discipline(self) -> Mlfq:
        return Mlfq([3.0])

    def check(self, action: object, name: str = "action") -> Action:
        return np.asarray(action, dtype=np.float64)

    def act(self, view: NetworkView, memory: npt.NDArray[np.float64], action: Action) -> None:
        view.set_thresholds(np.array([[1.0 + 4.0 * action[0]]]))
        for place, row in enumerate(view.active.tolist()):
            view.pin(row, 1 if place == 0 else None)
            view.rate_cap[row] = 0.2 + action[1] if place else np.inf

    def reward(self, view: NetworkView, memory: npt.NDArray[np.float64]) -> tuple[float, dict[str, float]]:
        slowdown = -float((view.fct(view.finished) / view.ideal_fct[view.finished]).sum())
        return slowdown, {"slowdown": slowdown}

    def observe(self, view: NetworkView, memory: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        live = np.array([len(view.active)])
        return (live / (live + 10.0)).astype(np.float32)


class PassingControl(SmallControl):
    """Has nothing to decide unless two flows are active, and in every third period."""

    may_pass = True

    def asks(self, view: NetworkView) -> bool:
        return len(view.active) >= 2 and view.num_periods % 3 > 0


def small_env(flows: Workload, period: Period, control: SmallControl | None = None) -> PeriodEnv[Any]:
    """Makes an environment of four hosts with links of 1 B/s, and begins its episode."""
    control = SmallControl() if control is None else control
    network = control.network(big_switch(num_hosts=4, capacity=1.0, delay=0.25), period)
    env = PeriodEnv(control, source=FixedWorkload(workload=flows), network=network)
    env.reset(seed=1)
    return env


def test_a_step_lasts_until_something_is_to_be_decided_and_the_first_is_paid_for_all_before_it() -> None:
    hosts = {"source": [0, 1, 0, 1, 0], "destination": [2, 2, 2, 3, 3]}
    flows = make_flows([0.0, 5.0, 8.0, 8.0, 20.0], [1.0, 1.0, 4.0, 4.0, 1.0], **hosts)
    env = small_env(flows, Period(seconds=1.0), PassingControl())

    # The periods begin at 0, 1, 2, ...; the third, sixth, ... of them are passed over, and so that at 8 s.
    assert env.simulation.now == 9.0
    assert env.view().finished.tolist() == [0, 1]
    step = env.step(np.array([0.5, 1.0]))
    assert env.simulation.now == 10.0
    assert env.view().finished.tolist() == [0, 1]
    assert step[4]["finished"] == (0, 1)
    step = env.step(np.array([0.5, 1.0]))

    assert step[2]
    assert step[4]["finished"] == (2, 3, 4)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_periods_before_the_next_arrival_are_left_out_and_change_nothing(engine, monkeypatch) -> None:
    def episode() -> tuple[str, int]:
        arguments = {"load": 0.002, "flows": 20, "thresholds": [1e5], "period_ms": 50.0}
        env: Any = gym.make(LONG_FLOWS, **arguments, engine=engine).unwrapped
        seen: list[Any] = [env.reset(seed=4)]
        while seen[-1][2:3] != (True,):
            seen.append(env.step(np.zeros(33, dtype=np.int64)))
        return repr(seen), env.simulation.num_periods

    left_out = []
    count = PeriodEnv._empty_periods

    def counted(*view):
        left_out.append(count(*view))
        return left_out[-1]

    monkeypatch.setattr(PeriodEnv, "_empty_periods", counted)
    first = episode()
    monkeypatch.setattr(PeriodEnv, "_empty_periods", lambda *_: 0)
    assert sum(left_out) > 10
    assert episode() == first


def test_an_episode_of_billions_of_empty_periods_goes_from_flow_to_flow() -> None:
    env: Any = gym.make(LONG_FLOWS, load=1e-6, period_ms=10, flows=3).unwrapped
    env.reset(seed=0)
    while not env.step(np.zeros(33, dtype=np.int64))[2]:
        pass
    assert env.simulation.num_periods > 10**5


def test_a_view_shows_the_flows_as_they_are() -> None:
    # Host 0 sends 4 B and host 1 sends 2 B to host 2, and flow 0 is held behind flow 1; delays are 0.25 s a link.
    flows = make_flows([0.0, 0.0, 50.0], [4.0, 2.0, 1.0], source=[0, 1, 0], destination=[2, 2, 3])
    env = small_env(flows, Period(flows=1))
    first = env.view()

    assert (first.now, first.period, len(first.finished)) == (0.0, 0.0, 0)
    assert first.active.tolist() == [0, 1]
    env.step(np.array([0.5, 1.0]))
    view = env.view()

    assert view.num_flows == 3
    assert (view.now, view.begun_at) == (2.5, 0.0)
    assert view.active.tolist() == [0]
    assert view.attained[0] == 0.5
    assert view.remaining[0] == 3.5
    assert view.rate[0] == 1.0
    assert view.delivered.tolist() == view.finished.tolist() == [1]
    assert view.fct(view.finished).tolist() == [2.5]
    assert view.ideal_fct.tolist() == [4.5, 2.5, 1.5]
    assert view.thresholds().tolist() == [[3.0]]
    assert view.capacity.tolist() == [1.0] * 8
    env.step(np.array([0.0, 1.0]))

    assert env.view().finished.tolist() == [0]
    assert env.view().delivered.tolist() == [1, 0]


def test_a_view_tells_who_has_arrived_in_whatever_order_flows_come() -> None:
    flows = make_flows([2.0, 0.0, 0.5, 9.0], [4.0, 4.0, 1.0, 1.0], source=[0, 1, 0, 1], destination=[2, 2, 3, 3])
    env = small_env(flows, Period(seconds=2.5))
    for arrived in ([0, 2], [], [], [3]):
        env.step(np.zeros(2))
        assert env.view().arrived.tolist() == arrived


def test_the_last_step_is_paid_for_what_it_delivered() -> None:
    flows = make_flows([0.0, 0.0, 50.0], [4.0, 2.0, 1.0], source=[0, 1, 0], destination=[2, 2, 3])
    env = small_env(flows, Period(flows=2))
    first, last = (env.step(np.array([1.0, 1.0])) for _ in range(2))

    assert [step[4]["finished"] for step in (first, last)] == [(1, 0), (2,)]
    assert last[1] == -1.0
    assert last[2]
    assert "action_mask" not in last[4]


def test_flows_that_wait_in_no_feedback_queues_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmallControl, "new_discipline", lambda _: Srpt())
    control, flows = SmallControl(), FixedWorkload(workload=make_flows([0.0], [1.0]))
    network = control.network(big_switch(num_hosts=4), Period(seconds=1.0))
    for engine in ("simpy", "compiled"):
        with pytest.raises(ConfigError, match=r"discipline is Srpt: .* needs Mlfq or QueuedTasks"):
            PeriodEnv(control, source=flows, network=network, engine=engine).reset(seed=0)
