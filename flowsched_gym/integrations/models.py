"""Trained models as files of numbers and names: which network, for which spaces, and its weights.

A network and what it is made of go by names that stand here; a file cannot name anything else. So a model file of
flowsched-gym can be loaded whoever made it: what it says is checked against its weights and the environment. A file
that Stable-Baselines3 wrote cannot: its parts are pickled, and unpickling runs code that the file brings.

Models of a few weights are loaded by NumPy alone, all others by Stable-Baselines3.
"""

import hashlib
import io
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from flowsched_gym.core.errors import ConfigError, FlowSchedError, MissingDependencyError, SpaceMismatchError, shown
from flowsched_gym.core.packed import is_file, read_bytes
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.integrations.archive import first_sentence, is_archive, read_archive, write_archive
from flowsched_gym.integrations.few_weights import FewWeights, scores_slots
from flowsched_gym.registration import ENVIRONMENTS, load_target

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy

Environment = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]

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
FEW_WEIGHTS: Final = "WeightedModel"
"""The network that needs neither torch nor Stable-Baselines3."""
WIDEST: Final = 1 << 14
"""Largest number that may say how large a network is; so large a layer has 1 GiB of weights."""
NUM_TRIED: Final = 3
"""Observations that a network acts on before it is handed over."""


def save_model(model: "BaseAlgorithm", path: str | PathLike[str], *, origin: Mapping[str, Any] | None = None) -> None:
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


def load_player(path: str | PathLike[str], env: Environment, *, trust: bool = False) -> Policy:
    """Loads a model as `load_policy` does, to act on many observations at once where it can."""
    policy = load_policy(path, env, trust=trust)
    if is_pure(policy):
        return policy
    from flowsched_gym.integrations.sb3 import batched  # noqa: PLC0415 - Stable-Baselines3 is optional

    return batched(policy)


def read_model(path: str | PathLike[str]) -> dict[str, Any]:
    """Reads what a file of `save_model` holds, with spaces made but no network.

    Raises:
        ConfigError: It is none, or a weight is not finite, or a size is none that its weights can have.
    """
    content = read_archive(path, "model", MODEL_FORMAT)
    with _clear(path, "read"), warnings.catch_warnings():
        warnings.simplefilter("error")  # of bounds that are cut to the type of their space
        for name in ("observation_space", "action_space"):
            content[name] = _space(content[name])
        _check_types("", content, policy=str, arguments=dict, weights=dict, origin=dict)
        weights = {name: np.asarray(value) for name, value in content["weights"].items()}
        check_finite(weights)
        # The width of a layer is that of an array; what counts slots or layers is smaller still.
        widths = [width for array in weights.values() for width in array.shape]
        most = max(len(weights), *(content["observation_space"].shape or (1,)), *widths)
        _check_arguments("arguments", content["arguments"], min(most, WIDEST))
        origin = {"environment": "", "kwargs": {}, "columns": [], **content["origin"]}
        _check_types("origin, ", origin, environment=str, kwargs=dict, columns=list)
    return content


def load_policy(path: str | PathLike[str], env: Environment, *, trust: bool = False) -> Policy:
    """Loads a model of a few weights, or of PPO, A2C, MaskablePPO, DDPG, TD3 or SAC, to act in an environment.

    A file of `save_model` holds numbers and names. One that the model's own ``save`` wrote holds pickled objects:
    rebuilding them runs code that the file brings.

    Sets torch to one thread: on networks this small a second one gains nothing, and on a busy machine the two wait for
    each other so long that an evaluation takes minutes for seconds.

    Args:
        path: The model file (``.zip``) that `save_model` or the model's own ``save`` wrote.
        env: The environment that it will act in, wrapped or not, or the vector environment.
        trust: Whether a file of the model's own ``save`` is loaded, whatever code it brings.

    Returns:
        The network, or the model where its own ``save`` wrote it, on the CPU; its ``predict`` takes ``action_masks``
        if it was trained with masks.

    Raises:
        ConfigError: There is no such file, or it is no model of one of these algorithms, or it is damaged, or it is to
            be trusted first.
        MissingDependencyError: It needs torch and Stable-Baselines3, which are not installed.
        SpaceMismatchError: The model was trained for another environment, or with other spaces.
    """
    path = Path(path)
    if not is_file(path):
        raise ConfigError(f"model is {str(path)!r}: there is no such file")
    if is_archive(path):
        content = read_model(path)
        _check_environment(path, content["origin"], env)
        with _clear(path, "rebuilt"):
            few = content["policy"] == FEW_WEIGHTS
            if not (few and scores_slots(content, env)):
                check_spaces(path, content["observation_space"], content["action_space"], env)
            if few:
                return cast(Policy, FewWeights.loaded(content, env))
            policy: Any = build_policy(path, content)
            for module in policy.modules():
                check: Any = getattr(module, "check_layout", None)
                if check is not None:
                    check(attribute_of(env, "layout"), policy.action_space)
            try_policy(policy)
        return cast(Policy, policy)
    if not zipfile.is_zipfile(io.BytesIO(read_bytes(path))):
        raise ConfigError(f"model {path} cannot be read: it is no zip file, or it is cut off")
    if not trust:
        raise ConfigError(
            f"model {path} was not written by flowsched-gym: to load it, its pickled parts are rebuilt, which runs any "
            "code that the file brings; if you trust who made it, say so by --trust "
            "(trust=true in Hydra, trust=True in Python)"
        )
    from flowsched_gym.integrations.sb3 import load_saved  # noqa: PLC0415 - Stable-Baselines3 is optional

    return load_saved(path, env)


def network_digest(content: Mapping[str, Any]) -> str:
    """Returns the digest of what acts in a model that `read_model` read: equal networks have one, whatever the file."""
    acts = _canonical([content[name] for name in ("policy", "arguments", "weights")])
    return hashlib.blake2b(repr(acts).encode(), digest_size=16).hexdigest()


def build_policy(path: str | PathLike[str], content: Mapping[str, Any]) -> "BasePolicy":
    """Makes the network that `read_model` read, with its weights, on the CPU; a ``ConfigError`` if it does not fit."""
    try:
        import torch  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("torch", extra="train", purpose="load this model file") from None
    torch.set_num_threads(1)
    with _clear(path, "rebuilt"):
        made = _class_of(content["policy"])
        schedule: Callable[[float], float] = lambda _: 0.0  # noqa: E731 - the optimiser wants one, and is not used
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced at once
            policy = made(
                content["observation_space"], content["action_space"], schedule, **_as_made(content["arguments"])
            )
        policy.load_state_dict(content["weights"])
        check_finite(
            {name: each.detach().numpy() for name, each in (*policy.named_parameters(), *policy.named_buffers())}
        )
    policy.set_training_mode(False)
    built: BasePolicy = policy
    return built


def check_finite(weights: Mapping[str, Any]) -> None:
    """Refuses weights, arrays or tensors by their names, that are infinite or NaN."""
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ValueError(f"weights, {name} has infinite or undefined numbers: all must be finite")


def try_policy(policy: Any) -> None:
    """Lets a network act on a few observations: what does not fit raises an error here, and not in an episode."""
    space = policy.observation_space
    low, high = (np.nan_to_num(end, posinf=1.0, neginf=-1.0) for end in (space.low, space.high))
    observations = np.linspace(low, high, NUM_TRIED, endpoint=False, dtype=space.dtype)
    actions, _ = policy.predict(observations, deterministic=True)
    if actions.shape != (NUM_TRIED, *policy.action_space.shape) or not all(map(policy.action_space.contains, actions)):
        raise ValueError(f"its actions are {shown(actions)}: they must be of {policy.action_space}")


@contextmanager
def _clear(path: str | PathLike[str], what: str) -> Iterator[None]:
    """Turns whatever a wrong content raises into an error that names the file."""
    try:
        yield
    except FlowSchedError as error:
        if str(path) in str(error) or isinstance(error, MissingDependencyError):
            raise
        raise ConfigError(f"model {path} cannot be {what}: {error}") from error
    except ImportError as error:
        missing = error.name or "stable_baselines3"
        raise MissingDependencyError(missing, extra="train", purpose="load this model file") from None
    except Exception as error:  # a wrong content may raise anything
        raise ConfigError(f"model {path} cannot be {what}: {first_sentence(error)}") from error


def _check_types(where: str, content: Mapping[str, Any], **kinds: type) -> None:
    for name, kind in kinds.items():
        if not isinstance(content[name], kind):
            raise TypeError(f"{where}{name} is {shown(content[name])}")


def _check_arguments(name: str, value: Any, most: int) -> None:
    """Refuses numbers that are not finite, and numbers and groups that are larger than any that the weights allow."""
    if isinstance(value, (dict, list, tuple)):
        if len(value) > most:
            raise ValueError(f"{name} has {len(value)} entries: at most {most} go with its weights")
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            _check_arguments(f"{name}, {key}", each, most)
    elif isinstance(value, (int, float)) and not -most <= value <= most:
        raise ValueError(f"{name} is {shown(value)}: at most {most} goes with its weights")


def _check_environment(path: Path, origin: Mapping[str, Any], env: Environment) -> None:
    """Refuses a model of another environment of the package."""
    trained = origin.get("environment", "").rpartition(":")[2]
    played = "" if env.spec is None else env.spec.id.rpartition(":")[2]
    if trained != played and trained in ENVIRONMENTS and played in ENVIRONMENTS:
        raise SpaceMismatchError(f"model {path} was trained for {trained}, not for {played}: play it there")


def check_spaces(
    path: Path, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], env: Environment
) -> None:
    """Refuses a model, lying at a path, that was made for other spaces: a ``SpaceMismatchError`` that holds both."""
    single = "single_" if isinstance(env, VectorEnv) else ""
    for name, trained, given in (
        ("observations", observation_space, getattr(env, f"{single}observation_space")),
        ("actions", action_space, getattr(env, f"{single}action_space")),
    ):
        if not _same_space(trained, given):
            descriptions = [_describe(trained), _describe(given)]
            if descriptions[0] == descriptions[1]:
                descriptions = [str(trained), str(given)]
            raise SpaceMismatchError(
                f"model {path} was trained with {name} {descriptions[0]}, the environment has {descriptions[1]}: "
                "give the environment the arguments of the training"
            )


def _same_space(trained: spaces.Space[Any], given: spaces.Space[Any]) -> bool:
    """Compares spaces; bounds of boxes may differ by the rounding of their storage."""
    if isinstance(trained, spaces.Box) and isinstance(given, spaces.Box):
        same_bounds = trained.shape == given.shape and (
            np.allclose(trained.low, given.low) and np.allclose(trained.high, given.high)
        )
        return same_bounds and trained.dtype == given.dtype
    return bool(trained == given)


def _describe(space: spaces.Space[Any]) -> str:
    if isinstance(space, spaces.Box):
        return f"Box({space.low.min():g} to {space.high.max():g}, {space.shape}, {space.dtype})"
    return str(space)


def _canonical(value: Any) -> Any:
    """Returns lists, numbers and texts that are equal where two values are."""
    if isinstance(value, Mapping):
        return sorted((repr(key), _canonical(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return [_canonical(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "detach"):
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
        if isinstance(space, kind):
            content = {part: np.asarray(getattr(space, part)) for part in parts}
            return {"space": name, "dtype": np.dtype(space.dtype).str, **content}
    raise ConfigError(f"model has the space {space}: a model file may hold {', '.join(SPACES)}")


def _space(content: Mapping[str, Any]) -> spaces.Space[Any]:
    kind, parts = SPACES[content["space"]]
    dtype = np.dtype(content["dtype"])
    values = {part: content[part] if content[part].ndim else content[part][()] for part in parts}
    return kind(**values, dtype=dtype.type)
