"""Running environments as they stood, to be taken up there again, many times and in other processes.

The processes of SimPy cannot be copied or pickled, but an episode is a function of its flows and the decisions: a state
is these, and is restored by playing them again. The compiled engine copies its network besides. A state carries a
digest of its content, so that one that was altered, before or after it was pickled, is refused.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.version import __version__
from flowsched_gym.workload import Workload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


DIGEST_SIZE: Final = 16
"""Bytes of a digest."""


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
        """Refuses an environment of another version or class, or with other arguments, and a state that was altered.

        Raises:
            ConfigError: The state does not belong there, or is not as ``get_state`` returned it.
        """
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
        """Refuses an environment of another version or class, or with other arguments.

        Raises:
            ConfigError: The state does not belong there.
        """
        if self.package_version != __version__:
            raise ConfigError(f"state is one of flowsched-gym {self.package_version}: this is {__version__}")
        if self.environment != environment:
            raise ConfigError(f"state is one of {self.environment}: this environment is {environment}")
        names = (field.name for field in fields(config))
        differing = [name for name in names if getattr(self.config, name) != getattr(config, name)]
        if differing:
            wanted, found = (
                ", ".join(f"{name}={getattr(each, name)!r}" for name in differing) for each in (self.config, config)
            )
            raise ConfigError(f"state is one of an environment with {wanted}: this one has {found}")

    @abstractmethod
    def _is_whole(self) -> bool:
        """Compares the content, beside what `_check_origin` compares, with its digest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EnvState(StateOrigin):
    """What ``get_state`` of an environment returns and ``set_state`` takes. It never changes, and can be pickled.

    As with anything pickled: restore only what comes from where you trust. The digest finds accidents, not malice.

    Attributes:
        engine: Name of the engine.
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
        later, are those of the episode of another seed. Such a state is restored by taking the decisions again, which
        the compiled engine does in microseconds each.

        Args:
            seed: Seed of an episode; see ``FlowSchedEnv.begin``.

        Raises:
            ConfigError: The seed is not an integer >= 0.
        """
        check_integer("seed", seed, at_least=0)
        return replace(self, futures=(*self.futures, (self.now, int(seed))), network=None).sealed()

    def sealed(self) -> "EnvState":
        """Returns the state with a digest of what it holds now."""
        return replace(self, seal=self._digest())

    def _is_whole(self) -> bool:
        return self.seal == self._digest()

    def _digest(self) -> bytes:
        """Digests the content."""
        blocks = {} if self.network is None else self.network.blocks
        return digest(
            self.engine,
            self.episode_seed,
            self.flows,
            self.decisions,
            self.now,
            self.futures,
            self.generator,
            blocks,
        )


class Restored:
    """An environment that is pickled as what made it, and its state: the processes and machine code in it cannot be."""

    _PICKLED: ClassVar[tuple[str, ...]]
    """Attributes that are neither in the arguments nor in a state."""
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Notes the arguments."""
        made = super().__new__(cls)
        made._made_with = args, kwargs
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Takes the state, where an episode has begun."""
        args, kwargs = self._made_with
        attributes = {name: getattr(self, name) for name in self._PICKLED}
        return _restored, (type(self), args, kwargs, attributes, self._state_to_pickle())

    @abstractmethod
    def _state_to_pickle(self) -> Any:
        """Returns the state; ``None`` before the first episode."""

    @abstractmethod
    def _take_up(self, state: Any) -> None:
        """Goes on from a state in an environment that has just been made."""


def _restored(
    made: type[Restored], args: tuple[Any, ...], kwargs: dict[str, Any], attributes: dict[str, Any], state: Any
) -> Restored:
    """Makes an environment of what was pickled."""
    env = made(*args, **kwargs)
    if state is not None:
        env._take_up(state)
    vars(env).update(attributes)
    return env


def digest(*parts: object) -> bytes:
    """Digests bytes, arrays, what has an exact ``repr``, and tuples, lists and mappings of these.

    Args:
        parts: What to digest; parts of other types or lengths give another digest.
    """
    found = hashlib.blake2b(digest_size=DIGEST_SIZE)
    _feed(found.update, parts)
    return found.digest()


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


def columns_of(array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Lists the fields of an array of records, without the unused bytes between them, which copies need not keep."""
    return [array] if array.dtype.names is None else [array[name] for name in array.dtype.names]


def fingerprint(workload: Workload, num_hosts: int) -> bytes:
    """Digests the flows of an episode, its link changes and the number of hosts that the flows run between."""
    digest = hashlib.blake2b(str(num_hosts).encode(), digest_size=16)
    for array in workload.arrays:
        digest.update(array.data)
    return digest.digest()
