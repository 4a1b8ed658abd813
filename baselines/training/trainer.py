"""A training run from its configuration: environments, model, curves, checkpoints, and the final comparison.

The folder of a run::

    run.json            the configuration that decides the result; a resumed run must agree with it
    progress.csv        the curves; tensorboard/ the same as event files
    checkpoints/        where the run can be taken up again
    model.zip           the trained model; model.json says for which environment and by which versions
    results/*.json      one result file for each policy on the same unseen episodes
    comparison.md .png  these results as a table and a figure
    result.json         the run in a few numbers, the decisions asked for (total_timesteps) and made (num_timesteps)
                        among them; the table of a multirun is made from these
"""

import logging
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import CallbackList
from tqdm.contrib.logging import logging_redirect_tqdm

from flowsched_gym import __version__
from flowsched_gym.baselines.applications.comparison import Comparison, Contestant, heuristics_of, play_all
from flowsched_gym.baselines.applications.comparison_report import FIGURE_FILE, decisions_text, write_comparison
from flowsched_gym.baselines.configuration.algorithm_schemas import GradientConfig, RolloutConfig
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig, Vectorization
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.baselines.configuration.policy_schemas import AutoConfig, FlatConfig, WeightsConfig
from flowsched_gym.baselines.training.algorithms import build_model
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
from flowsched_gym.baselines.training.loggers import WandbCurves, make_logger
from flowsched_gym.baselines.training.starting import first_action, start_at, start_with_std, start_with_weights
from flowsched_gym.baselines.training.training_envs import make_training_envs, training_seed
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import BOUND_POLICY, Interval, paired_difference, paired_ratio, write_json
from flowsched_gym.integrations.models import MODEL_FORMAT, save_model
from flowsched_gym.leaderboard import reference_of
from flowsched_gym.registration import agent_ability, find_environment
from flowsched_gym.workload import workload_label

LOGGER: Final = logging.getLogger(__name__)

RUN_FILE: Final = "run.json"
MODEL_FILE: Final = "model.zip"
SIDECAR_FILE: Final = "model.json"
RESULT_FILE: Final = "result.json"
CHECKPOINTS_FOLDER: Final = "checkpoints"
RESULTS: Final = (
    *(CHECKPOINTS_FOLDER, "tensorboard", "wandb", "results"),
    *(RESULT_FILE, MODEL_FILE, SIDECAR_FILE, "wandb_id.txt"),
)
"""What a run leaves in its folder."""
KEPT_FOLDER: Final = ".rules"
"""Folder beside the runs with results of rules, which the next run of the same environment takes from there."""
RUN_SCHEMA: Final = "flowsched-training/1"
DECISIVE: Final = ("env", "policy", "algorithm", "seed", "start")
"""Parts of the configuration that decide the weights, beside the number of decisions; the others may be changed."""
NEVER: Final = 2**62
"""Updates between two rows that Stable-Baselines3 would write by itself; `Curves` counts decisions instead."""
VERSIONED: Final = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")
"""Packages whose versions are kept with a model."""


def train(
    config: TrainConfig,
    content: Mapping[str, Any],
    folder: Path,
    *,
    command: str | None = None,
    report: Callable[[int, float], None] | None = None,
    compare: bool = True,
) -> dict[str, Any]:
    """Trains a policy, or resumes its training, and compares it with the heuristics.

    Args:
        config: The configuration.
        content: The same as plain values, to be kept.
        folder: Folder of the run.
        command: Command line, to be kept with the results.
        report: Called at each comparison on the way with the decisions made and the mean of the metric.
        compare: Whether the model is compared with the heuristics at the end.

    Returns:
        The content of ``result.json``; empty without a comparison.

    Raises:
        ConfigError: The configuration is not allowed, or the folder holds another run.
        TrainingInterrupted: The training was asked to stop; it can be resumed.
    """
    # Two threads on a busy machine are many times slower than one.
    torch.set_num_threads(1)
    env_id, kwargs = environment_arguments(config.env)
    identity = {name: content[name] for name in DECISIVE} | {"total_timesteps": config.total_timesteps}
    begin_folder("run", folder / RUN_FILE, identity, config, RESULTS)
    begun = time.monotonic()
    compiled = config.vectorization is Vectorization.native
    comparisons = Comparisons(env_id, kwargs, config.evaluation, report, compiled=compiled)
    algorithm = config.algorithm
    envs = make_training_envs(
        env_id,
        kwargs,
        num_envs=algorithm.num_envs,
        seed=config.seed,
        reward_scale=algorithm.reward_scale if isinstance(algorithm, GradientConfig) else 1.0,
        vectorization=config.vectorization,
    )
    try:
        model, resumed = _model(config, envs, folder)
        logger = make_logger(
            config.logger,
            folder,
            name=config.run_name,
            content=content,
            first_step=resumed.num_timesteps if resumed else 0,
        )
        model.set_logger(logger)
        try:
            _learn(config, model, comparisons, folder, resumed)
            _save_model(model, folder, env_id=env_id, kwargs=kwargs, config=config)
            if not compare:
                return {}
            final, best = _compare(config, env_id, kwargs, folder, command)
            result = _summarise(config, final, best, env_id, kwargs, model.num_timesteps, time.monotonic() - begun)
            result["evaluation"] = content["evaluation"]
            write_json(result, folder / RESULT_FILE)
            for output in logger.output_formats:
                if isinstance(output, WandbCurves):
                    output.keep(
                        figures={"comparison": folder / FIGURE_FILE},
                        model=folder / MODEL_FILE,
                        sidecar=folder / SIDECAR_FILE,
                        summary=_final_numbers(final, result),
                    )
        finally:
            logger.close()
    finally:
        comparisons.close()
        envs.close()
    return result


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
    finally:
        bar.close()
    checkpoints.save()


def _save_model(
    model: BaseAlgorithm, folder: Path, *, env_id: str, kwargs: Mapping[str, Any], config: TrainConfig
) -> None:
    """Writes the model, and beside it what it was trained for; each whole or not at all."""
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
    save_model(model, folder / MODEL_FILE, origin=sidecar)
    write_json(sidecar, folder / SIDECAR_FILE)


def _compare(
    config: TrainConfig, env_id: str, kwargs: dict[str, Any], folder: Path, command: str | None
) -> tuple[Comparison, str]:
    """Compares the model with the rules of the environment, and names the best with its actions and information."""
    model = Contestant(name=config.algorithm.name, source=str(folder / MODEL_FILE), seed=config.seed)
    evaluation = config.evaluation
    comparison = play_all(
        env_id,
        kwargs,
        [model, *heuristics_of(env_id)],
        episodes=evaluation.episodes,
        seed=evaluation.seed,
        bound=evaluation.bound,
        command=command,
        show_progress=config.progress_bar,
        kept=folder.parent / KEPT_FOLDER,
    )
    title = f"{config.algorithm.name} on {workload_label(config.env.workload)}"
    note = f"{config.algorithm.name} learned from {decisions_text(config.decisions, config.total_timesteps)}"
    text, rows = write_comparison(comparison, folder, metric=evaluation.metric, title=title, notes=[note])
    LOGGER.info("%d episodes that training never saw:\n%s", evaluation.episodes, text)
    # Where no rule has as little as the agent, it is compared with the best of all.
    own = next(row.reference for row in rows if row.learned)
    best = own or reference_of(comparison.results, evaluation.metric)
    assert best is not None  # every environment has rules
    return comparison, best


def _summarise(
    config: TrainConfig,
    comparison: Comparison,
    best: str,
    env_id: str,
    kwargs: Mapping[str, Any],
    num_timesteps: int,
    seconds: float,
) -> dict[str, Any]:
    metric = config.evaluation.metric
    values = comparison.result(config.algorithm.name).values(metric)
    best_values = comparison.result(best).values(metric)
    return {
        "schema": RUN_SCHEMA,
        "run_name": config.run_name,
        "environment": env_id,
        "kwargs": dict(kwargs),
        "workload": workload_label(config.env.workload),
        "algorithm": config.algorithm.name,
        "seed": config.seed,
        "total_timesteps": config.total_timesteps,
        "num_timesteps": num_timesteps,
        "seconds": seconds,
        "metric": metric,
        "metric_mean": comparison.result(config.algorithm.name).interval(metric).mean,
        "estimate": _plain(comparison.result(config.algorithm.name).interval(metric)),
        "best_heuristic": best,
        "over_best_heuristic": _plain(paired_difference(values, best_values)),
        "ratio_to_best_heuristic": _plain(paired_ratio(values, best_values)),
        "bound": _bound(comparison, metric),
    }


def _final_numbers(comparison: Comparison, result: Mapping[str, Any]) -> dict[str, float | str]:
    """Returns what a run of Weights & Biases ends with: the agent, all heuristics and the bound, by name."""
    metric = result["metric"]
    numbers: dict[str, float | str] = {
        f"final/{other.policy}": other.interval(metric).mean
        for other in comparison.results
        if metric in other.metric_names and other.policy not in comparison.learned
    }
    return numbers | {
        f"final/{metric}": result["metric_mean"],
        "final/over_best_heuristic": result["over_best_heuristic"]["mean"],
        "final/best_heuristic": result["best_heuristic"],
    }


def _bound(comparison: Comparison, metric: str) -> float | None:
    for result in comparison.results:
        if result.policy == BOUND_POLICY and metric in result.metric_names:
            return result.interval(metric).mean
    return None


def _plain(interval: Interval) -> dict[str, float | None]:
    ends = (interval.low, interval.high) if interval.known else (None, None)
    return {"mean": interval.mean, "low": ends[0], "high": ends[1]}
