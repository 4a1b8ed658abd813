"""Schemas of the commands' configuration files: names, types, ranges. Hydra refuses everything else.

These are the schemas of the commands; `algorithm_schemas` and `policy_schemas` hold those of what learns. `hydra_store`
registers them all, and those of the environments.
"""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import Any, ClassVar, Final

from omegaconf import MISSING

from flowsched_gym.baselines.configuration.algorithm_schemas import BothAgentsConfig, CmaEsConfig, DistilConfig
from flowsched_gym.baselines.configuration.schema_checks import CheckedConfig, bounded, check_member
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation.runner import MOST_EPISODES
from flowsched_gym.players.kept import MODEL_PREFIX, MODEL_SUFFIX

FIRST_VALIDATION_SEED: Final = 20_000
"""First seed of the episodes that settings are chosen by."""


class Vectorization(Enum):
    """Ways to step the environments of a training run together; all give the same bits."""

    native = "native"
    """By the environment's own vector environment; as ``dummy`` where it has none."""
    dummy = "dummy"
    """One after the other, simulated by SimPy."""
    subproc = "subproc"
    """Each in a process of its own, simulated by SimPy."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig(CheckedConfig):
    """Settings of the comparisons with heuristics during training.

    Attributes:
        episodes: Episodes of the final comparison.
        interim_episodes: Episodes of each comparison on the way.
        interim_seed: Seed of the first of them, from 20,000 on: the best of these comparisons is kept, so they are
            validation episodes, unlike those of the final comparison.
        seed: Seed of the first episode of the final comparison; training never uses such seeds.
        interval: Decisions between two comparisons.
        metric: Metric of the episodes that is logged and compared; by default that of the environment.
        baselines: Heuristics to compare with on the way, by default those that the registry names; all of the
            environment's are in the final comparison.
        bound: Whether the clairvoyant bound is in the final comparison.
    """

    GROUP: ClassVar[str] = "evaluation."

    episodes: int = bounded(20, 1, MOST_EPISODES)
    interim_episodes: int = bounded(10, 1, MOST_EPISODES)
    interim_seed: int = bounded(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED)
    seed: int = bounded(10_000, 0)
    interval: int = bounded(100_000, 1)
    metric: str = MISSING
    baselines: list[str] = MISSING
    bound: bool = True


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig(CheckedConfig):
    """Settings of the checkpoints.

    Attributes:
        interval: Decisions between two checkpoints.
        keep: Checkpoints to keep, the newest ones.
    """

    GROUP: ClassVar[str] = "checkpoints."

    interval: int = bounded(100_000, 1)
    keep: int = bounded(2, 1)


@dataclass(frozen=True, kw_only=True)
class LoggerConfig(CheckedConfig):
    """Destinations of the learning curves.

    Attributes:
        interval: Decisions between two points of the curves.
        csv: Whether ``progress.csv`` is written.
        tensorboard: Whether event files are written to ``tensorboard/``.
        wandb: Whether a run of Weights & Biases is kept, with config, curves, figure and model.
        wandb_mode: ``offline`` (nothing leaves the machine), ``online`` or ``disabled``.
        wandb_project: Project of the run.
        wandb_group: Group of the run, if any.
    """

    GROUP: ClassVar[str] = "logger."

    interval: int = bounded(10_000, 1)
    csv: bool = True
    tensorboard: bool = True
    wandb: bool = False
    wandb_mode: str = "offline"
    wandb_project: str = "flowsched-gym"
    wandb_group: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_member("logger.wandb_mode", self.wandb_mode, ("offline", "online", "disabled"))


def run_folder(run_name: str) -> str:
    """Returns the folder of a run below ``runs``: its name, and for names that lead elsewhere one that is never kept.

    Hydra makes the folder before it checks the configuration, which then refuses such a name.
    """
    return run_name if _lies_inside(run_name) else "refused"


def _lies_inside(run_name: str) -> bool:
    """Returns whether a path stays inside the folder that it begins in."""
    path = PurePath(run_name)
    return bool(path.parts) and ".." not in path.parts and not path.is_absolute() and run_name.isprintable()


@dataclass(frozen=True, kw_only=True)
class TrainConfig(CheckedConfig):
    """Configuration of ``flowsched-train``.

    Attributes:
        env: Arguments of the environment (`environment_schema`).
        workload: Name and arguments of the workload, which ``env`` refers to.
        policy: The network.
        algorithm: The algorithm.
        logger: Where the curves go.
        evaluation: Comparison with the heuristics.
        checkpoints: How often the run is saved.
        run_name: Name of the run, and of its folder.
        sweep_dir: Folder of a sweep, with a folder for each of its jobs.
        seed: Seed of everything that is drawn.
        start: Rule that the network is fitted to before it learns (`cloning`): a heuristic of the environment with its
            options, or ``search``; ``None`` for a new network.
        total_timesteps: Decisions to learn from; `decisions` rounds them up.
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
    sweep_dir: str = ""
    seed: int = bounded(0, 0, 2**32 - 1)
    start: str | None = None
    total_timesteps: int = bounded(1_000_000, 1, 2**53)
    vectorization: Vectorization = Vectorization.native
    resume: bool = False
    overwrite: bool = False
    progress_bar: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _lies_inside(self.run_name):
            raise ConfigError(f"run_name is {self.run_name!r}: it must be the name of a folder inside runs/")
        if self.resume and self.overwrite:
            raise ConfigError("resume and overwrite are both true: a run is either continued or thrown away")
        if self.resume and isinstance(self.algorithm, BothAgentsConfig):
            raise ConfigError(
                "resume is true: checkpoints of algorithm=auto lack the agent of thresholds, so it begins anew "
                "(overwrite=true)"
            )
        if (
            self.start is not None
            and isinstance(self.algorithm, CmaEsConfig)
            and not (self.start.startswith(MODEL_PREFIX) or self.start.endswith(MODEL_SUFFIX))
        ):
            raise ConfigError(
                f"start is {self.start!r}: cmaes goes on from the weights of a model (model:NAME, or a file .zip), and "
                "from no rule, as most are no weighted sum of columns; policy.start takes weights"
            )
        if self.start is not None and isinstance(self.algorithm, DistilConfig):
            raise ConfigError(f"start is {self.start!r}: distil begins with its base; algorithm.base names another one")
        self.algorithm.decisions(self.total_timesteps)

    @property
    def decisions(self) -> int:
        """Decisions that the training makes (`AlgorithmConfig.decisions`)."""
        made: int = self.algorithm.decisions(self.total_timesteps)
        return made


@dataclass(frozen=True, kw_only=True)
class TuneConfig(TrainConfig):
    """Configuration of ``flowsched-tune``: a training, and how its settings are searched.

    Attributes:
        study: Name or file of the search space.
        trials: Trials of the whole study, those before a resumption included.
    """

    study: str = MISSING
    trials: int = bounded(20, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evaluation.seed < FIRST_VALIDATION_SEED:
            raise ConfigError(
                f"evaluation.seed is {self.evaluation.seed}: a study plays validation episodes, from seed "
                f"{FIRST_VALIDATION_SEED} on; those before are for tests"
            )


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig(CheckedConfig):
    """Configuration of ``flowsched-evaluate``.

    Attributes:
        env: Arguments of the environment.
        workload: Name and arguments of the workload.
        model: Model files (``.zip``) to play beside the heuristics; empty to compare heuristics alone.
        trust: Whether models that Stable-Baselines3 wrote are loaded too, whatever code they bring.
        policies: Heuristics and planners to play; empty for all of the environment's heuristics.
        bound: Whether the clairvoyant bound is compared too.
        episodes: Episodes of each.
        seed: Seed of the first episode.
        metric: Metric of the figure's intervals.
        progress_bar: Whether a bar is shown.
    """

    env: Any = MISSING
    workload: Any = MISSING
    model: list[str] = field(default_factory=list)
    trust: bool = False
    policies: list[str] = field(default_factory=list)
    bound: bool = True
    episodes: int = bounded(20, 1, MOST_EPISODES)
    seed: int = bounded(10_000, 0)
    metric: str = MISSING
    progress_bar: bool = True
