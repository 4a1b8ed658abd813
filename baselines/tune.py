"""Searches settings of a training with Optuna: ``flowsched-tune``.

Examples::

    flowsched-tune study=ppo experiment=contended total_timesteps=200000 trials=40
    flowsched-tune study=ppo experiment=contended total_timesteps=200000 trials=40 resume=true
    flowsched-tune study=my-study.yaml workload=gather-a2 algorithm=a2c

The folder of a study::

    study.db            the trials, as Optuna keeps them; a study that was killed is continued from there
    study.json          what decides the trials; a resumed study must agree with it
    trials/             a folder for each trial, with a run for each training seed
    trials.csv          the trials: settings and what they reached on validation episodes
    experiment/*.yaml   the best settings: flowsched-train experiment=FILE
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowsched_gym.baselines.applications.application import run_application
from flowsched_gym.baselines.applications.study import run_study
from flowsched_gym.baselines.configuration.hydra_schemas import TuneConfig


def main() -> None:
    """Runs the command."""
    run_application("flowsched-tune", "tune", _job)


def _job(config: TuneConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    experiment = run_study(config, content, folder)
    if experiment.is_relative_to(Path.cwd()):
        experiment = experiment.relative_to(Path.cwd())
    print(f"The best settings are an experiment: flowsched-train experiment={experiment}")


if __name__ == "__main__":
    main()
