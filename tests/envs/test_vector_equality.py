"""Holds native vector environments to vectors of single ones: all that they return, and the events underneath."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import SHORT, each_combination
from tests.envs.vectors import NATIVE, RARE_TIES, TIES, Pair, actions_at, compare_on_ties, each_native
from tests.strategies import simultaneous_flows

pytestmark = pytest.mark.usefixtures("event_logs")

DECISIONS = 17
"""Decisions, or steps, after which an episode is truncated."""

each_mode = pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)


@each_combination(NATIVE, discipline="merp")
def test_a_native_vector_gives_what_single_environments_give(spec: EnvironmentSpec, arguments: dict[str, Any]) -> None:
    whole = Pair(spec, **(SHORT[spec.id] | arguments))
    whole.reset(seed=40)
    assert whole.play(120, seed=41) >= 3
    cut = Pair(spec, mode=AutoresetMode.SAME_STEP, **(SHORT[spec.id] | arguments | {"max_decisions": DECISIONS}))
    cut.reset(seed=40)
    assert cut.play(40, seed=41) >= 6


@each_native
@pytest.mark.parametrize(
    ("mode", "max_decisions"),
    [(AutoresetMode.NEXT_STEP, None), (AutoresetMode.SAME_STEP, DECISIONS), (AutoresetMode.DISABLED, DECISIONS + 1)],
    ids=str,
)
def test_it_truncates_with_the_time_limit_of_gymnasium(spec, mode, max_decisions) -> None:
    pair = Pair(spec, mode=mode, max_episode_steps=DECISIONS, **(SHORT[spec.id] | {"max_decisions": max_decisions}))
    pair.reset(seed=42)
    assert pair.play(60, seed=43) >= 9


@each_native
@pytest.mark.parametrize(
    "mode",
    [
        AutoresetMode.NEXT_STEP,
        *(
            pytest.param(mode, marks=pytest.mark.exhaustive)
            for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)
        ),
    ],
    ids=lambda mode: mode.value,
)
def test_it_does_so_where_many_events_are_simultaneous(spec: EnvironmentSpec, mode: AutoresetMode) -> None:
    compare_on_ties(spec, mode)


@pytest.mark.exhaustive
@each_native
def test_it_does_so_with_rare_disciplines(spec: EnvironmentSpec) -> None:
    compare_on_ties(spec, ties=RARE_TIES)


@pytest.mark.parametrize(
    ("spec", "arguments"),
    [pytest.param(spec, each, id=f"{spec.id}-{place}") for spec in NATIVE for place, each in enumerate(TIES[spec.id])],
)
@settings(max_examples=6)
@given(workload=simultaneous_flows(), seed=st.integers(0, 2**32 - 1))
def test_it_does_so_on_any_simultaneous_flows(spec, arguments, workload, seed) -> None:
    pair = Pair(spec, num_envs=2, workload=workload, **arguments)
    pair.reset(seed=46)
    pair.play(24, seed=seed)


@each_native
def test_resets_without_a_seed_go_on_as_those_of_single_environments(spec: EnvironmentSpec) -> None:
    pair = Pair(spec, **SHORT[spec.id])
    for seeds in (5, None, None, [7, 7, None], None, 5):
        pair.reset(seed=seeds)
        pair.play(4, seed=47)


@each_native
@each_mode
def test_some_environments_can_be_reset_at_any_time(spec: EnvironmentSpec, mode: AutoresetMode) -> None:
    pair = Pair(spec, mode=mode, **SHORT[spec.id])
    pair.reset(seed=48)
    for place in range(12):
        mask = np.array([place % 2 == 0, place % 3 == 0, place % 4 == 0])
        if mask.any():
            pair.reset([None, place, None], reset_mask=mask)
        pair.play(9, seed=place)


@each_native
def test_an_environment_that_has_ended_can_be_reset_before_it_resets_itself(spec: EnvironmentSpec) -> None:
    pair = Pair(spec, **(SHORT[spec.id] | {"max_decisions": 5}))
    pair.reset(seed=49)
    for _ in range(5):
        over = pair.step(actions_at(pair.native, 0))
    assert over.all()
    pair.reset(reset_mask=np.array([True, False, False]))

    pair.play(12, seed=50)
