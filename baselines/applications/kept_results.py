"""Results of rules that are kept beside runs, so that runs of the same environment play them once.

A result is used again for the same environment, arguments, policy and seeds, by the same sources of the package and the
same versions of what it computes with. That of a workload from a file never is: the file may have changed.
"""

import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import flowsched_gym
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import FlowSchedError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.evaluation import EvaluationResult, Provenance, read_result, write_result
from flowsched_gym.workload import WORKLOADS

LOGGER: Final = logging.getLogger(__name__)

DIGITS: Final = 16
RESULT_FILE: Final = "result.json"
TIMES_FILE: Final = "times.npz"
Played = tuple[EvaluationResult, tuple[FloatArray, ...]]
"""A result, and the completion times of the flows of each episode."""


class KeptResults:
    """Results of rules in a folder, which is made with the first one; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, env_id: str, kwargs: Mapping[str, Any], policy: str, *, episodes: int, seed: int) -> Played | None:
        """Returns what a policy did in these episodes before; ``None`` where it is not known."""
        folder = self._folder_of(env_id, kwargs, policy, episodes, seed)
        if folder is None or not (folder / RESULT_FILE).exists():
            return None
        try:
            with np.load(folder / TIMES_FILE) as times:
                return read_result(folder / RESULT_FILE), tuple(times[name] for name in times.files)
        except (FlowSchedError, OSError, ValueError) as error:
            LOGGER.warning("%s is played again: %s", policy, error)
            return None

    def keep(self, played: Played, env_id: str, kwargs: Mapping[str, Any], policy: str, *, seed: int) -> None:
        """Keeps what a policy did."""
        result, times = played
        folder = self._folder_of(env_id, kwargs, policy, len(result.episodes), seed)
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        with replace_when_written(folder / TIMES_FILE) as temporary, temporary.open("wb") as file:
            np.savez(file, *times)
        write_result(result, folder / RESULT_FILE)

    def _folder_of(self, env_id: str, kwargs: Mapping[str, Any], policy: str, episodes: int, seed: int) -> Path | None:
        workload = kwargs.get("workload")
        named = workload is None or (isinstance(workload, str) and workload in WORKLOADS)
        if self._folder is None or not named:
            return None
        identity = [env_id, kwargs, policy, episodes, seed, Provenance.here().versions, _sources()]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=repr).encode()).hexdigest()
        return self._folder / digest[:DIGITS]


@cache
def _sources() -> str:
    """Returns a digest of the package's sources: a checkout changes without its version."""
    package = Path(flowsched_gym.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
