"""Policies of a few weights that a search over weights learns: linear scores of slots, a small network, plain numbers.

Each is a NamedTuple of its shape with ``choose``, a plain function that Numba compiles, so that whole episodes are
played in machine code, each by weights of its own. All sums are added up in one order: an action is the same alone, in
a batch, and in machine code.

A weight belongs to a *feature* of an action: the columns of the observation and their squares, by the names of the
layout. ``features`` lists them, so that a person can read the rule that was found.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, ObservationArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.columns import Layout
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part, rule

Actions = npt.NDArray[Any]

POSITION: Final = "position"
"""Feature of a slot beside its columns: its index over the number of slots."""
ONE: Final = "1"
"""Feature that is always 1."""
RULE: Final = "rule"
"""Feature that is 1 in the slot that a rule names, and 0 in the others."""


class Feature(NamedTuple):
    """What a weight is multiplied with.

    Attributes:
        action: Kind of action whose score, or number, it is part of; ``unit 3`` for a hidden unit.
        name: Name of a column, ``position``, ``1``, or of a hidden unit.
        power: 1, or 2 for the square.
    """

    action: str
    name: str
    power: int = 1


class WeightedPolicy(Protocol):
    """The shape of a policy that is a function of its weights: a NamedTuple with these methods."""

    @property
    def num_weights(self) -> int:
        """Number of weights."""

    @property
    def scratch_size(self) -> int:
        """Numbers of room that ``choose`` needs."""

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: Actions
    ) -> None:
        """Writes the action.

        Args:
            weights: Weights, (num_weights,).
            observation: What the agent sees, (size,).
            mask: Which actions do what they say, (num_actions,); (0,) where all do.
            scratch: Room, (scratch_size,); overwritten.
            action: Receives the action, (length,); (1,) for one choice.
        """

    def features(self, layout: Layout, kinds: Sequence[str] = ()) -> list[Feature]:
        """Lists what each weight is multiplied with, given the names of the kinds of actions, if they are known."""


class LinearScores(NamedTuple):
    """One choice: the allowed action with the highest score, the first one of equals.

    The score of an action about a slot is a weighted sum of the slot's columns, their squares, its position, the square
    of that, and 1. Each kind of action about slots (to grant a request, to send it to the back) has weights of its own.
    The score of an action about none (to wait) is one of the context columns, their squares, and 1.

    With hidden units, a network that all slots share is added to the score of an action about a slot. A unit sums the
    slot's columns and the mean of those of all slots whose first action is allowed, by weights, and gives
    ``x / (1 + |x|)``; each kind weighs the units by itself.

    Where a rule is given, one weight is added to the first action about the slot that it names: a search that begins
    with this weight alone begins as the rule.

    Attributes:
        num_context: Columns of the context, which come first in an observation.
        num_columns: Columns of a slot.
        num_kinds: Kinds of actions about slots, >= 1; action ``kind * num_slots + slot`` is about that slot.
        num_others: Actions about no slot, >= 0, which come last.
        width: Hidden units; 0 for a linear score.
        rule: The rule as machine code asks it (``record_of``); ``None`` for none.
    """

    num_context: int
    num_slots: int
    num_columns: int
    num_kinds: int
    num_others: int
    width: int
    rule: Any = None

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        linear = self.num_kinds * (2 * self.num_columns + 3) + self.num_others * (2 * self.num_context + 1)
        return linear + self.width * (2 * self.num_columns + 1 + self.num_kinds) + (self.rule is not None)

    @property
    def scratch_size(self) -> int:
        """Numbers of room: a sum for each hidden unit."""
        return self.width

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: Actions
    ) -> None:
        """Writes the allowed action with the highest score; see ``WeightedPolicy``."""
        hidden = len(weights) - (self.rule is not None) - self.width * (2 * self.num_columns + 1 + self.num_kinds)
        if self.width:
            _sum_means(self, weights, hidden, observation, mask, scratch)
        _ask(self.rule, weights, observation, mask, scratch, action)
        named = action[0]
        best, action[0] = -np.inf, 0
        first_weight = 0
        for kind in range(self.num_kinds):
            end = first_weight + 2 * self.num_columns
            for slot in range(self.num_slots):
                if _is_allowed(mask, kind * self.num_slots + slot):
                    position = slot / self.num_slots
                    score = weights[end + 2] + position * (weights[end] + position * weights[end + 1])
                    first = self.num_context + slot * self.num_columns
                    score += _quadratic(weights, first_weight, observation, first, self.num_columns)
                    if self.width:
                        score += _network(self, weights, hidden, observation, first, kind, scratch)
                    if kind == 0 and slot == named:
                        score += weights[-1]
                    if score > best:
                        best, action[0] = score, kind * self.num_slots + slot
            first_weight = end + 3
        for other in range(self.num_others):
            end = first_weight + 2 * self.num_context
            if _is_allowed(mask, self.num_kinds * self.num_slots + other):
                score = weights[end] + _quadratic(weights, first_weight, observation, 0, self.num_context)
                if score > best:
                    best, action[0] = score, self.num_kinds * self.num_slots + other
            first_weight = end + 1

    def features(self, layout: Layout, kinds: Sequence[str] = ()) -> list[Feature]:
        """Lists what each weight is multiplied with; see ``WeightedPolicy``."""
        columns = [column.name for column in layout.slot]
        context = [column.name for column in layout.context]
        count = self.num_kinds + self.num_others
        actions = kinds if len(kinds) == count else [f"kind {kind}" for kind in range(count)]
        found: list[Feature] = []
        for kind, action in enumerate(actions):
            names = (*columns, POSITION) if kind < self.num_kinds else context
            found += [Feature(action, name, power) for name in names for power in (1, 2)]
            found.append(Feature(action, ONE))
        for unit in range(self.width):
            seen = (*columns, *(f"mean {name}" for name in columns), ONE)
            found += [Feature(f"unit {unit}", name) for name in seen]
            found += [Feature(action, f"unit {unit}") for action in actions[: self.num_kinds]]
        return found + [Feature(actions[0], RULE)] * (self.rule is not None)


class LinearOptions(NamedTuple):
    """Several choices for each slot, each the option with the highest score, the first one of equals.

    The score of an option is a weighted sum of the columns of its slot, and 1; all slots share the weights.

    Attributes:
        num_context, num_slots, num_columns: As in ``LinearScores``.
        num_options: Options of each choice about a slot, such as ``(4, 3, 3)``.
    """

    num_context: int
    num_slots: int
    num_columns: int
    num_options: tuple[int, ...]

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        return sum(self.num_options) * (self.num_columns + 1)

    @property
    def scratch_size(self) -> int:
        """Numbers of room: none."""
        return 0

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: Actions
    ) -> None:
        """Writes the allowed options with the highest scores; see ``WeightedPolicy``."""
        place = option_place = 0
        for slot in range(self.num_slots):
            first = self.num_context + slot * self.num_columns
            w = 0
            for count in self.num_options:
                best, action[place] = -np.inf, 0
                for option in range(count):
                    if _is_allowed(mask, option_place):
                        score = _linear(weights, w, observation, first, self.num_columns)
                        if score > best:
                            best, action[place] = score, option
                    w += self.num_columns + 1
                    option_place += 1
                place += 1

    def features(self, layout: Layout, kinds: Sequence[str] = ()) -> list[Feature]:
        """Lists what each weight is multiplied with; see ``WeightedPolicy``."""
        names = (*(column.name for column in layout.slot), ONE)
        options = [(choice, option) for choice, count in enumerate(self.num_options) for option in range(count)]
        return [Feature(f"choice {choice}, option {option}", name) for choice, option in options for name in names]


class LinearNumbers(NamedTuple):
    """Numbers, each a weighted sum of all columns of the observation, and 1, cut to the range of the action.

    Attributes:
        num_numbers: Numbers of an action.
        num_inputs: Columns of the observation that are looked at; 0 for constants.
        low, high: Smallest and largest number that is allowed.
    """

    num_numbers: int
    num_inputs: int
    low: float
    high: float

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        return self.num_numbers * (self.num_inputs + 1)

    @property
    def scratch_size(self) -> int:
        """Numbers of room: none."""
        return 0

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: Actions
    ) -> None:
        """Writes the numbers; see ``WeightedPolicy``."""
        for number in range(self.num_numbers):
            value = _linear(weights, number * (self.num_inputs + 1), observation, 0, self.num_inputs)
            action[number] = min(max(value, self.low), self.high)

    def features(self, layout: Layout, kinds: Sequence[str] = ()) -> list[Feature]:
        """Lists what each weight is multiplied with; see ``WeightedPolicy``."""
        names = (*layout.column_names[: self.num_inputs], ONE)
        return [Feature(f"number {number}", name) for number in range(self.num_numbers) for name in names]


Weighted = LinearScores | LinearOptions | LinearNumbers
"""Policies of this module."""
KINDS: Final[Mapping[str, type[Weighted]]] = MappingProxyType(
    {kind.__name__: kind for kind in (LinearScores, LinearOptions, LinearNumbers)}
)
"""Their classes, by the names that model files have."""


def weighted_policy(
    layout: Layout, space: spaces.Space[Any], *, width: int = 0, constant: bool = False, rule: Any = None
) -> Weighted:
    """Makes the shape of the policy that suits the observations and actions of an environment; refuses if none does.

    ``width`` counts the hidden units of a network beside the linear score of slots, ``rule`` is the rule whose choice
    is a feature of them (``record_of``). With ``constant``, actions of numbers are the same whatever is observed.
    """
    sizes = layout.num_context, layout.num_slots, layout.num_slot_features
    if isinstance(space, spaces.Discrete) and not constant:
        num_kinds, num_others = divmod(int(space.n), layout.num_slots)
        if num_kinds:
            return LinearScores(*sizes, num_kinds, num_others, width, rule)
    if width or rule is not None:
        what = f"width is {width}: hidden units score" if width else "rule is given: rules name"
        raise ConfigError(f"{what} slots (Discrete), the environment has {space}")
    if isinstance(space, spaces.MultiDiscrete) and not constant and len(space.nvec) % layout.num_slots == 0:
        options = tuple(space.nvec.tolist())
        per_slot = options[: len(options) // layout.num_slots]
        if options == per_slot * layout.num_slots:
            return LinearOptions(*sizes, per_slot)
    if isinstance(space, spaces.Box):
        num_inputs = 0 if constant else layout.size
        return LinearNumbers(int(np.prod(space.shape)), num_inputs, float(space.low.min()), float(space.high.max()))
    raise ConfigError(f"the environment has {space}: no policy of a few weights is known for it")


@inlined_part
def _is_allowed(mask: BoolArray, action: int) -> bool:
    return len(mask) == 0 or mask[action]


@inlined_part
def _linear(
    weights: FloatArray, first_weight: int, observation: ObservationArray, first: int, num_columns: int
) -> float:
    """Sums columns by weights, and adds the weight behind these."""
    total: float = weights[first_weight + num_columns]
    for column in range(num_columns):
        total += weights[first_weight + column] * np.float64(observation[first + column])
    return total


@inlined_part
def _quadratic(
    weights: FloatArray, first_weight: int, observation: ObservationArray, first: int, num_columns: int
) -> float:
    """Sums columns and their squares by weights: those of column c are 2 c and 2 c + 1 after the first one."""
    total = 0.0
    for column in range(num_columns):
        x = np.float64(observation[first + column])
        total += x * (weights[first_weight + 2 * column] + x * weights[first_weight + 2 * column + 1])
    return total


@inlined_part
def _sum_means(
    shape: LinearScores,
    weights: FloatArray,
    hidden: int,
    observation: ObservationArray,
    mask: BoolArray,
    scratch: FloatArray,
) -> None:
    """Writes what each hidden unit has of the mean over the slots that may be chosen."""
    per_unit = 2 * shape.num_columns + 1 + shape.num_kinds
    count = 0
    for slot in range(shape.num_slots):
        count += _is_allowed(mask, slot)
    for unit in range(shape.width):
        w = hidden + unit * per_unit + shape.num_columns
        total = 0.0
        for slot in range(shape.num_slots):
            if _is_allowed(mask, slot):
                first = shape.num_context + slot * shape.num_columns
                for column in range(shape.num_columns):
                    total += weights[w + column] * np.float64(observation[first + column])
        scratch[unit] = weights[w + shape.num_columns] + total / max(count, 1)


@inlined_part
def _network(
    shape: LinearScores,
    weights: FloatArray,
    hidden: int,
    observation: ObservationArray,
    first: int,
    kind: int,
    scratch: FloatArray,
) -> float:
    """Sums the hidden units of a slot by the weights of a kind of action."""
    per_unit = 2 * shape.num_columns + 1 + shape.num_kinds
    total = 0.0
    for unit in range(shape.width):
        w = hidden + unit * per_unit
        x = scratch[unit]
        for column in range(shape.num_columns):
            x += weights[w + column] * np.float64(observation[first + column])
        total += weights[w + 2 * shape.num_columns + 1 + kind] * (x / (1.0 + abs(x)))
    return total


def _method(name: str, record: type) -> Any:
    return getattr(record, name.removeprefix("_"))


def _name_none(_: None, w: FloatArray, o: ObservationArray, m: BoolArray, s: FloatArray, action: Actions) -> None:
    action[0] = -1


@chosen_by_type(lambda _, record: _name_none if record is NoneType else _method("choose", record), index=0)
def _ask(
    rule: Any, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: Actions
) -> None:
    """Writes the slot that a rule names, -1 without one."""


@chosen_by_type(_method, index=0)
def _choose(
    policy: Any, weights: FloatArray, seen: ObservationArray, mask: BoolArray, scratch: FloatArray, action: Actions
) -> None:
    """Writes an action; see ``WeightedPolicy``."""


@rule
def choose_for_all(
    policy: Any, weights: FloatArray, seen: ObservationArray, masks: BoolArray, scratch: FloatArray, actions: Actions
) -> None:
    """Writes the actions of many observations, each by weights of its own; see ``WeightedPolicy.choose``.

    Weights, observations (``seen``), masks and actions have a first axis over these, (batch, ...).
    """
    for row in range(len(seen)):
        _choose(policy, weights[row], seen[row], masks[row], scratch, actions[row])
