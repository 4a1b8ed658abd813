"""Policies of few weights as Stable-Baselines3 has them: saved, loaded and asked like any other model."""

from collections.abc import Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import attribute_of, record_of
from flowsched_gym.envs.policies.scores import KINDS, ONE, Feature, LinearScores, Weighted, choose_for_all
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.registration import make_policy

try:
    import torch
    from stable_baselines3.common.policies import BasePolicy
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="train or load a model of few weights") from None


LOOKED_AT: Final = 500
"""Decisions after which a column that has not varied counts as constant."""


class Term(NamedTuple):
    """A term of a rule that was found: a weight of ``x``, and one of ``x ** 2`` or ``None``.

    Attributes:
        action: Kind of action whose score, or number, it is part of.
        column: What ``x`` is: a column of the observation, ``position``, ``1``, or a hidden unit.
        meaning: How ``x`` is made of it.
    """

    action: str
    column: str
    meaning: str
    weight: float
    square: float | None


class WeightedModel(BasePolicy):
    """A policy of few weights, (num_weights,) float64, which begins with zeros; nothing here has a gradient.

    Its shape is one of ``KINDS``, by name, with these sizes as fields. ``rule`` names the rule of the environment whose
    choice is a feature; ``play_in`` finds it.
    """

    pure: ClassVar[bool] = True

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any = None,
        *,
        kind: str,
        sizes: dict[str, Any],
        rule: str | None = None,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.shape: Weighted = KINDS[kind](**sizes)
        self.rule = rule
        num_weights = self.shape.num_weights + (rule is not None)
        self.weights = torch.nn.Parameter(torch.zeros(num_weights, dtype=torch.float64), requires_grad=False)
        self._scratch = np.zeros(self.shape.scratch_size)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
        action_masks: BoolArray | None = None,
    ) -> tuple[npt.NDArray[Any], Any]:
        """Chooses actions of one observation, (size,), or of many, (batch, size); see ``Policy``.

        Masks tell which actions do what they say, (num_actions,) or (batch, num_actions); without, all do. Nothing is
        drawn, and the state is passed through.
        """
        seen = np.ascontiguousarray(observation, dtype=np.float32)
        batch = seen.reshape(-1, seen.shape[-1])
        space = self.action_space
        length = int(np.prod(space.shape)) if space.shape else 1
        num_actions = int(np.sum(space.nvec)) if isinstance(space, spaces.MultiDiscrete) else getattr(space, "n", 0)
        masks = np.ones((len(batch), num_actions), dtype=np.bool_)
        if action_masks is not None:
            masks[:] = action_masks
        actions = np.zeros((len(batch), length), dtype=space.dtype)
        weights = np.broadcast_to(self.weights.numpy(), (len(batch), self.shape.num_weights))
        choose_for_all(self.shape, np.ascontiguousarray(weights), batch, masks, self._scratch, actions)
        return actions.reshape((*seen.shape[:-1], *(space.shape or ()))), state

    def play_in(self, env: Any) -> None:
        """Prepares to play in an environment: with its number of slots, and its rule, which may know of its network.

        Args:
            env: The environment, or the vector environment, whose columns are those of the training.

        Raises:
            ConfigError: It has no rule of this name, or none that machine code knows.
        """
        if not isinstance(self.shape, LinearScores):
            return
        record = None if self.rule is None else record_of(make_policy(self.rule, env, seed=0))
        if record is None and self.rule is not None:
            raise ConfigError(f"policy.rule is {self.rule!r}: machine code knows no rule of that name")
        self.shape = self.shape._replace(num_slots=attribute_of(env, "layout").num_slots, rule=record)
        self.observation_space = getattr(env, "single_observation_space", env.observation_space)
        self.action_space = getattr(env, "single_action_space", env.action_space)

    def set_weights(self, weights: FloatArray) -> None:
        """Sets the weights, (num_weights,)."""
        self.weights.data = torch.from_numpy(np.array(weights, dtype=np.float64))

    def terms(
        self, layout: Layout, kinds: Sequence[str] = (), *, constants: Mapping[str, float] = MappingProxyType({})
    ) -> list[Term]:
        """Lists the terms of the rule, those with the largest weights of each kind of action first.

        ``kinds`` names the kinds of actions, if they are known. What ``constants``, columns that never vary, add by
        their values is part of the term ``1``.
        """
        weights = dict(zip(self.shape.features(layout, kinds), self.weights.tolist(), strict=True))
        for feature in [each for each in weights if each.name in constants]:
            weights[Feature(feature.action, ONE)] += weights.pop(feature) * constants[feature.name] ** feature.power
        formulas = {column.name: column.formula for column in layout.columns}
        found: dict[str, list[Term]] = {}
        for feature, weight in weights.items():
            if feature.power == 1:
                column = feature.name.removeprefix("mean ").partition("[")[0]
                square = weights.get(feature._replace(power=2))
                term = Term(feature.action, feature.name, formulas.get(column, ""), weight, square)
                found.setdefault(feature.action, []).append(term)
        for terms in found.values():
            terms.sort(key=lambda term: -max(abs(term.weight), abs(term.square or 0.0)))
        return [term for terms in found.values() for term in terms]

    def _predict(self, observation: Any, deterministic: bool = False) -> Any:
        return torch.from_numpy(self.predict(observation.cpu().numpy())[0])


def read_terms(path: str | PathLike[str], env: Any, kinds: Sequence[str] = ()) -> list[Term]:
    """Reads the rule that a model file of ``algorithm=cmaes`` holds; it must be able to act in the environment.

    Raises:
        ConfigError: It is a model of another kind.
    """
    model = load_policy(path, env)
    if not isinstance(model, WeightedModel):
        raise ConfigError(f"model {path} is a {type(model).__name__}: only models of algorithm=cmaes can be explained")
    layout: Layout = env.unwrapped.layout
    return model.terms(layout, kinds, constants=_constants(model, env, layout))


def _constants(model: WeightedModel, env: Any, layout: Layout) -> dict[str, float]:
    """Lets a model play the beginning of an episode, and returns the columns that never vary, with their values."""
    values: dict[str, set[float]] = {}
    observation, info = env.reset(seed=0)
    over, decisions = False, 0
    while not over and decisions < LOOKED_AT:
        context, rest = observation[: layout.num_context], observation[layout.num_context :]
        slots = rest[: layout.num_slots * layout.num_slot_features].reshape(layout.num_slots, layout.num_slot_features)
        mask = info.get("action_mask")
        if isinstance(model.shape, LinearScores) and mask is not None:
            slots = slots[mask[: layout.num_slots] != 0]
        for column, value in zip(layout.context, context.tolist(), strict=True):
            values.setdefault(column.name, set()).add(value)
        for column, seen in zip(layout.slot, slots.T.tolist(), strict=True):
            values.setdefault(column.name, set()).update(seen)
        action, _ = model.predict(observation, action_masks=mask)
        observation, _, terminated, truncated, info = env.step(action if action.ndim else int(action))
        over, decisions = terminated or truncated, decisions + 1
    return {name: found.pop() for name, found in values.items() if len(found) == 1}
