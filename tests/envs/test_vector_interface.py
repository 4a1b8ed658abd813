"""Holds native vector environments to what else callers ask of them, in any number of threads, and what they refuse."""

import os
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.core.errors import ConfigError, InvalidAction, SimulationError
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import Workload
from tests.envs.episodes import SHORT, exactly, make
from tests.envs.vectors import (
    TIES,
    Pair,
    SimultaneousFlows,
    actions_at,
    any_actions,
    each_native,
    each_native_choice,
    make_native,
)
from tests.processes import run_python


def masks_of(envs: Any) -> Any:
    return envs.action_masks() if hasattr(envs, "action_masks") else None


@each_native
def test_make_vec_takes_the_native_vector_which_knows_what_all_its_environments_share(spec: EnvironmentSpec) -> None:
    envs: Any = gym.make_vec(spec.id, num_envs=2, **SHORT[spec.id])
    single: Any = make(spec).unwrapped

    assert f"{type(envs).__module__}:{type(envs).__qualname__}" == spec.vector_entry_point
    assert (envs.spec.id, envs.num_envs) == (spec.id, 2)
    assert not hasattr(envs, "envs")
    assert envs.single_observation_space == single.observation_space
    assert envs.single_action_space == single.action_space
    assert envs.observation_space.shape == (2, *single.observation_space.shape)
    assert (envs.layout, envs.config) == (single.layout, single.config)
    assert envs.metadata == {**single.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
    envs.reset(seed=[3, 8])
    for name in ("config", "layout", "render_mode", "metadata", "num_actions"):
        assert envs.call(name) == envs.get_attr(name) == (getattr(single, name),) * 2
    assert [each.id for each in envs.get_attr("spec")] == [spec.id] * 2
    assert envs.get_attr("np_random_seed") == envs.np_random_seed == (3, 8)
    if hasattr(envs, "action_masks"):
        assert np.stack(envs.call("action_masks")).tolist() == envs.action_masks().tolist()
    for name in ("simulation", "step", "absent"):
        with pytest.raises(AttributeError, match=f"'{name}' is not known of each environment: it must be one of "):
            envs.get_attr(name)


def test_numbers_of_numpy_count_as_pythons_do() -> None:
    """Twice 200, as room for two episodes each, is 144 in eight bits."""
    vectors = [
        gym.make_vec("flowsched/Artemis-v0", num_envs=count(200), num_threads=count(1), **SHORT["flowsched/Artemis-v0"])
        for count in (int, np.uint8)
    ]
    observations = [envs.reset(seed=4)[0] for envs in vectors]
    assert np.array_equal(*observations)
    assert [type(envs.num_envs) for envs in vectors] == [int, int]


@each_native
def test_what_is_returned_stays_as_it_is_when_the_environments_go_on(spec: EnvironmentSpec) -> None:
    envs = make_native(spec, autoreset_mode="SameStep", max_decisions=7)
    told: list[Any] = [(envs.reset(seed=1), masks_of(envs))]
    before = [exactly(told[0])]
    generator = np.random.default_rng(1)
    for _ in range(30):
        told.append((envs.step(any_actions(envs, generator)), masks_of(envs)))
        before.append(exactly(told[-1]))

    assert [exactly(each) for each in told] == before


@each_native_choice
def test_an_action_outside_the_space_is_refused_before_anything_moves(spec: EnvironmentSpec) -> None:
    envs, untouched = (make_native(spec, render_mode="ansi") for _ in range(2))
    num_actions = int(envs.single_action_space.n)
    for each in (envs, untouched):
        each.reset(seed=3)
        for _ in range(7):
            each.step([0, 0, 0])
    state = exactly(envs.action_masks())
    for number, wrong in ((0, -1), (2, num_actions), (1, 2**62), (1, -(2**62))):
        actions = np.zeros(3, dtype=np.int64)
        actions[number] = wrong
        message = f"action of environment {number} is {wrong}: .* from 0 to {num_actions - 1}"
        with pytest.raises(InvalidAction, match=message):
            envs.step(actions)
    for strange in (np.zeros(2, dtype=np.int64), np.zeros(3), np.zeros((3, 1), dtype=np.int64), 0, [0, 0, 0.5]):
        with pytest.raises(InvalidAction, match="it must be 3 integers"):
            envs.step(strange)

    assert exactly(envs.action_masks()) == state
    for place_after in range(60):
        actions = np.full(3, place_after % num_actions)
        assert exactly(envs.step(actions)) == exactly(untouched.step(actions))
    assert envs.render() == untouched.render()


@each_native
def test_actions_of_environments_that_begin_anew_do_not_matter(spec: EnvironmentSpec) -> None:
    envs = make_native(spec, max_decisions=2)
    envs.reset(seed=5)
    envs.step(actions_at(envs, 0))
    assert envs.step(actions_at(envs, 0))[3].all()
    _, rewards, terminated, truncated, infos = envs.step(np.full(3, -5))

    assert rewards.tolist() == [0.0, 0.0, 0.0]
    assert not (terminated | truncated).any()
    assert infos["reward_terms"] == {}


@each_native
@pytest.mark.parametrize(
    ("render_mode", "mode"), [("ansi", AutoresetMode.NEXT_STEP), ("rgb_array", AutoresetMode.SAME_STEP)], ids=str
)
def test_it_draws_what_its_environments_draw(spec: EnvironmentSpec, render_mode: str, mode: AutoresetMode) -> None:
    pair = Pair(spec, num_envs=2, mode=mode, render_mode=render_mode, **(SHORT[spec.id] | {"max_decisions": 6}))
    assert pair.native.render_mode == render_mode
    pair.reset(seed=6)
    generator = np.random.default_rng(2)
    for place in range(16):
        found, expected = pair.native.render(), pair.single.render()
        assert [exactly(each) for each in found] == [exactly(each) for each in expected], place
        for _ in range(place % 3):
            pair.step(any_actions(pair.native, generator))


@each_native
def test_before_the_first_reset_there_is_nothing_to_ask_and_all_states_must_be_set(spec: EnvironmentSpec) -> None:
    envs, other = (make_native(spec, render_mode="ansi") for _ in range(2))
    other.reset(seed=7)
    state = other.get_state()
    for ask in (
        *([envs.action_masks] if hasattr(envs, "action_masks") else []),
        envs.render,
        envs.get_state,
        lambda: envs.step(actions_at(envs, 0)),
        lambda: envs.workload(0),
        lambda: envs.records(2),
        lambda: envs.set_state(state.pick([0, 1]), [0, 1]),
    ):
        with pytest.raises(SimulationError, match=r"there is no episode yet: call reset\(\) first"):
            ask()
    with pytest.raises(SimulationError, match="not in reset_mask has had no episode yet: reset all first"):
        envs.reset(options={"reset_mask": np.array([True, False, True])})
    envs.set_state(state)
    envs.step(actions_at(envs, 0))


@each_native
def test_a_reset_that_cannot_be_is_refused_and_nothing_has_changed(spec: EnvironmentSpec) -> None:
    envs, untouched = make_native(spec), make_native(spec)
    envs.reset(seed=9)
    untouched.reset(seed=9)
    masks = [True, True, True], np.ones(2, dtype=np.bool_), np.ones(3)
    for seed, options, message in (
        *((None, {"reset_mask": mask}, r"reset_mask is .*: it must be an array of 3 bool") for mask in masks),
        (None, {"reset_mask": np.zeros(3, dtype=np.bool_)}, "reset_mask names no environment"),
        (None, {"pace": 3}, r"options is \{'pace': 3\}: this environment knows only reset_mask"),
        ([1, 2], None, "seed has 2 entries: it must have one for each of 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            envs.reset(seed=seed, options=options)

    actions = actions_at(envs, 0)
    assert exactly(envs.step(actions)[0]) == exactly(untouched.step(actions)[0])
    assert exactly(envs.reset()[0]) == exactly(untouched.reset()[0])


@dataclass(frozen=True)
class SometimesNothing(SimultaneousFlows):
    """Draws no flow in a third of the episodes."""

    def draw(self, seed: int) -> Workload:
        """Draws flows, or none."""
        workload = super().draw(seed)
        if seed % 3:
            return workload
        nothing = np.zeros(0)
        return Workload(flow_id=nothing, source=nothing, destination=nothing, size=nothing, arrival_time=nothing)


@each_native
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
def test_an_episode_that_cannot_be_is_refused_when_it_begins_and_the_next_one_is_drawn(spec, mode) -> None:
    pair = Pair(spec, num_envs=1, mode=mode, workload=SometimesNothing(), **(TIES[spec.id][0] | {"max_decisions": 3}))
    outcomes = []
    for envs in (pair.native, pair.single):
        found: list[Any] = []
        seed: int | None = 12
        while len(found) < 60:
            try:
                if seed is not None or (mode is AutoresetMode.SAME_STEP and isinstance(found[-1], str)):
                    seed, began = None, envs.reset(seed=seed)
                    found.append(exactly(began))
                else:
                    found.append(exactly(envs.step(actions_at(envs, 0))))
            except ConfigError as error:
                seed = None
                found.append(str(error))
        outcomes.append(found)

    assert outcomes[0] == outcomes[1]
    assert sum("no flow" in each for each in outcomes[0] if isinstance(each, str)) >= 3


@each_native
def test_any_number_of_threads_gives_the_same_numbers(spec: EnvironmentSpec) -> None:
    # Three threads have parts of different sizes; of seven, some have none.
    several = [make_native(spec, 5, num_threads=num_threads) for num_threads in (1, 3, 7)]
    generator = np.random.default_rng(4)
    first, *others = [exactly(envs.reset(seed=3)) for envs in several]
    assert others == [first] * 2
    for _ in range(150):
        actions = any_actions(several[0], generator)
        first, *others = [exactly(envs.step(actions)) for envs in several]
        assert others == [first] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("env_id", ["flowsched/Artemis-v0", "flowsched/QCluster-v0"])
def test_a_forked_process_has_threads_of_its_own(env_id: str) -> None:
    run_python(f"""
import os, signal, warnings
import gymnasium as gym
import flowsched_gym
from tests.envs.episodes import SHORT
envs = gym.make_vec({env_id!r}, 2, "vector_entry_point", num_threads=2, **SHORT[{env_id!r}])
envs.reset(seed=0)
action = envs.action_space.sample()
envs.step(action)
warnings.simplefilter("ignore")  # Python warns of any fork beside threads
process = os.fork()
if not process:
    signal.alarm(60)  # ends a process that waits for threads that it does not have
    envs.step(action)
    os._exit(0)
assert os.waitpid(process, 0)[1] == 0
envs.step(action)
""")


def test_a_wrong_number_of_threads_is_refused() -> None:
    for num_threads in (0, 1.5, "two", 10**6):
        with pytest.raises(ConfigError, match=r"num_threads is .*: it must be an integer from 1 to 512"):
            gym.make_vec("flowsched/Artemis-v0", 2, "vector_entry_point", num_threads=num_threads)
