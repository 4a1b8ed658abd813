"""Leaves out periods in which no flow is active."""

from typing import Any, Final

import gymnasium as gym
import numpy as np

from flowsched_gym.envs.decision import _OnSimpy

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
