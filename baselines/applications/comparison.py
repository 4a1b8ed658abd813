"""Comparisons of policies on the same episodes: who plays, and what came of it."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import flowsched_gym
from flowsched_gym.baselines.training.progress import progress_bar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    Provenance,
    evaluate,
    evaluate_bound,
    make_environment,
    plays_the_same,
    read_result,
    write_result,
)
from flowsched_gym.fluid import Records
from flowsched_gym.leaderboard.play import model_file
from flowsched_gym.players import Player
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import WORKLOADS

logger = logging.getLogger(__name__)
DIGITS: Final = 16
RESULT_FILE: Final = "result.json"
TIMES_FILE: Final = "times.npz"
Played = tuple[EvaluationResult, tuple[FloatArray, ...]]
"""A result, and the completion times of the flows of each episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Results of several policies on the same episodes.

    Attributes:
        results: One result for each policy, that of the bound among them where there is one.
        fct: Flow completion times in s of each episode, (num_flows,), by policy; NaN where not finished.
        learned: Names of the trained models.
    """

    results: tuple[EvaluationResult, ...]
    fct: dict[str, tuple[FloatArray, ...]]
    learned: tuple[str, ...]

    def result(self, policy: str) -> EvaluationResult:
        """Returns the result of a policy.

        Raises:
            ConfigError: It is not among them.
        """
        for result in self.results:
            if result.policy == policy:
                return result
        raise ConfigError(f"policy is {policy!r}: there are results of {', '.join(r.policy for r in self.results)}")


def play_all(
    env_id: str,
    kwargs: dict[str, Any],
    players: Sequence[Player],
    *,
    episodes: int,
    seed: int,
    bound: bool,
    trust: bool = False,
    command: str | None = None,
    show_progress: bool = False,
    kept: Path | None = None,
) -> Comparison:
    """Plays every policy on the same episodes; heuristics see what they need, whatever the models see.

    Args:
        env_id: Id of the environment.
        kwargs: Its arguments.
        players: Who plays; models by the names that tables have for them.
        episodes: Episodes of each; one where the flows are given and nobody draws, as all would be the same.
        seed: Seed of the first episode.
        trust: Whether models are loaded that bring code.
        bound: Whether the clairvoyant bound is worked out too, where the environment's flows have deadlines.
        command: Command line to keep with the results.
        show_progress: Whether a bar is shown.
        kept: Folder in which results of rules are kept, and taken from where they are there (`KeptResults`).

    Raises:
        ConfigError: A model cannot be read, or an argument is not allowed.
        SpaceMismatchError: A model was trained with other spaces.
    """
    spec = find_environment(env_id)
    bound = bound and spec.bounded
    seen = [player.arguments(kwargs) for player in players]
    policies = []
    for player, arguments in zip(players, seen, strict=True):
        with closing(make_environment(spec, arguments)) as env:
            policies.append(player.make(env, seed=seed, trust=trust))
    if episodes > 1 and all(map(partial(_same_episodes, spec), policies, seen)):
        logger.warning("The flows are given and nobody draws: one episode is played, as all would be the same")
        episodes = 1
    results: list[EvaluationResult] = []
    times: dict[str, tuple[FloatArray, ...]] = {}
    times_of: dict[int, FloatArray] = {}
    total = (len(players) + bound) * episodes
    shelf, found = KeptResults(kept), 0
    with closing(progress_bar(total=total, unit="episodes", shown=show_progress)) as bar:

        def tell(done: int, _: int) -> None:
            bar.update(len(results) * episodes + done - bar.n)

        def keep(episode: int, records: Records) -> None:
            times_of[episode] = records.fct

        for player, policy, arguments in zip(players, policies, seen, strict=True):
            bar.set_postfix_str(player.name, refresh=False)
            before = None
            if not player.learned:
                before = shelf.find(env_id, arguments, player.name, episodes=episodes, seed=seed)
            if before is not None:
                result, times[player.name] = before
                results.append(result)
                tell(0, episodes)
                found += 1
                continue
            result = evaluate(
                env_id,
                policy,
                episodes=episodes,
                seed=seed,
                kwargs=arguments,
                label=player.name,
                command=command,
                progress=tell,
                on_records=keep,
                repeat=True,
            )
            times[player.name] = tuple(times_of[episode] for episode in range(episodes))
            result = replace(result, source=None if player.learned else player.source)
            if player.learned:
                result = replace(result, runs=(replace(result.runs[0], model=model_file(player.model)),))
            else:
                shelf.keep((result, times[player.name]), env_id, arguments, player.name, seed=seed)
            results.append(result)
        if bound:
            bar.set_postfix_str(BOUND_POLICY, refresh=False)
            before = shelf.find(env_id, kwargs, BOUND_POLICY, episodes=episodes, seed=seed)
            if before is None:
                result = evaluate_bound(
                    env_id, episodes=episodes, seed=seed, kwargs=kwargs, command=command, progress=tell
                )
                shelf.keep((result, ()), env_id, kwargs, BOUND_POLICY, seed=seed)
            else:
                result, _ = before
                found += 1
            results.append(result)
    if found:
        logger.info("%d of %d results are those of earlier runs, kept in %s", found, len(results), kept)
    learned = tuple(player.name for player in players if player.learned)
    return Comparison(results=tuple(results), fct=times, learned=learned)


class KeptResults:
    """Results of rules in a folder, which is made with the first one, so that runs beside it play each rule once.

    A result is used again for the same environment, arguments, policy and seeds, by the same sources of the package and
    the same versions of what it computes with. That of a workload or a network of the user's own never is: its file may
    have changed. Without a folder nothing is kept.
    """

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
            logger.warning("%s is played again: %s", policy, error)
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
        for name, known in (("workload", WORKLOADS), ("topology", TOPOLOGIES)):
            given = kwargs.get(name)
            if given is not None and not (isinstance(given, str) and given in known):
                return None
        if self._folder is None:
            return None
        identity = [env_id, kwargs, policy, episodes, seed, Provenance.here().versions, _sources()]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=repr).encode()).hexdigest()
        return self._folder / digest[:DIGITS]


def _same_episodes(spec: EnvironmentSpec, policy: Policy, kwargs: Mapping[str, Any]) -> bool:
    """Returns whether all episodes of a policy are equal."""
    with closing(make_environment(spec, kwargs)) as env:
        return plays_the_same(policy, env)


@cache
def _sources() -> str:
    """Returns a digest of the package's sources: a checkout changes without its version."""
    package = Path(flowsched_gym.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
