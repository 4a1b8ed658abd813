"""Initial weights by which a policy starts training with a given action, whatever it sees, or with a given order."""

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy
from torch import nn

from flowsched_gym.baselines.training.evolution import CmaEs
from flowsched_gym.core.errors import ConfigError, listed
from flowsched_gym.envs.policies.scores import ONE
from flowsched_gym.evaluation import make_environment
from flowsched_gym.players import find_player
from flowsched_gym.registration import find_environment

GAIN: Final = 0.01
"""Gain of the last layer, as Stable-Baselines3 gives that of PPO's actor: observations hardly change the action."""
NEAREST: Final = 0.99
"""Largest action that a squashed output starts at: at 1 its gradient is zero."""


def first_action(start: str | Sequence[float], env_id: str, kwargs: dict[str, Any]) -> npt.NDArray[np.float32]:
    """Returns the action that ``policy.start`` means: numbers, or what a heuristic does at the beginning of an episode.

    Raises:
        ConfigError: Actions of the environment are no numbers, or these are none of its actions, or there is no such
            heuristic.
    """
    spec = find_environment(env_id)
    player = find_player(start, spec, kwargs, argument="policy.start") if isinstance(start, str) else None
    with closing(make_environment(spec, kwargs if player is None else player.arguments(kwargs))) as env:
        space = env.action_space
        if not isinstance(space, spaces.Box):
            raise ConfigError(f"policy.start is {start!r}: actions of {env_id} are {space}, not numbers")
        if player is not None:
            action = np.asarray(player.make(env).predict(env.reset(seed=0)[0], deterministic=True)[0], dtype=np.float32)
        else:
            action = np.array(start, dtype=np.float32)
        if not space.contains(action):
            count, low, high = math.prod(space.shape), space.low.min(), space.high.max()
            raise ConfigError(f"policy.start is {start!r}: it must be {count} numbers in [{low:g}, {high:g}]")
        return action


def start_at(model: BaseAlgorithm, action: npt.NDArray[np.float32]) -> None:
    """Initialises a new model of PPO, A2C, DDPG, TD3, SAC or evolution so that it starts with an action of a box.

    Where outputs are squashed, 0.99 stands for all that is nearer to the end of the range.
    """
    policy: Any = model.policy
    if isinstance(model, CmaEs):
        layout = model.get_env().get_attr("layout", 0)[0]  # type: ignore[union-attr]  # it was made with environments
        names = [feature.name for feature in policy.shape.features(layout)]
        weights = np.zeros(len(names))
        weights[np.array(names) == ONE] = action.ravel()
        model.begin_at(weights)
        return
    if isinstance(policy, ActorCriticPolicy):
        _answer(policy.action_net, action)
        return
    assert isinstance(policy, (TD3Policy, SACPolicy))
    squashed = np.arctanh(np.clip(policy.scale_action(action), -NEAREST, NEAREST))
    if isinstance(policy, SACPolicy):
        _answer(policy.actor.mu, squashed)
        return
    _answer([part for part in policy.actor.mu if isinstance(part, nn.Linear)][-1], squashed)
    policy.actor_target.load_state_dict(policy.actor.state_dict())


def start_with_weights(model: CmaEs, weights: Mapping[str, float], kinds: Sequence[str] = ()) -> None:
    """Lets evolution start with weights of columns in scores; all others are 0.

    A weight of -20 on ``size`` alone serves the smallest flow first. What belongs to another kind of action than the
    first has its name before it, ``postpone.slack``, if ``kinds`` gives their names.

    Raises:
        ConfigError: Actions are numbers, or there is no such column.
    """
    features = model.policy.shape.features(model.get_env().get_attr("layout", 0)[0], kinds)  # type: ignore[union-attr]
    first = f"{features[0].action}."
    places = {f"{each.action}.{each.name}": i for i, each in enumerate(features) if each.power == 1}
    start = np.zeros(len(features))
    for name, weight in weights.items():
        place = places.get(name, places.get(first + name))
        if place is None or isinstance(model.action_space, spaces.Box):
            names = [each.removeprefix(first) for each in places]
            raise ConfigError(f"policy.start weighs {name!r}: the columns of a score are {listed(name, names)}")
        start[place] = weight
    model.begin_at(start)


def go_on_from(model: CmaEs, start: str, env_id: str, kwargs: dict[str, Any]) -> None:
    """Lets evolution start with the weights of a model that has evolved, in the same environment or in another one.

    Raises:
        ConfigError: There is no such model, or its weights are not those of this policy.
    """
    player = find_player(start, find_environment(env_id), kwargs, argument="start")
    with closing(make_environment(env_id, kwargs)) as env:
        policy: Any = player.make(env)
    if getattr(policy, "shape", None) != model.policy.shape:
        raise ConfigError(f"start is {start!r}: its weights are not those of the policy that is to evolve")
    model.begin_at(np.asarray(policy.weights))


def start_with_std(model: BaseAlgorithm, std: float) -> None:
    """Sets the first standard deviation, > 0, of the actions of PPO, A2C or SAC, before they may be squashed."""
    policy: Any = model.policy
    if isinstance(policy, SACPolicy):
        _answer(policy.actor.log_std, np.full(get_action_dim(policy.action_space), math.log(std)))
    else:
        with torch.no_grad():
            policy.log_std.fill_(math.log(std))


def _answer(layer: Any, output: npt.NDArray[np.floating]) -> None:
    """Initialises a linear layer so that its output is nearly this one, whatever its input."""
    nn.init.orthogonal_(layer.weight, GAIN)
    with torch.no_grad():
        layer.bias.copy_(torch.as_tensor(output.ravel()))
