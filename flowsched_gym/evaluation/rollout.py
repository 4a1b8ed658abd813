"""Plays episodes with a policy and measures them: one at a time, or many side by side in a vector environment."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.errors import ConfigError, InvalidAction, shown
from flowsched_gym.envs.policies import Planner, Policy
from flowsched_gym.evaluation.actions import ActionLog, check_action
from flowsched_gym.flows.metrics import summary
from flowsched_gym.fluid.simpy import Simulation

MASK: Final = "action_mask"
"""Info of environments that have masks."""

ROUNDING: Final = 1e-5
"""Difference, of one or relative, up to which the numbers of two actions are the same: float32 has seven digits."""

Ended = Callable[[int, int], None]
"""Called with the index, among the seeds, of an episode that has just ended, and the environment it ended in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """The outcome of one episode.

    Attributes:
        reward: Sum of the rewards, not discounted.
        metrics: The metrics of the episode by name (`flowsched_gym.flows.metrics.Metrics`).
        actions: The actions, (num_decisions, ...), from which all other numbers can be computed; ``None`` where nobody
            acted, as for a bound.
    """

    seed: int
    num_decisions: int
    reward: float
    metrics: dict[str, float] = field(default_factory=dict)
    actions: npt.NDArray[Any] | None = field(default=None, compare=False, repr=False)


def takes_masks(policy: Policy) -> bool:
    """Returns whether a policy's ``predict`` accepts ``action_masks``, as sb3-contrib's MaskablePPO does."""
    return "action_masks" in inspect.signature(policy.predict).parameters


def rollout(env: gymnasium.Env[Any, Any], policy: Policy, *, seed: int, deterministic: bool = True) -> EpisodeResult:
    """Plays one episode from ``reset(seed=seed)`` to its end.

    Args:
        env: A single environment of this package, wrapped or not.
        policy: Anything with Stable-Baselines3's ``predict``; it is given ``action_masks`` where it accepts them, and
            its state and ``episode_start`` where it keeps a memory, and told the environment where it plans in it.
        seed: Seed of the reset.
        deterministic: Passed on to the policy: its most likely action instead of a draw.

    Raises:
        ConfigError: The environment has neither metrics at the end of its episodes nor records to draw them from.
        InvalidAction: The policy returned something other than one action of the action space.
    """
    if isinstance(policy, Planner):
        policy.enter(env)
    observation, info = env.reset(seed=seed)
    with_masks = MASK in info and takes_masks(policy)
    state: Any = None
    start = np.ones(1, dtype=np.bool_)
    discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    log = ActionLog(env.action_space, 1)
    total, over, truncated = 0.0, False, False
    while not (over or truncated):
        how: dict[str, Any] = {"action_masks": info[MASK].astype(np.bool_)} if with_masks else {}
        how |= {"state": state, "episode_start": start, "deterministic": deterministic}
        action, state = _predicted(policy, observation, **how)
        taken = check_action(action, env.action_space)
        observation, reward, over, truncated, info = env.step(int(taken) if discrete else taken)
        log.add(taken)
        start[0] = False
        total += float(reward)
    actions, metrics = log.of(0), _metrics(env, info, truncated=not over)
    return EpisodeResult(seed=seed, num_decisions=len(actions), reward=total, metrics=metrics, actions=actions)


def repeat_actions(env: gymnasium.Env[Any, Any], actions: npt.NDArray[Any], *, seed: int) -> EpisodeResult:
    """Takes the actions of an episode again, (num_decisions, ...), from ``reset(seed=seed)`` to its end.

    Raises:
        InvalidAction: An action is not in the action space, or these are more or fewer than the episode takes.
    """
    result = rollout(env, _Recorded(actions), seed=seed)
    if result.num_decisions < len(actions):
        raise InvalidAction(f"the episode ends after {result.num_decisions} of {len(actions)} actions")
    return result


def num_agreed(env: gymnasium.Env[Any, Any], policy: Policy, episode: EpisodeResult) -> int:
    """Takes the actions of an episode again, and counts those that a policy would take in their place.

    Numbers may differ by `ROUNDING`. Raises as `repeat_actions`.
    """
    assert episode.actions is not None
    if isinstance(policy, Planner):
        policy.enter(env)
    watched = Watched(policy, episode.actions)
    rollout(env, watched, seed=episode.seed)
    pairs = zip(watched.actions, episode.actions, strict=True)
    return sum(bool(np.allclose(chosen, taken, rtol=ROUNDING, atol=ROUNDING)) for chosen, taken in pairs)


def rollout_vector(
    envs: VectorEnv[Any, Any, Any], policy: Policy, *, seeds: Sequence[int], ended: Ended | None = None
) -> list[EpisodeResult]:
    """Plays one episode for each seed; an environment that has ended one begins the next that nobody plays yet.

    If the policy is pure, the results are those of `rollout` with each seed, bit by bit. All environments of a vector
    step together: when no episode is left to begin, one that has ended repeats the last episode, uncounted, until the
    others have ended too.

    Args:
        envs: Environments of this package that reset when they are told to (``AutoresetMode.DISABLED``).
        policy: Asked for its most likely actions, of all environments together; it is given ``action_masks`` where it
            accepts them.
        seeds: Seeds of the resets, at least one; episodes are returned in their order.
        ended: Called for every episode that has ended, before its environment is reset.

    Raises as `rollout` does.
    """
    results: dict[int, EpisodeResult] = {}
    num_envs, space = envs.num_envs, envs.single_action_space
    log = ActionLog(space, num_envs)
    indices = np.zeros(num_envs, dtype=np.int64)  # what each environment plays; len(seeds) and above are repetitions
    env_seeds: Any = [seeds[0]] * num_envs  # Gymnasium declares an integer alone
    begun_at, rewards_so_far = np.zeros(num_envs, dtype=np.int64), np.zeros(num_envs)
    over, masks = np.ones(num_envs, dtype=np.bool_), None
    num_begun = step = 0
    while len(results) < len(seeds):
        if over.any():
            rows = np.flatnonzero(over)
            indices[rows] = np.arange(num_begun, num_begun + len(rows))
            num_begun += len(rows)
            for begun in rows:
                env_seeds[begun] = seeds[min(int(indices[begun]), len(seeds) - 1)]
            begun_at[rows], rewards_so_far[rows] = step, 0.0
            observations, infos = envs.reset(seed=env_seeds, options={"reset_mask": over})
            if MASK in infos and takes_masks(policy):
                offered = infos[MASK].astype(np.bool_)
                masks = np.where(over[:, np.newaxis], offered, offered if masks is None else masks)
        arguments = {} if masks is None else {"action_masks": masks}
        actions, _ = _predicted(policy, observations, deterministic=True, **arguments)
        taken = check_action(actions, space, num_envs=num_envs)
        observations, rewards, terminated, truncated, infos = envs.step(taken)
        log.add(taken)
        step += 1
        rewards_so_far += rewards
        masks = None if masks is None else infos[MASK].astype(np.bool_)
        over = terminated | truncated
        counted = np.flatnonzero(over & (indices < len(seeds)))
        for row, metrics in zip(counted.tolist(), _metrics_of_rows(envs, infos, counted), strict=True):
            results[int(indices[row])] = EpisodeResult(
                seed=env_seeds[row],
                num_decisions=int(step - begun_at[row]),
                reward=float(rewards_so_far[row]),
                metrics=metrics,
                actions=log.of(row, int(begun_at[row])),
            )
            if ended is not None:
                ended(int(indices[row]), row)
    return [results[index] for index in range(len(seeds))]


class Watched:
    """A policy of which observations, masks and actions are kept; where actions are given, those are taken instead."""

    def __init__(self, policy: Policy, given: npt.NDArray[Any] | None = None) -> None:
        self.observations: list[npt.NDArray[Any]] = []
        self.masks: list[BoolArray | None] = []
        self.actions: list[npt.NDArray[Any]] = []
        self._policy, self._with_masks = policy, takes_masks(policy)
        self._given = None if given is None else _Recorded(given)

    def predict(
        self,
        observation: npt.NDArray[Any],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
        action_masks: BoolArray | None = None,
    ) -> tuple[npt.NDArray[Any], Any]:
        """Asks the policy; returns its action, or the next one that was given."""
        how: dict[str, Any] = {"action_masks": action_masks} if self._with_masks and action_masks is not None else {}
        how |= {"state": state, "episode_start": episode_start, "deterministic": deterministic}
        action, after = _predicted(self._policy, observation, **how)
        self.observations.append(observation)
        self.masks.append(action_masks)
        self.actions.append(action)
        return (action if self._given is None else self._given.predict(observation)[0]), after


class _Recorded:
    """A policy that takes given actions."""

    def __init__(self, actions: npt.NDArray[Any]) -> None:
        self._actions = actions
        self._num_taken = 0

    def predict(
        self, observation: object, state: object = None, episode_start: object = None, deterministic: bool = False
    ) -> tuple[npt.NDArray[Any], object]:
        """Returns the next action."""
        if self._num_taken == len(self._actions):
            raise InvalidAction(f"the episode goes on after its {len(self._actions)} actions")
        self._num_taken += 1
        return self._actions[self._num_taken - 1], state


def _predicted(policy: Policy, observation: npt.NDArray[Any], **how: Any) -> tuple[npt.NDArray[Any], Any]:
    """Asks a policy for its action and state; raises an ``InvalidAction`` if it returns anything but these two."""
    answer = policy.predict(observation, **how)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise InvalidAction(
            f"{type(policy).__name__}.predict returned {shown(answer)}: it must be an action and a state, None for none"
        )
    return answer


def _metrics(env: gymnasium.Env[Any, Any], info: dict[str, Any], *, truncated: bool) -> dict[str, float]:
    """Returns the metrics of a finished episode from its info, those of a truncated one from its records."""
    if "episode_metrics" in info:
        return {name: float(value) for name, value in info["episode_metrics"].items()}
    simulation: Simulation | None = getattr(env.unwrapped, "simulation", None)
    if simulation is None:
        raise ConfigError(f"environment is {env.unwrapped}: it gives no episode_metrics at the end of an episode")
    # Every topology lists the links of its hosts first, all of one capacity.
    capacity = float(simulation.topology.capacity[0])
    return summary(simulation.records(), capacity=capacity, now=simulation.now if truncated else None).as_dict()


def _metrics_of_rows(envs: VectorEnv[Any, Any, Any], infos: dict[str, Any], rows: IntArray) -> list[dict[str, float]]:
    """Returns the metrics of the episodes that have ended in some of the environments from the infos of the step."""
    if len(rows) and "episode_metrics" not in infos:
        raise ConfigError(f"environment is {envs}: it gives no episode_metrics at the end of an episode")
    found = infos.get("episode_metrics", {})
    columns = {name: values for name, values in found.items() if not name.startswith("_")}
    return [{name: float(values[row]) for name, values in columns.items()} for row in rows]
