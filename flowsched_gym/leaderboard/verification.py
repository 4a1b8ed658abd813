"""Verifies result files: takes their actions again, and computes every number anew.

A result is its actions. They are taken in environments that nobody but this module has had in hands; neither the policy
nor anything else that the file names is loaded. So the numbers are those of the actions, whatever the policy did where
it played. Who chose the actions, and what else it knew, a file cannot prove: where a policy is at hand, it plays
episodes that no file names, and what was claimed is set beside these.
"""

import math
import secrets
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError, FlowSchedError, InvalidAction, shown
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import BOUND_POLICY, EpisodeResult, EvaluationResult, Interval, Progress, Run
from flowsched_gym.evaluation.player import compiled_where_ready
from flowsched_gym.leaderboard.claims import tier_misfit
from flowsched_gym.leaderboard.comparison import OF_SEARCH, compare_settings
from flowsched_gym.leaderboard.play import Entrant, entrants_of, model_digest, play
from flowsched_gym.leaderboard.policy_process import NO_LIMITS, Limits
from flowsched_gym.leaderboard.published import published_results
from flowsched_gym.leaderboard.suite import SUITES, VIEW_ARGUMENTS, Setting, Suite, load_suite
from flowsched_gym.registration import MODEL_SUFFIX

FRESH_SEEDS: Final = range(1 << 20, 1 << 32)
"""Where seeds of episodes that no file names are drawn from."""
MOST_DRAWS: Final = 1000
"""Draws until seeds are found that a suite leaves free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """Episodes that no file names, played by the policy that a file is said to be of.

    The interval is what it reached in them, by the metric of the setting, and the claim what the file says, likewise.
    """

    seeds: range
    interval: Interval
    claim: Interval

    @property
    def agrees(self) -> bool | None:
        """Whether the two differ by no more than their intervals allow; ``None`` where one has no interval."""
        if not (self.interval.known and self.claim.known):
            return None
        widths = [(each.high - each.low) / 2 for each in (self.interval, self.claim)]
        return abs(self.interval.mean - self.claim.mean) <= math.hypot(*widths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A result that was computed anew, its setting, and other episodes of its policy where that was at hand.

    The notes say where it may not be called better than the rules of the setting, and where the tier of the setting is
    not that of its results, this one and the published ones.
    """

    result: EvaluationResult
    setting: Setting
    notes: tuple[str, ...] = ()
    fresh: Fresh | None = None


def verify(
    path: str | Path,
    *,
    source: str | None = None,
    suite_file: str | None = None,
    trust: bool = False,
    limits: Limits = NO_LIMITS,
    fresh_episodes: int | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Takes the actions of a result file again, and compares every number of every episode.

    Args:
        path: The file.
        source: The policy that is said to have chosen the actions. Default: what the file names, if it is a policy of
            this package.
        suite_file: File of the suite, for one that is not the package's.
        trust: As in `play`.
        limits: As in `play`.
        fresh_episodes: Episodes that no file names, for the policy to play. Default: as many as the suite has.
        progress: Called with the number of episodes done and of all.

    Raises:
        ConfigError: The file is no result of a setting of the suite, or a number is not what the actions give.
    """
    found = evaluation.read_result(path)
    suite, setting = _place_of(path, found, suite_file)
    view = {name: value for name, value in found.kwargs.items() if name in VIEW_ARGUMENTS}
    entrant = _entrant_of(path, found, setting, source)
    count = 0 if entrant is None else len(suite.test) if fresh_episodes is None else fresh_episodes
    num_played = len(found.runs) * len(suite.test)
    total = num_played + len(found.runs) * count

    def tell(done: int, _: int) -> None:
        if progress is not None:
            progress(done, total)

    again = _computed(path, found, setting, {**setting.kwargs, **view}, tell)
    _compare(path, found, again)
    notes = _notes(again, suite, setting)
    if entrant is None or not count:
        return Verified(result=again, setting=setting, notes=notes)
    seeds = _fresh_seeds(suite, count)
    later: Progress = lambda done, of: tell(num_played + done, of)  # noqa: E731 - used once
    other = play(suite, setting, entrant, kwargs=view, seeds=seeds, trust=trust, limits=limits, progress=later)
    fresh = Fresh(seeds=seeds, interval=other.interval(setting.metric), claim=again.interval(setting.metric))
    return Verified(result=again, setting=setting, notes=notes, fresh=fresh)


def _notes(result: EvaluationResult, suite: Suite, setting: Setting) -> tuple[str, ...]:
    """Returns what a result may not claim in its setting, and where the tier of the setting does not fit."""
    place = suite.reference(setting)
    published = [each for each in published_results(suite) if each.reference == place and each.policy != result.policy]
    (compared,) = compare_settings([(setting, [result, *published])])
    row, notes = compared.row(result.policy), []
    if row is not None and row.apart and setting.ability is not None:
        names = ("actions", "information")
        more = [
            f"{name} {', '.join(extra)}"
            for name, has, may in zip(names, row.ability, setting.ability, strict=True)
            if (extra := [word for word in has if word not in (*may, *OF_SEARCH.information)])
        ]
        notes.append(f"it stands apart: beyond {setting.name} it has the {' and the '.join(more)}")
    return (*notes, *filter(None, [tier_misfit(compared)]))


def _place_of(path: str | Path, found: EvaluationResult, suite_file: str | None) -> tuple[Suite, Setting]:
    """Finds the suite and the setting of a result, and refuses what was not played there as all others were."""
    reference = found.reference
    if reference is None:
        raise ConfigError(f"{path} belongs to no suite: play it by flowsched leaderboard run")
    if suite_file is None and reference.suite not in SUITES:
        raise ConfigError(f"{path} is of suite {shown(reference.suite)}, not of the package: name its file by --suite")
    suite = load_suite(suite_file or reference.suite)
    if (suite.name, suite.digest) != (reference.suite, reference.digest):
        raise ConfigError(
            f"{path} was played in suite {shown(reference.suite)} with digest {shown(reference.digest)}: this is "
            f"{suite.name} with digest {suite.digest}"
        )
    if reference.setting not in suite.settings:
        raise ConfigError(f"{path}: suite {suite.name} has no setting {shown(reference.setting)}")
    setting = suite.settings[reference.setting]
    if not setting.holds(found):
        raise ConfigError(f"{path}: its arguments are not those of setting {setting.name} of suite {suite.name}")
    if found.seeds != list(suite.test):
        raise ConfigError(
            f"{path}: its episodes have the seeds {shown(found.seeds)}: those of suite {suite.name} are "
            f"{suite.test[0]} to {suite.test[-1]}, in this order"
        )
    return suite, setting


def _entrant_of(path: str | Path, found: EvaluationResult, setting: Setting, source: str | None) -> Entrant | None:
    """Finds the policy of a result: one that the user names, or of this package; what a file names is not loaded."""
    if found.policy == BOUND_POLICY:
        return None
    if source is None:
        source = found.source
        # A planner's model is a file, which is not loaded because a result names it.
        if found.learned or source is None or not setting.spec.names(source) or MODEL_SUFFIX in source:
            return None
        return Entrant(label=found.policy, source=source)
    (entrant,) = entrants_of([source], label=found.policy)
    played = [run.model.digest for run in found.runs if run.model is not None]
    if played != [model_digest(model) for model in entrant.models]:
        raise ConfigError(f"{path}: --policy {shown(source)} holds other models than those that it names")
    return entrant


def _computed(
    path: str | Path, found: EvaluationResult, setting: Setting, kwargs: dict[str, object], progress: Progress
) -> EvaluationResult:
    """Computes a result anew: from its actions, or, of a bound, from the flows."""
    spec, seeds = setting.spec, found.seeds
    if found.policy == BOUND_POLICY:
        bound = evaluation.evaluate_bound(spec, episodes=len(seeds), seed=seeds[0], kwargs=kwargs, progress=progress)
        return replace(found, runs=bound.runs)
    try:
        env = evaluation.make_environment(spec, compiled_where_ready(spec, kwargs))
    except FlowSchedError as error:
        raise ConfigError(f"{path}: {error}") from None
    runs = []
    with closing(env):
        for number, run in enumerate(found.runs):
            episodes: list[EpisodeResult] = []
            for episode in run.episodes:
                progress(number * len(seeds) + len(episodes), 0)
                assert episode.actions is not None
                try:
                    episodes.append(evaluation.repeat_actions(env, episode.actions, seed=episode.seed))
                except InvalidAction as error:
                    raise ConfigError(f"{path}: run {number}, episode with seed {episode.seed}: {error}") from None
            runs.append(Run(model=run.model, episodes=tuple(episodes)))
    return replace(found, runs=tuple(runs))


def _compare(path: str | Path, found: EvaluationResult, again: EvaluationResult) -> None:
    """Refuses a file with a number that its actions do not give."""
    for number, (before, now) in enumerate(zip(found.runs, again.runs, strict=True)):
        for old, new in zip(before.episodes, now.episodes, strict=True):
            was, gives = _numbers(old), _numbers(new)
            for name in was | gives:
                if was.get(name) != gives.get(name):
                    raise ConfigError(
                        f"{path} is not what its actions give: run {number}, episode with seed {old.seed}: {name} is "
                        f"{was.get(name)}, the actions give {gives.get(name)}"
                    )
    if read_json(path)["intervals"] != evaluation.result_content(again)["intervals"]:
        raise ConfigError(f"{path} is not what its actions give: its intervals are others")


def _numbers(episode: EpisodeResult) -> dict[str, str]:
    """Returns all numbers of an episode as text that two equal floats share, NaN included."""
    numbers = {"num_decisions": episode.num_decisions, "reward": episode.reward, **episode.metrics}
    return {name: repr(value) for name, value in numbers.items()}


def _fresh_seeds(suite: Suite, count: int) -> range:
    """Draws seeds that no file names."""
    for _ in range(MOST_DRAWS):
        first = FRESH_SEEDS[0] + secrets.randbelow(len(FRESH_SEEDS) - count)
        seeds = range(first, first + count)
        used = (suite.training, suite.validation, suite.test)
        if all(seeds[-1] < others[0] or others[-1] < seeds[0] for others in used):
            return seeds
    raise ConfigError(
        f"suite {suite.name} leaves no seeds free below {FRESH_SEEDS[-1]}: no other episodes can be played"
    )
