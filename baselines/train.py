"""Trains a policy: ``flowsched-train``, or ``python -m flowsched_gym.baselines.train``.

Examples::

    flowsched-train experiment=contended
    flowsched-train workload=gather-a2 algorithm=a2c env.k=5 total_timesteps=500000 seed=3
    flowsched-train -m workload=gather-a1,gather-a2 algorithm=a2c,ppo launcher=joblib
    flowsched-train experiment=contended resume=true
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowsched_gym.baselines.applications.application import run_application
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.training.callbacks import TrainingInterrupted
from flowsched_gym.baselines.training.trainer import MODEL_FILE, train

__all__ = ["main"]


def main() -> None:
    """Runs the command."""
    run_application("flowsched-train", "train", _job)


def _job(config: TrainConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    try:
        train(config, content, folder, command=command)
    except TrainingInterrupted:
        raise KeyboardInterrupt from None
    print(f"The model is {folder / MODEL_FILE}; results, table and figure lie beside it.")


if __name__ == "__main__":
    main()
