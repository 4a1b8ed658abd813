"""Comparisons of policies on the same episodes: who plays, and what came of it."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from flowsched_gym.baselines.applications.kept_results import KeptResults
from flowsched_gym.baselines.training.progress import progress_bar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    evaluate,
    evaluate_bound,
    make_environment,
    plays_the_same,
)
from flowsched_gym.fluid import Records
from flowsched_gym.leaderboard.play import model_file
from flowsched_gym.players import Player
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec

logger = logging.getLogger(__name__)


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


def _same_episodes(spec: EnvironmentSpec, policy: Policy, kwargs: Mapping[str, Any]) -> bool:
    """Returns whether all episodes of a policy are equal."""
    with closing(make_environment(spec, kwargs)) as env:
        return plays_the_same(policy, env)
