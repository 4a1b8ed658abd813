"""Engines and states of every registered environment: one bit for the other, and taken or restored at any moment."""

import copy
import dataclasses
import itertools
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.envs import EnvState, FlowSchedEnv
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import LinkChanges, Workload, with_future
from tests.environments import CASES
from tests.envs.episodes import ENVIRONMENTS, action_at, case, core, each_environment, exactly, make, pairwise
from tests.envs.vectors import TIES, keep_event_logs, tied_flows
from tests.processes import run_python
from tests.simulate import make_flows

SEED = 31
DECISIONS = 45
"""Decisions of an episode that is truncated: fewer than any short episode has."""
Moment = tuple[int, EnvState, Any]
"""Decisions so far, the state, and what the environment shows."""
NUM_BEFORE = 2
"""Decisions before another future begins: flows are still to come."""


def started(spec: EnvironmentSpec, seed: int, **arguments: Any) -> FlowSchedEnv:
    """Makes an environment and begins an episode."""
    env = core(make(spec, render_mode="ansi", **arguments))
    env.reset(seed=seed)
    return env


def act(env: FlowSchedEnv, place: int) -> Any:
    return exactly(env.step(action_at(env.action_space, place)))


def remainder(env: FlowSchedEnv, place: int) -> list[Any]:
    """Plays to the end and into the next episode; returns all that the environment tells."""
    found: list[Any] = []
    while not env._over:
        found.append(act(env, place))
        place += 1
    records = env.records()
    found += [exactly(dataclasses.asdict(records)), getattr(env.simulation, "log", None)]
    found.append(exactly(env.reset()))
    return [*found, *(act(env, place) for place in range(5))]


def shown(env: FlowSchedEnv) -> Any:
    return env.render(), exactly(env.action_masks()) if hasattr(env, "action_masks") else None


def moments_of_an_episode(spec: EnvironmentSpec, **arguments: Any) -> tuple[list[Moment], list[Any]]:
    """Returns the first, the middle and the last moment of an episode, and all that it and the next one tell."""
    expected = remainder(started(spec, SEED, **arguments), 0)
    env, length, moments = started(spec, SEED, **arguments), len(expected) - 8, []
    for place in range(length + 1):
        if place in (0, length // 2, length):
            moments.append((place, env.get_state(), shown(env)))
        if place < length:
            act(env, place)
    assert env._over
    return moments, expected


@pytest.mark.parametrize(
    ("spec", "arguments"),
    [case(spec, each) for spec in ENVIRONMENTS for each in (*pairwise(spec)[:3], {"max_decisions": DECISIONS})],
)
def test_an_environment_goes_on_from_any_state_as_it_went_on_before(spec, arguments, monkeypatch) -> None:
    keep_event_logs(monkeypatch)
    moments, expected = moments_of_an_episode(spec, **arguments)
    env, other = (started(spec, seed, **arguments) for seed in (SEED, SEED + 1))
    act(other, 0)

    for place, state, seen in (*reversed(moments), moments[1]):
        for each, restored in ((env, state), (other, pickle.loads(pickle.dumps(state)))):
            each.set_state(restored)
            assert shown(each) == seen
            assert remainder(each, place) == expected[place:]


def test_the_count_of_empty_slots_goes_on_from_a_state_with_more_flows_than_there_was_room_for() -> None:
    large, small = (core(gym.make("flowsched/TAFETasks-v0", engine="compiled", tasks=10)) for _ in range(2))
    for env, seed in ((large, 0), (small, 99)):
        env.reset(seed=seed)
    assert large.workload.num_flows > small.workload.num_flows
    empty = large.num_actions - 1
    large.step(empty)
    small.set_state(large.get_state())
    assert [each.step(empty)[4]["empty_slot_choices"] for each in (large, small)] == [2, 2]


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


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_the_first_step_goes_on_from_a_state_where_nothing_is_asked(engine: str) -> None:
    env = core(gym.make("flowsched/TAFETasks-v0", workload=make_flows([0.0], [1e3]), engine=engine))
    env.reset(seed=SEED)
    state, copied = env.get_state(), pickle.loads(pickle.dumps(env))
    steps = [act(env, 0), act(copied, 0)]
    env.set_state(state)
    assert [*steps, act(env, 0)] == [steps[0]] * 3
    with pytest.raises(SimulationError, match="there is no running episode"):
        env.step(0)


def test_states_go_on_in_another_process(tmp_path: Path) -> None:
    states, expected = [], []
    for spec in ENVIRONMENTS:
        moments, all_told = moments_of_an_episode(spec)
        states.append(moments[1][:2])
        expected.append(all_told[moments[1][0] :])
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
    compiled = started(spec, SEED, max_decisions=DECISIONS, engine="compiled").get_state()
    untouched, here = started(spec, SEED, max_decisions=DECISIONS), flowsched_gym.__version__
    for each in (env, untouched):
        act(each, 0)
        act(each, 1)
    own = pickle.loads(pickle.dumps(env.get_state()))
    refusals: list[tuple[Any, str]] = [
        *((wrong, r"state is .*: it must be what get_state\(\) returned") for wrong in (None, 3, b"state", {})),
        (other, "state is one of an environment with max_decisions=None: this one has max_decisions=45"),
        (compiled, "state is one of engine 'compiled': this environment has 'simpy'"),
    ]
    altered = r"state was altered after get_state\(\) returned it"
    for changes, message in (
        ({"environment": "flowsched_gym.elsewhere:Env"}, r"one of flowsched_gym\.elsewhere:Env: this"),
        ({"package_version": "0.0.1"}, rf"state is one of flowsched-gym 0\.0\.1: this is {here}"),
        ({"decisions": own.decisions[:1]}, altered),
        ({"decisions": own.decisions[:1] * 2}, altered),
        ({"generator": own.generator[:-1] + b"!"}, altered),
        ({"episode_seed": 3}, altered),
        ({"seal": None}, altered),
    ):
        refusals.append((dataclasses.replace(own, **changes), message))
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
    unfit, read = "its content does not fit its digest", pickle.loads(pickle.dumps(state))
    for altered, message in (
        (dataclasses.replace(state, network=garbage), unfit),
        (dataclasses.replace(state, network=garbage, seal=b""), unfit),
        (dataclasses.replace(read, network=garbage), unfit),
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
        assert exactly(read.decisions) == exactly(state.decisions)


def both(spec: EnvironmentSpec, **arguments: Any) -> tuple[FlowSchedEnv[Any], FlowSchedEnv[Any]]:
    """Begins an episode on each engine."""
    return started(spec, SEED, engine="simpy", **arguments), started(spec, SEED, engine="compiled", **arguments)


@each_environment
def test_an_episode_is_the_same_on_both_engines(spec: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_event_logs(monkeypatch)
    ties = TIES[spec.id][0]
    given = {"workload": tied_flows(ties), "render_mode": "ansi", **ties}
    tied = [core(gym.make(spec.id, engine=engine, **given)) for engine in ("simpy", "compiled")]
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
