"""Holds every registered environment to Gymnasium's contract, to the package's own, and to its docstring."""

import inspect
import itertools
import re
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from flowsched_gym.core.errors import ConfigError, InvalidAction, SimulationError
from flowsched_gym.players import make_policy
from flowsched_gym.registration import find_environment, load_target, register_environments
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import (
    ENVIRONMENTS,
    combinations,
    core,
    each_combination,
    each_environment,
    exactly,
    fingerprint,
    make,
    play,
)
from tests.processes import run_python

SLOT_CHOICES = [
    spec
    for spec, env in ((spec, make(spec)) for spec in ENVIRONMENTS)
    if isinstance(env.action_space, gym.spaces.Discrete) and hasattr(env.unwrapped, "action_masks")
]
"""Environments whose actions are slots, which may be empty."""


@each_environment
def test_gymnasiums_checker_finds_nothing_and_warns_of_nothing(spec: EnvironmentSpec) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(spec).unwrapped)


@each_environment
def test_stable_baselines_checker_finds_nothing_and_warns_of_nothing(spec: EnvironmentSpec) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    views = {arguments.get("observation") for arguments in combinations(spec)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for observation in views:
            arguments = {} if observation is None else {"observation": observation}
            checker.check_env(make(spec, **arguments).unwrapped, warn=True)


def test_ids_have_the_form_of_the_contract_and_lead_back_to_their_system() -> None:
    before = dict(gym.registry)
    register_environments()
    assert gym.registry == before
    assert len({spec.id for spec in ENVIRONMENTS}) == len(ENVIRONMENTS)
    for spec in ENVIRONMENTS:
        assert re.fullmatch(r"flowsched/\w+-v\d", spec.id)
        assert find_environment(spec.id) is find_environment(f"flowsched_gym:{spec.id}") is spec
        for target in (spec.entry_point, spec.config, *(policy.target for policy in (*spec.policies, *spec.planners))):
            assert isinstance(load_target(target), type)


@each_combination()
def test_observations_rewards_and_ends_are_what_the_package_promises(spec, arguments) -> None:
    env = make(spec, **arguments)
    spaces, bounds = (env.observation_space, env.action_space), exactly(vars(env.observation_space)["low"])
    before: list[Any] = []

    def choose(env: gym.Env, observation: np.ndarray, info: dict[str, Any]) -> Any:
        before.append(exactly({"observation": observation, "mask": info.get("action_mask")}))
        return env.action_space.sample()

    steps = play(env, choose, seed=4)
    records, arrays = core(env).records(), [step.observation for step in steps]

    # Observations lie in the space, are arrays of their own, and stay as they were.
    assert all(spaces[0].contains(array) and array.dtype == np.float32 for array in arrays)
    assert len({id(array) for array in arrays}) == len(arrays)
    after = [exactly({"observation": step.observation, "mask": step.info.get("action_mask")}) for step in steps[:-1]]
    assert after == before
    assert (env.observation_space, env.action_space) == spaces
    assert exactly(vars(env.observation_space)["low"]) == bounds
    # There are masks of choices, and of nothing else.
    base: Any = env.unwrapped
    has_masks = hasattr(base, "action_masks")
    assert has_masks is bool(base.num_actions) is ("action_mask" in steps[0].info)
    # The reward is the term that is asked for, or the sum of all.
    for step in steps[1:]:
        terms = step.info["reward_terms"]
        assert terms
        assert step.reward == pytest.approx(terms.get(arguments.get("reward"), sum(terms.values())))
    # The episode ends when every flow has finished.
    assert steps[-1].terminated
    assert not any(step.terminated or step.truncated for step in steps[:-1])
    assert np.isfinite(records.completion_time).all()
    assert sorted(flow for step in steps for flow in step.info["finished"]) == records.flow_id.tolist()
    times = [step.info["time"] for step in steps]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(records.completion_time.max(), rel=1e-12)
    # Metrics come then, and agree with the records.
    metrics = steps[-1].info["episode_metrics"]
    assert not any("episode_metrics" in step.info for step in steps[:-1])
    assert metrics["num_flows"] == metrics["num_finished"] == records.num_flows
    assert metrics["mean_fct"] == pytest.approx(float(records.fct.mean()))
    ratio = records.deadline_met.mean() if np.isfinite(records.deadline_span).all() else np.nan
    assert metrics["deadline_hit_ratio"] == pytest.approx(float(ratio), nan_ok=True)


@each_combination(SLOT_CHOICES)
def test_the_mask_tells_which_actions_do_what_they_say(spec: EnvironmentSpec, arguments: dict[str, Any]) -> None:
    def follow(env: gym.Env, observation: Any, info: dict[str, Any]) -> int:
        assert (core(env).action_masks() == info["action_mask"]).all()  # type: ignore[attr-defined]
        return int(env.action_space.sample(mask=info["action_mask"]))

    steps, allowed = play(make(spec, **arguments), seed=6), play(make(spec, **arguments), follow, seed=7)
    first_allowed = make(spec, **arguments)
    first_allowed.reset(seed=6)

    assert {bool(step.info["action_mask"].all()) for step in steps} == {True, False}, "the episode shows one case only"
    for before, after in itertools.pairwise(steps):
        replaced = after.info["empty_slot_choices"] - before.info["empty_slot_choices"]
        mask = before.info["action_mask"]
        assert replaced == (0 if mask[after.action] else 1)
        same = first_allowed.step(after.action if mask[after.action] else np.argmax(mask))
        assert exactly(same[:2]) == exactly((after.observation, after.reward))
        assert same[4]["finished"] == after.info["finished"]
    assert allowed[-1].terminated
    assert allowed[-1].info["empty_slot_choices"] == 0
    assert all(step.info["action_mask"].any() for step in allowed)


def test_the_same_seed_gives_the_same_episode_in_another_process_and_another_seed_another_one() -> None:
    ids = [spec.id for spec in ENVIRONMENTS]
    program = (
        "from tests.envs.episodes import fingerprint; "
        f"print(*(fingerprint(f'flowsched_gym:{{each}}', 8) for each in {ids}))"
    )
    here = [fingerprint(each, 8) for each in ids]
    assert run_python(program, PYTHONHASHSEED="1").split() == here
    assert not set(here) & {fingerprint(each, 9) for each in ids}


@each_environment
def test_episodes_after_the_first_differ_and_are_fixed_by_its_seed_however_long_it_is_played(spec) -> None:
    env = make(spec)

    def three_episodes(limit: int) -> list[list[float]]:
        play(env, seed=10, limit=limit)
        found = [core(env).workload.arrival_time.tolist()]
        for _ in range(2):
            env.reset()
            found.append(core(env).workload.arrival_time.tolist())
        return found

    first, again = three_episodes(10_000), three_episodes(3)

    assert first == again
    assert first[0] != first[1] != first[2]


@each_environment
def test_an_action_outside_the_space_is_refused_and_leaves_the_episode_as_it_was(spec: EnvironmentSpec) -> None:
    env, untouched = make(spec).unwrapped, make(spec).unwrapped
    env.action_space.seed(1)
    for each in (env, untouched):
        each.reset(seed=12)
    for wrong in 10 * [-1, 10_000, 0.5, None, "0", np.nan]:
        with pytest.raises(InvalidAction, match=r"action is .*: it must be "):
            env.step(wrong)
        action = env.action_space.sample()
        got = env.step(action)
        assert exactly(got) == exactly(untouched.step(action))
        if got[2]:
            break


@each_environment
def test_what_is_not_known_is_refused_by_name(spec: EnvironmentSpec) -> None:
    with pytest.raises(ConfigError, match=r"options is \{'fast': True\}: this environment knows none"):
        make(spec).reset(options={"fast": True})
    with pytest.raises(TypeError, match="num_tokens"):
        gym.make(spec.id, num_tokens=3)
    with pytest.raises(ConfigError, match=r"render_mode is 'gif': it must be None or one of human, rgb_array, ansi"):
        load_target(spec.entry_point)(render_mode="gif")
    with pytest.raises(ConfigError, match=r"env is .*: it has no id, .*; make it by gym\.make"):
        make_policy("random", load_target(spec.entry_point)())
    with pytest.raises(ConfigError, match=rf"policy is 'oracle': .* has {', '.join(spec.named_policies)}"):
        make_policy("oracle", make(spec))
    with pytest.raises(ConfigError, match="environment is 'flowsched/Athena-v0': it must be one of flowsched/Artemis"):
        find_environment("flowsched/Athena-v0")


def test_an_episode_is_truncated_after_its_decisions_with_metrics_of_the_deadlines_that_have_passed() -> None:
    env = gym.make("flowsched/Artemis-v0", workload="gather-heavy", k=3, f=10, max_decisions=120)
    steps = play(env, lambda *_: 0, seed=3)
    metrics, simulation = steps[-1].info["episode_metrics"], core(env).simulation

    assert (len(steps) - 1, steps[-1].terminated, steps[-1].truncated) == (120, False, True)
    due = simulation.workload.arrival_time + simulation.workload.deadline_span <= simulation.now
    assert 0 < due.sum() < simulation.workload.num_flows
    assert metrics["deadlines_met"] + metrics["deadlines_missed"] == due.sum()
    with pytest.raises(SimulationError, match="no running episode"):
        env.step(0)


def test_an_episode_that_ends_with_its_last_allowed_decision_is_terminated_not_truncated() -> None:
    steps = play(gym.make("flowsched/Artemis-v0", bursts=2, max_decisions=20), lambda *_: 0, seed=3)
    assert (len(steps) - 1, steps[-1].terminated, steps[-1].truncated) == (20, True, False)


HEADINGS = [
    *("Description", "Action Space", "Observation Space", "Rewards", "Starting State", "Episode End", "Arguments"),
    *("Vectorized environment", "Version History", "Reference"),
]
"""Gymnasium's, in its order, and ours."""


@each_environment
def test_the_docstring_has_all_headings_and_explains_columns_choices_and_terms(spec: EnvironmentSpec) -> None:
    text = inspect.cleandoc(load_target(spec.entry_point).__doc__)
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    tables = [line.strip("|").split("|") for line in sections["Observation Space"].splitlines() if line[:1] == "|"]
    described = [[cell.strip() for cell in row[:4]] for row in tables]

    assert list(sections) == HEADINGS
    assert re.search(rf"^\* {spec.id[-2:]}: \S", sections["Version History"], flags=re.MULTILINE)
    assert "{columns" not in text
    for arguments in ({}, *combinations(spec)):
        for column in core(make(spec, **arguments)).layout.columns:
            assert [column.name, column.meaning, column.unit, column.encoding.value] in described, arguments
        for choice in arguments.values():
            assert not isinstance(choice, str) or f"``{choice}``" in text or f'"{choice}"' in text, choice
    terms = play(make(spec), seed=1, limit=1)[-1].info["reward_terms"]
    assert terms
    assert [term for term in terms if f"``{term}``" not in sections["Rewards"]] == []
