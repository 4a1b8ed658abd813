"""Datasets for offline learning, as Minari keeps them: episodes with observations, actions, rewards and masks.

An episode of this package is a function of its seed and its actions, so that whoever has played only says which
actions were taken. Here they are taken again in the native vector environment, and what an agent sees meanwhile is
written. Policies may therefore have seen more, or otherwise, than the agents that will learn from the dataset.
"""

import io
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.core.files import check_path, done_at_last, naming_file
from flowsched_gym.registration import find_environment

try:
    import h5py
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage
except ImportError as error:
    missing = error.name or "minari"
    raise MissingDependencyError(missing, extra="minari", purpose="write datasets") from None

MASK: Final = "action_mask"
"""Info that says which actions are allowed, in environments that have masks."""
MOST_ENVS: Final = 64
"""Episodes that are played again at once."""
NO_LIMIT: Final = 2**31 - 1
"""Steps after which the recovered environment truncates: no episode has as many, but d3rlpy needs a number."""
MOST_BYTES: Final = 1 << 28
"""Observations that are in memory at once, in B."""
FILE: Final = "main_data.hdf5"
"""Where Minari keeps the episodes."""
MARGIN: Final = 1.25
BYTES_OF_EPISODE: Final = 1 << 16
"""HDF5 needs at most so much more than the arrays have, and for each episode."""


class Played(NamedTuple):
    """An episode that was played.

    Attributes:
        seed: Seed of the reset.
        actions: The actions, (num_decisions, ...).
        facts: What is kept with it, such as its policy and its metrics: texts and numbers by name.
    """

    seed: int
    actions: npt.NDArray[Any]
    facts: Mapping[str, str | float]


class DatasetWriter:
    """A dataset of one environment that is being written, in Minari's format of HDF5.

    ``minari.MinariDataset(folder)`` reads it. In its infos is ``action_mask``, (num_decisions + 1, ...) int8, where the
    environment has masks; each episode has its seed, and its facts, as metadata.

    Args:
        folder: Folder of the dataset; an empty one.
        environment: Id of the environment.
        kwargs: Its arguments, those of the agent; JSON must be able to hold them, or Minari warns.
        name: Name of the dataset, of letters, digits, ``-`` and ``_``; other characters become ``-``.
        policies: Who played, for the metadata.
        command: Command line that writes the dataset, for the metadata.
    """

    def __init__(
        self,
        folder: Path,
        environment: str,
        kwargs: Mapping[str, Any],
        *,
        name: str,
        policies: Sequence[str],
        command: str = "",
    ) -> None:
        self._id = find_environment(environment).id
        self._kwargs = dict(kwargs)
        with closing(gymnasium.make(self._id, **{"max_episode_steps": NO_LIMIT, **self._kwargs})) as env:
            # Minari measures the size of a dataset at a relative path wrongly.
            self._storage = MinariStorage.new(folder.absolute(), env.observation_space, env.action_space, env.spec)
            self._file = folder.absolute() / FILE
            empty = io.BytesIO()
            h5py.File(empty, "w", track_order=True).close()
            self._file.write_bytes(empty.getvalue())
            self._observation_bytes = env.observation_space.sample().nbytes
        system = self._id.removeprefix("flowsched/").rpartition("-v")[0]
        self._storage.update_metadata(
            {
                "dataset_id": f"flowsched/{system}/{re.sub(r'[^-_a-zA-Z0-9]+', '-', name)}-v0",
                "minari_version": metadata.version("minari"),
                "algorithm_name": ", ".join(policies),
                "requirements": [f"flowsched-gym=={metadata.version('flowsched-gym')}"],
                "command": command,
            }
        )

    def add(self, episodes: Sequence[Played]) -> None:
        """Adds episodes, in their order."""
        begin = 0
        while begin < len(episodes):
            longest = max(len(each.actions) for each in episodes[begin : begin + MOST_ENVS])
            count = min(MOST_ENVS, max(1, MOST_BYTES // (longest * self._observation_bytes)))
            batch = episodes[begin : begin + count]
            first = self._storage.total_episodes
            buffers = self._played_again(batch)
            self._reserve(buffers)
            self._storage.update_episodes(buffers)
            numbers = range(first, first + len(batch))
            self._storage.update_episode_metadata([dict(each.facts) for each in batch], numbers)
            begin += count

    def _reserve(self, episodes: Sequence[EpisodeBuffer]) -> None:
        """Reserves space for episodes where the system can: on a full disk, HDF5 ends the process."""
        if hasattr(os, "posix_fallocate"):
            columns = [(*vars(each).values(), *(each.infos or {}).values()) for each in episodes]
            arrays = sum(each.nbytes for column in columns for each in column if isinstance(each, np.ndarray))
            size = int(MARGIN * arrays) + len(episodes) * BYTES_OF_EPISODE
            with self._file.open("r+b") as file:
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)

    def _played_again(self, episodes: Sequence[Played]) -> list[EpisodeBuffer]:
        """Takes the actions of episodes again, one in each environment, and gathers what an agent sees."""
        lengths = np.array([len(each.actions) for each in episodes])
        shape = (lengths.max(), len(episodes), *episodes[0].actions.shape[1:])
        envs: Any = gymnasium.make_vec(self._id, len(episodes), **self._kwargs)
        actions = np.zeros(shape, dtype=envs.single_action_space.dtype)
        for number, each in enumerate(episodes):
            actions[: lengths[number], number] = each.actions
        with closing(envs):
            seen, infos = envs.reset(seed=[each.seed for each in episodes])
            observations, masks = [seen], [infos.get(MASK)]
            ends: list[Any] = []
            for step in actions:  # an environment that has ended plays on, which counts for nothing
                seen, *end, infos = envs.step(step)
                observations.append(seen)
                masks.append(infos.get(MASK))
                ends.append(end)
        rewards, terminations, truncations = (np.array(column) for column in zip(*ends, strict=True))
        return [
            EpisodeBuffer(
                seed=each.seed,
                observations=_of(observations, number, length + 1),
                actions=actions[:length, number],
                rewards=rewards[:length, number],
                terminations=terminations[:length, number],
                truncations=truncations[:length, number],
                infos={} if masks[0] is None else {MASK: _of(masks, number, length + 1)},
            )
            for number, (each, length) in enumerate(zip(episodes, lengths.tolist(), strict=True))
        ]


@contextmanager
def new_folder(path: str | PathLike[str]) -> Iterator[Path]:
    """Yields an empty folder that gets this path when all went well; if not, nothing is left.

    Raises:
        ConfigError: There is something at this path already.
        OSError: The folder cannot be made there.
    """
    target = check_path("out", path)
    if target.exists() or target.is_symlink():
        raise ConfigError(f"{path} is there already: name a folder that does not exist, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    with naming_file(path, temporary), done_at_last(partial(shutil.rmtree, temporary, ignore_errors=True)):
        temporary.mkdir()
        yield temporary
        temporary.rename(target)


def _of(steps: Sequence[Any], number: int, count: int) -> npt.NDArray[Any]:
    """Gathers what one environment gave in its first steps, (count, ...)."""
    return np.stack([each[number] for each in steps[:count]])
