"""Running environments as they stood, to be taken up there again, many times and in other processes.

The processes of SimPy cannot be copied or pickled, but an episode is a function of its flows and the decisions: a state
is these, and is restored by playing them again. The compiled engine copies its network besides. A state carries a
digest of its content, so that one that was altered, before or after it was pickled, is refused.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.envs.actions import as_integers
from flowsched_gym.version import __version__
from flowsched_gym.workload import Workload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


DIGEST_SIZE: Final = 16
"""Bytes of a digest."""
KEPT: Final = ("package_version", "environment", "flows", "columns", "flow_ids", "seeds", "generators", "seals")
"""What `VectorState.content` has as it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateOrigin(ABC):
    """What all states have: where they were taken, and a way to see whether they are whole.

    Attributes:
        package_version: Version of the package.
        environment: ``module:Class`` of the environment.
        config: Its arguments.
    """

    package_version: str = __version__
    environment: str
    config: "DataclassInstance"

    def check(self, environment: str, config: "DataclassInstance") -> None:
        """Refuses an environment of another version or class, or with other arguments, and a state that was altered."""
        try:
            self._check_origin(environment, config)
            intact = self._is_whole()
        except ConfigError:
            raise
        except Exception as error:  # what the parts of a damaged state raise is anybody's guess
            raise ConfigError(f"state was altered after get_state() returned it: {error!r}") from error
        if not intact:
            raise ConfigError("state was altered after get_state() returned it: its content does not fit its digest")

    def _check_origin(self, environment: str, config: "DataclassInstance") -> None:
        if self.package_version != __version__:
            raise ConfigError(f"state is one of flowsched-gym {self.package_version}: this is {__version__}")
        if self.environment != environment:
            raise ConfigError(f"state is one of {self.environment}: this environment is {environment}")
        names = [field.name for field in fields(config)]
        _check_arguments(*({name: getattr(each, name) for name in names} for each in (self.config, config)))

    @abstractmethod
    def _is_whole(self) -> bool:
        """Compares the content, beside what `_check_origin` compares, with its digest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EnvState(StateOrigin):
    """What ``get_state`` of an environment returns and ``set_state`` takes. It never changes, and can be pickled.

    As with anything pickled: restore only what comes from where you trust. The digest finds accidents, not malice.

    Attributes:
        episode_seed: Seed of the flows of the episode.
        flows: Digest of these flows and their hosts.
        decisions: Actions that have been taken.
        now: Time in s.
        futures: Times in s from which on other flows arrive, and the seeds of these flows; see ``with_future``.
        generator: Generator that gives the next episodes their seeds, and its own seed, pickled.
        network: The network, where it is copied; where not, the decisions are taken again.
        seal: A digest of all this; a state without it is refused.
    """

    engine: str
    episode_seed: int
    flows: bytes
    decisions: tuple[object, ...]
    now: float
    futures: tuple[tuple[float, int], ...] = ()
    generator: bytes
    network: Snapshot | None = None
    seal: bytes = b""

    def with_future(self, seed: int) -> "EnvState":
        """Returns the state with other flows to come, so that a search need not know the true ones.

        Flows that have arrived stay, with all that has happened to them; those that arrive later, and links that change
        later, are those of the episode of another seed (see ``FlowSchedEnv.begin``). Such a state is restored by taking
        the decisions again, which the compiled engine does in microseconds each. The seed is an integer >= 0.
        """
        check_integer("seed", seed, at_least=0)
        return replace(self, futures=(*self.futures, (self.now, int(seed))), network=None).sealed()

    def sealed(self) -> "EnvState":
        """Returns the state with a digest of what it holds now."""
        return replace(self, seal=self._digest())

    def _is_whole(self) -> bool:
        return self.seal == self._digest()

    def _digest(self) -> bytes:
        blocks = {} if self.network is None else self.network.blocks
        parts = self.engine, self.episode_seed, self.flows, self.decisions, self.now, self.futures, self.generator
        return digest(*parts, blocks)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorState(StateOrigin):
    """What ``get_state`` of a vector environment returns and ``set_state`` takes; see ``EnvState``.

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
        for array in self.columns.values():
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.networks)

    def pick(self, numbers: Sequence[int]) -> "VectorState":
        """Returns the states of some environments, each as often as it is named."""
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

        One with a history, which is there for drawing alone, is refused.
        """
        if self.history is not None:
            raise ConfigError("state was taken with a render_mode: only states without one can be kept in files")
        kept = {name: getattr(self, name) for name in KEPT}
        return kept | {"config": _plain(self.config), "networks": dict(self.networks.blocks)}

    @classmethod
    def of_content(cls, content: Mapping[str, Any], config: "DataclassInstance") -> "VectorState":
        """Makes a state of what `content` returned, for environments with the same arguments; refuses others."""
        _check_arguments(content["config"], _plain(config))
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


class Restored:
    """An environment that is pickled as what made it, and its state: the processes and machine code in it cannot be."""

    _PICKLED: ClassVar[tuple[str, ...]]
    """Attributes that are neither in the arguments nor in a state."""
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Self:
        """Notes the arguments."""
        made = super().__new__(cls)
        made._made_with = args, kwargs
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self._made_with
        attributes = {name: getattr(self, name) for name in self._PICKLED}
        return _restored, (type(self), args, kwargs, attributes, self._state_to_pickle())

    @property
    def _name(self) -> str:
        """``module:Class`` of the environment."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    @abstractmethod
    def _state_to_pickle(self) -> Any:
        """Returns the state; ``None`` before the first episode."""

    @abstractmethod
    def _take_up(self, state: Any) -> None:
        """Goes on from a state in an environment that has just been made."""


def digest(*parts: object) -> bytes:
    """Digests bytes, arrays, what has an exact ``repr``, and tuples, lists and mappings of these.

    Parts of other types or lengths give another digest.
    """
    found = hashlib.blake2b(digest_size=DIGEST_SIZE)
    _feed(found.update, parts)
    return found.digest()


def columns_of(array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Lists the fields of an array of records, without the unused bytes between them, which copies need not keep."""
    return [array] if array.dtype.names is None else [array[name] for name in array.dtype.names]


def fingerprint(workload: Workload, num_hosts: int) -> bytes:
    """Digests the flows of an episode, its link changes and the number of hosts that the flows run between."""
    digest = hashlib.blake2b(str(num_hosts).encode(), digest_size=16)
    for array in workload.arrays:
        digest.update(array.data)
    return digest.digest()


def read_numbers(numbers: object, num_envs: int) -> npt.NDArray[np.int64]:
    """Reads numbers of environments, (count,), integers from 0 to num_envs - 1; refuses others."""
    given = as_integers(numbers)
    if given is None and isinstance(numbers, (list, tuple)) and not numbers:
        given = np.zeros(0, dtype=np.int64)
    if given is None or given.ndim != 1 or not ((given >= 0) & (given < num_envs)).all():
        raise ConfigError(f"numbers is {shown(numbers)}: it must be integers from 0 to {num_envs - 1}")
    return given.astype(np.int64)


def _check_arguments(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    differing = [name for name in now if then.get(name) != now[name]]
    if differing:
        wanted, found = (", ".join(f"{name}={each.get(name)!r}" for name in differing) for each in (then, now))
        raise ConfigError(f"state is one of an environment with {wanted}: this one has {found}")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return digest(value).hex()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _restored(
    made: type[Restored], args: tuple[Any, ...], kwargs: dict[str, Any], attributes: dict[str, Any], state: Any
) -> Restored:
    env = made(*args, **kwargs)
    if state is not None:
        env._take_up(state)
    vars(env).update(attributes)
    return env


def _feed(update: Callable[[bytes], None], part: object) -> None:
    """Adds a part to a digest, with its type and length before it."""
    if isinstance(part, bytes):
        update(b"bytes %d " % len(part))
        update(part)
    elif isinstance(part, np.ndarray):
        update(f"array {part.dtype} {part.shape} ".encode())
        for column in columns_of(part):
            update(column.tobytes())
    elif isinstance(part, (tuple, list, Mapping)):
        update(f"{type(part).__name__} {len(part)} ".encode())
        for each in part.items() if isinstance(part, Mapping) else part:
            _feed(update, each)
    else:
        update(f"{part!r} ".encode())
