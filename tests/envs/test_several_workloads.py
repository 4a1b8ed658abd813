"""Gives environments several workloads: one of them in each episode, or in a vector one for each environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import FixedWorkload, OneOf
from tests.envs.episodes import SHORT, core, exactly, make
from tests.envs.vectors import Pair, actions_at, each_native

CHANGES = ("workload", "load", "flows", "bursts", "tasks")
"""Arguments that change a workload."""
ARTEMIS = "flowsched/Artemis-v0"
BURSTS = [
    {"base": "gather-a1", "bursts": 2},
    {"base": "gather-multi", "bursts": 3},
    {"base": "poisson-web-search", "flows": 9},
]


def sources(spec: EnvironmentSpec) -> list[Any]:
    """Returns three workloads of an environment: its own, a shorter one, and given flows."""
    own: Any = core(make(spec)).source
    return [own, own.with_num_flows(20), FixedWorkload(workload=own.with_num_flows(12).draw(5))]


def native(num_envs: int = 3, **arguments: Any) -> Any:
    return gym.make_vec(ARTEMIS, num_envs, "vector_entry_point", **({"k": 3, "f": 4} | arguments))


@each_native
def test_a_vector_has_workloads_of_its_own_or_episodes_of_several(spec: EnvironmentSpec) -> None:
    others = {name: value for name, value in SHORT[spec.id].items() if name not in CHANGES}
    for workload, least in ((sources(spec), 3), ({"one_of": sources(spec), "weights": [0, 1, 2]}, 2)):
        pair = Pair(spec, workload=workload, **others)
        pair.reset(seed=40)
        assert pair.play(80, seed=41) >= least


def test_workloads_of_a_vector_may_differ_in_their_hosts() -> None:
    pair = Pair(gym.spec(ARTEMIS), workload=BURSTS, k=3, f=4)
    pair.reset(seed=1)
    assert pair.play(60, seed=2) >= 3
    hosts = [env.unwrapped.source.num_hosts for env in pair.single.envs]
    assert hosts == [11, 24, 2]
    assert pair.native.simulation.topology.num_hosts == 24


def test_an_environment_that_is_where_another_one_was_goes_on_with_its_workload() -> None:
    envs = native(workload=BURSTS)
    envs.reset(seed=3)
    state = envs.get_state()
    expected = [exactly(envs.step(actions_at(envs, place))[0][1:2]) for place in range(70)]
    envs.set_state(state.pick([1, 1]), numbers=[0, 2])
    found = [envs.step(actions_at(envs, place))[0] for place in range(70)]
    assert [exactly(observation[:1]) for observation in found] == expected
    assert [exactly(observation[2:]) for observation in found] == expected


def test_a_state_of_a_vector_fits_one_with_the_same_workloads_in_the_same_order() -> None:
    first, again = native(workload=BURSTS), native(workload=BURSTS)
    first.reset(seed=3)
    again.set_state(first.get_state())
    for other in (native(workload=BURSTS[::-1]), native(workload={"one_of": BURSTS})):
        with pytest.raises(ConfigError, match="state is one of"):
            other.set_state(first.get_state())


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_states_of_several_workloads_go_on_and_take_other_futures(engine: str) -> None:
    env = gym.make(ARTEMIS, workload={"one_of": BURSTS}, k=3, f=4, engine=engine)
    base = core(env)
    lengths = set()
    for seed in range(6):
        env.reset(seed=seed)
        env.step(0)
        state = base.get_state()
        steps = exactly(np.array([env.step(0)[0] for _ in range(4)]))
        base.set_state(state)
        assert exactly(np.array([env.step(0)[0] for _ in range(4)])) == steps
        lengths.add(base.workload.num_flows)
        source: Any = base.source
        other = next(future for future in range(9) if source.chosen(future) is not source.chosen(state.episode_seed))
        base.set_state(state.with_future(other))
        arrived, drawn = base.workload, source.draw(other)
        assert arrived.num_flows > (drawn.arrival_time > state.now).sum()
        assert set(drawn.size[drawn.arrival_time > state.now]) <= set(arrived.size)
    assert lengths == {9, 20, 30}


def test_an_episode_of_one_of_several_is_the_one_that_it_has_alone() -> None:
    base = core(gym.make(ARTEMIS, workload={"one_of": BURSTS}, k=3, f=4))
    source = base.source
    assert isinstance(source, OneOf)
    for seed in range(4):
        base.begin(seed)
        alone = core(gym.make(ARTEMIS, workload=BURSTS[source.sources.index(source.chosen(seed))], k=3, f=4))
        alone.begin(seed)
        assert [exactly(a) == exactly(b) for a, b in zip(base.workload.arrays, alone.workload.arrays, strict=True)]


def test_every_workload_is_checked_and_a_vector_needs_one_for_each_environment() -> None:
    weighted, others = {"one_of": ["gather-a1", "tafe-short"], "weights": [1, 0]}, ["gather-a1", "poisson-web-search"]
    for arguments, message in (
        ({"num_envs": 4, "workload": BURSTS}, "workload has 3 entries: it must have 4, one for each environment"),
        ({"num_envs": 2, "workload": ["gather-a1", "gather-b1"]}, r"one_of\[1\]: workload 'gather-b1' does not exist"),
        ({"workload": weighted}, "after others: here, flows send at once"),
        ({"workload": {"one_of": others}, "bursts": 3}, r"one_of\[1\]: .* workload 'poisson-web-search' has none"),
    ):
        with pytest.raises(ConfigError, match=message):
            native(**arguments)
