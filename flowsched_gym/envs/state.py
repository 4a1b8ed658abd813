"""Running environments as they stood, to be taken up there again, many times and in other processes.

The parts of a simulation refer to each other, so they are pickled together. What an episode reads and never changes,
its flows first of all, is left out: it is the greater part, and an environment with the same arguments has it, or draws
it again. A state carries a digest of its content, so that one that was altered, on a disk or in a script, is refused.
"""

import hashlib
import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flowsched_gym.errors import ConfigError
from flowsched_gym.version import __version__
from flowsched_gym.workload import Workload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["DIGEST_SIZE", "EnvState", "StateOrigin", "digest", "fingerprint", "freeze", "thaw"]

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
        episode_seed: Seed of the flows of the episode.
        flows: Digest of these flows and their hosts.
        moving: All that changes in an episode, pickled.
        seal: `digest` of these three.
    """

    episode_seed: int
    flows: bytes
    moving: bytes
    seal: bytes

    def _is_whole(self) -> bool:
        return self.seal == digest(self.episode_seed, self.flows, self.moving)


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
        update(part.tobytes())
    elif isinstance(part, (tuple, list, Mapping)):
        update(f"{type(part).__name__} {len(part)} ".encode())
        for each in part.items() if isinstance(part, Mapping) else part:
            _feed(update, each)
    else:
        update(f"{part!r} ".encode())


def freeze(parts: Mapping[str, object], fixed: Sequence[object]) -> bytes:
    """Pickles parts of an environment.

    Args:
        parts: The parts by name.
        fixed: Objects that are left out, wherever they occur in the parts.
    """
    file = io.BytesIO()
    _Freezer(file, fixed).dump(parts)
    return file.getvalue()


def thaw(frozen: bytes, fixed: Sequence[object]) -> dict[str, Any]:
    """Makes new parts of what ``freeze`` returned.

    Args:
        frozen: The parts.
        fixed: The objects that were left out, or their equals, in the same order.
    """
    parts: dict[str, Any] = _Thawer(io.BytesIO(frozen), fixed).load()
    return parts


def fingerprint(workload: Workload, num_hosts: int) -> bytes:
    """Digests the flows of an episode, its link changes and the number of hosts that the flows run between."""
    digest = hashlib.blake2b(str(num_hosts).encode(), digest_size=16)
    for array in workload.arrays:
        digest.update(array.data)
    return digest.digest()


class _Freezer(pickle.Pickler):
    """Writes the place of an object that is left out."""

    def __init__(self, file: io.BytesIO, fixed: Sequence[object]) -> None:
        """Numbers the objects that are left out."""
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._place_of = {id(each): place for place, each in enumerate(fixed)}

    def persistent_id(self, obj: object) -> int | None:
        """Returns the place of an object that is left out, ``None`` for any other."""
        return self._place_of.get(id(obj))


class _Thawer(pickle.Unpickler):
    """Puts objects that were left out in their places."""

    def __init__(self, file: io.BytesIO, fixed: Sequence[object]) -> None:
        """Keeps the objects."""
        super().__init__(file)
        self._fixed = fixed

    def persistent_load(self, pid: int) -> object:
        """Returns the object that was left out."""
        return self._fixed[pid]
