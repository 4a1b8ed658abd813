"""Puts policies onto a leaderboard: ``flowsched leaderboard run``, ``table``, ``page`` and ``verify``."""

import argparse
import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from flowsched_gym import leaderboard
from flowsched_gym.cli.arguments import key_values, repeated
from flowsched_gym.cli.leaderboard_options import RAY
from flowsched_gym.cli.output import ProgressBar, print_json, standard_output_kept_clean
from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.core.packed import is_file
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    read_result,
    result_content,
    result_paths,
    write_result,
)
from flowsched_gym.leaderboard import Fresh, Setting, Suite
from flowsched_gym.leaderboard.comparison import ACTIONS_ONLY
from flowsched_gym.leaderboard.on_ray import Played, Work, play_on_ray
from flowsched_gym.leaderboard.page import write_site
from flowsched_gym.leaderboard.play import arguments_of, check_arguments, file_version, model_digest, models_by_digest
from flowsched_gym.leaderboard.policy_process import Limits
from flowsched_gym.leaderboard.suite import PAPERS, VIEW_ARGUMENTS
from flowsched_gym.leaderboard.verification import LEAST_AGREED
from flowsched_gym.players import Player, find_player

YOURS: Final = "yours:"
"""What stands before the name of a result of yours where a published one has that name too."""
VERDICTS: Final = {True: "agrees", False: "DOES NOT AGREE", None: "is beside too few episodes to be judged"}
ENGINE: Final = "engine"
"""An argument that changes no result."""
CLAIM_FAILED: Final = 1
"""Exit status where the claim of a file does not hold."""


def run(options: argparse.Namespace) -> None:
    """Runs the subcommand."""
    {"run": _run, "table": _table, "page": _page, "verify": _verify}[options.action](options)


def _run(options: argparse.Namespace) -> None:
    """Plays policies in the settings of a suite, and keeps a result file for each."""
    suite = leaderboard.load_suite(options.suite)
    settings = suite.select(options.env)
    if options.list:
        width = max(len(setting.name) for setting in settings)
        summaries = [setting.summary for setting in suite.settings.values()]
        for setting in settings:
            more = f"  {json.dumps(dict(setting.kwargs))}" if summaries.count(setting.summary) > 1 else ""
            print(f"{setting.name:{width}}  {setting.summary}{more}")
        return
    kwargs = key_values("--kwarg", options.kwarg)
    check_arguments(kwargs)
    wanted, errors = _wanted(options, settings)
    if not wanted:
        raise next(iter(errors.values()))
    Path(options.out).mkdir(parents=True, exist_ok=True)
    there = [_is_there(options, suite, *each, kwargs) for each in wanted]
    work = [each for each, is_there in zip(wanted, there, strict=True) if options.again or not is_there]
    num_asked, kept = len(wanted) + len(errors), len(wanted) - len(work)
    limits = Limits.of(options.seconds, options.memory_mb)
    how: Any = {"kwargs": kwargs, "trust": options.trust, "command": _command(options), "limits": limits}
    with standard_output_kept_clean():
        for (setting, player), played in _played(options, suite, work, how):
            who = f"{player.name} on {setting.name}"
            if isinstance(played, FlowSchedError):
                errors[who] = played
                continue
            path = leaderboard.result_path(options.out, setting, player.name)
            write_result(played, path)
            print(f"{path}: {who}", file=sys.stderr)
    if len(errors) == num_asked == 1:
        raise next(iter(errors.values()))
    for who, error in errors.items():
        print(f"not played: {who}: {error}", file=sys.stderr)
    if kept:
        print(f"{kept} were there already; --again plays them anew", file=sys.stderr)
    if len(errors) == num_asked:
        raise ConfigError(f"no policy plays in any of the {len(settings)} settings; the lines above say why")
    _show(_results_of(options.out, suite), suite, options, settings)


def _table(options: argparse.Namespace) -> None:
    """Prints the tables of the results in a folder, the published ones beside them."""
    suite = leaderboard.load_suite(options.suite)
    _show(_results_of(options.folder, suite), suite, options, suite.select(options.env))


def _page(options: argparse.Namespace) -> None:
    """Writes a page of the results in a folder, the published ones beside them, with films of episodes."""
    suite = leaderboard.load_suite(options.suite)
    names = {setting.name for setting in suite.select(options.env)}
    results, yours = _with_published([] if options.folder is None else _results_of(options.folder, suite), suite, names)
    if not results:
        raise ConfigError(f"nothing was published for suite {suite.name}: name a FOLDER with results")
    groups = leaderboard.group_results(results, list(suite.settings.values()))
    site, models = Path(options.out), None if options.models is None else Path(options.models)
    marked = yours if len(yours) < len(results) else set()
    how: Any = {"suite": suite.name, "yours": marked, "models": models, "with_films": not options.no_episodes}
    with standard_output_kept_clean(), ProgressBar("comparing") as bar:
        path = write_site(groups, site, progress=bar, **how)
    print(f"{path}: {len(results)} results in {len(groups)} settings")


def _verify(options: argparse.Namespace) -> None:
    """Takes the actions of result files again, and says what they are worth; status 1 if not what they claim."""
    holds, models = True, {} if options.models is None else models_by_digest(options.models)
    for path in chain.from_iterable(map(result_paths, options.file)):
        with standard_output_kept_clean(), ProgressBar(f"verifying {path}") as progress:
            how: Any = {"source": options.policy, "suite_file": options.suite, "trust": options.trust}
            how |= {"models": models, "fresh_episodes": options.fresh, "with_mark": options.mark}
            how["limits"] = Limits.of(options.seconds, options.memory_mb)
            verified = leaderboard.verify(path, progress=progress, **how)
        result, setting = verified.result, verified.setting
        count = sum(len(run.episodes) for run in result.runs)
        what = "the actions give every number" if result.has_actions else "computed anew, every number is the same"
        what = "NOT AS CLAIMED" if verified.refused else what
        print(f"{path}: {what}: {result.policy} on {setting.name}, {count} episodes")
        for note in (*verified.notes, *verified.refused):
            print(f"  {note}")
        if verified.agreed is not None:
            share = math.floor(1000 * verified.agreed) / 10
            few = (
                ""
                if verified.agreed >= LEAST_AGREED
                else f": THEY ARE NOT ITS OWN, for which {100 * LEAST_AGREED} % are due"
            )
            print(f"  each model chooses the actions of its run in {share:.1f} % of the decisions or more{few}")
        for fresh in verified.fresh:
            _tell_fresh(options.policy or result.source, fresh)
        if result.has_actions and verified.agreed is None and not verified.fresh:
            known = f"{ACTIONS_ONLY}: no model at hand has" if result.learned else "who chose the actions is not known"
            print(f"  {known}; --policy or --models names what then plays other episodes")
        holds = holds and verified.holds
    if not holds:
        raise SystemExit(CLAIM_FAILED)


def _tell_fresh(name: str | None, fresh: Fresh) -> None:
    """Prints what was claimed, and what a policy did on secret seeds."""
    column, seeds = leaderboard.column_of(fresh.metric), fresh.policy.seeds
    unit = f" {column.unit}" if column.unit else ""
    claim, found = (column.write(each, signed=True) for each in (fresh.claim, fresh.difference))
    chance = "" if fresh.p_value is None else f", p = {fresh.p_value:.2g}"
    print(
        f"  {name} in {len(seeds)} episodes on secret seeds{' that were kept' * fresh.kept}: {column.label} minus "
        f"{fresh.rule.policy}'s {found}{unit}; the claim, {claim}{unit}, {VERDICTS[fresh.agrees]}{chance}"
    )
    if not fresh.kept:
        print(f"  seeds {', '.join(map(str, seeds))}")


def _wanted(options: argparse.Namespace, settings: Sequence[Setting]) -> tuple[list[Work], dict[str, FlowSchedError]]:
    """Lists who plays in which setting, by default every heuristic and the bound; and why others do not."""
    if options.label is not None and len(options.policy) != 1:
        raise ConfigError(f"--label is {options.label!r}: it names one policy, and {len(options.policy)} are given")
    wanted: list[Work] = []
    errors: dict[str, FlowSchedError] = {}
    for setting in settings:
        found = []
        for source in options.policy or [*[BOUND_POLICY] * setting.spec.bounded, *setting.spec.heuristics]:
            try:
                found.append(find_player(source, setting.spec, setting.kwargs))
            except ConfigError as error:
                errors[f"{source} on {setting.name}"] = error
        wanted += [(setting, player) for player in leaderboard.check_names(found, label=options.label)]
    return wanted, errors


def _played(
    options: argparse.Namespace, suite: Suite, work: Sequence[Work], how: dict[str, Any]
) -> Iterator[tuple[Work, Played]]:
    """Plays all of it, here or on a cluster, and yields what each came to as soon as it is known."""
    if options.launcher == RAY:
        with ProgressBar("playing on Ray") as progress:
            for done, ended in enumerate(play_on_ray(suite, work, how, options.ray_address), start=1):
                progress(done, len(work))
                yield ended
        return
    for number, each in enumerate(work, start=1):
        setting, player = each
        with ProgressBar(f"{number}/{len(work)} {player.name} on {setting.name}") as progress:
            try:
                played: Played = leaderboard.play(suite, setting, player, progress=progress, **how)
            except FlowSchedError as error:
                played = error
        yield each, played


def _is_there(
    options: argparse.Namespace, suite: Suite, setting: Setting, player: Player, kwargs: Mapping[str, object]
) -> bool:
    """Returns whether the folder has the result of what would be played; a file that cannot be read is none.

    Raises:
        ConfigError: The file is of another policy, or of this one with other arguments, and would be lost.
    """
    path = leaderboard.result_path(options.out, setting, player.name)
    if not is_file(path):
        return False
    try:
        found = read_result(path)
    except ConfigError:
        return False
    elsewhere = "give another name by --label, or another folder by --out"
    if (found.policy, found.source) != (player.name, player.source):
        raise ConfigError(
            f"{path} has the result of {found.source or found.policy}, which {player.source} would replace: {elsewhere}"
        )
    if found.reference != suite.reference(setting):
        return False
    played = [run.model.digest for run in found.runs if run.model is not None]
    same_file = file_version(player).items() <= found.made.versions.items()
    if not same_file or played != list(map(model_digest, player.models)):
        return False
    arguments = arguments_of(setting, player, kwargs)
    different = [name for name in VIEW_ARGUMENTS if name != ENGINE and found.kwargs.get(name) != arguments.get(name)]
    if different and not options.again:
        had = ", ".join(f"{name}={found.kwargs.get(name, 'default')}" for name in different)
        raise ConfigError(
            f"{path} has the result of {player.source} with {had}, which would be replaced (--again): {elsewhere}"
        )
    return True


def _results_of(folder: str, suite: Suite) -> list[EvaluationResult]:
    """Reads the results of a folder that belong to a suite."""
    results = leaderboard.read_results(folder)
    for result in results:
        if result.reference is None or result.reference.digest != suite.digest:
            found = "no suite" if result.reference is None else f"suite {result.reference.suite}, or another version"
            raise ConfigError(f"{folder} holds a result of {result.policy} of {found}: this is suite {suite.name}")
    return results


def _with_published(
    yours: list[EvaluationResult], suite: Suite, names: set[str]
) -> tuple[list[EvaluationResult], set[tuple[str, str]]]:
    """Adds published results, which yours never replace; returns all, and the settings and policies of yours."""
    published = {(_setting_of(result), result.policy): result for result in leaderboard.published_results(suite)}
    published = {place: result for place, result in published.items() if place[0] in names}
    results, places = [], set()
    for result in yours:
        setting, policy = _setting_of(result), result.policy
        if setting not in names:
            continue
        other = published.get((setting, policy))
        secret, backed = result.secret, result.backed
        if other is not None and leaderboard.same_as_published(result, other):
            del published[setting, policy]
            secret, backed = secret or other.secret, backed or other.backed
        elif other is not None:
            policy = f"{YOURS}{policy}"
        results.append(replace(result, policy=policy, secret=secret, backed=backed))
        places.add((setting, policy))
    return [*results, *published.values()], places


def _setting_of(result: EvaluationResult) -> str:
    return "" if result.reference is None else result.reference.setting


def _show(yours: list[EvaluationResult], suite: Suite, options: argparse.Namespace, settings: list[Setting]) -> None:
    """Prints tables: your results, and the published ones of the settings that these belong to."""
    names = {setting.name for setting in settings}
    yours = [result for result in yours if _setting_of(result) in names]
    if options.json:
        print_json({"suite": suite.name, "results": [result_content(result) for result in yours]})
        return
    results, places = _with_published(yours, suite, {_setting_of(result) for result in yours} or names)
    groups = leaderboard.group_results(results, list(suite.settings.values()))
    compared = leaderboard.compare_settings(groups)
    if options.markdown:
        print(leaderboard.tables_markdown(compared), end="")
        return
    for setting, members, rows in compared:
        tier = f" ({setting.tier})" if setting.tier else ""
        print(f"\n{setting.name}{tier}: {setting.spec.id}, {setting.title}")
        for apart in (False, True):
            if shown := [row for row in rows if row.apart is apart]:
                print(f"{leaderboard.APART}:\n" * apart, end="")
                print(leaderboard.comparison_table(members, metric=setting.metric, rows=shown).text(), end="")
        mine = [row for row in rows if (setting.name, row.policy) in places]
        named = ", ".join(sorted(row.policy for row in mine if row.secret is None))
        print(f"Yours, which nobody has verified: {named or 'none'}; all others are published by flowsched-gym.")
    for misfit in filter(None, map(leaderboard.tier_misfit, compared)):
        print(f"\n{misfit}")
    if claims := leaderboard.claims_of(compared):
        print(f"\n{leaderboard.learned_table(claims).text()}")
        if any(setting.tier != PAPERS for setting, _, _ in compared):
            print(f"{leaderboard.score_line(compared, claims).replace('**', '')}")


def _command(options: argparse.Namespace) -> str:
    """Rebuilds the command line, to be kept with the results."""
    words = ["flowsched", "leaderboard", "run", "--suite", options.suite, *repeated("--policy", options.policy)]
    label = [] if options.label is None else ["--label", options.label]
    return shlex.join([*words, *label, *repeated("--kwarg", options.kwarg)])
