"""Trains a policy: ``flowsched-train``, or ``python -m flowsched_gym.baselines.train``.

Examples::

    flowsched-train experiment=contended
    flowsched-train workload=gather-a2 algorithm=a2c env.k=5 total_timesteps=500000 seed=3
    flowsched-train -m workload=gather-a1,gather-a2 algorithm=a2c,ppo launcher=joblib
    flowsched-train experiment=contended resume=true
    flowsched-train -m workload=gather-a1,gather-a2 algorithm=a2c,ppo 'seed=range(0,5)' sweep_dir=multirun/first
"""

import dataclasses
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from flowsched_gym.baselines.applications.application import run_application
from flowsched_gym.baselines.applications.training_run import train_and_compare
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.training.trainer import MODEL_FILE, RESULT_FILE, RUN_FILE
from flowsched_gym.core.files import lock_alone
from flowsched_gym.players.kept import BEST_FILE

LOGGER: Final = logging.getLogger(__name__)

LOCK_FILE: Final = ".lock"


def main() -> None:
    """Runs the command."""
    run_application("flowsched-train", "train", job)


def job(config: TrainConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    """Runs a training, or a job of a sweep, as `run_application` asks."""
    if HydraConfig.get().mode is RunMode.MULTIRUN:
        _sweep_job(config, content, folder, command)
    else:
        train_and_compare(config, content, folder, command=command)
    best = f"{BEST_FILE}, the best in validation episodes, " * (folder / BEST_FILE).exists()
    print(f"The model is {folder / MODEL_FILE}; {best}results, table and figure lie beside it.")


def _sweep_job(config: TrainConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    """Runs a job of a sweep, or what an earlier try has left of it, once no other process works in its folder."""
    with (folder / LOCK_FILE).open("w") as file:  # a process that is killed gives it free
        lock_alone(file, lambda: LOGGER.info("waiting for another process that runs this job, in %s", folder))
        if (folder / RESULT_FILE).exists() and not config.overwrite:
            LOGGER.info("finished before: %s", folder)
            return
        begun = (folder / RUN_FILE).exists() and not config.overwrite
        train_and_compare(dataclasses.replace(config, resume=begun), content, folder, command=command)


if __name__ == "__main__":
    main()
