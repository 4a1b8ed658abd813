"""A training from its configuration: environments, model, curves, checkpoints.

The folder of a run, the last three by the final comparison (`training_run`)::

    run.json            the configuration that decides the result; a resumed run must agree with it
    progress.csv        the curves; tensorboard/ the same as event files
    checkpoints/        where the run can be taken up again
    model.zip           the trained model; model.json says for which environment and by which versions
    best.zip            the model at the best comparison on the way, likewise; best.json has its mean (``validation``)
    thresholds.zip      with algorithm=auto, the agent beside it, likewise
    results/*.json      one result file for each policy on the same unseen episodes
    comparison.md .png  these results as a table and a figure
    result.json         the run in a few numbers, the decisions requested (total_timesteps) and made (num_timesteps)
                        among them; the table of a multirun is made from these
"""

import logging
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.logger import KVWriter
from tqdm.contrib.logging import logging_redirect_tqdm

from flowsched_gym import __version__
from flowsched_gym.baselines.configuration.algorithm_schemas import BothAgentsConfig, GradientConfig, RolloutConfig
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig, Vectorization
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.baselines.configuration.policy_schemas import AutoConfig, FlatConfig, WeightsConfig
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.both_agents import THRESHOLDS, ThresholdsLearner
from flowsched_gym.baselines.training.callbacks import (
    Checkpoints,
    Comparisons,
    Curves,
    Interruption,
    ProgressBar,
    Schedules,
)
from flowsched_gym.baselines.training.checkpoints import Checkpoint, latest_checkpoint, load_checkpoint
from flowsched_gym.baselines.training.cloning import clone
from flowsched_gym.baselines.training.evolution import CmaEs
from flowsched_gym.baselines.training.loggers import make_logger
from flowsched_gym.baselines.training.starting import (
    first_action,
    go_on_from,
    start_at,
    start_with_std,
    start_with_weights,
)
from flowsched_gym.baselines.training.training_envs import make_training_envs, training_seed
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import write_json
from flowsched_gym.integrations.models import MODEL_FORMAT, save_model
from flowsched_gym.players.kept import BEST_FILE
from flowsched_gym.registration import agent_ability, find_environment

LOGGER: Final = logging.getLogger(__name__)

RUN_FILE: Final = "run.json"
MODEL_FILE: Final = "model.zip"
SIDECAR_FILE: Final = "model.json"
BEST_SIDECAR_FILE: Final = "best.json"
BESIDE_FILE: Final = "thresholds.zip"
RESULT_FILE: Final = "result.json"
CHECKPOINTS_FOLDER: Final = "checkpoints"
RESULTS: Final = (
    *(CHECKPOINTS_FOLDER, "tensorboard", "wandb", "results"),
    *(RESULT_FILE, MODEL_FILE, SIDECAR_FILE, BEST_FILE, BEST_SIDECAR_FILE, BESIDE_FILE, "thresholds.json"),
    "wandb_id.txt",
)
"""What a run leaves in its folder."""
DECISIVE: Final = ("env", "policy", "algorithm", "seed", "start")
"""Parts of the configuration that decide the weights, beside the number of decisions; the others may be changed."""
NEVER: Final = 2**62
"""Updates between two rows that Stable-Baselines3 would write by itself; `Curves` counts decisions instead."""
NOT_FINITE: Final = "found invalid values"
"""What torch says of a distribution whose parameters are no numbers, though weights may be."""
VERSIONED: Final = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")
"""Packages whose versions are kept with a model."""


def train(
    config: TrainConfig,
    content: Mapping[str, Any],
    folder: Path,
    *,
    report: Callable[[int, float], None] | None = None,
    finish: Callable[[int, Sequence[KVWriter]], None] | None = None,
) -> None:
    """Trains a policy, or resumes its training, and writes the model.

    Args:
        config: The configuration.
        content: The same as plain values, to be kept.
        folder: Folder of the run.
        report: Called at each comparison on the way with the decisions made and the mean of the metric.
        finish: Called after all with the decisions made and with what writes the curves, which is still open.

    Raises:
        ConfigError: The configuration is not allowed, or the folder holds another run.
        TrainingInterrupted: The training was asked to stop; it can be resumed.
    """
    # Two threads on a busy machine are many times slower than one.
    torch.set_num_threads(1)
    env_id, kwargs = environment_arguments(config.env)
    identity = {name: content[name] for name in DECISIVE} | {"total_timesteps": config.total_timesteps}
    begin_folder("run", folder / RUN_FILE, identity, config, RESULTS)
    compiled = config.vectorization is Vectorization.native
    algorithm = config.algorithm
    beside = None
    if isinstance(algorithm, BothAgentsConfig):
        beside = ThresholdsLearner(algorithm, env_id, kwargs, seed=config.seed)
    with ExitStack() as opened:
        save = partial(_save_model, env_id=env_id, kwargs=kwargs, config=config)
        how: dict[str, Any] = {"compiled": compiled}
        if beside is None:
            how |= {"keep": partial(save, folder / BEST_FILE), "best": _best_before(config, folder)}
        else:  # the best of one agent would not fit the last of the other
            how["wrap"] = partial(beside.wrap, learns=False)
        comparisons = Comparisons(env_id, kwargs, config.evaluation, report, **how)
        opened.callback(comparisons.close)
        envs = make_training_envs(
            env_id,
            kwargs,
            num_envs=algorithm.num_envs,
            seed=config.seed,
            reward_scale=algorithm.reward_scale if isinstance(algorithm, GradientConfig) else 1.0,
            vectorization=config.vectorization,
            wrap=None if beside is None else partial(beside.wrap, learns=True),
        )
        opened.callback(envs.close)
        model, resumed = _model(config, envs, folder)
        first_step = resumed.num_timesteps if resumed else 0
        logger = make_logger(config.logger, folder, name=config.run_name, content=content, first_step=first_step)
        opened.callback(logger.close)
        model.set_logger(logger)
        _learn(config, model, comparisons, folder, resumed)
        save(folder / MODEL_FILE, model)
        if beside is not None:
            if not beside.model.num_timesteps:
                raise ConfigError(
                    f"total_timesteps is {config.total_timesteps:,}: no period of algorithm.period_flows flows has "
                    "ended, so the agent of thresholds has learned nothing"
                )
            save(folder / BESIDE_FILE, beside.model, env_id=THRESHOLDS, kwargs=beside.kwargs)
        if finish is not None:
            finish(model.num_timesteps, logger.output_formats)


def begin_folder(
    kind: str, path: Path, identity: Mapping[str, Any], config: TrainConfig, results: Sequence[str]
) -> None:
    """Begins a new run, or study, in the folder of its identity, or checks that the folder's is this one.

    Results are the files and folders that ``overwrite`` removes with it.
    """
    folder = path.parent
    if path.exists() and config.overwrite:
        for old in (path, *(folder / name for name in results)):
            if old.is_dir():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.unlink(missing_ok=True)
    if not path.exists():
        write_json(identity, path)
        return
    if not config.resume:
        raise ConfigError(
            f"{folder} holds a {kind} already: resume=true continues it, overwrite=true throws it away, "
            "run_name=... begins another"
        )
    differing = _differences(read_json(path), identity)
    if differing:
        raise ConfigError(f"{folder} holds another {kind}; it differs in {', '.join(differing)}")


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Lists the values that differ, by their dotted names."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        names = sorted({*before, *now})
        return [
            text
            for key in names
            for text in _differences(before.get(key), now.get(key), f"{name}.{key}" if name else str(key))
        ]
    return [] if before == now else [f"{name} ({before!r} then, {now!r} now)"]


def _model(config: TrainConfig, envs: Any, folder: Path) -> tuple[BaseAlgorithm, Checkpoint | None]:
    newest = latest_checkpoint(folder / CHECKPOINTS_FOLDER) if config.resume else None
    model = build_model(config.algorithm, config.policy, envs, seed=config.seed)
    if newest is None:
        if config.resume:
            LOGGER.info("no checkpoint in %s: the training begins anew", folder / CHECKPOINTS_FOLDER)
        _start(model, config)
        # Making a model seeds the environments by the seeds of the run, which are for evaluation.
        envs.seed(training_seed(config.seed))
        return model, None
    state = load_checkpoint(newest, model)
    LOGGER.info("resuming from %s at step %s", newest, f"{state.num_timesteps:,}")
    return model, state


def _start(model: BaseAlgorithm, config: TrainConfig) -> None:
    """Initialises a new model as the settings ask."""
    policy, algorithm = config.policy, config.algorithm
    if isinstance(policy, WeightsConfig) and isinstance(policy.start, Mapping):
        assert isinstance(model, CmaEs)
        env_id, kwargs = environment_arguments(config.env)
        start_with_weights(model, policy.start, agent_ability(find_environment(env_id), kwargs).actions)
    elif isinstance(policy, (AutoConfig, FlatConfig, WeightsConfig)) and policy.start is not None:
        start_at(model, first_action(policy.start, *environment_arguments(config.env)))
    if isinstance(policy, FlatConfig) and policy.start_std is not None:
        start_with_std(model, policy.start_std)
    if config.start is not None:
        env_id, kwargs = environment_arguments(config.env)
        if isinstance(model, CmaEs):
            go_on_from(model, config.start, env_id, kwargs)
        else:
            scale = algorithm.reward_scale
            clone(model, config.start, env_id, kwargs, decisions=config.decisions, reward_scale=scale)


def _learn(
    config: TrainConfig, model: BaseAlgorithm, comparisons: Comparisons, folder: Path, resumed: Checkpoint | None
) -> None:
    """Trains up to the wanted number of decisions."""
    interruption = Interruption()
    checkpoints = Checkpoints(folder / CHECKPOINTS_FOLDER, config.checkpoints, interruption, comparisons, resumed)
    bar = ProgressBar(config.decisions, config.total_timesteps, comparisons, shown=config.progress_bar)
    left = config.decisions - model.num_timesteps
    if left <= 0:
        return
    schedules = [Schedules(config.algorithm)] if isinstance(config.algorithm, RolloutConfig) else []
    callbacks = CallbackList([*schedules, comparisons, Curves(config.logger.interval), checkpoints, bar])
    try:
        with interruption.watched(), logging_redirect_tqdm():
            model.learn(left, callback=callbacks, log_interval=NEVER, reset_num_timesteps=resumed is None)
    except ValueError as error:
        if NOT_FINITE in str(error) or not _is_finite(model):
            raise _diverged(config, model) from error
        raise
    finally:
        bar.close()
    if not _is_finite(model):
        raise _diverged(config, model)
    checkpoints.save()


def _is_finite(model: BaseAlgorithm) -> bool:
    """Returns whether all weights are numbers."""
    return all(bool(weights.isfinite().all()) for weights in model.policy.parameters())


def _diverged(config: TrainConfig, model: BaseAlgorithm) -> ConfigError:
    """Returns the error of a training whose network has, or computes, what is no number any more."""
    rate = getattr(config.algorithm, "learning_rate", None)
    advice = "" if rate is None else f"; algorithm.learning_rate is {rate}: a smaller one may help"
    return ConfigError(f"the training has diverged: after {model.num_timesteps:,} decisions it is not finite{advice}")


def _best_before(config: TrainConfig, folder: Path) -> float | None:
    """Returns the mean of the best comparison before a training is resumed, if it was one of the same episodes."""
    path = folder / BEST_SIDECAR_FILE
    if not config.resume or not path.exists():
        return None
    before = read_json(path)["validation"]
    return float(before["mean"]) if before == _validation(config, before["mean"]) else None


def _validation(config: TrainConfig, mean: float) -> dict[str, Any]:
    """Returns what the best model's file says of its comparison."""
    first, episodes = config.evaluation.interim_seed, config.evaluation.interim_episodes
    return {"metric": config.evaluation.metric, "mean": mean, "first_seed": first, "episodes": episodes}


def _save_model(
    path: Path,
    model: BaseAlgorithm,
    mean: float | None = None,
    *,
    env_id: str,
    kwargs: Mapping[str, Any],
    config: TrainConfig,
) -> None:
    """Writes the model, and beside it what it was trained for, and its mean in validation; each whole or not at all."""
    sidecar = {
        "schema": MODEL_FORMAT,
        "environment": env_id,
        "kwargs": dict(kwargs),
        "algorithm": type(model).__name__,
        "policy": type(model.policy).__name__,
        "seed": config.seed,
        "num_timesteps": model.num_timesteps,
        "observation_space": str(model.observation_space),
        "action_space": str(model.action_space),
        "columns": list(model.get_env().get_attr("layout", 0)[0].column_names),  # type: ignore[union-attr]
        "versions": {"flowsched-gym": __version__, "python": platform.python_version()}
        | {name: version(name) for name in VERSIONED},
    }
    if mean is not None:
        sidecar["validation"] = _validation(config, mean)
    save_model(model, path, origin=sidecar)
    write_json(sidecar, path.with_suffix(".json"))
