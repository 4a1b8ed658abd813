"""Takes networks out of the tables, and puts them back: there, elsewhere, or into larger tables."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.tables import ROW, Tables
from flowsched_gym.disciplines import KEPT

__all__ = ["Snapshot", "put", "take"]

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """Holds networks with their flows; rows and places count from the first of each network.

    Attributes:
        networks: (count,) NETWORK.
        destinations: (count, num_places) DESTINATION.
        timers: (count, num_active) TIMER.
        flows: (count, num_rows), as in ``Tables``.
        windows: (count, num_rows) WINDOW, or (count, 0) without windows.
        order: (count, num_rows).
        requests: (count, 2 * num_rows), or (count, 0) without tokens.
        active: (count, num_active), or (count, 0) without tokens.
        live: (count, num_active).
        delivered: (count, num_rows).
        log: (count, log_length) LOG_ENTRY.
        own: What the discipline keeps, by the names of ``KEPT``: (count, num_rows, ...) or (count, 1), or (count, 0)
            where it does not need it; empty for processor sharing.
    """

    networks: Array
    destinations: Array
    timers: Array
    flows: Array
    windows: Array
    order: Array
    requests: Array
    active: Array
    live: Array
    delivered: Array
    log: Array
    own: Mapping[str, Array]

    def __post_init__(self) -> None:
        """Locks the arrays."""
        for array in (*(getattr(self, name) for name in BLOCKS), *self.own.values()):
            array.setflags(write=False)

    def __len__(self) -> int:
        """Number of networks."""
        return len(self.networks)

    def pick(self, numbers: IntArray) -> Self:
        """Returns some of the networks, each as often as it is named."""
        return type(self)(
            **{name: getattr(self, name)[numbers] for name in BLOCKS},
            own={name: array[numbers] for name, array in self.own.items()},
        )


BLOCKS: Final = tuple(field.name for field in fields(Snapshot) if field.name != "own")


def take(tables: Tables, numbers: IntArray) -> Snapshot:
    """Copies networks.

    Args:
        tables: The tables.
        numbers: Networks to take, (count,).
    """
    blocks = {name: block[numbers] for name, block in _blocks(tables).items()}
    _shift(tables, blocks, numbers, -1)
    return Snapshot(**blocks, own={name: block[numbers] for name, block in _own_blocks(tables).items()})


def put(tables: Tables, numbers: IntArray, snapshot: Snapshot) -> None:
    """Sets networks to what a snapshot holds.

    Args:
        tables: The tables, with as much room for each network as the snapshot's, or more.
        numbers: Networks to set, (count,); no number twice.
        snapshot: What they are set to, in this order.
    """
    blocks = {name: getattr(snapshot, name).copy() for name in BLOCKS}
    _shift(tables, blocks, numbers, 1)
    blocks |= snapshot.own
    for name, block in (_blocks(tables) | _own_blocks(tables)).items():
        given = blocks[name]
        if given.ndim == 1:
            block[numbers] = given
        else:
            block[numbers, : given.shape[1]] = given


def _blocks(tables: Tables) -> dict[str, Array]:
    """Views what belongs to networks with a leading axis over these."""
    return {
        name: tables.networks if name == "networks" else _by_network(tables, getattr(tables, name)) for name in BLOCKS
    }


def _own_blocks(tables: Tables) -> dict[str, Array]:
    """Views what the discipline keeps in the same way."""
    if tables.own is None:
        return {}
    return {name: _by_network(tables, getattr(tables.own, name)) for name in KEPT}


def _by_network(tables: Tables, array: Array) -> Array:
    """Splits the first axis of an array into networks and what belongs to each."""
    count = len(tables.networks)
    return array.reshape(count, len(array) // count, *array.shape[1:])


def _shift(tables: Tables, blocks: dict[str, Array], numbers: IntArray, sign: int) -> None:
    """Moves rows and places from those of a network to those of all, or back; unused entries may wrap around."""
    networks, destinations = blocks["networks"], blocks["destinations"]
    rows = (sign * numbers * tables.num_rows)[:, np.newaxis]
    places = sign * numbers * tables.num_active
    for name in ("order", "requests", "active", "live", "delivered"):
        blocks[name] += rows.astype(ROW)
    blocks["timers"]["row"] += rows.astype(ROW)
    for name in ("timer_head", "timer_tail"):
        networks[name] += places
    destinations["active"] += places[:, np.newaxis]
    for name in ("queue", "head", "tail", "queue_end"):
        destinations[name] += 2 * rows
