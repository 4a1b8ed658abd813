"""Policies of a few weights as model files hold them: loaded, asked and explained by NumPy alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import attribute_of, record_of
from flowsched_gym.envs.policies.scores import (
    KINDS,
    ONE,
    Feature,
    LinearScores,
    Weighted,
    choose_for_all,
    weighted_policy,
)
from flowsched_gym.players import Kind, find_player

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


class FewWeights:
    """A policy of a few weights, (num_weights,) float64, which begins with zeros.

    Its shape is one of ``KINDS``, by name, with these sizes as fields. ``rule`` names the rule of the environment whose
    choice is a feature; ``play_in`` finds it.
    """

    pure: ClassVar[bool] = True
    weights: Any

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        kind: str,
        sizes: Mapping[str, Any],
        rule: str | None = None,
    ) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.shape: Weighted = KINDS[kind](**sizes)
        self.rule = rule
        self._scratch = np.zeros(self.shape.scratch_size)
        self.set_weights(np.zeros(self.shape.num_weights + (rule is not None)))

    @classmethod
    def loaded(cls, content: Mapping[str, Any], env: Any) -> Self:
        """Makes the policy that a model file holds, to play in an environment.

        Raises:
            ConfigError: Its kind and sizes are not those of a policy of this environment, or its weights are others.
        """
        found, space, layout = {"rule": None, **content["arguments"]}, _action_space(env), attribute_of(env, "layout")
        sizes, rule = dict(found["sizes"]), found["rule"]
        constant = sizes.get("num_inputs") == 0
        fitting = weighted_policy(layout, space, width=sizes.get("width", 0), constant=constant, rule=rule)
        if isinstance(fitting, LinearScores) and "num_slots" in sizes:
            sizes["num_slots"] = layout.num_slots  # it scores slots one by one, however many there are
        fits = fitting._asdict() | {"rule": None}
        expected = {"kind": type(fitting).__name__, "sizes": fits, "rule": rule}
        if {**found, "sizes": {"rule": None, **sizes}} != expected:
            raise ConfigError(f"arguments are {shown(found)}: for this environment they must be {shown(expected)}")
        shape = {name: each for name, each in fits.items() if name != "rule"}
        made = cls(content["observation_space"], space, kind=expected["kind"], sizes=shape, rule=rule)
        weights = {name: np.asarray(each) for name, each in content["weights"].items()}
        if {name: each.shape for name, each in weights.items()} != {"weights": made.weights.shape}:
            raise ConfigError(f"weights must be {len(made.weights)} numbers, by the name 'weights'")
        made.set_weights(weights["weights"])
        made.play_in(env)
        return made

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
        weights = np.broadcast_to(np.asarray(self.weights), (len(batch), self.shape.num_weights))
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
        rule = None if self.rule is None else find_player(self.rule, env)  # which a file may name: nothing else is made
        record = None if rule is None or rule.kind is not Kind.RULE else record_of(rule.make(env))
        if record is None and self.rule is not None:
            raise ConfigError(f"policy.rule is {self.rule!r}: machine code knows no rule of that name")
        self.shape = self.shape._replace(num_slots=attribute_of(env, "layout").num_slots, rule=record)
        self.observation_space = getattr(env, "single_observation_space", env.observation_space)
        self.action_space = _action_space(env)

    def set_weights(self, weights: FloatArray) -> None:
        """Sets the weights, (num_weights,)."""
        self.weights = np.array(weights, dtype=np.float64)

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


def scores_slots(content: Mapping[str, Any], env: Any) -> bool:
    """Returns whether a model of a few weights scores slots with the columns of an environment, however many it has."""
    names, space = content["origin"].get("columns"), _action_space(env)
    if not names or not hasattr(env.unwrapped, "layout") or not isinstance(space, spaces.Discrete):
        return False
    given = env.unwrapped.layout.column_names
    same = [list(dict.fromkeys(name.partition("[")[0] for name in each)) for each in (names, given)]
    return same[0] == same[1]


def read_terms(path: str | PathLike[str], env: Any, kinds: Sequence[str] = ()) -> list[Term]:
    """Reads the rule that a model file of ``algorithm=cmaes`` holds; it must be able to act in the environment.

    Raises:
        ConfigError: It is a model of another kind.
    """
    from flowsched_gym.integrations.models import load_policy  # noqa: PLC0415 - which loads those of this module

    model = load_policy(path, env)
    if not isinstance(model, FewWeights):
        raise ConfigError(f"model {path} is a {type(model).__name__}: only models of algorithm=cmaes can be explained")
    layout: Layout = env.unwrapped.layout
    return model.terms(layout, kinds, constants=_constants(model, env, layout))


def _constants(model: FewWeights, env: Any, layout: Layout) -> dict[str, float]:
    """Lets a model play the beginning of an episode, and returns the columns that never vary, with their values."""
    values: dict[str, set[float]] = {}
    observation, info = env.reset(seed=0)
    over, decisions = False, 0
    while not over and decisions < LOOKED_AT:
        context, rest = observation[: layout.num_context], observation[layout.num_context :]
        slots = rest[: layout.num_slots * layout.num_slot_features].reshape(layout.num_slots, layout.num_slot_features)
        mask = info.get("action_mask")
        if isinstance(model.shape, LinearScores) and mask is not None:
            slots = slots[np.asarray(mask)[: layout.num_slots] != 0]
        for column, value in zip(layout.context, context.tolist(), strict=True):
            values.setdefault(column.name, set()).add(value)
        for column, seen in zip(layout.slot, slots.T.tolist(), strict=True):
            values.setdefault(column.name, set()).update(seen)
        action, _ = model.predict(observation, action_masks=mask)
        observation, _, terminated, truncated, info = env.step(action if action.ndim else int(action))
        over, decisions = terminated or truncated, decisions + 1
    return {name: found.pop() for name, found in values.items() if len(found) == 1}


def _action_space(env: Any) -> spaces.Space[Any]:
    space: spaces.Space[Any] = getattr(env, "single_action_space", env.action_space)
    return space
