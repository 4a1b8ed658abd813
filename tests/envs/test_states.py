"""States of every registered environment: taken at any moment, restored anywhere, going on bit for bit."""

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.envs import EnvState, FlowSchedEnv, MaskedEnv
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import Workload
from tests.envs.episodes import ENVIRONMENTS, action_at, core, each_environment, make, pairwise
from tests.envs.vectors import exactly, keep_event_logs
from tests.processes import run_python
from tests.simulate import make_flows

SEED = 31
DECISIONS = 45
"""Decisions of an episode that is truncated: fewer than any short episode has."""

CASES = [
    pytest.param(spec, arguments, id=f"{spec.id}-{'-'.join(map(str, arguments.values()))}")
    for spec in ENVIRONMENTS
    for arguments in (*pairwise(spec)[:3], {"max_decisions": DECISIONS})
]


def started(spec: EnvironmentSpec, seed: int, **arguments: Any) -> FlowSchedEnv:
    """Makes an environment and begins an episode."""
    env = core(make(spec, render_mode="ansi", **arguments))
    env.reset(seed=seed)
    return env


def act(env: FlowSchedEnv, place: int) -> Any:
    return exactly(dict(enumerate(env.step(action_at(env.action_space, place)))))


def remainder(env: FlowSchedEnv, place: int) -> list[Any]:
    """Plays to the end and into the next episode; returns all that the environment tells."""
    found: list[Any] = []
    while not env._over:
        found.append(act(env, place))
        place += 1
    records = env.records()
    found.append({field.name: exactly(getattr(records, field.name)) for field in dataclasses.fields(records)})
    found.append(getattr(env.simulation, "log", None))
    observation, info = env.reset()
    found.append((exactly(observation), exactly(info)))
    return [*found, *(act(env, place) for place in range(5))]


def shown(env: FlowSchedEnv) -> Any:
    return env.render(), exactly(env.action_masks()) if isinstance(env, MaskedEnv) else None


class Moment(NamedTuple):
    """A moment of an episode: decisions so far, the state, and what the environment shows."""

    place: int
    state: EnvState
    shown: Any


def moments_of_an_episode(spec: EnvironmentSpec, **arguments: Any) -> tuple[list[Moment], list[Any]]:
    """Returns the first, the middle and the last moment of an episode, and all that it and the next one tell."""
    expected = remainder(started(spec, SEED, **arguments), 0)
    env, length, moments = started(spec, SEED, **arguments), len(expected) - 8, []
    for place in range(length + 1):
        if place in (0, length // 2, length):
            moments.append(Moment(place, env.get_state(), shown(env)))
        if place < length:
            act(env, place)
    assert env._over
    return moments, expected


@pytest.mark.parametrize(("spec", "arguments"), CASES)
def test_an_environment_goes_on_from_any_state_as_it_went_on_before(spec, arguments, monkeypatch) -> None:
    keep_event_logs(monkeypatch)
    moments, expected = moments_of_an_episode(spec, **arguments)
    env, other = (started(spec, seed, **arguments) for seed in (SEED, SEED + 1))
    act(other, 0)

    for moment in (*reversed(moments), moments[1]):
        for each, state in ((env, moment.state), (other, pickle.loads(pickle.dumps(moment.state)))):
            each.set_state(state)
            assert shown(each) == moment.shown
            assert remainder(each, moment.place) == expected[moment.place :]


@each_environment
def test_taking_a_state_leaves_no_trace_and_branches_from_it_keep_the_flows_and_do_not_touch_each_other(spec) -> None:
    env, other = started(spec, SEED), started(spec, SEED)
    for place in range(20):
        assert act(env, place) == act(other, place)
        state = other.get_state()
    other.reset(seed=SEED)
    workload = other.workload
    other.set_state(state)
    assert other.workload is workload
    for place in range(20, 30):
        assert act(env, place) == act(other, place)
    for place in range(30, 40):
        act(other, 3 * place)
    branch = remainder(env, 30)
    env.set_state(state)
    for place in range(20, 30):
        act(env, place)

    assert remainder(env, 30) == branch


@each_environment
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_deep_copies_and_pickled_environments_go_on_by_themselves(spec: EnvironmentSpec, engine: str) -> None:
    env, new = started(spec, SEED, engine=engine), make(spec, engine=engine)
    fresh = copy.deepcopy(new), pickle.loads(pickle.dumps(new))
    for place in range(6):
        act(env, place)
    copied, read = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    masks = shown(env)[1]
    for place in range(6, 16):
        act(copied, place)
    assert shown(env)[1] == masks

    assert remainder(env, 6) == remainder(read, 6)
    for each in fresh:
        assert exactly(each.reset(seed=SEED)[0]) == exactly(started(spec, SEED).reset(seed=SEED)[0])
    env.close()
    with pytest.raises(SimulationError, match="the environment is closed"):
        pickle.loads(pickle.dumps(env)).reset()


def test_states_go_on_in_another_process(tmp_path: Path) -> None:
    states, expected = [], []
    for spec in ENVIRONMENTS:
        moments, all_told = moments_of_an_episode(spec)
        states.append((moments[1].place, moments[1].state))
        expected.append(all_told[moments[1].place :])
    (tmp_path / "states.pkl").write_bytes(pickle.dumps(states))
    program = f"""
import pathlib, pickle
from tests.envs.episodes import ENVIRONMENTS
from tests.envs.test_states import remainder, started
states, told = pickle.loads(pathlib.Path({str(tmp_path / "states.pkl")!r}).read_bytes()), []
for spec, (place, state) in zip(ENVIRONMENTS, states):
    env = started(spec, 1)
    env.set_state(state)
    told.append(remainder(env, place))
print(repr(told))
"""

    assert run_python(program, PYTHONHASHSEED="1") == repr(expected)


@each_environment
def test_states_that_do_not_belong_here_are_refused_and_the_episode_goes_on(spec: EnvironmentSpec) -> None:
    other, env = started(spec, SEED).get_state(), started(spec, SEED, max_decisions=DECISIONS)
    untouched, here = started(spec, SEED, max_decisions=DECISIONS), flowsched_gym.__version__
    for each in (env, untouched):
        act(each, 0)
        act(each, 1)
    own = pickle.loads(pickle.dumps(env.get_state()))
    alterations: list[dict[str, Any]] = [
        {"decisions": own.decisions[:1]},
        {"decisions": own.decisions[:1] * 2},
        {"generator": own.generator[:-1] + b"!"},
        {"episode_seed": 3},
        {"seal": None},
    ]
    refusals: list[tuple[Any, str]] = [
        *((wrong, r"state is .*: it must be what get_state\(\) returned") for wrong in (None, 3, b"state", {})),
        (other, "state is one of an environment with max_decisions=None: this one has max_decisions=45"),
        (
            dataclasses.replace(own, environment="flowsched_gym.elsewhere:Env"),
            r"one of flowsched_gym\.elsewhere:Env: this",
        ),
        (dataclasses.replace(own, package_version="0.0.1"), rf"state is one of flowsched-gym 0\.0\.1: this is {here}"),
        *(
            (dataclasses.replace(own, **changes), r"state was altered after get_state\(\) returned it")
            for changes in alterations
        ),
    ]
    for wrong, message in refusals:
        with pytest.raises(ConfigError, match=message):
            env.set_state(wrong)
    with pytest.raises(dataclasses.FrozenInstanceError):
        own.decisions = ()
    assert remainder(env, 2) == remainder(untouched, 2)


@each_environment
def test_a_network_that_was_replaced_is_refused_and_the_episode_goes_on(spec: EnvironmentSpec) -> None:
    env, untouched = (started(spec, SEED, engine="compiled") for _ in range(2))
    state = env.get_state()
    assert state.network is not None
    blocks = state.network.blocks
    garbage = Snapshot(
        {
            name: np.frombuffer(b"U" * block.nbytes, block.dtype).reshape(block.shape) if block.size else block
            for name, block in blocks.items()
        }
    )
    shorter = Snapshot(dict(blocks) | {"networks": blocks["networks"][["num_flows"]].copy()})
    for altered, message in (
        (dataclasses.replace(state, network=garbage), "its content does not fit its digest"),
        (dataclasses.replace(state, network=garbage, seal=b""), "its content does not fit its digest"),
        (
            dataclasses.replace(pickle.loads(pickle.dumps(state)), network=garbage),
            "its content does not fit its digest",
        ),
        (dataclasses.replace(state, network=shorter).sealed(), "networks with other networks: it was taken by another"),
    ):
        with pytest.raises(ConfigError, match=message):
            env.set_state(altered)
    env.set_state(copy.deepcopy(pickle.loads(pickle.dumps(state))))
    assert remainder(env, 0) == remainder(untouched, 0)


@each_environment
def test_a_state_of_other_flows_is_refused_even_where_the_arguments_read_the_same(spec: EnvironmentSpec) -> None:
    @dataclasses.dataclass
    class ThreeFlows:
        num_hosts: int
        last_size: float

        def draw(self, seed: int) -> Workload:
            hosts = {"source": [1, 2, 3], "destination": [0, 0, 0]}
            return make_flows([0.0] * 3, [3e5, 2e5, self.last_size], **hosts)

    def begun(num_hosts: int, last_size: float) -> FlowSchedEnv:
        made = core(gym.make(spec.id, workload=ThreeFlows(num_hosts, last_size)))
        made.reset(seed=SEED)
        return made

    env = begun(4, 1e5)
    for other in (begun(4, 2e5), begun(5, 1e5)):
        assert env.config == other.config
        last_size = other.workload.size[-1]
        with pytest.raises(ConfigError, match="one of an episode with other flows than this environment draws"):
            other.set_state(env.get_state())
        assert other.workload.size[-1] == last_size
        other.step(action_at(other.action_space, 0))


@each_environment
def test_a_state_whose_file_was_altered_is_refused_or_is_as_it_was(spec: EnvironmentSpec) -> None:
    env = started(spec, SEED)
    act(env, 0)
    state = env.get_state()
    content, draw = pickle.dumps(state), np.random.default_rng(SEED)
    for _ in range(50):
        altered = bytearray(content)
        altered[draw.integers(len(altered))] ^= 1 << int(draw.integers(8))
        try:
            read = pickle.loads(altered)
        except Exception:  # noqa: BLE001 - what pickle itself refuses
            continue
        try:
            env.set_state(read)
        except ConfigError:
            continue
        for name in ("episode_seed", "flows", "generator"):
            assert getattr(read, name) == getattr(state, name)
        assert exactly(dict(enumerate(read.decisions))) == exactly(dict(enumerate(state.decisions)))
