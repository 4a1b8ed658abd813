"""Plays many episodes side by side in a vector environment, with one call of the policy for all of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation.actions import ActionLog, check_action
from flowsched_gym.evaluation.rollout import EpisodeResult, takes_masks

Ended = Callable[[int, int], None]
"""Called with the index, among the seeds, of an episode that has just ended, and the environment it ended in."""


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
        seeds: Seeds of the resets, at least one.
        ended: Called for every episode that has ended, before its environment is reset.

    Returns:
        The episodes, in the order of the seeds.

    Raises:
        ConfigError: The environments give no metrics at the end of their episodes.
        InvalidAction: The policy returned something other than one action of the action space for each environment.
    """
    with_masks = takes_masks(policy)
    results: dict[int, EpisodeResult] = {}
    indices = np.arange(envs.num_envs)  # what each environment plays; len(seeds) and above are repetitions
    env_seeds: Any = [_seed_of(index, seeds) for index in range(envs.num_envs)]  # Gymnasium declares an integer alone
    num_begun = envs.num_envs
    begun_at = np.zeros(envs.num_envs, dtype=np.int64)
    rewards_so_far = np.zeros(envs.num_envs)
    observations, infos = envs.reset(seed=env_seeds)
    masks = infos["action_mask"] if with_masks else None
    space, log = envs.single_action_space, ActionLog(envs.single_action_space, envs.num_envs)
    step = 0
    while len(results) < len(seeds):
        arguments = {"action_masks": masks} if with_masks else {}
        actions, _ = policy.predict(observations, deterministic=True, **arguments)
        taken = check_action(actions, space, num_envs=envs.num_envs)
        observations, rewards, terminated, truncated, infos = envs.step(taken)
        log.add(taken)
        step += 1
        rewards_so_far += rewards
        if with_masks:
            masks = infos["action_mask"]
        over = terminated | truncated
        if not over.any():
            continue
        rows = np.flatnonzero(over)
        counted = rows[indices[rows] < len(seeds)]
        for row, metrics in zip(counted.tolist(), _metrics(envs, infos, counted), strict=True):
            results[int(indices[row])] = EpisodeResult(
                seed=env_seeds[row],
                num_decisions=int(step - begun_at[row]),
                reward=float(rewards_so_far[row]),
                metrics=metrics,
                actions=log.of(row, int(begun_at[row])),
            )
            if ended is not None:
                ended(int(indices[row]), row)
        if len(results) < len(seeds):
            indices[rows] = np.arange(num_begun, num_begun + len(rows))
            num_begun += len(rows)
            for row in rows:
                env_seeds[row] = _seed_of(int(indices[row]), seeds)
            begun_at[rows] = step
            rewards_so_far[rows] = 0.0
            observations, infos = envs.reset(seed=env_seeds, options={"reset_mask": over})
            if with_masks:
                masks = np.where(over[:, np.newaxis], infos["action_mask"], masks)
    return [results[index] for index in range(len(seeds))]


def _seed_of(index: int, seeds: Sequence[int]) -> int:
    """Returns the seed of an episode; one that is not counted repeats the last."""
    return seeds[min(index, len(seeds) - 1)]


def _metrics(envs: VectorEnv[Any, Any, Any], infos: dict[str, Any], rows: IntArray) -> list[dict[str, float]]:
    """Returns the metrics of the episodes that have ended in some of the environments from the infos of the step."""
    if not len(rows):
        return []
    if "episode_metrics" not in infos:
        raise ConfigError(f"environment is {envs}: it gives no episode_metrics at the end of an episode")
    columns = {
        name: values[rows].astype(np.float64).tolist()
        for name, values in infos["episode_metrics"].items()
        if not name.startswith("_")
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
