"""Distils search into a network: what search needs thousands of rollouts for, the network tells from what it sees.

Search tries all choices of a decision on the same futures; their values, less that of what its base would do, are what
the network learns from. It maximises the mean value of its own choices, which noise of single values does not bias, so
that a few futures for each of many decisions are enough. The base plays the episodes of the first round, the network
those of the others, since it has to choose well where it comes itself (Ross, Gordon and Bagnell, DAgger, 2011; with
values in place of the teacher's choices, Ross and Bagnell, AggreVaTe, 2014).
"""

from typing import Any, Self

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback

from flowsched_gym.baselines.training.training_envs import FIRST_TRAINING_SEED
from flowsched_gym.core.seeding import SeedStreams
from flowsched_gym.registration import check_arguments, find_environment, make_policy

__all__ = ["Distil"]


class Distil(MaskablePPO):
    """Fits a network to the values that search finds for the choices of decisions; see the module.

    Args:
        policy: A maskable policy.
        env: Environments in which search can play; they tell which ones it plays in.
        rounds: Rounds of playing and fitting, of equally many decisions, >= 1.
        futures: Futures on which search tries each choice, >= 1.
        lookahead: Flows to come that each future has, >= 0.
        updates: Updates of a round.
        batch_size: Decisions of an update.
        **kwargs: ``learning_rate``, ``ent_coef``, ``max_grad_norm``, ``seed`` and others of ``MaskablePPO``; those of
            its rollouts and its critic change nothing.
    """

    def __init__(
        self,
        policy: Any,
        env: GymEnv,
        *,
        rounds: int = 4,
        futures: int = 4,
        lookahead: int = 30,
        updates: int = 1000,
        batch_size: int = 512,
        **kwargs: Any,
    ) -> None:
        super().__init__(policy, env, n_steps=batch_size, batch_size=batch_size, **kwargs)
        assert self.env is not None
        (spec,) = self.env.get_attr("spec", [0])
        known = check_arguments(find_environment(spec.id), ()).keys() - {"render_mode"}
        arguments = {name: value for name, value in spec.kwargs.items() if name in known}  # vector ones have others
        self._played = gym.make(spec.id, **{**arguments, "engine": "compiled"})
        self._teacher: Any = make_policy(
            f"search:rounds=1,futures={futures},lookahead={lookahead}", self._played, seed=self.seed or 0
        )
        self.rounds = rounds
        self.updates = updates
        num_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        self.seen = np.zeros((0, *self.observation_space.shape), dtype=np.float32)  # type: ignore[misc]
        """What the network would have seen at the decisions so far, (num_decisions, size)."""
        self.allowed = np.zeros((0, num_actions), dtype=np.bool_)
        """Which actions were allowed, (num_decisions, num_actions)."""
        self.gains = np.zeros((0, num_actions), dtype=np.float32)
        """Values of actions, less that of the base's; 0 where not allowed, (num_decisions, num_actions)."""

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "distil",
        reset_num_timesteps: bool = True,
        use_masking: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Goes on, round by round, until so many decisions have been tried."""
        total, callbacks = self._setup_learn(total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar)
        callbacks.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            callbacks.on_rollout_start()
            self._play(min(-(-total // self.rounds), total - self.num_timesteps))
            callbacks.on_rollout_end()
            self.train()
            if not callbacks.on_step():
                break
        callbacks.on_training_end()
        return self

    def _play(self, count: int) -> None:
        """Plays episodes for so many decisions, at each of which all choices are tried."""
        env: Any = self._played
        rng = SeedStreams(self.seed or 0)[f"episodes after {self.num_timesteps}"]
        seen, allowed, gains, over = [], [], [], True
        for _ in range(count):
            if over:
                observation, _ = env.reset(seed=FIRST_TRAINING_SEED + int(rng.integers(2**62)))
            tried = self._teacher.tried()
            seen.append(observation)
            allowed.append(env.unwrapped.action_masks())
            gains.append(np.zeros(len(allowed[-1]), dtype=np.float32))
            gains[-1][tried.choices] = tried.values - tried.values[tried.choices == tried.preferred]
            action = tried.preferred
            if len(self.gains):
                action = int(self.predict(observation, deterministic=True, action_masks=allowed[-1])[0])
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        self.num_timesteps += count
        self.seen = np.concatenate([self.seen, np.array(seen, dtype=np.float32)])
        self.allowed = np.concatenate([self.allowed, np.array(allowed)])
        self.gains = np.concatenate([self.gains, np.array(gains)])

    def train(self) -> None:
        """Fits the network to all decisions so far."""
        policy: Any = self.policy
        rng = SeedStreams(self.seed or 0)[f"updates after {self.num_timesteps}"]
        rows = np.flatnonzero(np.count_nonzero(self.allowed, axis=1) > 1)  # where there was a choice
        unit = max(float(self.gains[rows].std()), np.finfo(np.float32).tiny) if len(rows) else 1.0
        policy.set_training_mode(True)
        for update in range(self.updates if len(rows) else 0):
            batch = rng.choice(rows, size=self.batch_size)
            rate = self.lr_schedule(1.0 - update / self.updates)
            for group in policy.optimizer.param_groups:
                group["lr"] = rate
            chances = policy.get_distribution(torch.as_tensor(self.seen[batch]), action_masks=self.allowed[batch])
            gain = (chances.distribution.probs * torch.as_tensor(self.gains[batch] / unit)).sum(dim=1).mean()
            loss = -gain - self.ent_coef * chances.entropy().mean()
            policy.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), self.max_grad_norm)
            policy.optimizer.step()
            self._n_updates += 1
        policy.set_training_mode(False)
        self.logger.record("train/gain", gain.item() * unit if len(rows) else 0.0)
        self.logger.record("train/most_gain", float(self.gains.max(axis=1).mean()))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_played", "_teacher"]
