"""Holds native vector environments to their states: taken at any moment, restored anywhere, going on bit for bit."""

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.envs import VectorState
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import case, exactly, pairwise
from tests.envs.vectors import NATIVE, TIES, SimultaneousFlows, actions_at, each_native, make_native
from tests.processes import run_python

SEED = 31
NUM_ENVS = 3
EACH_CASE = [
    pytest.param(*one.values, mode, id=f"{mode.value}-{one.id}", marks=one.marks)
    for spec in NATIVE
    for number, each in enumerate([each for each in pairwise(spec) if each.get("discipline", "merp") == "merp"][:2])
    for limited, arguments in enumerate((each, each | {"max_decisions": 25}))
    for later, mode in enumerate((AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP))
    for one in [case(spec, arguments, exhaustive=(number + limited + later) % 2 == 1)]
]
"""Of each environment two combinations of arguments, with and without a limit, in both modes; each two meet."""


def started(spec: EnvironmentSpec, seed: int = SEED, **arguments: Any) -> Any:
    """Makes a native vector environment and begins its episodes."""
    envs = make_native(spec, NUM_ENVS, **arguments)
    envs.reset(seed=seed)
    return envs


def started_on_ties(spec: EnvironmentSpec, source: SimultaneousFlows) -> Any:
    """Makes a native vector environment whose episodes differ in length, and begins them."""
    envs = gym.make_vec(spec.id, NUM_ENVS, "vector_entry_point", workload=source, **TIES[spec.id][0])
    envs.reset(seed=SEED)
    return envs


def act(envs: Any, place: int) -> Any:
    return exactly(envs.step(actions_at(envs, place)))


def play(envs: Any, first: int, last: int) -> list[Any]:
    """Takes the steps of some places, and returns all that the environments tell; at last, what they know."""
    found = [act(envs, place) for place in range(first, last)]
    records = tuple(dataclasses.asdict(envs.records(number)) for number in range(envs.num_envs))
    masks = envs.action_masks() if hasattr(envs, "action_masks") else None
    return [*found, exactly(masks), exactly(records)]


def row(found: Any, number: int) -> Any:
    arrays = [np.frombuffer(data, dtype=kind).reshape(shape) for kind, shape, data in found[:4]]
    return [array[number].tobytes() for array in arrays]


@pytest.mark.parametrize(("spec", "arguments", "mode"), EACH_CASE)
def test_environments_go_on_from_any_state_as_they_went_on_before(spec, arguments, mode) -> None:
    envs = started(spec, autoreset_mode=mode, **arguments)
    states, expected = {0: envs.get_state()}, []
    for place in range(1, 61):
        expected.append(act(envs, place - 1))
        if place in (25, 26, 50):
            states[place] = envs.get_state()
    other = started(spec, SEED + 1, autoreset_mode=mode, **arguments)
    act(other, 0)
    for place, state in states.items():
        for each, restored in ((envs, state), (other, pickle.loads(pickle.dumps(state)))):
            each.set_state(restored)
            assert [act(each, after) for after in range(place, 60)] == expected[place:]


@each_native
def test_a_state_goes_on_in_tables_that_have_grown_and_in_those_that_have_not(spec: EnvironmentSpec) -> None:
    envs, other = (started_on_ties(spec, SimultaneousFlows()) for _ in range(2))
    play(envs, 0, 5)
    small = envs.get_state()
    expected = play(envs, 5, 200)
    if isinstance(envs.simulation, BatchSimulation):
        assert envs.simulation.num_rows > small.networks.room[0]
    large = envs.get_state()
    beyond = play(envs, 200, 230)

    envs.set_state(small)
    assert play(envs, 5, 200) == expected
    other.set_state(large)
    assert play(other, 200, 230) == beyond


def test_states_go_on_in_another_process(tmp_path: Path) -> None:
    states, expected = [], []
    for spec in NATIVE:
        envs = started(spec)
        play(envs, 0, 30)
        states.append(envs.get_state())
        expected.append(play(envs, 30, 90))
    (tmp_path / "states.pkl").write_bytes(pickle.dumps(states))
    program = f"""
import pathlib, pickle
from tests.envs.test_vector_states import NATIVE, play, started
states, told = pickle.loads(pathlib.Path({str(tmp_path / "states.pkl")!r}).read_bytes()), []
for spec, state in zip(NATIVE, states):
    envs = started(spec, 1)
    envs.set_state(state)
    told.append(play(envs, 30, 90))
print(repr(told))
"""

    assert run_python(program, PYTHONHASHSEED="1") == repr(expected)


@each_native
def test_pickled_and_copied_environments_go_on_where_they_were(spec: EnvironmentSpec) -> None:
    envs = started(spec, num_threads=2)
    play(envs, 0, 20)
    others = [pickle.loads(pickle.dumps(envs)), copy.deepcopy(envs)]

    expected = play(envs, 20, 60)
    assert [play(other, 20, 60) for other in others] == [expected, expected]


@each_native
def test_some_environments_take_up_states_and_the_others_go_on(spec: EnvironmentSpec) -> None:
    envs, watched = started(spec), started(spec)
    play(envs, 0, 20)
    play(watched, 0, 20)
    state = envs.get_state()
    play(envs, 20, 30)
    play(watched, 20, 30)
    envs.set_state(state.pick([2, 0]), [0, 2])
    assert envs.np_random_seed == (SEED + 2, SEED + 1, SEED)
    branch = started(spec, 5)
    branch.set_state(state)

    for place in range(30, 120):
        found, there, then = act(envs, place), act(watched, place), act(branch, place)
        assert row(found, 1) == row(there, 1)
        assert row(found, 0) == row(then, 2)
        assert row(found, 2) == row(then, 0)


@each_native
def test_taking_a_state_leaves_no_trace_and_it_does_not_change_when_the_environments_go_on(spec) -> None:
    envs, watched = (started(spec) for _ in range(2))
    state = watched.get_state()
    before = pickle.dumps(state)
    for place in range(50):
        assert act(envs, place) == act(watched, place)
        watched.get_state()
    watched.set_state(state)
    play(watched, 0, 90)

    assert pickle.dumps(state) == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.seeds = ()
    for array in (*state.networks.blocks.values(), *state.columns.values()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


@each_native
def test_a_state_before_a_reset_by_hand_says_whether_a_step_may_follow(spec: EnvironmentSpec) -> None:
    envs = started(spec, autoreset_mode="Disabled", max_decisions=3)
    play(envs, 0, 2)
    state = envs.get_state()
    act(envs, 2)
    with pytest.raises(SimulationError, match=r"environment 0 has ended: reset it with options=\{'reset_mask': "):
        act(envs, 3)
    ended = envs.get_state()
    envs.set_state(state)
    act(envs, 2)
    envs.set_state(ended)
    with pytest.raises(SimulationError, match="environment 0 has ended"):
        act(envs, 3)
    envs.reset(options={"reset_mask": np.ones(NUM_ENVS, dtype=np.bool_)})
    act(envs, 3)


@each_native
def test_a_restored_environment_draws_what_the_other_drew(spec: EnvironmentSpec) -> None:
    envs, other = (started(spec, seed, render_mode="ansi") for seed in (1, 2))
    play(envs, 0, 10)
    state = envs.get_state()
    other.render()
    other.set_state(state.pick([2, 0, 1]))
    frames = envs.render()

    assert other.render() == (frames[2], frames[0], frames[1])
    play(envs, 10, 20)
    play(other, 10, 20)
    assert other.render()[0] == envs.render()[2] != frames[2]
    envs.set_state(state)
    assert envs.render() == frames


@each_native
def test_states_that_do_not_fit_are_refused_and_nothing_has_changed(spec: EnvironmentSpec) -> None:
    envs, untouched = started(spec), started(spec)
    state, other, here = envs.get_state(), started(spec, SEED + 1).get_state(), flowsched_gym.__version__
    elsewhere, older = (
        dataclasses.replace(state, **change) for change in ({"environment": "e:Env"}, {"package_version": "0.0.1"})
    )
    refusals: list[tuple[Any, list[int] | None, str]] = [
        *(
            (wrong, None, r"state is .*: it must be what get_state\(\) returned")
            for wrong in (None, 3, b"state", {}, envs)
        ),
        (elsewhere, None, "state is one of e:Env: this environment is "),
        (older, None, rf"state is one of flowsched-gym 0\.0\.1: this is {here}"),
        (started(spec, max_decisions=9).get_state(), None, "with max_decisions=9: this one has max_decisions=None"),
        (other.pick([0] * 2), None, "state has 2 environments: numbers must be as many"),
        (other.pick([0] * 2), [0, 0], "state has 2 environments: numbers must be as many, each once"),
        (other.pick([0] * 2), [0, 3], r"numbers is \[0, 3\]: it must be integers from 0 to 2"),
        (other.pick([0] * 2), [-1, 0], r"numbers is \[-1, 0\]: it must be integers from 0 to 2"),
        (other.pick([0] * 4), [0, 1, 2], "state has 4 environments: numbers must be as many"),
    ]
    for wrong, numbers, message in refusals:
        with pytest.raises(ConfigError, match=message):
            envs.set_state(wrong, numbers)
    with pytest.raises(ConfigError, match="taken without a render_mode: its episodes cannot be drawn"):
        started(spec, render_mode="ansi").set_state(state)
    assert play(envs, 0, 10) == play(untouched, 0, 10)


@each_native
def test_a_state_of_other_flows_is_refused_even_where_the_arguments_read_the_same(spec: EnvironmentSpec) -> None:
    state = started_on_ties(spec, SimultaneousFlows()).get_state()
    assert isinstance(state, VectorState)
    for source in (SimultaneousFlows(scale=2.0), SimultaneousFlows(num_hosts=8)):
        other = started_on_ties(spec, source)

        assert other.config == state.config
        with pytest.raises(ConfigError, match="one of episodes with other flows than these environments draw"):
            other.set_state(state)
        act(other, 0)


@each_native
def test_a_state_that_was_altered_is_refused(spec: EnvironmentSpec) -> None:
    envs = started(spec)
    play(envs, 0, 10)
    state = envs.get_state()
    draw = np.random.default_rng(SEED)

    def some_byte(array: np.ndarray[Any, Any]) -> int:
        """Draws a byte of a record's field: those between fields belong to nobody."""
        fields = list((array.dtype.fields or {"": (array.dtype, 0)}).values())
        kind, offset = fields[draw.integers(len(fields))][:2]
        return int(draw.integers(array.size) * array.itemsize + offset + draw.integers(kind.itemsize))

    def tables(each: VectorState) -> list[Any]:
        return [each.networks.blocks, each.columns]

    altered = [dataclasses.replace(state, seeds=state.seeds[::-1], **more) for more in ({}, {"seals": ()})]
    for number, table in enumerate(tables(state)):
        for name, array in table.items():
            read = pickle.loads(pickle.dumps(state))
            content = bytearray(array.tobytes())
            if content:
                content[some_byte(array)] ^= 1
                tables(read)[number][name] = np.frombuffer(content, array.dtype).reshape(array.shape)
                altered += [read, read.pick(range(NUM_ENVS))]
    for each in altered:
        with pytest.raises(ConfigError, match=r"state was altered after get_state\(\) returned it"):
            envs.set_state(each)
    envs.set_state(copy.deepcopy(state))
    envs.set_state(state)
