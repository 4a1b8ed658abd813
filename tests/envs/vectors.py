"""Plays native vector environments beside Gymnasium's vectors of single ones, and compares them to the last bit."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.envs import network_setup
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import Precedence, Workload
from tests.environments import CASES
from tests.envs.episodes import ENVIRONMENTS, SHORT, action_at, exactly
from tests.simulate import network_of

NATIVE: Final = tuple(environment for environment in ENVIRONMENTS if environment.vector_entry_point is not None)
"""Environments with a vector environment of their own."""

TIES: Final = {env_id: cases.ties for env_id, cases in CASES.items()}

RARE_TIES: Final = {env_id: cases.rare_ties for env_id, cases in CASES.items()}

LOG_LENGTH: Final = 6_000
"""Events of an episode that are kept; more are an error."""

each_native = pytest.mark.parametrize("spec", NATIVE, ids=lambda spec: spec.id)
each_native_and_mode = pytest.mark.parametrize(
    ("spec", "mode"),
    [
        pytest.param(spec, mode, id=f"{spec.id}-{mode.name}", marks=() if few else pytest.mark.exhaustive)
        for spec in NATIVE
        for mode in AutoresetMode
        for few in [spec is NATIVE[0] or mode is AutoresetMode.NEXT_STEP]
    ],
)
"""All modes for the first; the code for these is that of all environments."""
each_native_choice = pytest.mark.parametrize(
    "spec",
    [spec for spec in NATIVE if isinstance(gym.make(spec.id).action_space, gym.spaces.Discrete)],
    ids=lambda spec: spec.id,
)
"""Those whose actions are one choice each."""


@dataclass(frozen=True)
class SimultaneousFlows:
    """Draws flows with few different sizes, times and hosts, out of order, and as many as the seed says."""

    num_hosts: int = 7
    scale: float = 1.0
    anywhere: bool = False
    with_stages: bool = False

    def draw(self, seed: int) -> Workload:
        """Draws 10 to 39 flows from four senders to three destinations, or between any hosts.

        Their ids have gaps in every other episode. Sizes are 1 to 3 B times the scale, times whole seconds. With
        stages, they belong to tasks, run up to two seconds on a CPU, and some come after others.
        """
        generator = np.random.default_rng(seed)
        count = int(generator.integers(10, 40))
        ids = np.arange(count) if seed % 2 else np.sort(generator.permutation(2 * count)[:count])
        source, destination = generator.integers(3, 7, size=count), generator.integers(3, size=count)
        if self.anywhere:
            source, step = generator.integers(self.num_hosts, size=(2, count))
            destination = (source + 1 + step % (self.num_hosts - 1)) % self.num_hosts
        stages: dict[str, Any] = {}
        if self.with_stages:
            first, step = generator.integers(count, size=(2, count // 3))
            pairs = np.unique(np.column_stack([first, np.minimum(first + 1 + step, count - 1)]), axis=0)
            pairs = ids[pairs[pairs[:, 0] < pairs[:, 1]]]
            stages = {
                "task_id": generator.integers(-1, 6, size=count),
                "cpu_time": generator.integers(3, size=count),
                "after": Precedence(earlier=pairs[:, 0], later=pairs[:, 1]),
            }
        return Workload(
            **stages,
            flow_id=ids,
            source=source,
            destination=destination,
            size=self.scale * generator.integers(1, 4, size=count),
            arrival_time=generator.integers(4, size=count),
            deadline_span=generator.choice([2.0, 5.0, 9.0, np.inf], size=count),
        )


def tied_flows(arguments: Mapping[str, Any]) -> SimultaneousFlows:
    """Returns flows that take whole seconds under arguments for ties."""
    scale = 3e4 if arguments.get("transport") == "tcp" else arguments["link_gbps"] / 8e-9
    # Flows of a tree that all go to one rack would share one link, and no two would send.
    return SimultaneousFlows(scale=scale, anywhere="topology" in arguments, with_stages="barrier" in arguments)


def make_native(spec: EnvironmentSpec, num_envs: int = 3, **arguments: Any) -> Any:
    return gym.make_vec(spec.id, num_envs, "vector_entry_point", **(SHORT[spec.id] | arguments))


def keep_event_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets environments, single and native, keep the events of their episodes from now on."""
    monkeypatch.setattr(network_setup, "Simulation", functools.partial(Simulation, keep_log=True))
    monkeypatch.setattr(network_setup, "BatchSimulation", functools.partial(BatchSimulation, log_length=LOG_LENGTH))


def any_actions(
    envs: Any, generator: np.random.Generator, masks: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[Any]:
    """Draws an action for each environment, of the whole space or of those that a mask allows."""
    space = envs.single_action_space
    if isinstance(space, gym.spaces.Box):
        return generator.uniform(space.low, space.high, (envs.num_envs, *space.shape)).astype(space.dtype)
    if isinstance(space, gym.spaces.MultiDiscrete):
        allowed = np.ones((envs.num_envs, space.nvec.sum()), dtype=np.bool_) if masks is None else masks
        parts = np.split(allowed, np.cumsum(space.nvec)[:-1], axis=1)
        return np.array([[generator.choice(np.flatnonzero(row)) for row in part] for part in parts]).T
    if masks is None:
        return generator.integers(space.n, size=envs.num_envs)
    return np.array([generator.choice(np.flatnonzero(mask)) for mask in masks])


def actions_at(envs: Any, place: int) -> npt.NDArray[Any]:
    return np.stack([action_at(envs.single_action_space, place)] * envs.num_envs)


class Pair:
    """Is a native vector environment and one of Gymnasium's own; whatever one is told, both are told.

    Attributes:
        infos: What the native vector environment told in its last step.
    """

    def __init__(
        self,
        spec: EnvironmentSpec,
        num_envs: int = 3,
        mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        *,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        both: dict[str, Any] = {"num_envs": num_envs, "max_episode_steps": max_episode_steps, **arguments}
        self.mode = mode
        self.native: Any = gym.make_vec(
            spec.id, vectorization_mode="vector_entry_point", autoreset_mode=mode, finished=True, **both
        )
        own = arguments.get("workload")
        workloads = own if isinstance(own, list) else [own] * num_envs
        each = [arguments if one is None else arguments | {"workload": one} for one in workloads]
        make = functools.partial(gym.make, spec.id, max_episode_steps=max_episode_steps)
        self.single: Any = gym.vector.SyncVectorEnv(
            [functools.partial(make, **given) for given in each], autoreset_mode=mode
        )
        self.infos: Any = {}

    def reset(
        self, seed: int | Sequence[int | None] | None = None, reset_mask: npt.NDArray[np.bool_] | None = None
    ) -> None:
        """Resets both."""
        seed = list(seed) if isinstance(seed, Sequence) else seed
        options = None if reset_mask is None else {"reset_mask": reset_mask}
        found, expected = (envs.reset(seed=seed, options=options) for envs in (self.native, self.single))
        self._compare(("observations", "infos"), found, expected)

    def step(self, actions: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Steps both, and returns whose episodes have ended."""
        found, expected = self.native.step(actions), self.single.step(actions)
        self._compare(("observations", "rewards", "terminated", "truncated", "infos"), found, expected)
        self.infos = found[4]
        over: npt.NDArray[np.bool_] = found[2] | found[3]
        if over.any():
            self.compare_traces()
        return over

    def play(self, num_steps: int, seed: int) -> int:
        """Takes random steps, two of three of them allowed by the masks, and returns how many episodes ended.

        Where nothing resets itself, those that have ended are reset, and near the end one that has not, with a seed.
        """
        generator = np.random.default_rng(seed)
        num_ended = 0
        for place in range(num_steps):
            masks = self.native.action_masks() if place % 3 and hasattr(self.native, "action_masks") else None
            actions = any_actions(self.native, generator, masks)
            over = self.step(actions)
            num_ended += int(over.sum())
            if self.mode is AutoresetMode.DISABLED:
                seeds: list[int | None] = [None] * len(over)
                if place == num_steps - 10:
                    seeds[0], over[0] = place, True
                if over.any():
                    self.reset(seeds, over)
        self.compare_traces()
        return num_ended

    def compare_traces(self) -> None:
        """Compares the events of the episodes, where they are kept, and what has become of their flows."""
        for number, env in enumerate(self.single.envs):
            simulation = env.unwrapped.simulation
            network = int(self.native._current[number])
            if getattr(simulation, "log", None) is not None:
                self._compare(
                    (f"events of {number}",), (network_of(self.native.simulation, network).log,), (simulation.log,)
                )
            found, expected = self.native.records(number), simulation.records()
            names = tuple(expected.__slots__)
            self._compare(names, *(tuple(getattr(each, name) for name in names) for each in (found, expected)))

    def _compare(self, names: Sequence[str], found: Sequence[Any], expected: Sequence[Any]) -> None:
        """Refuses what is not equal to the last bit."""
        assert len(names) == len(found) == len(expected)
        for name, one, other in zip(names, found, expected, strict=True):
            for difference in _differences(one, other, name):
                raise AssertionError(difference)


def compare_on_ties(
    spec: EnvironmentSpec,
    mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ties: Mapping[str, tuple[dict[str, Any], ...]] = TIES,
) -> None:
    """Compares both where many events are simultaneous."""
    for arguments in ties.get(spec.id, ()):
        pair = Pair(spec, num_envs=4, mode=mode, workload=tied_flows(arguments), **arguments)
        pair.reset(seed=44)
        assert pair.play(120, seed=45) >= 4


def _differences(found: Any, expected: Any, where: str) -> Iterator[str]:
    """Yields where two values differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if set(found) != set(expected):
            yield f"{where} has {sorted(found)}, of single environments {sorted(expected)}"
        else:
            for key in expected:
                yield from _differences(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, list) and isinstance(found, list):
        for place, (one, other) in enumerate(itertools.zip_longest(found, expected)):
            yield from _differences(one, other, f"{where}[{place}]")
    elif exactly(found) != exactly(expected):
        yield f"{where} is {found!r}, of single environments {expected!r}"
