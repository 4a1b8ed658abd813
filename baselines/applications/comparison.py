"""Comparisons of policies on the same episodes: who plays, and what came of it."""

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flowsched_gym.baselines.applications.kept_results import KeptResults
from flowsched_gym.baselines.training.progress import progress_bar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, listed
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    ModelFile,
    evaluate,
    evaluate_bound,
    make_environment,
    plays_the_same,
    resolve_policy,
)
from flowsched_gym.evaluation.player import compiled_where_ready
from flowsched_gym.fluid import Records
from flowsched_gym.integrations.sb3 import batched, load_policy
from flowsched_gym.leaderboard.play import model_digest
from flowsched_gym.registration import find_environment, heuristic_arguments, is_named

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A policy in a comparison.

    Attributes:
        name: Its name in tables.
        source: Name of a heuristic or planner, or path of a model file (``.zip``).
        trust: Whether a model is loaded that brings code.
        seed: Training seed of a model; ``None`` where it is not known.
    """

    name: str
    source: str
    trust: bool = False
    seed: int | None = None

    @property
    def learned(self) -> bool:
        """Whether it is a trained model."""
        return self.source.endswith(".zip") and not is_named(self.source)


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


def heuristics_of(env_id: str, names: Sequence[str] = ()) -> list[Contestant]:
    """Lists heuristics and planners of an environment as contestants; all of its heuristics by default.

    Raises:
        ConfigError: A name is unknown.
    """
    spec = find_environment(env_id)
    for name in names:
        if not spec.names(name):
            raise ConfigError(f"policies has {name!r}: {spec.id} has {listed(name, spec.named_policies)}")
    return [Contestant(name=name, source=name) for name in names or spec.heuristics]


def play_all(
    env_id: str,
    kwargs: dict[str, Any],
    contestants: Sequence[Contestant],
    *,
    episodes: int,
    seed: int,
    bound: bool,
    command: str | None = None,
    show_progress: bool = False,
    kept: Path | None = None,
) -> Comparison:
    """Plays every contestant on the same episodes; heuristics see what they need, whatever the models see.

    Args:
        env_id: Id of the environment.
        kwargs: Its arguments.
        contestants: Who plays.
        episodes: Episodes of each; one where the flows are given and nobody draws, as all would be the same.
        seed: Seed of the first episode.
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
    players = [
        (
            contestant,
            _policy_of(contestant, env_id, kwargs),
            kwargs if contestant.learned else heuristic_arguments(spec, kwargs, contestant.source),
        )
        for contestant in contestants
    ]
    if episodes > 1 and all(_plays_the_same(env_id, *player[1:], seed=seed) for player in players):
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

        for contestant, policy, arguments in players:
            bar.set_postfix_str(contestant.name, refresh=False)
            before = None
            if not contestant.learned:
                before = shelf.find(env_id, arguments, contestant.source, episodes=episodes, seed=seed)
            if before is not None:
                result, times[contestant.name] = before
                results.append(result)
                tell(0, episodes)
                found += 1
                continue
            result = evaluate(
                env_id,
                policy,
                episodes=episodes,
                seed=seed,
                kwargs=compiled_where_ready(spec, arguments),
                label=contestant.name,
                command=command,
                progress=tell,
                on_records=keep,
                repeat=True,
            )
            result = replace(result, kwargs={name: result.kwargs[name] for name in arguments})
            times[contestant.name] = tuple(times_of[episode] for episode in range(episodes))
            if contestant.learned:
                path = Path(contestant.source)
                model = ModelFile(name=path.name, digest=model_digest(path), seed=contestant.seed)
                result = replace(result, runs=(replace(result.runs[0], model=model),))
            else:
                shelf.keep((result, times[contestant.name]), env_id, arguments, contestant.source, seed=seed)
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
    learned = tuple(contestant.name for contestant in contestants if contestant.learned)
    return Comparison(results=tuple(results), fct=times, learned=learned)


def _plays_the_same(env_id: str, policy: str | Policy, kwargs: dict[str, Any], *, seed: int) -> bool:
    """Returns whether all episodes of a policy are equal."""
    with closing(make_environment(env_id, kwargs)) as env:
        return plays_the_same(resolve_policy(policy, env, seed=seed) if isinstance(policy, str) else policy, env)


def _policy_of(contestant: Contestant, env_id: str, kwargs: dict[str, Any]) -> str | Policy:
    """Loads a model that fits the environment; a heuristic goes by its name."""
    if not contestant.learned:
        return contestant.source
    with closing(make_environment(env_id, kwargs)) as env:
        return batched(load_policy(contestant.source, env, trust=contestant.trust))
