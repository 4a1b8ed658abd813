"""Trains an agent by PPO in plain torch, in one file and without Stable-Baselines3: to read, and to change.

Half a million decisions take less than a minute on one core. Now and then the agent plays episodes that training never
sees, and what it achieves is printed beside feasible-first::

    python -m flowsched_gym.baselines.ppo_without_sb3 --total-steps 500000 --num-envs 256 --seed 1
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import nn
from torch.distributions import Categorical

from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.players import make_policy

ENV_ID: Final = "flowsched_gym:flowsched/Artemis-v0"
EVALUATION_SEED: Final = 10_000
TRAINING_SEED: Final = 2**32
"""Seeds of training begin here, far from those of evaluations."""
FORBIDDEN: Final = -1e8
"""Logit of an action that is masked: its probability is zero in float32."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command line, with their defaults."""

    workload: str = "gather-heavy"
    k: int = 3
    f: int = 10
    seed: int = 0
    total_steps: int = 500_000
    num_envs: int = 256
    num_steps: int = 32
    num_epochs: int = 2
    minibatch_size: int = 1024
    learning_rate: float = 3e-3
    gamma: float = 0.95
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.005
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    reward_scale: float = 0.1
    width: int = 32
    report_every: int = 10
    episodes: int = 20


class Agent(nn.Module):
    """Actor and critic that read each slot by a shared network and compare it with the average of all."""

    def __init__(self, layout: Layout, width: int) -> None:
        super().__init__()
        self.num_context, self.num_slots, self.num_columns = layout.num_context, layout.num_slots, len(layout.slot)
        self.num_inputs = self.num_context + self.num_slots * self.num_columns
        inputs = self.num_context + self.num_columns
        self.read_for_actor, self.read_for_critic = _perceptron(inputs, width, width), _perceptron(inputs, width, width)
        self.score, self.value = _perceptron(2 * width, width, 1, gain=0.01), _perceptron(width, width, 1)

    def forward(self, observations: torch.Tensor, masks: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Returns the distribution of the actions and the values, (batch,).

        Observations are (batch, size) float32, masks the slots where a request waits, (batch, num_slots), bool or int8.
        """
        context = observations[:, None, : self.num_context].expand(-1, self.num_slots, -1)
        slots = observations[:, self.num_context :].reshape(-1, self.num_slots, self.num_columns)
        rows = torch.cat([context, slots], dim=2)
        share = (masks / masks.sum(dim=1, keepdim=True)).unsqueeze(1)
        vectors = self.read_for_actor(rows)
        scores = self.score(torch.cat([vectors, (share @ vectors).expand_as(vectors)], dim=2)).squeeze(2)
        values = self.value((share @ self.read_for_critic(rows)).squeeze(1)).squeeze(1)
        return Categorical(logits=scores.masked_fill(masks == 0, FORBIDDEN), validate_args=False), values


def train(options: Options, envs: VectorEnv[Any, Any, Any], report: Callable[[Agent, int], None]) -> Agent:
    """Trains an agent; between updates, ``report`` gets it and the number of its decisions so far.

    Environments have ``AutoresetMode.NEXT_STEP``, which is Gymnasium's default.
    """
    agent = Agent(attribute_of(envs, "layout"), options.width)
    optimiser = torch.optim.Adam(agent.parameters(), lr=options.learning_rate, eps=1e-5)
    length, shape = options.num_steps, (options.num_steps, envs.num_envs)
    observations = torch.zeros((length + 1, envs.num_envs, agent.num_inputs))
    masks = torch.zeros((length + 1, envs.num_envs, agent.num_slots), dtype=torch.bool)
    actions, values = torch.zeros(shape, dtype=torch.long), torch.zeros((length + 1, envs.num_envs))
    log_probs, rewards = torch.zeros(shape), torch.zeros(shape)
    terminated, over = torch.zeros(shape, dtype=torch.bool), torch.zeros((length + 1, envs.num_envs), dtype=torch.bool)

    first, infos = envs.reset(seed=TRAINING_SEED * (1 + options.seed))
    observations[length], masks[length] = torch.as_tensor(first), torch.as_tensor(infos["action_mask"])
    num_updates, decisions = options.total_steps // actions.numel(), 0
    for update in range(num_updates):
        if update % options.report_every == 0:
            report(agent, decisions)
        optimiser.param_groups[0]["lr"] = options.learning_rate * (1 - update / num_updates)
        observations[0], masks[0], over[0] = observations[length], masks[length], over[length]
        for t in range(length):
            with torch.no_grad():
                distribution, values[t] = agent(observations[t], masks[t])
            actions[t] = distribution.sample()
            log_probs[t] = distribution.log_prob(actions[t])
            seen, reward, ended, truncated, infos = envs.step(actions[t].numpy())
            observations[t + 1], masks[t + 1] = torch.as_tensor(seen), torch.as_tensor(infos["action_mask"])
            rewards[t] = torch.as_tensor(reward * options.reward_scale)
            terminated[t], over[t + 1] = torch.as_tensor(ended), torch.as_tensor(ended | truncated)
        with torch.no_grad():
            values[length] = agent(observations[length], masks[length])[1]
        advantages = advantages_of(rewards, values, terminated, over, options)
        # NEXT_STEP: the step after an end is the reset of that environment. The action given to it was not taken and
        # its reward of 0 belongs to nothing, so that step is no experience.
        taken = torch.nonzero(~over[:length].flatten()).squeeze(1)
        parts = (observations[:length], masks[:length], actions, log_probs, advantages, advantages + values[:length])
        improve(agent, optimiser, [part.flatten(0, 1)[taken] for part in parts], options)
        decisions += len(taken)
    report(agent, decisions)
    return agent


def advantages_of(
    rewards: torch.Tensor, values: torch.Tensor, terminated: torch.Tensor, over: torch.Tensor, options: Options
) -> torch.Tensor:
    """Estimates advantages, (num_steps, num_envs); those of resets mean nothing.

    Args:
        rewards: Rewards, (num_steps, num_envs).
        values: Values of what was seen before each step, and after the last, (num_steps + 1, num_envs). What is seen
            after an end is still of the old episode: its value is what a truncated episode would have brought.
        terminated: Whether a step ended its episode for good, (num_steps, num_envs) bool.
        over: Whether the episode was over before a step, (num_steps + 1, num_envs) bool.
        options: The discount ``gamma`` and the decay ``gae_lambda``.
    """
    advantages, following = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        error = rewards[t] + options.gamma * values[t + 1] * ~terminated[t] - values[t]
        following = error + options.gamma * options.gae_lambda * following * ~over[t + 1]
        advantages[t] = following
    return advantages


def improve(agent: Agent, optimiser: torch.optim.Optimizer, batch: Sequence[torch.Tensor], options: Options) -> None:
    """Makes several passes over a batch: observations, masks, actions, log_probs, advantages, returns."""
    for _ in range(options.num_epochs):
        for chosen in torch.split(torch.randperm(len(batch[0])), options.minibatch_size):
            observations, masks, actions, log_probs, advantages, returns = (part[chosen] for part in batch)
            distribution, values = agent(observations, masks)
            ratio = torch.exp(distribution.log_prob(actions) - log_probs)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            clipped = ratio.clamp(1 - options.clip_range, 1 + options.clip_range)
            gain = torch.min(advantages * ratio, advantages * clipped).mean()
            value_loss = (values - returns).square().mean()
            loss = options.vf_coef * value_loss - gain - options.ent_coef * distribution.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), options.max_grad_norm)
            optimiser.step()


def play(choose: Callable[[Any, Any], Any], envs: VectorEnv[Any, Any, Any]) -> float:
    """Plays one episode in each environment, the same in every call, and returns the share of deadlines met.

    Args:
        choose: Returns actions, (num_envs,), for observations and masks of all environments.
        envs: Environments with ``AutoresetMode.NEXT_STEP``; those that are done early play on, and are not counted.
    """
    observations, infos = envs.reset(seed=EVALUATION_SEED)
    met = np.full(envs.num_envs, np.nan)
    while np.isnan(met).any():
        observations, _, terminated, truncated, infos = envs.step(choose(observations, infos["action_mask"]))
        for index in np.flatnonzero((terminated | truncated) & np.isnan(met)):
            met[index] = infos["episode_metrics"]["deadline_hit_ratio"][index]
    return float(met.mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and prints the progress; without arguments, by those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Options):
        kind: Any = field.type
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help="%(default)s")
    options = Options(**vars(parser.parse_args(arguments)))
    if options.total_steps < options.num_envs * options.num_steps:
        parser.error(
            f"--total-steps is {options.total_steps:,}: the first update comes after "
            f"{options.num_envs} * {options.num_steps} = {options.num_envs * options.num_steps:,} decisions"
        )
    torch.manual_seed(options.seed)
    # On networks this small a second thread gains nothing, and on a busy machine the two wait for each other.
    torch.set_num_threads(1)
    kwargs: dict[str, Any] = {"workload": options.workload, "k": options.k, "f": options.f}
    unseen = gym.make_vec(ENV_ID, num_envs=options.episodes, **kwargs)
    heuristic = make_policy("feasible-first", unseen)
    to_reach = play(lambda observations, _: heuristic.predict(observations)[0], unseen)
    begun = time.perf_counter()

    def report(agent: Agent, decisions: int) -> None:
        def most_likely(observations: Any, masks: Any) -> Any:
            with torch.no_grad():
                return agent(torch.as_tensor(observations), torch.as_tensor(masks))[0].logits.argmax(dim=1).numpy()

        met, seconds = play(most_likely, unseen), time.perf_counter() - begun
        print(
            f"{decisions:9,} decisions, {seconds:5.0f} s: {100 * met:.1f} % of deadlines met, "
            f"feasible-first {100 * to_reach:.1f} %"
        )

    train(options, gym.make_vec(ENV_ID, num_envs=options.num_envs, **kwargs), report)


def _perceptron(inputs: int, width: int, outputs: int, gain: float = 1.0) -> nn.Sequential:
    """Returns a network of two layers, the weights of the last orthogonal with this gain."""
    last = nn.Linear(width, outputs)
    nn.init.orthogonal_(last.weight, gain)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), last)


if __name__ == "__main__":
    main()
