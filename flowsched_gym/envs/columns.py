"""Names the columns of an observation, so that policies, tests and documentation find a value by its name.

An observation is one flat vector: the context columns first, then one row of slot columns for each slot, then other
rows. Values are bounded: what may grow without limit is squashed by ``x / (|x| + scale)``, and ``decode`` takes that
back. Rules hand over the values themselves, by name: the function that ``writer`` makes of columns encodes them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, listed
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.machine_code.numerics import squash


class Encoding(StrEnum):
    """Ways to map a value to a number in [-1, 1]."""

    FRACTION = "fraction"
    """The value is a share already, in [0, 1]."""
    SQUASHED = "squashed"
    """``x / (x + scale)`` for x >= 0, in [0, 1]; inf becomes 1."""
    SIGNED = "signed"
    """``x / (|x| + scale)``, in [-1, 1]; inf becomes 1."""
    PLAIN = "plain"
    """The value itself, cut to [0, scale]."""


LOWEST: Final = {Encoding.FRACTION: 0.0, Encoding.SQUASHED: 0.0, Encoding.SIGNED: -1.0, Encoding.PLAIN: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One number of an observation.

    Attributes:
        meaning: What it tells, in one phrase.
        unit: Unit of the decoded value.
        encoding: How the value becomes a bounded number.
        scale: Value, in the unit, that is squashed to one half; 1 for fractions; the largest value of plain ones.
            A text is the field of the rules that is the scale, which ``scaled`` sets in a layout.
    """

    name: str
    meaning: str
    unit: str
    encoding: Encoding
    scale: float | str = 1.0

    @classmethod
    def fraction(cls, name: str, meaning: str) -> Self:
        """Describes a share."""
        return cls(name=name, meaning=meaning, unit="1", encoding=Encoding.FRACTION)

    @classmethod
    def squashed(cls, name: str, meaning: str, unit: str, scale: float | str) -> Self:
        """Describes a number >= 0 without a bound."""
        return cls(name=name, meaning=meaning, unit=unit, encoding=Encoding.SQUASHED, scale=scale)

    @classmethod
    def signed(cls, name: str, meaning: str, unit: str, scale: float) -> Self:
        """Describes a number without bounds."""
        return cls(name=name, meaning=meaning, unit=unit, encoding=Encoding.SIGNED, scale=scale)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest encoded value."""
        return LOWEST[self.encoding], float(self.scale) if self.encoding is Encoding.PLAIN else 1.0

    @property
    def formula(self) -> str:
        """How the encoded value is made of the value ``v``, in its unit."""
        scale = f"{float(self.scale):g}" + (f" {self.unit}" if self.unit != "1" else "")
        if self.encoding is Encoding.SQUASHED:
            return f"v / (v + {scale})"
        if self.encoding is Encoding.SIGNED:
            return f"v / (|v| + {scale})"
        return "v"

    def encode(self, values: FloatArray | IntArray) -> FloatArray:
        """Encodes values, which are within the bounds of fractions and plain columns already."""
        if self.encoding in (Encoding.FRACTION, Encoding.PLAIN):
            return np.asarray(values, dtype=np.float64)
        encoded: FloatArray = values / (np.abs(values) + float(self.scale))
        return encoded

    def decode(self, encoded: npt.NDArray[np.floating]) -> FloatArray:
        """Inverts the encoding; float32 observations give about six digits."""
        values = np.asarray(encoded, dtype=np.float64)
        if self.encoding in (Encoding.FRACTION, Encoding.PLAIN):
            return values
        room = 1.0 - np.abs(values)
        decoded: FloatArray = np.full(values.shape, np.inf)
        return np.divide(values * float(self.scale), room, out=decoded, where=room > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of an observation that are no slots: the columns of each, in order, and how many there are, >= 0."""

    columns: tuple[Column, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns of an observation.

    Attributes:
        context, slot: Columns that describe the whole, and those of each slot, in order.
        num_slots: Slots, >= 1.
        rows: What comes behind the slots, group by group.

    Raises:
        ConfigError: A scale is the name of a field of the rules, which ``scaled`` has not set.
    """

    context: tuple[Column, ...]
    slot: tuple[Column, ...]
    num_slots: int
    rows: tuple[Rows, ...] = ()

    def __post_init__(self) -> None:
        for column in self.columns:
            if isinstance(column.scale, str):
                raise ConfigError(
                    f"column {column.name} has the scale {column.scale!r}, a field of the rules: a layout needs "
                    f"a number, which scaled(columns, scales) sets"
                )

    @property
    def num_context(self) -> int:
        """Number of context columns."""
        return len(self.context)

    @property
    def num_slot_features(self) -> int:
        """Number of columns of a slot."""
        return len(self.slot)

    @property
    def _behind_slots(self) -> int:
        return self.num_context + self.num_slots * self.num_slot_features

    @property
    def size(self) -> int:
        """Length of the observation."""
        return self._behind_slots + sum(rows.count * len(rows.columns) for rows in self.rows)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, those of slots and rows once each."""
        return (*self.context, *self.slot, *(column for rows in self.rows for column in rows.columns))

    def table(self, described: Iterable[Column] = ()) -> str:
        """Writes a table of its columns in Markdown, those left out that have been described."""
        rows = [
            (each.name, each.meaning, each.unit, each.encoding, repr(each.scale).removesuffix(".0"))
            for each in dict.fromkeys(self.columns)
            if each not in described
        ]
        return table_text(("column", "meaning", "unit", "encoding", "scale"), rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all numbers of the observation, those of slot or row i with the suffix ``[i]``."""
        groups = (Rows(columns=self.slot, count=self.num_slots), *self.rows)
        repeated = (f"{column.name}[{i}]" for rows in groups for i in range(rows.count) for column in rows.columns)
        return (*(column.name for column in self.context), *repeated)

    def space(self) -> spaces.Box:
        """Builds the observation space, a bounded one-dimensional box."""
        behind = (column for rows in self.rows for column in rows.columns * rows.count)
        columns = (*self.context, *self.slot * self.num_slots, *behind)
        low, high = np.array([column.bounds for column in columns], dtype=np.float32).T
        return spaces.Box(low=low, high=high, dtype=np.float32)

    def context_column(self, observation: npt.NDArray[np.floating], name: str) -> FloatArray:
        """Reads a context column of observations, (..., size) to (...), decoded; refuses unknown names."""
        index = self.context_index(name)
        return self.context[index].decode(observation[..., index])

    def context_index(self, name: str) -> int:
        """Finds the index of a context column in an observation."""
        return _index(self.context, name)

    def slot_column(self, observation: npt.NDArray[np.floating], name: str) -> FloatArray:
        """Reads a slot column of observations, (..., size) to (..., num_slots), decoded; refuses unknown names."""
        return self.slot[_index(self.slot, name)].decode(observation[..., self.slot_slice(name)])

    def row_column(self, observation: npt.NDArray[np.floating], name: str) -> FloatArray:
        """Reads a column of the rows behind the slots, (..., size) to (..., count), decoded; refuses unknown names."""
        first = self._behind_slots
        for rows in self.rows:
            names, end = [column.name for column in rows.columns], first + rows.count * len(rows.columns)
            if name in names:
                column = names.index(name)
                return rows.columns[column].decode(observation[..., first + column : end : len(names)])
            first = end
        raise ConfigError(f"the rows of the observation have no column {name!r}")

    def slot_slice(self, name: str) -> slice:
        """Finds the indices of a slot column in an observation, for all slots."""
        return slice(self.num_context + _index(self.slot, name), self._behind_slots, self.num_slot_features)

    def slot_scale(self, name: str) -> float:
        """Finds the scale of a slot column."""
        return float(self.slot[_index(self.slot, name)].scale)


def scaled(columns: Iterable[Column], scales: Mapping[Any, float]) -> tuple[Column, ...]:
    """Sets the scales that are fields of the rules, by the names of these."""
    return tuple(replace(column, scale=scales.get(column.scale, column.scale)) for column in columns)


def named(columns: Sequence[Column], kinds: Mapping[Any, Any]) -> tuple[Column, ...]:
    """Repeats columns for each kind: ``{}`` stands for the kind in their names, and for its text in their meanings."""
    return tuple(
        replace(each, name=each.name.format(kind), meaning=each.meaning.format(text))
        for kind, text in kinds.items()
        for each in columns
    )


def writer(columns: Sequence[Column]) -> Callable[..., int]:
    """Makes the function by which rules write a row of these columns, in Python and in machine code.

    ``write(rules, observation, at, name=value, ...)`` encodes one value for each column, in its unit, from the index
    ``at`` on, and returns the index behind them. Names are those of columns, without the ``{}`` of a kind.
    """
    lines = []
    names = [column.name.replace("_{}", "").replace("{}_", "") for column in columns]
    for index, (name, column) in enumerate(zip(names, columns, strict=True)):
        scale = f"float(rules.{column.scale})" if isinstance(column.scale, str) else repr(float(column.scale))
        is_bounded = column.encoding in (Encoding.FRACTION, Encoding.PLAIN)
        lines.append(f"observation[at + {index}] = {name if is_bounded else f'squash(float({name}), {scale})'}")
    namespace: dict[str, Callable[..., Any]] = {"squash": squash}
    body = "; ".join([*lines, f"return at + {len(names)}"])
    exec(f"def write(rules, observation, at, {', '.join(names)}): {body}", namespace)
    return inlined_part(namespace["write"])


def table_text(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Writes a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def _index(columns: Sequence[Column], name: str) -> int:
    names = [column.name for column in columns]
    if name not in names:
        raise ConfigError(f"the observation has no column {name!r}: it has {listed(name, names)}")
    return names.index(name)
