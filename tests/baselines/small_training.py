"""Composes trainings that take a second, and compares what they end with."""

import io
import zipfile
from pathlib import Path
from typing import Any, Final

import torch
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from flowsched_gym.baselines.hydra_schemas import TrainConfig
from flowsched_gym.baselines.hydra_store import read_config, register_schemas

__all__ = ["SMALL", "compose_training", "weights_of"]

SMALL: Final = (
    "run_name=small",
    "workload.bursts=4",
    "env.k=3",
    "env.f=4",
    "algorithm.num_envs=4",
    "algorithm.n_steps=16",
    "policy=flat",
    "policy.separate=[8]",
    "total_timesteps=640",
    "evaluation.episodes=2",
    "evaluation.interim_episodes=1",
    "evaluation.interval=256",
    "evaluation.baselines=[edf]",
    "evaluation.bound=false",
    "checkpoints.interval=200",
    "logger.interval=100",
    "logger.tensorboard=false",
    "progress_bar=false",
)
BATCHES: Final = ("algorithm.batch_size=32", "algorithm.n_epochs=2")
"""What only PPO has."""


def compose_training(*overrides: str) -> tuple[TrainConfig, dict[str, Any]]:
    """Composes a small training, as an object and as plain values."""
    register_schemas()
    batches = () if any("a2c" in override for override in overrides) else BATCHES
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        composed = compose("train", overrides=[*SMALL, *batches, *overrides])
    content: Any = OmegaConf.to_container(composed, resolve=True, enum_to_str=True)
    config: TrainConfig = read_config(composed)
    return config, content


def weights_of(model: Path) -> dict[str, torch.Tensor]:
    """Reads the weights and the state of the optimiser from a model file."""
    with zipfile.ZipFile(model) as archive:
        tensors: dict[str, torch.Tensor] = torch.load(io.BytesIO(archive.read("policy.pth")))
        optimiser = torch.load(io.BytesIO(archive.read("policy.optimizer.pth")))
    for row, state in optimiser["state"].items():
        tensors |= {f"optimiser.{row}.{name}": torch.as_tensor(value) for name, value in state.items()}
    return tensors
