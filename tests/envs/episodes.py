"""Makes short episodes of every registered environment, and plays them: what the environment tests share."""

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym import registration
from flowsched_gym.envs import FlowSchedEnv
from flowsched_gym.registration import load_target
from flowsched_gym.systems import EnvironmentSpec
from tests.environments import CASES

ENVIRONMENTS: Final = tuple(registration.ENVIRONMENTS.values())

SHORT: Final = {env_id: cases.short for env_id, cases in CASES.items()}
"""Arguments by id that make an episode short, and its decisions matter."""

EPISODE_LIMIT: Final = 20_000

each_environment = pytest.mark.parametrize("spec", ENVIRONMENTS, ids=lambda spec: spec.id)

Choose = Callable[[gym.Env, Any, dict[str, Any]], Any]


class Step(NamedTuple):
    """What an environment returned to an action; the first of an episode is its reset."""

    action: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def make(spec: EnvironmentSpec, **arguments: Any) -> gym.Env:
    return gym.make(spec.id, **(SHORT[spec.id] | arguments))


def core(env: gym.Env) -> FlowSchedEnv[Any]:
    """Returns the environment under its wrappers."""
    base = env.unwrapped
    assert isinstance(base, FlowSchedEnv)
    return base


def any_action(env: gym.Env, observation: Any, info: dict[str, Any]) -> Any:
    return env.action_space.sample()


def following(policy: Any) -> Choose:
    """Chooses as a policy does."""
    return lambda _, observation, __: policy.predict(observation)[0]


def action_at(space: gym.Space, place: int) -> Any:
    """Returns an action that depends on the place in an episode alone."""
    if isinstance(space, gym.spaces.Discrete):
        return (7 * place + place // 3) % int(space.n)
    generator = np.random.default_rng(place)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return generator.integers(space.nvec)
    assert isinstance(space, gym.spaces.Box)
    return generator.uniform(space.low, space.high).astype(space.dtype)


def play(env: gym.Env, choose: Choose = any_action, *, seed: int, limit: int = EPISODE_LIMIT) -> list[Step]:
    """Plays an episode to its end, or to a limit of steps."""
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    steps = [Step(None, observation, 0.0, False, False, info)]
    while len(steps) <= limit:
        action = choose(env, observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append(Step(action, observation, float(reward), terminated, truncated, info))
        if terminated or truncated:
            break
    return steps


def combinations(spec: EnvironmentSpec) -> Iterator[dict[str, Any]]:
    """Yields every combination of the arguments that are a choice."""
    config = load_target(spec.config)()
    choices: dict[str, tuple[Any, ...]] = dict(CASES[spec.id].choices)
    for field in dataclasses.fields(config):
        default = getattr(config, field.name)
        if isinstance(default, StrEnum):
            choices[field.name] = tuple(map(str, type(default)))
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def pairwise(spec: EnvironmentSpec) -> list[dict[str, Any]]:
    """Returns few combinations in which each two values of different arguments meet."""
    return _covering(list(combinations(spec)), 2)


def _covering(given: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Returns few of some combinations, with each set of so many values that any of them has."""
    parts = {part for each in given for part in itertools.combinations(each.items(), size)}
    chosen = []
    while parts:
        best = max(given, key=lambda each: len(parts.intersection(itertools.combinations(each.items(), size))))
        parts.difference_update(itertools.combinations(best.items(), size))
        chosen.append(best)
    return chosen


def case(spec: EnvironmentSpec, arguments: Mapping[str, Any], *, exhaustive: bool = False) -> Any:
    """Makes parameters of a test of an environment and arguments, named after both."""
    name = f"{spec.id}-{'-'.join(map(str, arguments.values()))}"
    return pytest.param(spec, arguments, id=name, marks=pytest.mark.exhaustive if exhaustive else ())


def each_combination(specs: Iterable[EnvironmentSpec] = ENVIRONMENTS, **only: Container[str]) -> pytest.MarkDecorator:
    """Parametrises a test with few combinations that have each value of each argument; all the others are exhaustive.

    Args:
        specs: The environments.
        **only: The only values of an argument in combinations that are not, where each other one has to be compiled.
    """
    cases = []
    for spec in specs:
        few = [
            each for each in combinations(spec) if all(each[name] in only[name] for name in only.keys() & each.keys())
        ]
        few = _covering(few, 1)
        cases += [case(spec, each, exhaustive=each not in few) for each in combinations(spec)]
    return pytest.mark.parametrize(("spec", "arguments"), cases)


def exactly(value: Any) -> Any:
    """Makes something of a value that is equal where all bits are: NaN to itself, 0 not to -0."""
    if isinstance(value, Mapping):
        return {key: exactly(value[key]) for key in value}
    if isinstance(value, tuple):
        return tuple(exactly(each) for each in value)
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.dtype == object:
        return value.shape, [exactly(each) for each in value.tolist()]
    return value.dtype.str, value.shape, value.tobytes()


def fingerprint(env_id: str, seed: int, **arguments: Any) -> str:
    """Digests all that a random episode tells."""
    with gym.make(env_id, **(SHORT[env_id.removeprefix("flowsched_gym:")] | arguments)) as env:
        return hashlib.sha256(repr(exactly(tuple(play(env, seed=seed)))).encode()).hexdigest()
