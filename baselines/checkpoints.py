"""Saves a training run so that it can be taken up again exactly, and finds the newest one.

A checkpoint is a folder named by the number of decisions: the model with its optimisers (``model.zip``), the states of
the random generators and of the environments, and what the callbacks remember (``state.pkl``), and of algorithms that
learn from a memory of all they did, that memory (``replay.pkl``). It is written under another name and renamed when it
is whole, so that a kill at any moment leaves the one before.
A run taken up from it ends with the same weights, bit by bit, as one that was never interrupted.
"""

import os
import pickle
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from flowsched_gym.baselines.training_envs import EnvironmentStates, environment_states, restore_environments
from flowsched_gym.errors import ConfigError

__all__ = ["Checkpoint", "latest_checkpoint", "load_checkpoint", "restore_generators", "save_checkpoint"]

MODEL: Final = "model.zip"
STATE: Final = "state.pkl"
REPLAY: Final = "replay.pkl"
DIGITS: Final = 12
"""Digits of the folders' names, so that their order is that of the numbers."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Holds what a model file does not.

    Attributes:
        num_timesteps: Decisions made.
        generators: States of the generators of Python, NumPy and torch, and of the model's action space.
        environments: Where the environments are.
        memory: What the callbacks remember, by name.
    """

    num_timesteps: int
    generators: tuple[Any, Any, Any, Any]
    environments: EnvironmentStates
    memory: dict[str, Any]


def save_checkpoint(folder: Path, model: BaseAlgorithm, *, memory: dict[str, Any], keep: int) -> Path:
    """Saves a run between two updates and removes older checkpoints.

    Args:
        folder: Folder of the checkpoints.
        model: The model; nothing is drawn or changed.
        memory: What the callbacks remember, by name.
        keep: Checkpoints to keep, this one included.

    Returns:
        Folder of the checkpoint.
    """
    envs = model.get_env()
    assert envs is not None
    state = Checkpoint(
        num_timesteps=model.num_timesteps,
        generators=(
            random.getstate(),
            np.random.get_state(),  # noqa: NPY002 - Stable-Baselines3 draws there
            torch.get_rng_state(),
            model.action_space.np_random.bit_generator.state,
        ),
        environments=environment_states(envs),
        memory=memory,
    )
    target = folder / f"{model.num_timesteps:0{DIGITS}d}"
    temporary = folder / f".{target.name}.{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        model.save(temporary / MODEL)
        if isinstance(model, OffPolicyAlgorithm):
            model.save_replay_buffer(temporary / REPLAY)
        (temporary / STATE).write_bytes(pickle.dumps(state))
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    for old in _checkpoints(folder)[:-keep]:
        shutil.rmtree(old)
    return target


def latest_checkpoint(folder: Path) -> Path | None:
    """Returns the newest whole checkpoint of a folder, or ``None``."""
    whole = _checkpoints(folder)
    return whole[-1] if whole else None


def load_checkpoint(path: Path, algorithm: Any, envs: VecEnv) -> tuple[BaseAlgorithm, Checkpoint]:
    """Loads a checkpoint and brings the environments to where they were.

    Args:
        path: Folder of the checkpoint.
        algorithm: Class of the model.
        envs: Environments made as those of the run were.

    Returns:
        The model and what the model file does not hold. The generators are not touched: `restore_generators` comes
        last, right before the training goes on.

    Raises:
        ConfigError: The checkpoint is damaged, or the environments are not those of the run.
    """
    try:
        state = pickle.loads((path / STATE).read_bytes())
        model: BaseAlgorithm = algorithm.load(path / MODEL, env=envs, device="cpu", force_reset=False)
        if isinstance(model, OffPolicyAlgorithm):
            model.load_replay_buffer(path / REPLAY)
    except Exception as error:  # what a damaged pickle raises is anybody's guess
        raise ConfigError(
            f"checkpoint {path} cannot be read: {error}; remove it to go back to the one before"
        ) from error
    if not isinstance(state, Checkpoint) or state.num_timesteps != model.num_timesteps:
        raise ConfigError(f"checkpoint {path} does not agree with itself; remove it to go back to the one before")
    observations = model._last_obs
    assert isinstance(observations, np.ndarray)
    restore_environments(envs, state.environments, observations)
    return model, state


def restore_generators(state: Checkpoint, model: BaseAlgorithm) -> None:
    """Sets the generators of Python, NumPy and torch, and of the model's action space, to where they were."""
    python, numpy, of_torch, of_actions = state.generators
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002 - Stable-Baselines3 shuffles minibatches by this generator
    torch.set_rng_state(of_torch)
    model.action_space.np_random.bit_generator.state = of_actions


def _checkpoints(folder: Path) -> list[Path]:
    """Lists the whole checkpoints of a folder, oldest first."""
    if not folder.is_dir():
        return []
    names = sorted(path for path in folder.iterdir() if path.name.isdigit())
    return [path for path in names if (path / MODEL).is_file() and (path / STATE).is_file()]
