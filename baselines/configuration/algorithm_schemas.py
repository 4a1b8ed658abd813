"""Schemas of the learning algorithms; each has the settings that it uses and no others."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from omegaconf import MISSING

from flowsched_gym.baselines.configuration.schema_checks import CheckedConfig, bounded, is_number
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation.runner import MOST_EPISODES

MOST_ENVS: Final = 2**24
"""Environments at most: no memory has room for as many."""
WHOLE: Final = 64
"""Decisions that trainings are multiples of, so that algorithms whose environments divide it make equally many."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmConfig(CheckedConfig):
    """Settings that all algorithms have.

    Attributes:
        name: Name in file names and tables.
        num_envs: Environments that are stepped together.
    """

    GROUP: ClassVar[str] = "algorithm."

    name: str = MISSING
    num_envs: int = bounded(64, 1, MOST_ENVS)

    def decisions(self, total_timesteps: int) -> int:
        """Returns the decisions that a training makes, as far as they are known before.

        Raises:
            ConfigError: They end before the first update.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CmaEsConfig(AlgorithmConfig):
    """Settings of evolution by CMA-ES (`evolution`), which makes whole generations.

    Attributes:
        population: Weights that are tried in a generation; it must divide ``num_envs``, and each plays as many episodes
            as that gives.
        sigma: Standard deviation of the weights of the first generation.
        metric: Metric of episodes that is made as good as possible; ``None`` for that of the environment.
        last_episodes: Episodes that each of the last means plays at the end, at least, before one is kept.
    """

    num_envs: int = bounded(160, 1, MOST_ENVS)
    population: int = bounded(40, 4)
    sigma: float = bounded(1.0, 0)
    metric: str | None = None
    last_episodes: int = bounded(64, 1, MOST_EPISODES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_envs % self.population:
            raise ConfigError(
                f"algorithm.population is {self.population}: it must divide algorithm.num_envs, {self.num_envs}"
            )

    def decisions(self, total_timesteps: int) -> int:
        """Returns the decisions requested; the generation in which they are reached is played to its end."""
        return total_timesteps


@dataclass(frozen=True, kw_only=True)
class DistilConfig(AlgorithmConfig):
    """Settings of distilling search into a network (`distillation`), which makes whole episodes.

    Attributes:
        learning_rate: Learning rate at the start of each round; it falls to 0 in each.
        rounds: Rounds of about equally many decisions, each followed by a fit to all decisions so far; in the first one
            the base of the search plays, later the network.
        base: Who goes on after a choice: a heuristic or a model (``.zip``); ``None`` for that of the environment.
        lookahead: Flows to come that each future has.
        n_epochs: Times that each decision is used in a round.
        batch_size: Decisions of an update.
    """

    num_envs: int = bounded(1, 1, 1)
    learning_rate: float = bounded(2e-3, 0)
    rounds: int = bounded(3, 1)
    base: str | None = None
    lookahead: int = bounded(30, 0)
    n_epochs: int = bounded(8, 1)
    batch_size: int = bounded(512, 2)

    def decisions(self, total_timesteps: int) -> int:
        """Returns the decisions requested; the episode in which they are reached is played to its end."""
        return total_timesteps


@dataclass(frozen=True, kw_only=True)
class GradientConfig(AlgorithmConfig):
    """Settings of the algorithms that follow a gradient.

    Attributes:
        learning_rate: Learning rate of the first update.
        final_learning_rate: Learning rate at the end; each update is one step nearer to it, and the last one step off.
        gamma: Discount for each decision.
        reward_scale: What rewards are multiplied by in training, so that returns are near 1; metrics keep the reward.
    """

    learning_rate: float = bounded(2e-3, 0)
    final_learning_rate: float = bounded(0.0, 0)
    gamma: float = bounded(0.98, 0, 1)
    reward_scale: float = bounded(0.1, 0)

    def decisions(self, total_timesteps: int) -> int:
        """Returns the decisions that a training makes: those requested, up to a multiple of 64 and of `num_envs`.

        Raises:
            ConfigError: They end before the first update.
        """
        whole = math.lcm(WHOLE, self.num_envs)
        made = -(-total_timesteps // whole) * whole
        least, reason = self._first_update()
        if made < least:
            raise ConfigError(
                f"total_timesteps is {total_timesteps:,}: {self.name} first updates its weights after {least:,} "
                f"decisions ({reason}), so it would learn nothing"
            )
        return made

    def _first_update(self) -> tuple[int, str]:
        """Returns the decisions after which all networks have been updated, and what they are made up of."""
        raise NotImplementedError

    def _rounds_needed(self) -> int:
        """Returns the rounds of updates that this takes."""
        return 1


@dataclass(frozen=True, kw_only=True)
class RolloutConfig(GradientConfig):
    """Settings of algorithms that learn from their last rollout.

    Attributes:
        n_steps: Steps of each environment between two updates.
        ent_coef: Weight of the entropy bonus at the start.
        final_ent_coef: Weight of it at the end; it changes linearly in between.
        max_grad_norm: Largest norm of the gradient.
    """

    n_steps: int = bounded(128, 1)
    ent_coef: float = bounded(0.01, 0)
    final_ent_coef: float = bounded(0.0, 0)
    max_grad_norm: float = bounded(0.5, 0)

    @property
    def steps_per_update(self) -> int:
        """Steps of all environments together between two updates."""
        return self.num_envs * self.n_steps

    def _first_update(self) -> tuple[int, str]:
        # The last rollout takes what is left, so that one is learned from however short it is.
        whole = self._rounds_needed() - 1
        reason = f"{whole} of algorithm.num_envs * algorithm.n_steps = {self.num_envs} * {self.n_steps}, and more"
        return whole * self.steps_per_update + 1, reason


@dataclass(frozen=True, kw_only=True)
class ActorCriticConfig(RolloutConfig):
    """Settings of on-policy algorithms that learn a critic too.

    Attributes:
        gae_lambda: Decay of generalised advantage estimation; 1 gives n-step returns.
        vf_coef: Weight of the critic's loss.
        normalize_advantage: Whether advantages are standardised in each batch.
    """

    gae_lambda: float = bounded(0.95, 0, 1)
    vf_coef: float = bounded(0.5, 0)
    normalize_advantage: bool = True


@dataclass(frozen=True, kw_only=True)
class A2CConfig(ActorCriticConfig):
    """Settings of advantage actor-critic.

    Attributes:
        use_rms_prop: Whether RMSprop is the optimiser; Adam otherwise.
    """

    use_rms_prop: bool = False


@dataclass(frozen=True, kw_only=True)
class ThesisA2CConfig(A2CConfig):
    """Settings of the thesis's A2C, which draws actions from a mixture with the uniform distribution (`mixture`).

    Attributes:
        initial_epsilon: Share of the uniform distribution at the start.
        final_epsilon: Share of it at the end of its reduction.
        epsilon_fraction: Part of the training in which it is reduced linearly.
    """

    initial_epsilon: float = bounded(1.0, 0, 1)
    final_epsilon: float = bounded(0.0, 0, 1)
    epsilon_fraction: float = bounded(0.5, 0, 1)

    def _rounds_needed(self) -> int:
        # No action of the first rollout is the actor's as long as all are uniform.
        return 2 if self.initial_epsilon == 1 and self.epsilon_fraction > 0 else 1


@dataclass(frozen=True, kw_only=True)
class PPOConfig(ActorCriticConfig):
    """Settings of proximal policy optimisation.

    Attributes:
        batch_size: Samples of a minibatch.
        n_epochs: Times that each sample is used.
        clip_range: How far the probability ratio may leave 1.
        target_kl: Divergence from the old policy at which an update stops; ``None`` for never.
    """

    batch_size: int = bounded(1024, 2)
    n_epochs: int = bounded(10, 1)
    clip_range: float = bounded(0.2, 0)
    target_kl: float | None = bounded(None, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps_per_update % self.batch_size:
            raise ConfigError(
                f"algorithm.batch_size is {self.batch_size}: it must divide num_envs * n_steps, "
                f"{self.num_envs} * {self.n_steps} = {self.steps_per_update}"
            )


@dataclass(frozen=True, kw_only=True)
class MaskablePPOConfig(PPOConfig):
    """Settings of PPO with action masks."""


@dataclass(frozen=True, kw_only=True)
class ReinforceConfig(RolloutConfig):
    """Settings of REINFORCE with running averages of the returns as baselines (`reinforce`).

    Attributes:
        baseline_rate: How far a baseline moves towards the mean return of an update, 0 to 1.
        baseline_column: Column of the observation, that of the first slot where slots have it, by whose value baselines
            are kept apart, such as ``source``, the sending host; ``None`` for one baseline.
    """

    baseline_rate: float = bounded(0.1, 0, 1)
    baseline_column: str | None = None


@dataclass(frozen=True, kw_only=True)
class OffPolicyConfig(GradientConfig):
    """Settings of algorithms that learn from a replay buffer.

    Attributes:
        buffer_size: Decisions remembered; the oldest are forgotten first.
        batch_size: Decisions drawn from the memory for an update.
        tau: How far the target networks follow in each update.
        train_freq: Steps of each environment between two rounds of updates.
        gradient_steps: Updates of a round.
        learning_starts: Decisions before the first update; until then, actions are drawn uniformly.
    """

    num_envs: int = bounded(16, 1, MOST_ENVS)
    learning_rate: float = bounded(1e-3, 0)
    buffer_size: int = 20_000
    batch_size: int = bounded(128, 1)
    tau: float = bounded(0.005, 0, 1)
    train_freq: int = bounded(1, 1)
    gradient_steps: int = bounded(4, 1)
    learning_starts: int = bounded(0, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buffer_size < self.num_envs:
            raise ConfigError(f"algorithm.buffer_size is {self.buffer_size}: it must be >= {self.num_envs}")

    def _first_update(self) -> tuple[int, str]:
        every = self.num_envs * self.train_freq
        reason = (
            f"algorithm.learning_starts = {self.learning_starts:,}, "
            f"algorithm.num_envs * algorithm.train_freq = {self.num_envs} * {self.train_freq}"
        )
        return (self.learning_starts // every + self._rounds_needed()) * every, reason


@dataclass(frozen=True, kw_only=True)
class DDPGConfig(OffPolicyConfig):
    """Settings of deep deterministic policy gradients.

    Attributes:
        action_sigma: Standard deviation of the noise added to actions while learning; actions go from -1 to 1.
    """

    action_sigma: float = bounded(0.2, 0)


@dataclass(frozen=True, kw_only=True)
class TD3Config(DDPGConfig):
    """Settings of twin delayed DDPG.

    Attributes:
        policy_delay: Updates of the critics for each of the actor.
        target_policy_noise: Standard deviation of the noise on the target's actions.
        target_noise_clip: Largest such noise.
    """

    policy_delay: int = bounded(2, 1)
    target_policy_noise: float = bounded(0.2, 0)
    target_noise_clip: float = bounded(0.5, 0)

    def _rounds_needed(self) -> int:
        return -(-self.policy_delay // self.gradient_steps)


@dataclass(frozen=True, kw_only=True)
class SACConfig(OffPolicyConfig):
    """Settings of soft actor-critic.

    Attributes:
        ent_coef: Weight of the entropy, or ``auto`` to learn it.
    """

    ent_coef: Any = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ent_coef != "auto" and not (is_number(self.ent_coef) and self.ent_coef >= 0):
            raise ConfigError(f"algorithm.ent_coef is {self.ent_coef!r}: it must be a finite number >= 0, or auto")


@dataclass(frozen=True, kw_only=True)
class BothAgentsConfig(ReinforceConfig):
    """Settings of AuTO's two agents at once: REINFORCE for long flows, and DDPG beside it (`both_agents`).

    Attributes:
        thresholds: Settings of DDPG, which learns after each of its decisions: ``num_envs``, ``train_freq`` and
            ``learning_starts`` change nothing.
        period_flows: Flows that finish between two of its decisions.
    """

    thresholds: DDPGConfig = field(default_factory=lambda: DDPGConfig(name="ddpg-auto"))
    period_flows: int = bounded(100, 1)
