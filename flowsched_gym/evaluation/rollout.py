"""Plays one episode of an environment with a policy and measures it."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, InvalidAction
from flowsched_gym.envs.policies import Planner, Policy
from flowsched_gym.evaluation.actions import ActionLog, check_action
from flowsched_gym.flows.metrics import summary
from flowsched_gym.fluid.simpy import Simulation


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """The outcome of one episode.

    Attributes:
        seed: Seed of its reset.
        num_decisions: Actions taken.
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
    with_masks = takes_masks(policy)
    if isinstance(policy, Planner):
        policy.enter(env)
    observation, info = env.reset(seed=seed)
    state: Any = None
    start = np.ones(1, dtype=np.bool_)
    discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    log = ActionLog(env.action_space, 1)
    num_decisions, total, over, truncated = 0, 0.0, False, False
    while not (over or truncated):
        masks = {"action_masks": info["action_mask"]} if with_masks else {}
        action, state = policy.predict(
            observation, state=state, episode_start=start, deterministic=deterministic, **masks
        )
        taken = check_action(action, env.action_space)
        observation, reward, over, truncated, info = env.step(int(taken) if discrete else taken)
        log.add(taken)
        start[0] = False
        total += float(reward)
        num_decisions += 1
    return EpisodeResult(
        seed=seed,
        num_decisions=num_decisions,
        reward=total,
        metrics=_metrics(env, info, truncated=not over),
        actions=log.of(0),
    )


def repeat_actions(env: gymnasium.Env[Any, Any], actions: npt.NDArray[Any], *, seed: int) -> EpisodeResult:
    """Takes the actions of an episode again, from ``reset(seed=seed)`` to its end.

    Args:
        env: As in `rollout`.
        actions: The actions, (num_decisions, ...).
        seed: Seed of the reset.

    Raises:
        InvalidAction: An action is not in the action space, or these are more or fewer than the episode takes.
    """
    result = rollout(env, _Recorded(actions), seed=seed)
    if result.num_decisions < len(actions):
        raise InvalidAction(f"the episode ends after {result.num_decisions} of {len(actions)} actions")
    return result


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


def _metrics(env: gymnasium.Env[Any, Any], info: dict[str, Any], *, truncated: bool) -> dict[str, float]:
    """Returns the metrics of a finished episode from its info, those of a truncated one from its records."""
    if "episode_metrics" in info:
        return {name: float(value) for name, value in info["episode_metrics"].items()}
    base = env.unwrapped
    if not hasattr(base, "simulation"):
        raise ConfigError(f"environment is {base}: it gives no episode_metrics at the end of an episode")
    simulation: Simulation = base.simulation
    # Every topology lists the links of its hosts first, all of one capacity.
    capacity = float(simulation.topology.capacity[0])
    return summary(simulation.records(), capacity=capacity, now=simulation.now if truncated else None).as_dict()
