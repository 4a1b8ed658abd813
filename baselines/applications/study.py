"""A study of Optuna over the settings of a training: trials, what is kept of them, and their resumption.

A trial depends on its number and on those before it alone: its proposal is drawn by a generator of its own. A study
that was killed runs the trial that was under way again, from its last checkpoint, and ends as if nothing had happened.
"""

import csv
import io
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import optuna
from hydra import compose
from hydra.core.hydra_config import HydraConfig
from optuna.distributions import CategoricalDistribution
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from flowsched_gym.baselines.applications.comparison import play_all
from flowsched_gym.baselines.applications.tuned_experiment import experiment_text, problem_overrides
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig, TuneConfig
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments, plain_values, read_config
from flowsched_gym.baselines.configuration.study_schema import StudySpace, read_study
from flowsched_gym.baselines.training.trainer import DECISIVE, MODEL_FILE, RUN_FILE, begin_folder, train
from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.core.files import write_text
from flowsched_gym.core.seeding import SeedStreams
from flowsched_gym.core.units import time_left
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.integrations.archive import first_sentence
from flowsched_gym.players import find_player

LOGGER: Final = logging.getLogger(__name__)

STORAGE_FILE: Final = "study.db"
IDENTITY_FILE: Final = "study.json"
TRIALS_FILE: Final = "trials.csv"
TRIALS_FOLDER: Final = "trials"
EXPERIMENT_FOLDER: Final = "experiment"
NAME: Final = "study"
SAMPLER_SEEDS: Final = 2**32
FAILURE: Final = "failure"


def run_study(config: TuneConfig, content: Mapping[str, Any], folder: Path) -> Path:
    """Runs the trials that are left of a study, and writes the best settings; returns the experiment file.

    Raises:
        ConfigError: The configuration is not allowed, the folder holds another study, no trial has succeeded, or
            several are equally good.
        TrainingInterrupted: A training was asked to stop; the study can be resumed.
    """
    space = read_study(config.study)
    overrides = problem_overrides(list(HydraConfig.get().overrides.task))
    # Composed once before anything is written, for a setting that is none.
    first = {
        k: each.choices[0] if isinstance(each, CategoricalDistribution) else each.low for k, each in space.space.items()
    }
    _compose(config, overrides, first)
    identity = {name: content[name] for name in (*DECISIVE, "total_timesteps", "evaluation")}
    identity |= {"overrides": overrides, "space": repr(space)}
    begin_folder("study", folder / IDENTITY_FILE, identity, config, (TRIALS_FOLDER, STORAGE_FILE, TRIALS_FILE))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    larger = merit(config.evaluation.metric, 1.0) > 0
    with _storage(folder) as storage:
        study = optuna.create_study(
            study_name=NAME,
            storage=storage,
            direction="maximize" if larger else "minimize",
            pruner=optuna.pruners.MedianPruner() if space.prune else optuna.pruners.NopPruner(),
            load_if_exists=True,
        )
        begun, num_run = time.monotonic(), 0
        for number in range(config.trials):
            trial = _trial(study, number)
            if trial is not None:
                _run_trial(study, trial, config, space, overrides, folder)
                _write_trials(study.get_trials(), space, folder)
                num_run += 1
                if left := config.trials - number - 1:
                    elapsed = time.monotonic() - begun
                    LOGGER.info("trials left: %s, about %s", left, time_left(num_run / (num_run + left), elapsed))
        if not study.get_trials(states=[TrialState.COMPLETE]):
            raise ConfigError(f"no trial of {folder} has succeeded: {study.get_trials()[-1].user_attrs.get(FAILURE)}")
        best = study.best_trial
        equal = [trial.number for trial in study.get_trials(states=[TrialState.COMPLETE]) if trial.value == best.value]
    path = folder / EXPERIMENT_FOLDER / f"{folder.name}.yaml"
    last = config.evaluation.seed + config.evaluation.episodes - 1
    played = f"validation episodes {config.evaluation.seed} to {last}"
    if len(equal) > 1:
        path.unlink(missing_ok=True)
        raise ConfigError(
            f"no trial of {folder} is the best, and no experiment is written: trials {', '.join(map(str, equal))} all "
            f"reached {_told(config, best)} on {played}; more total_timesteps, evaluation.episodes or trials may tell "
            "settings apart"
        )
    LOGGER.info("best of %s trials: trial %s, %s", config.trials, best.number, _told(config, best))
    note = (
        f"Trial {best.number}, the best of {config.trials} of study {folder.name}: {_told(config, best)} on {played}."
    )
    write_text(experiment_text(overrides, best.params, HydraConfig.get().runtime.choices, note=note), path)
    return path


@contextmanager
def _storage(folder: Path) -> Iterator[RDBStorage]:
    """Opens the database of a study, and closes it; raises a ``ConfigError`` where it cannot be written."""
    path = folder / STORAGE_FILE
    try:
        storage = RDBStorage(f"sqlite:///{path}")
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()
    except (SQLAlchemyError, StorageInternalError) as error:
        cause: Any = error.__cause__ if isinstance(error, StorageInternalError) else error
        raise ConfigError(f"{path} cannot be written: {first_sentence(getattr(cause, 'orig', cause))}") from error


def _trial(study: optuna.Study, number: int) -> Trial | None:
    """Returns the trial of a number, a new one or the one that was under way; ``None`` for one that has ended."""
    known = study.get_trials()
    if number < len(known):
        frozen = known[number]
        return None if frozen.state.is_finished() else Trial(study, frozen._trial_id)
    return study.ask()


def _run_trial(
    study: optuna.Study,
    trial: Trial,
    config: TuneConfig,
    space: StudySpace,
    overrides: Sequence[str],
    folder: Path,
) -> None:
    """Trains by the proposed settings, once for each seed, and tells the study what came of it."""
    draws = SeedStreams(config.seed)[f"trial {trial.number}"]
    study.sampler = optuna.samplers.TPESampler(
        seed=int(draws.integers(SAMPLER_SEEDS)), n_startup_trials=space.startup_trials
    )
    settings = {key: trial._suggest(key, distribution) for key, distribution in space.space.items()}
    seeds = space.seeds or (config.seed,)
    try:
        values = [
            _train(trial, config, overrides, settings, seed, folder, steps_before=number * config.total_timesteps)
            for number, seed in enumerate(seeds)
        ]
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except FlowSchedError as error:
        LOGGER.warning("trial %s failed: %s", trial.number, error)
        trial.set_user_attr(FAILURE, str(error))
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, float(np.mean(values)))
    ended = study.get_trials()[trial.number]
    LOGGER.info("trial %s of %s: %s, %s", trial.number, config.trials, _told(config, ended), settings)


def _train(
    trial: Trial,
    config: TuneConfig,
    overrides: Sequence[str],
    settings: Mapping[str, Any],
    seed: int,
    folder: Path,
    *,
    steps_before: int,
) -> float:
    """Trains once and returns the metric on the validation episodes."""
    run = folder / TRIALS_FOLDER / f"{trial.number:04d}" / f"seed{seed}"
    run.mkdir(parents=True, exist_ok=True)
    training, content = _compose(config, [*overrides, f"seed={seed}", f"resume={(run / RUN_FILE).exists()}"], settings)
    reported = trial.study.get_trials()[trial.number].intermediate_values

    def report(step: int, value: float) -> None:
        if step > 0 and steps_before + step not in reported:
            trial.report(value, steps_before + step)
            if trial.should_prune():
                raise optuna.TrialPruned

    train(training, content, run, report=report)
    evaluation = config.evaluation
    env_id, kwargs = environment_arguments(training.env)
    comparison = play_all(
        env_id,
        kwargs,
        [find_player(str(run / MODEL_FILE), env_id)],
        episodes=evaluation.episodes,
        seed=evaluation.seed,
        bound=False,
        show_progress=config.progress_bar,
    )
    return comparison.results[0].interval(evaluation.metric).mean


def _compose(
    config: TuneConfig, overrides: Sequence[str], settings: Mapping[str, Any]
) -> tuple[TrainConfig, dict[str, Any]]:
    """Composes the training of a trial."""
    words = [
        *overrides,
        *(f"{key}={value}" for key, value in settings.items()),
        f"run_name={config.run_name}",
        f"evaluation.seed={config.evaluation.seed}",
        f"evaluation.interval={config.evaluation.interval}",
        "evaluation.baselines=[]",
        f"checkpoints.interval={config.checkpoints.interval}",
        f"checkpoints.keep={config.checkpoints.keep}",
        f"progress_bar={config.progress_bar}",
        "logger=none",
    ]
    composed = compose("train", overrides=words)
    training: TrainConfig = read_config(composed)
    return training, plain_values(composed)


def _told(config: TuneConfig, trial: FrozenTrial) -> str:
    if trial.value is None or trial.state is not TrialState.COMPLETE:
        return trial.state.name.lower()
    column = column_of(config.evaluation.metric)
    return f"{column.label} {column.write(trial.value)}"


def _write_trials(trials: Sequence[FrozenTrial], space: StudySpace, folder: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["trial", "state", "value", *space.space, FAILURE])
    for trial in trials:
        value = "" if trial.value is None else repr(trial.value)
        settings = [trial.params.get(key, "") for key in space.space]
        writer.writerow([trial.number, trial.state.name.lower(), value, *settings, trial.user_attrs.get(FAILURE, "")])
    write_text(text.getvalue(), folder / TRIALS_FILE)
