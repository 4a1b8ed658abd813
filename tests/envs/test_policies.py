"""Holds slot policies to hand-made observations, and all policies to workloads, vectors and each other."""

from collections.abc import Mapping

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import (
    EarliestDeadline,
    FirstSlot,
    LargestRatio,
    LastSlot,
    LeastSlack,
    Policy,
    RandomSlot,
    SlotPolicy,
    SmallestRatio,
    SmallestSize,
)
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.machine_code.numerics import squash
from flowsched_gym.registration import heuristic_arguments, make_policy
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.systems.artemis.config import ArtemisConfig, Observation
from flowsched_gym.systems.artemis.policies import FeasibleFirst
from flowsched_gym.systems.artemis.rules import artemis_layout
from tests.environments import CASES
from tests.envs.episodes import ENVIRONMENTS, SHORT, each_environment, following, make, play

FULL = artemis_layout(ArtemisConfig(f=4))
PAPER = artemis_layout(ArtemisConfig(observation=Observation.PAPER, f=4))


def observe(
    *, size: list[float], span: list[float] | None = None, time_left: list[float] | None = None
) -> npt.NDArray[np.float32]:
    """Builds an observation with these requests in the first slots; slack follows from a line rate of 125 MB/s."""
    span = [0.04] * len(size) if span is None else span
    time_left = span if time_left is None else time_left
    observation = np.zeros(FULL.size, dtype=np.float32)
    for slot in range(len(size)):
        values = {
            "present": 1.0,
            "size": size[slot],
            "deadline_span": span[slot],
            "waiting": span[slot] - time_left[slot],
            "time_left": time_left[slot],
            "slack": time_left[slot] - size[slot] / 125e6,
        }
        for index, column in enumerate(FULL.slot):
            value = values.get(column.name, 0.0)
            place = FULL.num_context + slot * FULL.num_slot_features + index
            observation[place] = value if column.name == "present" else squash(value, column.scale)
    return observation


def choice(policy: SlotPolicy, observation: npt.NDArray[np.float32]) -> int:
    return int(policy.predict(observation)[0])


@pytest.mark.parametrize(
    ("policy", "slot"),
    [
        (FirstSlot, 0),
        (LastSlot, 2),
        (SmallestSize, 1),
        (EarliestDeadline, 2),
        (SmallestRatio, 0),
        (LargestRatio, 2),
        (LeastSlack, 2),
    ],
)
def test_each_policy_serves_what_its_name_says(policy: type[SlotPolicy], slot: int) -> None:
    chooser, memory = policy(FULL), object()
    observation = observe(size=[2e5, 1e5, 3e5], span=[0.09, 0.04, 0.05], time_left=[0.03, 0.02, 0.01])
    action, state = chooser.predict(observation, state=memory, episode_start=np.array([True]), deterministic=True)

    assert isinstance(chooser, Policy)
    assert (action.tolist(), action.shape) == (slot, ())
    assert np.issubdtype(action.dtype, np.integer)
    assert state is memory
    # Of equal requests the oldest is served.
    assert choice(chooser, observe(size=[1e5] * 4)) == (3 if policy is LastSlot else 0)


def test_slack_counts_the_time_to_send_and_the_deadline_does_not() -> None:
    observation = observe(size=[1e5, 5e6], time_left=[0.010, 0.040])
    assert choice(EarliestDeadline(FULL), observation) == 0
    assert choice(LeastSlack(FULL), observation) == 1
    passed = observe(size=[1e5] * 3, time_left=[0.01, -0.02, -0.01])
    assert choice(EarliestDeadline(FULL), passed) == 1


def test_feasible_first_puts_hopeless_requests_behind_all_others() -> None:
    policy = FeasibleFirst(FULL, line_rate=125e6, latency=1e-3, share=2.0)
    # What takes 1 ms + 2 * 250 KB / 125 MB/s = 5 ms needs more than the first two have left.
    hopeless = observe(size=[2.5e5] * 4, time_left=[0.004, -0.010, 0.020, 0.010])
    lost = observe(size=[2.5e5] * 2, time_left=[0.004, -0.010])
    assert choice(policy, hopeless) == 3
    assert choice(policy, lost) == 1
    # Requests without a deadline come after those with one and before hopeless ones.
    never = float("inf")
    assert choice(policy, observe(size=[2.5e5] * 2, span=[never, 0.04], time_left=[never, 0.02])) == 1
    assert choice(policy, observe(size=[2.5e5] * 2, span=[0.04, never], time_left=[0.001, never])) == 1


@pytest.mark.parametrize(("policy", "column"), [(EarliestDeadline, "time_left"), (LeastSlack, "slack")])
def test_a_policy_that_needs_a_column_that_is_not_there_says_so(policy: type[SlotPolicy], column: str) -> None:
    with pytest.raises(ConfigError, match=f"the observation has no column '{column}': it has size, deadline_span"):
        policy(PAPER)


def test_the_random_policy_chooses_each_request_about_equally_often() -> None:
    batch = np.stack([observe(size=[1e5, 2e5, 3e5])] * 3000)
    counts = np.bincount(RandomSlot(FULL, seed=1).predict(batch)[0], minlength=4)
    assert counts[3] == 0
    # A binomial count has a standard deviation of 26 here: five of them.
    assert counts[:3] == pytest.approx([1000] * 3, abs=130)


SETTINGS: dict[str, list[Mapping[str, object]]] = {}
for _setting in load_suite("standard").settings.values():
    SETTINGS.setdefault(_setting.spec.id, []).append(_setting.kwargs)

EACH_TABLE = [
    pytest.param(spec, arguments, id=f"{spec.id}-{'-'.join(map(str, short.values()))}")
    for spec in ENVIRONMENTS
    for chosen in [*({"workload": name} for name in spec.workloads), *SETTINGS.get(spec.id, [])]
    for short in [{name: value for name, value in chosen.items() if name != "flows"}]
    for arguments in [short | CASES[spec.id].slower]
]
"""Every workload, and every setting of the leaderboard; both with the short episodes of the tests."""


@pytest.mark.parametrize(("spec", "arguments"), EACH_TABLE)
def test_every_policy_plays_everything_that_tables_are_made_for(spec, arguments) -> None:
    for name in spec.heuristics:
        env = make(spec, **heuristic_arguments(spec, arguments, name))
        steps = play(env, following(make_policy(name, env, seed=1)), seed=16)
        assert steps[-1].terminated, name
        assert steps[-1].info.get("empty_slot_choices", 0) == 0, name


@each_environment
def test_every_policy_serves_a_vector_as_it_serves_each_environment(spec: EnvironmentSpec) -> None:
    for name in spec.heuristics:
        arguments = heuristic_arguments(spec, SHORT[spec.id], name)
        vector = gym.make_vec(spec.id, num_envs=4, vectorization_mode="sync", **arguments)
        together, alone = make_policy(name, vector, seed=3), make_policy(name, gym.make(spec.id, **arguments), seed=3)
        observations, _ = vector.reset(seed=21)
        for _ in range(30):
            actions = together.predict(observations)[0]
            assert actions.tolist() == [alone.predict(row)[0].tolist() for row in observations], name
            observations = vector.step(actions)[0]


@each_environment
def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(spec: EnvironmentSpec) -> None:
    known = ", ".join(spec.named_policies)
    with pytest.raises(ConfigError, match=rf"policy is 'oracle': .* has {known}"):
        make_policy("oracle", make(spec))
