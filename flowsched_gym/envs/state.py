"""Holds a running environment as it stood, so that it can be taken up there again, many times and in other processes.

The parts of a simulation refer to each other, so they are pickled together. What an episode reads and never changes,
its flows first of all, is left out: it is the greater part, and an environment with the same arguments has it, or draws
it again.
"""

import hashlib
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from flowsched_gym.errors import ConfigError
from flowsched_gym.version import __version__
from flowsched_gym.workload import Workload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["EnvState", "StateOrigin", "fingerprint", "freeze", "thaw"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateOrigin:
    """Says where a state was taken.

    Attributes:
        package_version: Version of the package.
        environment: ``module:Class`` of the environment.
        config: Its arguments.
    """

    package_version: str = __version__
    environment: str
    config: "DataclassInstance"

    def check(self, environment: str, config: "DataclassInstance") -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EnvState(StateOrigin):
    """Is what ``get_state`` of an environment returns and ``set_state`` takes. It never changes, and can be pickled.

    As with anything pickled: restore only what comes from where you trust.

    Attributes:
        episode_seed: Seed of the flows of the episode.
        flows: Digest of these flows and their hosts.
        moving: All that changes in an episode, pickled.
    """

    episode_seed: int
    flows: bytes
    moving: bytes


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
