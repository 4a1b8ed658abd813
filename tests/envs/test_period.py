"""Leaves out periods in which no flow is active, and tells who has arrived in one."""

from typing import Any, Final

import gymnasium as gym
import numpy as np

from flowsched_gym.envs.decision import _OnSimpy
from flowsched_gym.envs.views import EpisodeView

LONG_FLOWS: Final = "flowsched/AuTOLongFlows-v0"


def test_periods_before_the_next_arrival_are_left_out_and_change_nothing(monkeypatch) -> None:
    def episode(engine: str) -> tuple[str, int]:
        arguments = {"load": 0.002, "flows": 20, "thresholds": [1e5], "period_ms": 50.0}
        env: Any = gym.make(LONG_FLOWS, **arguments, engine=engine).unwrapped
        seen: list[Any] = [env.reset(seed=4)]
        while seen[-1][2:3] != (True,):
            seen.append(env.step(np.zeros(33, dtype=np.int64)))
        return repr(seen), env.simulation.num_periods

    left_out = []
    count = _OnSimpy._empty_periods

    def counted(play: _OnSimpy) -> int:
        left_out.append(count(play))
        return left_out[-1]

    monkeypatch.setattr(_OnSimpy, "_empty_periods", counted)
    first = episode("simpy")
    monkeypatch.setattr(_OnSimpy, "_empty_periods", lambda _: 0)
    assert sum(left_out) > 10
    assert episode("simpy") == first
    assert episode("compiled") == first


def test_an_episode_of_billions_of_empty_periods_goes_from_flow_to_flow() -> None:
    env: Any = gym.make(LONG_FLOWS, load=1e-6, period_ms=10, flows=3).unwrapped
    env.reset(seed=0)
    while not env.step(np.zeros(33, dtype=np.int64))[2]:
        pass
    assert env.simulation.num_periods > 10**5


def test_a_view_tells_who_has_arrived_in_whatever_order_flows_come() -> None:
    times = np.array([2.0, 0.0, 0.5, 9.0])
    flows = {"arrival_time": times, "by_arrival": np.argsort(times)}
    for begun_at, now, arrived in ((0.0, 2.5, [0, 2]), (2.5, 5.0, []), (7.5, 10.0, [3])):
        view = EpisodeView(
            now=now,
            begun_at=begun_at,
            num_periods=1,
            num_flows=4,
            flows=flows,
            deliveries=np.zeros(0, dtype=np.int64),
            num_before=0,
        )
        assert view.arrived.tolist() == arrived
