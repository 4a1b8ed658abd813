"""Schemas of the learning algorithms; each has the settings that it uses and no others."""

from dataclasses import dataclass
from typing import Any

from omegaconf import MISSING

from flowsched_gym.baselines.configuration.schema_checks import check_range
from flowsched_gym.errors import ConfigError

__all__ = [
    "A2CConfig",
    "ActorCriticConfig",
    "AlgorithmConfig",
    "DDPGConfig",
    "MaskablePPOConfig",
    "OffPolicyConfig",
    "PPOConfig",
    "ReinforceConfig",
    "RolloutConfig",
    "SACConfig",
    "TD3Config",
    "ThesisA2CConfig",
]


@dataclass(frozen=True, kw_only=True)
class AlgorithmConfig:
    """Settings that all algorithms have.

    Attributes:
        name: Name in file names and tables.
        num_envs: Environments that are stepped together.
        learning_rate: Learning rate at the start.
        final_learning_rate: Learning rate at the end; it changes linearly in between.
        gamma: Discount for each decision.
        reward_scale: What rewards are multiplied by in training, so that returns are near 1; metrics keep the reward.
    """

    name: str = MISSING
    num_envs: int = 64
    learning_rate: float = 2e-3
    final_learning_rate: float = 0.0
    gamma: float = 0.98
    reward_scale: float = 0.1

    def __post_init__(self) -> None:
        check_range(
            "algorithm",
            self,
            num_envs=(1, None),
            learning_rate=(0, None),
            final_learning_rate=(0, None),
            gamma=(0, 1),
            reward_scale=(0, None),
        )


@dataclass(frozen=True, kw_only=True)
class RolloutConfig(AlgorithmConfig):
    """Settings of algorithms that learn from their last rollout.

    Attributes:
        n_steps: Steps of each environment between two updates.
        ent_coef: Weight of the entropy bonus at the start.
        final_ent_coef: Weight of it at the end; it changes linearly in between.
        max_grad_norm: Largest norm of the gradient.
    """

    n_steps: int = 128
    ent_coef: float = 0.01
    final_ent_coef: float = 0.0
    max_grad_norm: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(
            "algorithm",
            self,
            n_steps=(1, None),
            ent_coef=(0, None),
            final_ent_coef=(0, None),
            max_grad_norm=(0, None),
        )

    @property
    def steps_per_update(self) -> int:
        """Steps of all environments together between two updates."""
        return self.num_envs * self.n_steps


@dataclass(frozen=True, kw_only=True)
class ActorCriticConfig(RolloutConfig):
    """Settings of on-policy algorithms that learn a critic too.

    Attributes:
        gae_lambda: Decay of generalised advantage estimation; 1 gives n-step returns.
        vf_coef: Weight of the critic's loss.
        normalize_advantage: Whether advantages are standardised in each batch.
    """

    gae_lambda: float = 0.95
    vf_coef: float = 0.5
    normalize_advantage: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("algorithm", self, gae_lambda=(0, 1), vf_coef=(0, None))


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

    initial_epsilon: float = 1.0
    final_epsilon: float = 0.0
    epsilon_fraction: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("algorithm", self, initial_epsilon=(0, 1), final_epsilon=(0, 1), epsilon_fraction=(0, 1))


@dataclass(frozen=True, kw_only=True)
class PPOConfig(ActorCriticConfig):
    """Settings of proximal policy optimisation.

    Attributes:
        batch_size: Samples of a minibatch.
        n_epochs: Times that each sample is used.
        clip_range: How far the probability ratio may leave 1.
        target_kl: Divergence from the old policy at which an update stops; ``None`` for never.
    """

    batch_size: int = 1024
    n_epochs: int = 10
    clip_range: float = 0.2
    target_kl: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("algorithm", self, batch_size=(2, None), n_epochs=(1, None), clip_range=(0, None))
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

    baseline_rate: float = 0.1
    baseline_column: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("algorithm", self, baseline_rate=(0, 1))


@dataclass(frozen=True, kw_only=True)
class OffPolicyConfig(AlgorithmConfig):
    """Settings of algorithms that learn from a replay buffer.

    Attributes:
        buffer_size: Decisions remembered; the oldest are forgotten first.
        batch_size: Decisions drawn from the memory for an update.
        tau: How far the target networks follow in each update.
        train_freq: Steps of each environment between two rounds of updates.
        gradient_steps: Updates of a round.
        learning_starts: Decisions before the first update; until then, actions are drawn uniformly.
    """

    num_envs: int = 16
    learning_rate: float = 1e-3
    buffer_size: int = 20_000
    batch_size: int = 128
    tau: float = 0.005
    train_freq: int = 1
    gradient_steps: int = 4
    learning_starts: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(
            "algorithm",
            self,
            buffer_size=(self.num_envs, None),
            batch_size=(1, None),
            tau=(0, 1),
            train_freq=(1, None),
            gradient_steps=(1, None),
            learning_starts=(0, None),
        )


@dataclass(frozen=True, kw_only=True)
class DDPGConfig(OffPolicyConfig):
    """Settings of deep deterministic policy gradients.

    Attributes:
        action_sigma: Standard deviation of the noise added to actions while learning; actions go from -1 to 1.
    """

    action_sigma: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("algorithm", self, action_sigma=(0, None))


@dataclass(frozen=True, kw_only=True)
class TD3Config(DDPGConfig):
    """Settings of twin delayed DDPG.

    Attributes:
        policy_delay: Updates of the critics for each of the actor.
        target_policy_noise: Standard deviation of the noise on the target's actions.
        target_noise_clip: Largest such noise.
    """

    policy_delay: int = 2
    target_policy_noise: float = 0.2
    target_noise_clip: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(
            "algorithm", self, policy_delay=(1, None), target_policy_noise=(0, None), target_noise_clip=(0, None)
        )


@dataclass(frozen=True, kw_only=True)
class SACConfig(OffPolicyConfig):
    """Settings of soft actor-critic.

    Attributes:
        ent_coef: Weight of the entropy, or ``auto`` to learn it.
    """

    ent_coef: Any = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ent_coef == "auto":
            return
        if isinstance(self.ent_coef, bool) or not isinstance(self.ent_coef, (int, float)) or not self.ent_coef >= 0:
            raise ConfigError(f"algorithm.ent_coef is {self.ent_coef!r}: it must be a number >= 0, or auto")
