"""Networks with their flows, taken out of the tables of a compiled engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError

Array = npt.NDArray[Any]
Record = TypeVar("Record", bound=tuple[Any, ...])
ALIGNMENT: Final = 16
"""Bytes at whose multiples arrays begin, where they are packed."""
ABSENT: Final = -1
"""In place of a dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Networks with their flows; rows and indices count from the first of each network.

    Attributes:
        blocks: Parts of ``Tables``, of what the discipline keeps (``own.level``), and of what choices are made from
            (``choosing.asked``, ``routes.hash``) by name, with a leading axis over the networks.
    """

    blocks: Mapping[str, Array]

    def __post_init__(self) -> None:
        for block in self.blocks.values():
            block.setflags(write=False)

    def __len__(self) -> int:
        """Number of networks."""
        return len(self.blocks["networks"])

    @property
    def room(self) -> tuple[int, ...]:
        """Flows, destinations, changes of links and pairs of flows in a row that a network can have."""
        names = ("flows", "destinations", "choosing.changes", "stages.followers")
        return tuple(self.blocks[name].shape[1] if name in self.blocks else 0 for name in names)

    def check_fits(self, blocks: Mapping[str, Array]) -> None:
        """Refuses networks that are laid out in another way than ``blocks``, which machine code would not notice."""
        for name, block in blocks.items():
            given = self.blocks.get(name)
            layouts = [None if each is None else (each.dtype, each.ndim, each.shape[2:]) for each in (given, block)]
            if layouts[0] != layouts[1]:
                raise ConfigError(f"state has networks with other {name}: it was taken by another flowsched-gym")

    def pick(self, numbers: IntArray) -> Self:
        """Returns some of the networks, each as often as it is named."""
        return type(self)({name: block[numbers] for name, block in self.blocks.items()})


def pack(record: Record) -> tuple[Record, npt.NDArray[np.uint8]]:
    """Moves the arrays of a NamedTuple, and of those in it, into one array of bytes, and returns both."""
    arrays: list[npt.NDArray[Any]] = []
    _with_arrays(record, arrays.append)
    ends = np.cumsum([0, *(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays)])
    packed = np.zeros(int(ends[-1]), dtype=np.uint8)
    begins = iter(ends.tolist())

    def move(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        begin = next(begins)
        if not array.dtype.itemsize:  # rows without fields
            return array
        view = packed[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        if array.reshape(-1).view(np.uint8).any():  # else no memory is taken before it is written
            view[...] = array
        return view

    return _with_arrays(record, move), packed


def shapes_in(record: Record) -> list[list[int]]:
    """Lists the shapes of the arrays of a NamedTuple, and of those in it, (num_arrays, most dimensions)."""
    shapes: list[tuple[int, ...]] = []
    _with_arrays(record, lambda array: shapes.append(array.shape))
    most = max(map(len, shapes))
    return [[*shape, *[ABSENT] * (most - len(shape))] for shape in shapes]


def like(record: Record, shapes: IntArray) -> Record:
    """Makes a NamedTuple with arrays of other shapes, as ``shapes_in`` lists them, and all else the same."""
    left = iter(shapes.tolist())
    made: Record = _with_arrays(record, lambda array: np.zeros([n for n in next(left) if n != ABSENT], array.dtype))
    return made


def _with_arrays(value: Any, change: Callable[[npt.NDArray[Any]], object]) -> Any:
    """Returns a record with its arrays changed, in the order of its fields."""
    if isinstance(value, np.ndarray):
        return change(value)
    return type(value)(*(_with_arrays(each, change) for each in value)) if isinstance(value, tuple) else value
