"""``engine="compiled"`` and ``engine="simpy"`` of every registered environment: one bit for the other."""

import dataclasses
import itertools
from typing import Any

import gymnasium as gym
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs import FlowSchedEnv
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import LinkChanges, with_future
from tests.environments import CASES
from tests.envs.episodes import core, each_environment
from tests.envs.test_states import act, remainder, shown, started
from tests.envs.vectors import TIES, SimultaneousFlows, keep_event_logs
from tests.simulate import make_flows

SEED = 5
NUM_BEFORE = 2
"""Decisions before another future begins: flows are still to come."""


def both(spec: EnvironmentSpec, **arguments: Any) -> tuple[FlowSchedEnv[Any], FlowSchedEnv[Any]]:
    """Begins an episode on each engine."""
    return started(spec, SEED, engine="simpy", **arguments), started(spec, SEED, engine="compiled", **arguments)


@each_environment
def test_an_episode_is_the_same_on_both_engines(spec: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_event_logs(monkeypatch)
    ties = TIES[spec.id][0]
    workload = SimultaneousFlows(
        scale=ties["link_gbps"] / 8e-9, anywhere="topology" in ties, with_stages="barrier" in ties
    )
    tied = [
        core(gym.make(spec.id, workload=workload, engine=engine, render_mode="ansi", **ties))
        for engine in ("simpy", "compiled")
    ]
    for env in tied:
        env.reset(seed=SEED)
    for reference, compiled in (both(spec), tied):
        for place in itertools.count():
            assert shown(reference) == shown(compiled)
            if reference._over:
                break
            assert act(reference, place) == act(compiled, place)

        assert remainder(reference, 0) == remainder(compiled, 0)


@each_environment
def test_a_state_belongs_to_its_engine(spec: EnvironmentSpec) -> None:
    reference, compiled = both(spec)

    with pytest.raises(ConfigError, match="state is one of engine 'simpy': this environment has 'compiled'"):
        compiled.set_state(reference.get_state())


@each_environment
def test_another_future_keeps_the_past_and_is_the_same_on_both_engines(spec: EnvironmentSpec) -> None:
    found = []
    for env in both(spec, **CASES[spec.id].longer):
        for place in range(NUM_BEFORE):
            act(env, place)
        state, past = env.get_state(), env.workload
        now = env.simulation.now
        futures = []
        for seed in (3, 4, 3):
            env.set_state(state.with_future(seed))
            arrived = past.arrival_time <= now
            kept = env.workload.arrival_time <= now
            assert env.simulation.now == now
            assert env.workload.arrival_time[kept].tobytes() == past.arrival_time[arrived].tobytes()
            assert env.workload.size[kept].tobytes() == past.size[arrived].tobytes()
            again = env.get_state()
            futures.append(remainder(env, NUM_BEFORE))
            env.set_state(again)
            assert remainder(env, NUM_BEFORE) == futures[-1]
        assert futures[0] == futures[2]
        assert futures[0] != futures[1]
        env.set_state(state)
        assert env.workload.arrays[0].tobytes() == past.arrays[0].tobytes()
        found.append(futures)

    assert found[0] == found[1]


def test_a_future_joins_flows_by_their_arrival() -> None:
    past = make_flows([0.0, 1.0, 5.0], [1.0, 2.0, 3.0])
    future = make_flows([0.5, 2.0, 3.0, 4.0], [9.0, 8.0, 7.0, 6.0])
    joined = with_future(past, future, 2.0)

    assert joined.arrival_time.tolist() == [0.0, 1.0, 3.0, 4.0]
    assert joined.size.tolist() == [1.0, 2.0, 7.0, 6.0]
    assert joined.flow_id.tolist() == [0, 1, 3, 4]
    assert with_future(past, future, 9.0).arrival_time.tolist() == [0.0, 1.0, 5.0]


def test_a_link_that_is_down_comes_up_in_every_future() -> None:
    rows = [(0.0, 3, False), (1.0, 4, False), (2.0, 4, True), (6.0, 3, True), (7.0, 5, False)]
    past = dataclasses.replace(make_flows([0.0, 5.0], [1.0, 1.0]), link_changes=LinkChanges.of(rows))
    others = LinkChanges.of([(1.0, 7, False), (5.0, 8, False)])
    future = dataclasses.replace(make_flows([0.0, 4.0], [1.0, 1.0]), link_changes=others)
    changes = with_future(past, future, 3.0).link_changes
    assert changes is not None

    found = list(zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True))
    assert found == [*rows[:3], (5.0, 8, False), (6.0, 3, True)]


def test_seeds_of_futures_and_names_of_engines_are_checked() -> None:
    env = core(gym.make("flowsched/Artemis-v0"))
    env.reset(seed=0)

    with pytest.raises(ConfigError, match="seed is -1"):
        env.get_state().with_future(-1)
    with pytest.raises(ConfigError, match="engine is 'gpu'"):
        gym.make("flowsched/Artemis-v0", engine="gpu")
    with pytest.raises(ConfigError, match="engine is 'simpy': vector environments are compiled"):
        gym.make_vec("flowsched/Artemis-v0", 2, "vector_entry_point", engine="simpy")
