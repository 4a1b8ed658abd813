"""Verifies result files: takes their actions again, and computes every number anew.

A result is its actions. They are taken in environments that nobody but this module has had in hands; neither the policy
nor anything else that the file names is loaded. So the numbers are those of the actions, whatever the policy did where
it played. Who chose the actions, and what else it knew, a file cannot prove: where a policy is at hand, it plays
episodes that no file names, and what was claimed is set beside these. Where the models of a learned agent are at hand,
each is asked for its own action at every decision of its run.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from flowsched_gym import __version__, evaluation
from flowsched_gym.core.errors import ConfigError, FlowSchedError, InvalidAction, shown
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import BOUND_POLICY, EpisodeResult, EvaluationResult, Interval, Progress, Run
from flowsched_gym.evaluation.engines import with_faster_engine
from flowsched_gym.evaluation.result_checks import builtin_names
from flowsched_gym.evaluation.results import PACKAGE, check_own_name
from flowsched_gym.evaluation.rollout import num_agreed
from flowsched_gym.evaluation.statistics import MIN_EPISODES, paired_difference
from flowsched_gym.leaderboard.claims import tier_misfit
from flowsched_gym.leaderboard.comparison import OF_SEARCH, compare_settings, reference_of
from flowsched_gym.leaderboard.play import check_names, model_digest, play
from flowsched_gym.leaderboard.policy_process import NO_LIMITS, Limits, acting
from flowsched_gym.leaderboard.published import published_names, published_results
from flowsched_gym.leaderboard.secret_seeds import (
    FOLDER,
    LEVEL,
    POLICY_FILE,
    RULE_FILE,
    keep,
    kept,
    paired,
    probability_of_claim,
    secret_seeds,
)
from flowsched_gym.leaderboard.suite import SUITES, VIEW_ARGUMENTS, Setting, Suite, load_suite
from flowsched_gym.players import Player, find_player
from flowsched_gym.players.kept import MODEL_SUFFIX
from flowsched_gym.systems import OPTIONS

LEAST_AGREED: Final = 0.995
"""Share of the decisions of a run in which its model must choose the action of the file; not all, since the last bit of
a network depends on the processor. Two trainings of one agent that differ agree in fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """Episodes on seeds that nobody knew, played by the policy that a file is said to be of, and by a rule.

    Attributes:
        metric: What they are compared by.
        policy: What the policy did there.
        rule: What the best rule did there with no other actions and no other information than the setting allows.
        claim: Difference of both in the suite's episodes.
        p_value: How probable differences as far from those of the suite are if the claim is true; ``None`` of too few.
        kept: Whether they were played before, and are kept beside the file.
    """

    metric: str
    policy: EvaluationResult
    rule: EvaluationResult
    claim: Interval
    p_value: float | None
    kept: bool = False

    @property
    def difference(self) -> Interval:
        """The policy's metric minus the rule's."""
        return paired_difference(self.policy.samples(self.metric), self.rule.samples(self.metric))

    @property
    def agrees(self) -> bool | None:
        """Whether the claim may be true; ``None`` where there are too few episodes to tell."""
        return None if self.p_value is None else self.p_value >= LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A result that was computed anew, its setting, and episodes of its policy on secret seeds, where there are any.

    The notes say what it may not claim, and where the tier of the setting is not that of its results; ``refused``, what
    speaks against it without a policy at hand. ``agreed`` is the share of decisions in which the model of a run chooses
    the action of the file, of the run that has the least; ``None`` without models.
    """

    result: EvaluationResult
    setting: Setting
    notes: tuple[str, ...] = ()
    fresh: tuple[Fresh, ...] = ()
    agreed: float | None = None
    refused: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against what the file claims."""
        acted = self.agreed is None or self.agreed >= LEAST_AGREED
        return not self.refused and acted and all(each.agrees is not False for each in self.fresh)


def verify(
    path: str | Path,
    *,
    source: str | None = None,
    suite_file: str | None = None,
    models: Mapping[str, Path] = MappingProxyType({}),
    trust: bool = False,
    limits: Limits = NO_LIMITS,
    fresh_episodes: int | None = None,
    with_mark: bool = False,
    progress: Progress | None = None,
) -> Verified:
    """Takes the actions of a result file again, compares every number, and has its policy play on secret seeds.

    Args:
        path: The file.
        source: The policy that is said to have chosen the actions. Default: what the file names, if it is a policy of
            this package.
        suite_file: File of the suite, for one that is not the package's.
        models: Models at hand, by their digests: where no source is named, those of the file's runs play.
        trust: As in `play`.
        limits: As in `play`.
        fresh_episodes: Episodes on secret seeds, for the policy and the best rule to play. Default: as many as the
            suite has.
        with_mark: Whether these are kept beside the file if the claim holds in them: tables then have the row verified.
        progress: Called with the number of episodes done and of all.

    Raises:
        ConfigError: The file is no result of a setting of the suite, a number is not what the actions give though this
            version of the package made it, or there is nobody to play for a mark, or too little.
    """
    path = Path(path)
    found = evaluation.read_result(path)
    suite, setting = _place_of(path, found, suite_file)
    view = {name: value for name, value in found.kwargs.items() if name in VIEW_ARGUMENTS}
    player = _player_of(path, found, setting, source, models)
    count = 0 if player is None else len(suite.test) if fresh_episodes is None else fresh_episodes
    if with_mark and count < MIN_EPISODES:
        needed = "a policy at hand (--policy)" if player is None else f"at least {MIN_EPISODES} episodes (--fresh)"
        raise ConfigError(f"{path}: a mark needs {needed}")
    learned = player is not None and player.learned
    num_played = len(found.runs) * len(suite.test)
    total = num_played * (1 + learned) + len(found.runs) * count
    done_before = 0

    def tell(done: int, _: int) -> None:
        if progress is not None:
            progress(done_before + done, total)

    other_version = _other_version(found)
    try:
        again = _computed(path, found, setting, {**setting.kwargs, **setting.settings_of(found.source), **view}, tell)
        _compare(path, found, again)
    except ConfigError as error:
        if not other_version:
            raise
        return Verified(result=found, setting=setting, notes=other_version, refused=(str(error),))
    how: Any = {"kwargs": view, "trust": trust, "limits": limits}
    published = [each for each in published_results(suite) if each.reference == found.reference]
    others = [each for each in published if each.policy != found.policy]
    notes, agreed, fresh = (*_notes(again, others, setting), *other_version), None, []
    before = kept(path, again)
    if count or before is not None:
        rule = _rule_of(suite, setting, again, others)
    if before is not None:
        fresh.append(_kept_again(path, suite, setting, again, rule, before))
    if player is not None and learned:
        done_before = num_played
        agreed = _agreed(again, play(suite, setting, player, progress=tell, **how), player, trust, limits)
    if player is not None and count:
        done_before = total - len(found.runs) * count
        seeds = secret_seeds(suite.taken, count)
        policy = play(suite, setting, player, seeds=seeds, progress=tell, **how)
        fresh.append(_fresh(suite, setting, again, rule, replace(policy, reference=found.reference)))
    refused = () if learned else _unbacked(again)
    verified = Verified(result=again, setting=setting, notes=notes, fresh=tuple(fresh), agreed=agreed, refused=refused)
    if with_mark and verified.holds and fresh[-1].agrees:
        keep(path, fresh[-1].policy, fresh[-1].rule)
    return verified


def _rule_of(
    suite: Suite, setting: Setting, result: EvaluationResult, published: list[EvaluationResult]
) -> EvaluationResult:
    """Returns the rule that a result is compared with in the suite's episodes; where none was published, all play."""
    others = published
    if not any(each.policy in setting.spec.heuristics for each in published):
        names = [name for name in setting.spec.heuristics if name != result.policy]
        others = [play(suite, setting, find_player(name, setting.spec)) for name in names]
    (compared,) = compare_settings([(setting, [result, *others])])
    row = compared.row(result.policy)
    name = (row and row.reference) or reference_of(others, setting.metric)
    return next(each for each in others if each.policy == name)


def _fresh(
    suite: Suite, setting: Setting, result: EvaluationResult, rule: EvaluationResult, policy: EvaluationResult
) -> Fresh:
    """Has the rule play what a policy played on secret seeds, and compares both with what they did in the suite's."""
    metric, other = setting.metric, find_player(rule.source or rule.policy, setting.spec)
    there = replace(play(suite, setting, other, seeds=policy.seeds), reference=policy.reference)
    claim = paired_difference(result.samples(metric), rule.samples(metric))
    p_value = probability_of_claim(paired(result, rule, metric), paired(policy, there, metric))
    return Fresh(metric=metric, policy=policy, rule=there, claim=claim, p_value=p_value)


def _kept_again(
    path: Path,
    suite: Suite,
    setting: Setting,
    result: EvaluationResult,
    rule: EvaluationResult,
    before: tuple[EvaluationResult, EvaluationResult],
) -> Fresh:
    """Computes the episodes that are kept beside a file anew, and refuses them where they are not what they seem."""
    folder, (policy, of_rule) = path.parent / FOLDER / path.stem, before
    if any(seed in taken for taken in suite.taken for seed in policy.seeds):
        raise ConfigError(f"{folder}: its episodes have seeds of suite {suite.name}, which are not secret")
    _compare(folder / POLICY_FILE, policy, _computed(folder / POLICY_FILE, policy, setting, dict(policy.kwargs)))
    fresh = _fresh(suite, setting, result, rule, policy)
    if of_rule.policy != rule.policy:
        raise ConfigError(f"{folder} has {shown(of_rule.policy)} as best rule, which is {rule.policy}: make it anew")
    _compare(folder / RULE_FILE, of_rule, fresh.rule)
    return replace(fresh, kept=True)


def _agreed(found: EvaluationResult, played: EvaluationResult, player: Player, trust: bool, limits: Limits) -> float:
    """Returns the share of decisions in which the model of a run chooses its action, of the run that has the least.

    Where an episode that the model played has other actions, it is asked at each decision of the file: after one other
    action, all that follows may differ.
    """
    kwargs, shares = with_faster_engine(found.spec, played.kwargs), []
    for model, ours, theirs in zip(player.models, found.runs, played.runs, strict=True):
        pairs, num_others = zip(ours.episodes, theirs.episodes, strict=True), 0
        if differ := [old for old, new in pairs if not _same_actions(old, new)]:
            with (
                closing(evaluation.make_environment(found.spec, kwargs)) as env,
                acting(replace(player, models=(model,)), played.kwargs, trust=trust, limits=limits) as policy,
            ):
                num_others = sum(each.num_decisions - num_agreed(env, policy, each) for each in differ)
        shares.append(1 - num_others / max(1, sum(each.num_decisions for each in ours.episodes)))
    return min(shares)


def _same_actions(old: EpisodeResult, new: EpisodeResult) -> bool:
    return old.actions is not None and new.actions is not None and np.array_equal(old.actions, new.actions)


def _unbacked(result: EvaluationResult) -> tuple[str, ...]:
    """Names equal runs without models at hand: they are fewer trainings than they are said to be."""
    count = len(result.runs)
    return (f"no models at hand (--policy, --models) back {count} trainings",) * (result.num_distinct < count)


def _other_version(result: EvaluationResult) -> tuple[str, ...]:
    """Names the version of the package that made a result, if it is another one."""
    made = result.made.versions.get(PACKAGE)
    named = f"warning: it was made by {PACKAGE} {made or 'of a version that it does not name'}, this is {__version__}"
    return () if made == __version__ else (named,)


def _notes(result: EvaluationResult, published: list[EvaluationResult], setting: Setting) -> tuple[str, ...]:
    """Returns what a result may not claim in its setting, what made it, and where the tier of the setting is wrong."""
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
    count = len(result.runs)
    if result.num_distinct < count:
        notes.append(f"its {count} runs are {result.num_distinct} that differ: equal ones are one training")
    if row is not None:
        notes += [f"{num} of its {count} runs are equal to {name} in all episodes" for name, num in row.copies.items()]
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
    if found.policy.partition(OPTIONS)[0] not in builtin_names():
        check_own_name(f"{path}: policy", found.policy, published_names())
    if found.seeds != list(suite.test):
        raise ConfigError(
            f"{path}: its episodes have the seeds {shown(found.seeds)}: those of suite {suite.name} are "
            f"{suite.test[0]} to {suite.test[-1]}, in this order"
        )
    return suite, setting


def _player_of(
    path: str | Path, found: EvaluationResult, setting: Setting, source: str | None, models: Mapping[str, Path]
) -> Player | None:
    """Finds the policy of a result: one that the user names, or of this package; what a file names is not loaded."""
    if found.policy == BOUND_POLICY:
        return None
    played = [run.model.digest for run in found.runs if run.model is not None]
    if source is None and played and models.keys() >= {*played}:
        paths = tuple(models[digest] for digest in played)
        return replace(find_player(str(paths[0]), setting.spec), name=found.policy, source=found.source, models=paths)
    if source is None:
        source = found.source
        # A planner's model is a file, which is not loaded because a result names it.
        if found.learned or source is None or not setting.spec.names(source) or MODEL_SUFFIX in source:
            return None
        return replace(find_player(source, setting.spec), name=found.policy)
    (player,) = check_names([find_player(source, setting.spec)], label=found.policy)
    if played != [model_digest(model) for model in player.models]:
        raise ConfigError(f"{path}: --policy {shown(source)} holds other models than those that it names")
    return player


def _computed(
    path: str | Path,
    found: EvaluationResult,
    setting: Setting,
    kwargs: dict[str, object],
    progress: Progress = lambda done, of: None,
) -> EvaluationResult:
    """Computes a result anew: from its actions, or, of a bound, from the flows."""
    spec, seeds = setting.spec, found.seeds
    if found.policy == BOUND_POLICY:
        bound = evaluation.evaluate_bound(spec, episodes=len(seeds), seed=seeds[0], kwargs=kwargs, progress=progress)
        return replace(found, runs=bound.runs)
    try:
        env = evaluation.make_environment(spec, with_faster_engine(spec, kwargs))
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
