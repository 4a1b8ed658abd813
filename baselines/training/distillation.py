"""Distils search into a network: what search finds by many rollouts, the network tells from what it sees.

At each decision search tries all choices on the same future, in which its base plays on. The logits of the network are
fitted by least squares to the values found, less the mean of all choices. What is chance in a single future averages
out over many decisions, so that one future for each is enough, and the network may come to choose better than a search
that tries a few. The base plays the episodes of the first round, the network those of the others, since it has to
choose well where it comes itself (Ross, Gordon and Bagnell, "A reduction of imitation learning and structured
prediction to no-regret online learning", 2011; with values in place of a teacher's choices, Ross and Bagnell,
"Reinforcement and imitation learning via interactive no-regret learning", 2014).
"""

from typing import Any, Self

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback

from flowsched_gym.core.seeding import FIRST_TRAINING_SEED, SeedStreams
from flowsched_gym.registration import check_arguments, find_environment
from flowsched_gym.search import Search, SearchConfig


class Distil(MaskablePPO):
    """Fits a network to the values that search finds for the choices of decisions; see the module.

    Args:
        policy: A maskable policy.
        env: Environments of a kind in which search plays; they tell which one is played.
        rounds: Rounds of playing and fitting, of about equally many decisions, >= 1.
        base: Who goes on after a choice; see ``SearchConfig``.
        lookahead: Flows to come that each future has, >= 0.
        n_epochs: Passes over all decisions so far in each round, >= 1.
        batch_size: Decisions of an update.
        **kwargs: ``learning_rate``, by the share of a round's updates that are left, ``seed`` and others of
            ``MaskablePPO``; those of its rollouts and its critic change nothing.
    """

    def __init__(
        self,
        policy: Any,
        env: GymEnv,
        *,
        rounds: int = 3,
        base: str | None = None,
        lookahead: int = 30,
        n_epochs: int = 8,
        batch_size: int = 512,
        **kwargs: Any,
    ) -> None:
        super().__init__(policy, env, n_steps=batch_size, n_epochs=n_epochs, batch_size=batch_size, **kwargs)
        assert self.env is not None
        (spec,) = self.env.get_attr("spec", [0])
        known = check_arguments(find_environment(spec.id), ()).keys() - {"render_mode"}
        arguments = {name: value for name, value in spec.kwargs.items() if name in known}  # vector ones have others
        self._played = gym.make(spec.id, **{**arguments, "engine": "compiled"})
        config = SearchConfig(base=base, futures=1, rounds=1, lookahead=lookahead)
        self._search = Search(self._played, config, seed=self.seed or 0)
        self.rounds = rounds
        self.rounds_done = 0
        num_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        self.seen = np.zeros((0, *self.observation_space.shape), dtype=np.float32)  # type: ignore[misc]
        """What was seen at the decisions that had a choice, (num_decisions, size)."""
        self.allowed = np.zeros((0, num_actions), dtype=np.bool_)
        """Which actions were allowed, (num_decisions, num_actions)."""
        self.values = np.zeros((0, num_actions), dtype=np.float32)
        """Values of actions, less their mean; 0 where not allowed, (num_decisions, num_actions)."""

    def learn(  # type: ignore[override]  # as that of MaskablePPO
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "distil",
        reset_num_timesteps: bool = True,
        use_masking: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Goes on for whole episodes until so many decisions have been made, with a fit at the end of each round."""
        total, callbacks = self._setup_learn(total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar)
        callbacks.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            callbacks.on_rollout_start()
            self._play_episode()
            callbacks.on_rollout_end()
            if self.num_timesteps * self.rounds >= total * (self.rounds_done + 1):
                self.train()
                self.rounds_done += 1
            if not callbacks.on_step():
                break
        callbacks.on_training_end()
        return self

    def _play_episode(self) -> None:
        """Plays an episode, in which all choices of each decision are tried."""
        env: Any = self._played
        rng = SeedStreams(self.seed or 0)[f"episode after {self.num_timesteps}"]
        observation, _ = env.reset(seed=FIRST_TRAINING_SEED + int(rng.integers(2**62)))
        seen, allowed, values, over = [], [], [], False
        while not over:
            mask = env.unwrapped.action_masks()
            choices, action, found = self._search.tried()
            if len(choices) > 1:
                seen.append(observation)
                allowed.append(mask)
                values.append(np.zeros(len(mask), dtype=np.float32))
                values[-1][choices] = found - found.mean()
            if self.rounds_done:
                action = int(self.predict(observation, deterministic=True, action_masks=mask)[0])
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
            self.num_timesteps += 1
        self.seen = np.concatenate([self.seen, np.array(seen, dtype=np.float32).reshape(-1, *self.seen.shape[1:])])
        self.allowed = np.concatenate([self.allowed, np.array(allowed).reshape(-1, self.allowed.shape[1])])
        self.values = np.concatenate([self.values, np.array(values).reshape(-1, self.values.shape[1])])

    def train(self) -> None:
        """Fits the network to all decisions so far, in units of the standard deviation of their values."""
        policy: Any = self.policy
        assert self.batch_size is not None
        rng = SeedStreams(self.seed or 0)[f"updates after {self.num_timesteps}"]
        unit = float(self.values[self.allowed].std()) or 1.0
        batches = [
            rows
            for _ in range(self.n_epochs)
            for rows in np.array_split(rng.permutation(len(self.values)), -(-len(self.values) // self.batch_size))
        ]
        policy.set_training_mode(True)
        losses = []
        for number, rows in enumerate(batches):
            for group in policy.optimizer.param_groups:
                group["lr"] = self.lr_schedule(1.0 - number / len(batches))
            allowed = torch.as_tensor(self.allowed[rows])
            chances = policy.get_distribution(torch.as_tensor(self.seen[rows]), action_masks=self.allowed[rows])
            logits = chances.distribution.logits.masked_fill(~allowed, 0.0)
            logits = (logits - logits.sum(dim=1, keepdim=True) / allowed.sum(dim=1, keepdim=True)) * allowed
            loss = torch.square(logits - torch.as_tensor(self.values[rows] / unit)).sum() / allowed.sum()
            policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            policy.optimizer.step()
            losses.append(loss.item())
            self._n_updates += 1
        policy.set_training_mode(False)
        self.logger.record("train/loss", float(np.mean(losses[-len(losses) // 8 :])))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_played", "_search", "seen", "allowed", "values"]
