"""Holds where the environments of a vector are, so that they can go on from there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym import __version__
from flowsched_gym.batch import Snapshot

__all__ = ["VectorState"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorState:
    """Is what ``get_state`` of a vector environment returns and ``set_state`` takes. It can be pickled.

    Attributes:
        package_version: Version of the package.
        environment: ``module:Class`` of the vector environment.
        config: Its arguments.
        networks: The networks that are played, one for each environment.
        own: What the system keeps of each of them besides.
        columns: What environments keep, by name, (num_envs,) each.
        generators: Generators of the episode seeds, each as its bit generator's state.
        history: Actions of the running episodes, where they are kept for drawing.
    """

    package_version: str = __version__
    environment: str
    config: Any
    networks: Snapshot
    own: Mapping[str, npt.NDArray[Any]]
    columns: Mapping[str, npt.NDArray[Any]]
    generators: tuple[Mapping[str, Any], ...]
    history: tuple[tuple[int, ...], ...] | None

    def __len__(self) -> int:
        """Number of environments."""
        return len(self.networks)

    def pick(self, numbers: Sequence[int]) -> "VectorState":
        """Returns the states of some environments, each as often as it is named."""
        rows = np.asarray(numbers, dtype=np.int64)
        return replace(
            self,
            networks=self.networks.pick(rows),
            own={name: array[rows] for name, array in self.own.items()},
            columns={name: array[rows] for name, array in self.columns.items()},
            generators=tuple(self.generators[number] for number in rows.tolist()),
            history=None if self.history is None else tuple(self.history[number] for number in rows.tolist()),
        )
