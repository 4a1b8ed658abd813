"""Networks with their flows, taken out of the tables of a compiled engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError

Array = npt.NDArray[Any]


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
