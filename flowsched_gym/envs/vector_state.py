"""Where the environments of a vector are, so that they can go on from there."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.envs.actions import as_integers
from flowsched_gym.envs.state import DIGEST_SIZE, StateOrigin, columns_of, digest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


KEPT: Final = ("package_version", "environment", "flows", "columns", "flow_ids", "seeds", "generators", "seals")
"""What `VectorState.content` has as it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorState(StateOrigin):
    """What ``get_state`` of a vector environment returns and ``set_state`` takes. It never changes.

    It can be pickled. As with anything pickled: restore only what comes from where you trust. The digests find
    accidents, not malice.

    Attributes:
        flows: Digest of what the flows of episodes are drawn from.
        networks: The networks that are played, one for each environment.
        columns: What environments keep, by name, (num_envs,) each.
        flow_ids: Ids of the flows of each, (num_flows,), where they do not count from 0.
        seeds: Seeds of the generators that give each episode its seed.
        generators: States of these generators.
        history: Actions of the running episodes, where they are kept for drawing.
        seals: A digest of all this for each environment; a state without them is refused.
    """

    flows: bytes
    networks: Snapshot
    columns: Mapping[str, npt.NDArray[Any]]
    flow_ids: tuple[npt.NDArray[np.int64] | None, ...]
    seeds: tuple[int, ...]
    generators: tuple[Mapping[str, Any], ...]
    history: tuple[tuple[Any, ...], ...] | None
    seals: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """Locks the arrays."""
        for array in self.columns.values():
            array.setflags(write=False)

    def __len__(self) -> int:
        """Number of environments."""
        return len(self.networks)

    def pick(self, numbers: Sequence[int]) -> "VectorState":
        """Returns the states of some environments, each as often as it is named.

        Raises:
            ConfigError: There is no environment of such a number.
        """
        rows = read_numbers(numbers, len(self))
        each = rows.tolist()
        return replace(
            self,
            networks=self.networks.pick(rows),
            columns={name: array[rows] for name, array in self.columns.items()},
            flow_ids=tuple(self.flow_ids[number] for number in each),
            seeds=tuple(self.seeds[number] for number in each),
            generators=tuple(self.generators[number] for number in each),
            history=None if self.history is None else tuple(self.history[number] for number in each),
            seals=tuple(self.seals[number] for number in each),
        )

    def sealed(self) -> "VectorState":
        """Returns the state with digests of what it holds now."""
        return replace(self, seals=self._digests())

    def content(self) -> dict[str, Any]:
        """Returns the state as numbers, texts, bytes and arrays, to be kept where nothing may be pickled.

        Raises:
            ConfigError: The state has a history, which is there for drawing alone.
        """
        if self.history is not None:
            raise ConfigError("state was taken with a render_mode: only states without one can be kept in files")
        kept = {name: getattr(self, name) for name in KEPT}
        return kept | {"config": _plain(self.config), "networks": dict(self.networks.blocks)}

    @classmethod
    def of_content(cls, content: Mapping[str, Any], config: "DataclassInstance") -> "VectorState":
        """Makes a state of its content.

        Args:
            content: What `content` returned.
            config: Arguments of the environments that the state is for.

        Raises:
            ConfigError: The state is one of environments with other arguments.
        """
        wanted, found = content["config"], _plain(config)
        differing = [name for name in found if wanted.get(name) != found[name]]
        if differing:
            then, now = (", ".join(f"{name}={each.get(name)!r}" for name in differing) for each in (wanted, found))
            raise ConfigError(f"state is one of an environment with {then}: this one has {now}")
        kept = {name: content[name] for name in KEPT}
        return cls(**kept, config=config, networks=Snapshot(content["networks"]), history=None)

    def _is_whole(self) -> bool:
        return self.seals == self._digests()

    def _digests(self) -> tuple[bytes, ...]:
        """Digests what there is of each environment, so that `pick` need not digest anew."""
        tables = {"networks": self.networks.blocks, "columns": self.columns}
        arrays = {f"{kind}.{name}": array for kind, table in tables.items() for name, array in table.items()}
        shared = digest(self.flows, [(name, str(array.dtype), array.shape[1:]) for name, array in arrays.items()])
        rows = [
            np.ascontiguousarray(column).view(np.uint8).reshape(len(self), -1)
            for array in arrays.values()
            if array.size
            for column in columns_of(array)
        ]
        found = []
        for number in range(len(self)):
            history = None if self.history is None else self.history[number]
            own = digest(shared, self.flow_ids[number], self.seeds[number], self.generators[number], history)
            each = hashlib.blake2b(own, digest_size=DIGEST_SIZE)
            for row in rows:
                each.update(row[number])
            found.append(each.digest())
        return tuple(found)


def read_numbers(numbers: object, num_envs: int) -> npt.NDArray[np.int64]:
    """Reads numbers of environments, (count,).

    Raises:
        ConfigError: They are not integers from 0 to num_envs - 1.
    """
    given = as_integers(numbers)
    if given is None and isinstance(numbers, (list, tuple)) and not numbers:
        given = np.zeros(0, dtype=np.int64)
    if given is None or given.ndim != 1 or not ((given >= 0) & (given < num_envs)).all():
        raise ConfigError(f"numbers is {shown(numbers)}: it must be integers from 0 to {num_envs - 1}")
    return given.astype(np.int64)


def _plain(value: object) -> Any:
    """Returns arguments as numbers, texts, lists and dictionaries."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return digest(value).hex()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
