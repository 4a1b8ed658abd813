"""Checkpoints from which training resumes exactly.

A checkpoint is a file named by the number of decisions, with nothing pickled (`flowsched_gym.integrations.archive`):
weights, optimisers and counters of the model, the states of the random generators and of the environments, what the
callbacks remember, and the replay buffer of off-policy algorithms. The model itself is made anew from the
configuration of the run. A file is written under another name and renamed when it is whole, so that a kill at any
moment leaves the one before.
A run taken up from it ends with the same weights, bit by bit, as one that was never interrupted.
"""

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from flowsched_gym.baselines.training.evolution import CmaEs
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.baselines.training.training_envs import environment_states, restore_environments
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.archive import first_sentence, read_archive, write_archive

FORMAT: Final = "flowsched-checkpoint/1"
SUFFIX: Final = ".zip"
DIGITS: Final = 12
"""Digits of the files' names, so that their order is that of the numbers."""
PLAIN: Final = (int, float, np.ndarray)
"""Types of the attributes in which a model counts and remembers; all others are made from the configuration."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What the callbacks remember.

    Attributes:
        comparison_due_at: Decisions at which the next comparison with heuristics is due.
        checkpoint_due_at: Decisions at which the next checkpoint is due.
        pending_log: Values that were logged and not written yet, by name.
    """

    comparison_due_at: int
    checkpoint_due_at: int
    pending_log: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The part of a checkpoint that is restored later than the model.

    Attributes:
        num_timesteps: Decisions made.
        generators: States of the generators of Python, NumPy and torch, and of the model's action space, by name.
        memory: What the callbacks remember.
    """

    num_timesteps: int
    generators: Mapping[str, Any]
    memory: Memory


def save_checkpoint(folder: Path, model: BaseAlgorithm, *, memory: Memory, keep: int) -> Path:
    """Saves a run between two updates, with what the callbacks remember, and removes older checkpoints but ``keep``.

    Nothing is drawn or changed.
    """
    envs = model.get_env()
    assert envs is not None
    target = folder / f"{model.num_timesteps:0{DIGITS}d}{SUFFIX}"
    content = {
        "format": FORMAT,
        "num_timesteps": model.num_timesteps,
        "generators": {
            "python": random.getstate(),
            "numpy": np.random.get_state(legacy=False),  # noqa: NPY002 - Stable-Baselines3 draws there
            "torch": torch.get_rng_state(),
            "actions": model.action_space.np_random.bit_generator.state,
        },
        "environments": None if isinstance(model, CmaEs) else environment_states(envs),
        "memory": asdict(memory),
        "model": _model_state(model),
    }
    write_archive(target, content)
    for old in _checkpoints(folder)[:-keep]:
        old.unlink()
    return target


def latest_checkpoint(folder: Path) -> Path | None:
    """Returns the newest checkpoint of a folder, or ``None``."""
    found = _checkpoints(folder)
    return found[-1] if found else None


def load_checkpoint(path: Path, model: BaseAlgorithm) -> Checkpoint:
    """Restores a new model and its environments, made as those of the run were; returns what is restored later.

    The generators are not touched: `restore_generators` comes last, right before the training goes on.

    Raises:
        ConfigError: The checkpoint is damaged, or model or environments are not those of the run.
    """
    try:
        content = read_archive(path, "checkpoint", FORMAT)
    except ConfigError as error:
        raise ConfigError(f"{error}; remove it to go back to the one before") from error
    try:
        _restore_model(model, content["model"])
        envs, observations = model.get_env(), model._last_obs
        assert envs is not None
        if content["environments"] is not None:  # a generation of CmaEs begins with new episodes
            assert isinstance(observations, np.ndarray)
            restore_environments(envs, content["environments"], observations)
        _check_generators(content["generators"])
        memory = content["memory"]
        return Checkpoint(
            num_timesteps=int(content["num_timesteps"]),
            generators=content["generators"],
            memory=Memory(
                comparison_due_at=int(memory["comparison_due_at"]),
                checkpoint_due_at=int(memory["checkpoint_due_at"]),
                pending_log={str(name): float(value) for name, value in memory["pending_log"].items()},
            ),
        )
    except ConfigError:
        raise
    except Exception as error:  # states of another network may raise anything
        reason = first_sentence(error)
        raise ConfigError(
            f"checkpoint {path} is one of another model, or written by another version: {reason}"
        ) from error


def restore_generators(state: Checkpoint, model: BaseAlgorithm) -> None:
    """Restores the generators of Python, NumPy and torch, and of the model's action space."""
    random.setstate(state.generators["python"])
    np.random.set_state(state.generators["numpy"])  # noqa: NPY002 - Stable-Baselines3 shuffles minibatches by this
    torch.set_rng_state(state.generators["torch"])
    model.action_space.np_random.bit_generator.state = state.generators["actions"]


def _check_generators(states: Mapping[str, Any]) -> None:
    """Raises what `restore_generators` would raise, in generators of its own."""
    random.Random().setstate(states["python"])
    np.random.RandomState().set_state(states["numpy"])
    torch.Generator().set_state(states["torch"])
    np.random.PCG64().state = states["actions"]


def _model_state(model: BaseAlgorithm) -> dict[str, Any]:
    """Returns everything of a model that training changes."""
    modules, variables = model._get_torch_save_params()
    state: dict[str, Any] = {
        "parameters": model.get_parameters(),
        "variables": {name: getattr(model, name) for name in variables},
        "counters": {name: value for name, value in vars(model).items() if isinstance(value, PLAIN)},
        "queues": {name: list(value) for name, value in vars(model).items() if isinstance(value, deque)},
    }
    assert set(state["parameters"]) == set(modules)
    if isinstance(model, Reinforce):
        state["baselines"] = model.baselines.averages
    if isinstance(model, OffPolicyAlgorithm):
        assert isinstance(model.replay_buffer, ReplayBuffer)
        state["replay"] = {name: value for name, value in vars(model.replay_buffer).items() if isinstance(value, PLAIN)}
    return state


def _restore_model(model: BaseAlgorithm, state: dict[str, Any]) -> None:
    """Restores everything of a model that training changes."""
    model.set_parameters(state["parameters"], exact_match=True, device=model.device)
    for name, value in state["variables"].items():
        getattr(model, name).data = value
    vars(model).update(state["counters"])
    for name, values in state["queues"].items():
        setattr(model, name, deque(values, maxlen=model._stats_window_size))
    if isinstance(model, Reinforce):
        model.baselines.averages = state["baselines"]
    if isinstance(model, OffPolicyAlgorithm):
        vars(model.replay_buffer).update(state["replay"])


def _checkpoints(folder: Path) -> list[Path]:
    """Lists the checkpoints of a folder, oldest first."""
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.stem.isdigit())
