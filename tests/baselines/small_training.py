"""Composes trainings that take a second, and compares what they end with."""

from pathlib import Path
from typing import Any, Final

import torch
from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.configuration.hydra_store import read_config, register_schemas
from flowsched_gym.baselines.training.checkpoints import FORMAT, latest_checkpoint
from flowsched_gym.integrations.archive import read_archive
from flowsched_gym.integrations.models import read_model

COMMON: Final = (
    *("run_name=small", "algorithm.num_envs=4", "total_timesteps=640", "evaluation.episodes=2"),
    *("evaluation.interim_episodes=1", "evaluation.interval=256", "evaluation.bound=false"),
    *("checkpoints.interval=200", "logger.interval=100", "logger.tensorboard=false", "progress_bar=false"),
)
ROLLOUTS: Final = "algorithm.n_steps=16"
"""What only algorithms have that learn from rollouts."""
SMALL: Final = (*(*COMMON, "workload.bursts=4", "env.k=3", "env.f=4", ROLLOUTS, "evaluation.baselines=[edf]"),)
"""What all trainings on Artemis have."""
BATCHES: Final = ("algorithm.batch_size=32", "algorithm.n_epochs=2")
"""What only PPO has."""
NETWORK: Final = ("policy=flat", "policy.separate=[8]")
NUMBERS: Final = (
    *(*COMMON, "env=auto_thresholds", "env.hosts=4", "env.period_flows=20", "workload=auto-web-search"),
    *("workload.flows=200", "evaluation.metric=mean_fct", "evaluation.baselines=[mismatched]"),
)
"""What all trainings have whose actions are numbers."""


def compose_training(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    evolved = "algorithm=cmaes" in overrides
    return _composed(*(word for word in SMALL if not (evolved and word == ROLLOUTS)), *overrides)


def compose_training_by_numbers(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    return _composed(*NUMBERS, *overrides)


def compose_defaults(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    """Composes the smallest training of the algorithm, network and workload that an environment has by default."""
    fewest = ("total_timesteps=64", "algorithm.n_steps=16", "algorithm.batch_size=64", "vectorization=dummy")
    return _read(*COMMON, *fewest, *overrides)


def compose_experiment(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    """Composes an experiment with few episodes."""
    return _read("algorithm.num_envs=4", *COMMON[3:5], "progress_bar=false", "run_name=small", *overrides)


def _composed(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    """Composes a training, with a small network and small batches where the overrides choose none."""
    algorithm = next((override for override in overrides if override.startswith("algorithm=")), "algorithm=ppo")
    batches = BATCHES if algorithm.endswith("ppo") else ()
    network = () if any(override.startswith("policy=") for override in overrides) else NETWORK
    return _read(*network, *batches, *overrides)


def _read(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    composed = compose_words("train", *overrides)
    content: Any = OmegaConf.to_container(composed, resolve=True, enum_to_str=True)
    config: TrainConfig = read_config(composed)
    return config, content


def compose_words(command: str, *overrides: str, **options: Any) -> DictConfig:
    """Composes the configuration of a command, which nobody has read yet."""
    register_schemas()
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        return compose(command, overrides=list(overrides), **options)


def weights_of(model: Path) -> dict[str, torch.Tensor]:
    """Reads the weights of a model file, and those and the optimisers of the last checkpoint beside it."""
    tensors: dict[str, torch.Tensor] = dict(read_model(model)["weights"])
    last = latest_checkpoint(model.parent / "checkpoints")
    assert last is not None
    for name, parameters in read_archive(last, "checkpoint", FORMAT)["model"]["parameters"].items():
        states = parameters.get("state", {"": parameters})
        for row, state in states.items():
            tensors |= {f"{name}.{row}.{key}": torch.as_tensor(value) for key, value in state.items()}
    return tensors
