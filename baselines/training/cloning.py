"""Clones a rule before anything is learned: the network is fitted to what the rule does (behavioural cloning).

The rule plays whole episodes from seeds of training; its actions are then taken again in the agent's own environments,
so that the network sees what the agent will see, whatever the rule looks at. Actors are fitted to the actions, and
critics of PPO and A2C to the returns that followed.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.td3.policies import TD3Policy
from torch.nn import functional

from flowsched_gym.baselines.networks.mixture import EpsilonMixture
from flowsched_gym.baselines.training.reinforce import discounted_returns
from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED, SeedStreams
from flowsched_gym.evaluation import EpisodeRunner, make_environment
from flowsched_gym.integrations.sb3 import make_sb3_vec_env
from flowsched_gym.players import find_player
from flowsched_gym.registration import find_environment

LOGGER: Final = logging.getLogger(__name__)

MOST_DECISIONS: Final = 8192
"""Decisions of the rule that a network is fitted to, in whole episodes; a tenth of a training's if these are fewer."""
PARTS: Final = 10
UPDATES: Final = 400
BATCH: Final = 256
"""Updates, and decisions in each."""
LEARNING_RATE: Final = 3e-3
ENTROPY: Final = 0.01
"""Weight of an entropy bonus: a network that repeats a rule for certain would try nothing else."""


class _Examples(NamedTuple):
    """What a rule did.

    Attributes:
        observations: What the agent would have seen, (count, size) float32.
        actions: What the rule did, (count, ...).
        masks: Which actions were allowed, (count, num_actions); ``None`` where there are no masks.
        returns: Discounted rewards from there on, scaled as in training, (count,) float32.
    """

    observations: npt.NDArray[np.float32]
    actions: npt.NDArray[Any]
    masks: BoolArray | None
    returns: npt.NDArray[np.float32]


def clone(
    model: BaseAlgorithm, rule: str, env_id: str, kwargs: dict[str, Any], *, decisions: int, reward_scale: float
) -> None:
    """Fits a new model of Stable-Baselines3 or sb3-contrib that follows gradients to a rule.

    Args:
        model: The model.
        rule: A heuristic of the environment, with its options, or ``search``.
        env_id: Id of the environment.
        kwargs: The agent's arguments of it.
        decisions: Decisions that the model will learn from afterwards.
        reward_scale: What rewards are multiplied by in training.

    Raises:
        ConfigError: There is no such rule, or it takes actions that the agent does not have.
    """
    streams = SeedStreams(model.seed or 0)
    count = min(MOST_DECISIONS, -(-decisions // PARTS))
    first = FIRST_TRAINING_SEED + int(streams["episodes of the rule"].integers(2**62))
    examples = _examples(rule, env_id, kwargs, count, first, gamma=model.gamma, reward_scale=reward_scale)  # type: ignore[attr-defined]
    rng = streams["cloning"]
    if isinstance(model, OffPolicyAlgorithm):
        error = _fit_actor(model.policy, examples, rng)
        LOGGER.info("start: %d decisions of %s, which the network takes up to %.3f", len(examples.returns), rule, error)
    else:
        assert isinstance(model, OnPolicyAlgorithm)
        agreed = _fit(model, examples, rng)
        LOGGER.info("start: %d decisions of %s, of which the network takes %.1f%%", len(examples.returns), rule, agreed)


def _examples(
    rule: str, env_id: str, kwargs: dict[str, Any], count: int, first: int, *, gamma: float, reward_scale: float
) -> _Examples:
    """Plays the rule for at least so many decisions, in whole episodes from a seed on."""
    spec = find_environment(env_id)
    player = find_player(rule, spec, kwargs, argument="start")
    with (
        closing(make_environment(spec, kwargs)) as own,
        closing(EpisodeRunner(spec, player.arguments(kwargs))) as runner,
    ):
        if runner.env.action_space != own.action_space:
            raise ConfigError(
                f"start is {rule!r}: it needs the actions {runner.env.action_space}, the agent has {own.action_space}"
            )
        played = list(runner.play(player.make(runner.env), episodes=1, seed=first))
        more = -(-count // played[0].num_decisions) - 1
        if more:
            played += runner.play(player.make(runner.env), episodes=more, seed=first + 1)
    lengths = np.array([episode.num_decisions for episode in played])
    actions = np.array(
        [np.resize(episode.actions, (lengths.max(), *np.shape(episode.actions)[1:])) for episode in played]  # type: ignore[arg-type]
    ).swapaxes(0, 1)
    with closing(make_sb3_vec_env(env_id, len(played), seed=first, **kwargs)) as envs:
        with_masks = envs.has_attr("action_masks")
        seen, allowed, rewards = [envs.reset()], [], []
        for step in range(lengths.max()):
            if with_masks:
                allowed.append(envs.action_masks())
            observation, reward, _, _ = envs.step(actions[step])
            seen.append(observation)
            rewards.append(reward_scale * reward)
    # An environment whose episode has ended plays on, which counts for nothing.
    taken = np.arange(lengths.max())[:, np.newaxis] < lengths
    returns = discounted_returns(np.where(taken, rewards, 0.0), np.zeros(taken.shape), gamma)
    return _Examples(
        observations=np.array(seen[:-1], dtype=np.float32)[taken],
        actions=actions[taken],
        masks=np.array(allowed)[taken] if with_masks else None,
        returns=returns[taken].astype(np.float32),
    )


def _fit(model: OnPolicyAlgorithm, examples: _Examples, rng: np.random.Generator) -> float:
    """Fits actor and critic; returns how many of the actions are then the most likely ones, in percent."""
    policy: Any = model.policy
    numbers = isinstance(model.action_space, spaces.Box)
    mixture = isinstance(policy, EpsilonMixture)
    if mixture:
        policy.set_progress(1.0)  # what the network itself does, without the uniform share
    optimiser = torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
    policy.set_training_mode(True)
    for rows in _batches(len(examples.returns), rng):
        observations, actions, returns = (
            torch.as_tensor(part[rows]) for part in (examples.observations, examples.actions, examples.returns)
        )
        masks = _masks(policy, examples, rows)
        values, log_prob, entropy = policy.evaluate_actions(observations, actions, **masks)
        loss: Any
        if numbers:
            loss = functional.mse_loss(policy.get_distribution(observations).mode(), actions)
        else:
            loss = -log_prob.mean() - ENTROPY * entropy.mean()
        loss = loss + model.vf_coef * functional.mse_loss(values.flatten(), returns)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    policy.set_training_mode(False)
    everything = np.arange(len(examples.returns))
    chosen, _ = policy.predict(examples.observations, deterministic=True, **_masks(policy, examples, everything))
    if mixture:
        policy.set_progress(0.0)
    near = np.isclose(chosen, examples.actions, atol=0.1) if numbers else chosen == examples.actions
    return 100.0 * float(near.mean())


def _fit_actor(policy: Any, examples: _Examples, rng: np.random.Generator) -> float:
    """Fits an actor of numbers; returns the mean difference of its actions, which go from -1 to 1."""
    actor, wanted = policy.actor, torch.as_tensor(policy.scale_action(examples.actions), dtype=torch.float32)
    observations = torch.as_tensor(examples.observations)
    means = {} if isinstance(policy, TD3Policy) else {"deterministic": True}
    optimiser = torch.optim.Adam(actor.parameters(), lr=LEARNING_RATE)
    for rows in _batches(len(wanted), rng):
        loss: Any = functional.mse_loss(actor(observations[rows], **means), wanted[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    if isinstance(policy, TD3Policy):
        policy.actor_target.load_state_dict(actor.state_dict())
    with torch.no_grad():
        return float((actor(observations, **means) - wanted).abs().mean())


def _batches(count: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.intp]]:
    """Draws the rows of each minibatch."""
    for _ in range(UPDATES):
        yield rng.integers(count, size=BATCH)


def _masks(policy: Any, examples: _Examples, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Returns masks as an argument of a policy that takes them."""
    if examples.masks is None or not isinstance(policy, MaskableActorCriticPolicy):
        return {}
    return {"action_masks": examples.masks[rows]}
