"""Trained models as files of numbers and names: which network, for which spaces, and its weights.

A network and what it is made of go by names that stand here; a file cannot name anything else. So a model file of
flowsched-gym can be loaded whoever made it. A file that Stable-Baselines3 wrote cannot: its parts are pickled, and
unpickling runs code that the file brings.
"""

import hashlib
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.integrations.archive import first_sentence, read_archive, write_archive
from flowsched_gym.registration import load_target

try:
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="read and write model files") from None


MODEL_FORMAT: Final = "flowsched-model/2"

CLASSES: Final[Mapping[str, str]] = {
    "ActorCriticPolicy": "stable_baselines3.common.policies:ActorCriticPolicy",
    "MaskableActorCriticPolicy": "sb3_contrib.common.maskable.policies:MaskableActorCriticPolicy",
    "SACPolicy": "stable_baselines3.sac.policies:SACPolicy",
    "TD3Policy": "stable_baselines3.td3.policies:TD3Policy",
    "LateActionPolicy": "flowsched_gym.baselines.networks.auto_networks:LateActionPolicy",
    "MaskableSetwisePolicy": "flowsched_gym.integrations.setwise:MaskableSetwisePolicy",
    "MixturePolicy": "flowsched_gym.baselines.networks.mixture:MixturePolicy",
    "PathwisePolicy": "flowsched_gym.baselines.networks.pathwise:PathwisePolicy",
    "SetwiseFeatures": "flowsched_gym.integrations.setwise:SetwiseFeatures",
    "SetwiseMixturePolicy": "flowsched_gym.baselines.networks.mixture:SetwiseMixturePolicy",
    "SetwisePolicy": "flowsched_gym.integrations.setwise:SetwisePolicy",
    "SharedLayers": "flowsched_gym.baselines.training.algorithms:SharedLayers",
    "ELU": "torch.nn:ELU",
    "LeakyReLU": "torch.nn:LeakyReLU",
    "ReLU": "torch.nn:ReLU",
    "Tanh": "torch.nn:Tanh",
    "WeightedModel": "flowsched_gym.integrations.weighted:WeightedModel",
    "Adam": "torch.optim:Adam",
    "RMSprop": "torch.optim:RMSprop",
    "RMSpropTFLike": "stable_baselines3.common.sb2_compat.rmsprop_tf_like:RMSpropTFLike",
}
"""What a network may be made of, by the names that model files have."""

SPACES: Final[Mapping[str, tuple[type[spaces.Space[Any]], tuple[str, ...]]]] = {
    "Box": (spaces.Box, ("low", "high")),
    "Discrete": (spaces.Discrete, ("n", "start")),
    "MultiDiscrete": (spaces.MultiDiscrete, ("nvec", "start")),
}
"""Spaces that a model can be made for, and what makes them up."""


def save_model(model: BaseAlgorithm, path: str | PathLike[str], *, origin: Mapping[str, Any] | None = None) -> None:
    """Writes the network of a model to a file (``.zip``), whole or not at all; what only training needs is left out.

    ``origin`` is what it was trained for, and by which versions, to be kept with it.

    Raises:
        ConfigError: The network, or what it is made of, is not one of `CLASSES`, or a space not one of `SPACES`.
        OSError: The file cannot be written.
    """
    arguments = dict(model.policy_kwargs)
    if model.use_sde:
        arguments["use_sde"] = True
    content = {
        "format": MODEL_FORMAT,
        "algorithm": type(model).__name__,
        "policy": _name_of(type(model.policy)),
        "arguments": _by_name(arguments),
        "observation_space": _space_content(model.observation_space),
        "action_space": _space_content(model.action_space),
        "origin": dict(origin or {}),
        "weights": dict(model.policy.state_dict()),
    }
    try:
        write_archive(path, content)
    except TypeError as error:
        raise ConfigError(f"model {path} cannot be written: {error}") from None


def read_model(path: str | PathLike[str]) -> dict[str, Any]:
    """Reads what a file of `save_model` holds, with spaces made but no network; a ``ConfigError`` if it is none."""
    content = read_archive(path, "model", MODEL_FORMAT)
    try:
        for name in ("observation_space", "action_space"):
            content[name] = _space(content[name])
        for name, kind in (("policy", str), ("arguments", dict), ("weights", dict), ("origin", dict)):
            if not isinstance(content[name], kind):
                raise TypeError(f"{name} is {content[name]!r}")
    except Exception as error:  # a wrong content may raise anything
        raise ConfigError(f"model {path} cannot be read: {first_sentence(error)}") from error
    return content


def network_digest(content: Mapping[str, Any]) -> str:
    """Returns the digest of what acts in a model that `read_model` read: equal networks have one, whatever the file."""
    acts = _canonical([content[name] for name in ("policy", "arguments", "weights")])
    return hashlib.blake2b(repr(acts).encode(), digest_size=16).hexdigest()


def build_policy(path: str | PathLike[str], content: Mapping[str, Any]) -> BasePolicy:
    """Makes the network that `read_model` read, with its weights, on the CPU; a ``ConfigError`` if it does not fit."""
    try:
        made = _class_of(content["policy"])
        schedule: Callable[[float], float] = lambda _: 0.0  # noqa: E731 - the optimiser wants one, and is not used
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced at once
            policy = made(
                content["observation_space"], content["action_space"], schedule, **_as_made(content["arguments"])
            )
        policy.load_state_dict(content["weights"])
    except Exception as error:  # the same
        raise ConfigError(f"model {path} cannot be rebuilt: {first_sentence(error)}") from error
    policy.set_training_mode(False)
    built: BasePolicy = policy
    return built


def _canonical(value: Any) -> Any:
    """Returns lists, numbers and texts that are equal where two values are."""
    if isinstance(value, Mapping):
        return sorted((repr(key), _canonical(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return [_canonical(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic, torch.Tensor)):
        array = np.asarray(value)
        return array.dtype.str, array.shape, array.tobytes().hex()
    return value


def _class_of(name: str) -> Any:
    if name not in CLASSES:
        raise ValueError(f"{name!r} is none of {', '.join(CLASSES)}")
    return load_target(CLASSES[name])


def _name_of(found: type) -> str:
    name = found.__name__
    if name not in CLASSES or load_target(CLASSES[name]) is not found:
        raise ConfigError(f"model is made of {found.__module__}.{name}: a model file may hold {', '.join(CLASSES)}")
    return name


def _by_name(value: Any) -> Any:
    if isinstance(value, type):
        return {"class": _name_of(value)}
    if isinstance(value, Mapping):
        return {key: _by_name(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_by_name(each) for each in value)
    return value


def _as_made(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"class"}:
            return _class_of(value["class"])
        return {key: _as_made(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_as_made(each) for each in value)
    return value


def _space_content(space: spaces.Space[Any]) -> dict[str, Any]:
    for name, (kind, parts) in SPACES.items():
        if type(space) is kind:
            content = {part: np.asarray(getattr(space, part)) for part in parts}
            return {"space": name, "dtype": np.dtype(space.dtype).str, **content}
    raise ConfigError(f"model has the space {space}: a model file may hold {', '.join(SPACES)}")


def _space(content: Mapping[str, Any]) -> spaces.Space[Any]:
    kind, parts = SPACES[content["space"]]
    dtype = np.dtype(content["dtype"])
    values = {part: content[part] if content[part].ndim else content[part][()] for part in parts}
    return kind(**values, dtype=dtype.type)
