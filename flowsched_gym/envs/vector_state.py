"""Holds where the environments of a vector are, so that they can go on from there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch import Snapshot
from flowsched_gym.envs.state import StateOrigin

__all__ = ["VectorState"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorState(StateOrigin):
    """Is what ``get_state`` of a vector environment returns and ``set_state`` takes. It never changes.

    It can be pickled. As with anything pickled: restore only what comes from where you trust.

    Attributes:
        flows: Digest of what the flows of episodes are drawn from.
        networks: The networks that are played, one for each environment.
        own: What the system keeps of each of them besides, (num_envs, ...) each.
        columns: What environments keep, by name, (num_envs,) each.
        flow_ids: Ids of the flows of each, (num_flows,), where they do not count from 0.
        seeds: Seeds of the generators that give each episode its seed.
        generators: States of these generators.
        history: Actions of the running episodes, where they are kept for drawing.
    """

    flows: bytes
    networks: Snapshot
    own: Mapping[str, npt.NDArray[Any]]
    columns: Mapping[str, npt.NDArray[Any]]
    flow_ids: tuple[npt.NDArray[np.int64] | None, ...]
    seeds: tuple[int, ...]
    generators: tuple[Mapping[str, Any], ...]
    history: tuple[tuple[Any, ...], ...] | None

    def __post_init__(self) -> None:
        """Locks the arrays."""
        for array in (*self.own.values(), *self.columns.values()):
            array.setflags(write=False)

    def __len__(self) -> int:
        """Number of environments."""
        return len(self.networks)

    def pick(self, numbers: Sequence[int]) -> "VectorState":
        """Returns the states of some environments, each as often as it is named."""
        rows = np.asarray(numbers, dtype=np.int64)
        each = rows.tolist()
        return replace(
            self,
            networks=self.networks.pick(rows),
            own={name: array[rows] for name, array in self.own.items()},
            columns={name: array[rows] for name, array in self.columns.items()},
            flow_ids=tuple(self.flow_ids[number] for number in each),
            seeds=tuple(self.seeds[number] for number in each),
            generators=tuple(self.generators[number] for number in each),
            history=None if self.history is None else tuple(self.history[number] for number in each),
        )
