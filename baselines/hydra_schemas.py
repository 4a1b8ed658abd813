"""Declares what the configuration files may say: names, types, ranges. Hydra refuses everything else.

`hydra_store` registers these schemas, and those of the environments.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from omegaconf import MISSING

from flowsched_gym.errors import ConfigError

__all__ = [
    "A2CConfig",
    "AlgorithmConfig",
    "CheckpointConfig",
    "EvaluateConfig",
    "EvaluationConfig",
    "FlatConfig",
    "HeuristicsConfig",
    "LoggerConfig",
    "MaskablePPOConfig",
    "PPOConfig",
    "PolicyConfig",
    "SetwiseConfig",
    "ThesisA2CConfig",
    "TrainConfig",
    "Vectorization",
]


class Vectorization(Enum):
    """Says how the environments of a training run are stepped together; what they do is the same, bit for bit."""

    native = "native"
    """By the environment's own vector environment; as ``dummy`` where it has none."""
    dummy = "dummy"
    """One after the other, simulated by SimPy."""
    subproc = "subproc"
    """Each in a process of its own, simulated by SimPy."""


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Is the parent of the settings of a policy network."""


@dataclass(frozen=True, kw_only=True)
class FlatConfig(PolicyConfig):
    """Configures perceptrons on the whole observation.

    Attributes:
        shared: Widths of the hidden layers that actor and critic share.
        separate: Widths of the hidden layers that each of them has behind these.
        activation: ``tanh`` or ``relu``.
    """

    shared: list[int] = field(default_factory=list)
    separate: list[int] = field(default_factory=lambda: [128, 128])
    activation: str = "tanh"

    def __post_init__(self) -> None:
        """Checks the widths."""
        for name in ("shared", "separate"):
            widths = getattr(self, name)
            if any(width < 1 for width in widths):
                raise ConfigError(f"policy.{name} is {list(widths)}: widths must be >= 1")
        _check_member("policy.activation", self.activation, ("tanh", "relu"))


@dataclass(frozen=True, kw_only=True)
class SetwiseConfig(PolicyConfig):
    """Configures one network that all slots share (`setwise`).

    Attributes:
        width: Width of all layers.
        num_blocks: Rounds in which each slot reads a summary of all.
    """

    width: int = 32
    num_blocks: int = 1

    def __post_init__(self) -> None:
        """Checks the sizes."""
        _check_range("policy", self, width=(1, None), num_blocks=(0, None))


@dataclass(frozen=True, kw_only=True)
class AlgorithmConfig:
    """Holds what all algorithms have.

    Attributes:
        name: Name in file names and tables.
        num_envs: Environments that are stepped together.
        n_steps: Steps of each environment between two updates.
        learning_rate: Learning rate at the start.
        final_learning_rate: Learning rate at the end; it changes linearly in between.
        gamma: Discount for each decision.
        gae_lambda: Decay of generalised advantage estimation; 1 gives n-step returns.
        ent_coef: Weight of the entropy bonus at the start.
        final_ent_coef: Weight of it at the end; it changes linearly in between.
        vf_coef: Weight of the critic's loss.
        max_grad_norm: Largest norm of the gradient.
        normalize_advantage: Whether advantages are standardised in each batch.
        reward_scale: What rewards are multiplied by in training, so that returns are near 1; metrics keep the reward.
    """

    name: str = MISSING
    num_envs: int = 64
    n_steps: int = 128
    learning_rate: float = 2e-3
    final_learning_rate: float = 0.0
    gamma: float = 0.98
    gae_lambda: float = 0.95
    ent_coef: float = 0.01
    final_ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    normalize_advantage: bool = True
    reward_scale: float = 0.1

    def __post_init__(self) -> None:
        """Checks the ranges."""
        _check_range(
            "algorithm",
            self,
            num_envs=(1, None),
            n_steps=(1, None),
            learning_rate=(0, None),
            final_learning_rate=(0, None),
            gamma=(0, 1),
            gae_lambda=(0, 1),
            ent_coef=(0, None),
            final_ent_coef=(0, None),
            vf_coef=(0, None),
            max_grad_norm=(0, None),
            reward_scale=(0, None),
        )

    @property
    def steps_per_update(self) -> int:
        """Steps of all environments together between two updates."""
        return self.num_envs * self.n_steps


@dataclass(frozen=True, kw_only=True)
class A2CConfig(AlgorithmConfig):
    """Configures advantage actor-critic.

    Attributes:
        use_rms_prop: Whether RMSprop is the optimiser; Adam otherwise.
    """

    use_rms_prop: bool = False


@dataclass(frozen=True, kw_only=True)
class ThesisA2CConfig(A2CConfig):
    """Configures the thesis's A2C: actions are drawn from a mixture with the uniform distribution (`mixture`).

    Attributes:
        initial_epsilon: Share of the uniform distribution at the start.
        final_epsilon: Share of it at the end of its reduction.
        epsilon_fraction: Part of the training in which it is reduced linearly.
    """

    initial_epsilon: float = 1.0
    final_epsilon: float = 0.0
    epsilon_fraction: float = 0.5

    def __post_init__(self) -> None:
        """Checks the ranges."""
        super().__post_init__()
        _check_range("algorithm", self, initial_epsilon=(0, 1), final_epsilon=(0, 1), epsilon_fraction=(0, 1))


@dataclass(frozen=True, kw_only=True)
class PPOConfig(AlgorithmConfig):
    """Configures proximal policy optimisation.

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
        """Checks the ranges."""
        super().__post_init__()
        _check_range("algorithm", self, batch_size=(2, None), n_epochs=(1, None), clip_range=(0, None))
        if self.steps_per_update % self.batch_size:
            raise ConfigError(
                f"algorithm.batch_size is {self.batch_size}: it must divide num_envs * n_steps, "
                f"{self.num_envs} * {self.n_steps} = {self.steps_per_update}"
            )


@dataclass(frozen=True, kw_only=True)
class MaskablePPOConfig(PPOConfig):
    """Configures PPO that only draws actions which do what they say."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Says how the policy is compared with heuristics while it learns.

    Attributes:
        episodes: Episodes of the final comparison.
        interim_episodes: Episodes of each comparison on the way.
        seed: Seed of the first episode; training never uses such seeds.
        interval: Decisions between two comparisons.
        metric: Metric of the episodes that is logged and compared.
        baselines: Heuristics to compare with on the way; all of the environment's are in the final comparison.
        bound: Whether the clairvoyant bound is in the final comparison.
    """

    episodes: int = 20
    interim_episodes: int = 10
    seed: int = 10_000
    interval: int = 100_000
    metric: str = "deadline_hit_ratio"
    baselines: list[str] = field(default_factory=lambda: ["edf", "feasible-first"])
    bound: bool = True

    def __post_init__(self) -> None:
        """Checks the ranges."""
        least = {"episodes": (1, None), "interim_episodes": (1, None), "seed": (0, None), "interval": (1, None)}
        _check_range("evaluation", self, **least)


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """Says how often a run can be taken up again.

    Attributes:
        interval: Decisions between two checkpoints.
        keep: Checkpoints to keep, the newest ones.
    """

    interval: int = 100_000
    keep: int = 2

    def __post_init__(self) -> None:
        """Checks the ranges."""
        _check_range("checkpoints", self, interval=(1, None), keep=(1, None))


@dataclass(frozen=True, kw_only=True)
class LoggerConfig:
    """Says where the curves go.

    Attributes:
        interval: Decisions between two points of the curves.
        csv: Whether ``progress.csv`` is written.
        tensorboard: Whether event files are written to ``tensorboard/``.
        wandb: Whether a run of Weights & Biases is kept, with config, curves, figure and model.
        wandb_mode: ``offline`` (nothing leaves the machine), ``online`` or ``disabled``.
        wandb_project: Project of the run.
        wandb_group: Group of the run, if any.
    """

    interval: int = 10_000
    csv: bool = True
    tensorboard: bool = True
    wandb: bool = False
    wandb_mode: str = "offline"
    wandb_project: str = "flowsched-gym"
    wandb_group: str | None = None

    def __post_init__(self) -> None:
        """Checks interval and mode."""
        _check_range("logger", self, interval=(1, None))
        _check_member("logger.wandb_mode", self.wandb_mode, ("offline", "online", "disabled"))


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Configures ``flowsched-train``.

    Attributes:
        env: Arguments of the environment (`environment_schema`).
        workload: Name and arguments of the workload, which ``env`` refers to.
        policy: The network.
        algorithm: The algorithm.
        logger: Where the curves go.
        evaluation: Comparison with the heuristics.
        checkpoints: How often the run is saved.
        run_name: Name of the run, and of its folder.
        seed: Seed of everything that is drawn.
        total_timesteps: Decisions to learn from.
        vectorization: How the environments are stepped together; a run is resumed as it was begun.
        resume: Whether to continue from the folder's last checkpoint; begins anew where there is none.
        overwrite: Whether a run that the folder holds is thrown away.
        progress_bar: Whether a bar is shown.
    """

    env: Any = MISSING
    workload: Any = MISSING
    policy: Any = MISSING
    algorithm: Any = MISSING
    logger: Any = MISSING
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    run_name: str = MISSING
    seed: int = 0
    total_timesteps: int = 1_000_000
    vectorization: Vectorization = Vectorization.native
    resume: bool = False
    overwrite: bool = False
    progress_bar: bool = True

    def __post_init__(self) -> None:
        """Checks what belongs to no group."""
        _check_range("", self, seed=(0, 2**32 - 1), total_timesteps=(1, None))
        if self.resume and self.overwrite:
            raise ConfigError("resume and overwrite are both true: a run is either continued or thrown away")


@dataclass(frozen=True, kw_only=True)
class HeuristicsConfig:
    """Configures ``flowsched-heuristics``.

    Attributes:
        env: Arguments of the environment.
        workload: Name and arguments of the workload.
        policies: Heuristics to play; empty for all of the environment's.
        bound: Whether the clairvoyant bound stands beside them.
        episodes: Episodes of each.
        seed: Seed of the first episode.
        metric: Metric of the figure's intervals.
        progress_bar: Whether a bar is shown.
    """

    env: Any = MISSING
    workload: Any = MISSING
    policies: list[str] = field(default_factory=list)
    bound: bool = True
    episodes: int = 20
    seed: int = 10_000
    metric: str = "deadline_hit_ratio"
    progress_bar: bool = True

    def __post_init__(self) -> None:
        """Checks the ranges."""
        _check_range("", self, episodes=(1, None), seed=(0, None))


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig(HeuristicsConfig):
    """Configures ``flowsched-evaluate``.

    Attributes:
        model: Model files (``.zip``) to evaluate beside the heuristics, at least one.
    """

    model: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Checks that there is a model."""
        super().__post_init__()
        if not self.model:
            raise ConfigError("model is empty: name at least one model file, such as model=[runs/first/model.zip]")


def _check_range(group: str, config: object, **ranges: tuple[float | None, float | None]) -> None:
    """Refuses numbers outside their ranges, ends included."""
    for name, (least, most) in ranges.items():
        value = getattr(config, name)
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            allowed = f">= {least}" if most is None else f"in [{least}, {most}]"
            raise ConfigError(f"{group + '.' if group else ''}{name} is {value}: it must be {allowed}")


def _check_member(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuses a word that is none of those allowed."""
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}: it must be one of {', '.join(allowed)}")
