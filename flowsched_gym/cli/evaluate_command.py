"""Plays episodes with policies, side by side or to keep them as a dataset: ``flowsched evaluate`` and ``collect``."""

import argparse
import csv
import io
import json
import shlex
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np

from flowsched_gym import evaluation
from flowsched_gym.cli.arguments import key_values, repeated
from flowsched_gym.cli.output import ProgressBar, print_json, standard_output_kept_clean
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import check_target, write_text
from flowsched_gym.evaluation import (
    MIN_EPISODES,
    EpisodeRunner,
    EvaluationResult,
    Progress,
    SameEpisodesWarning,
    evaluate,
    make_environment,
    plays_the_same,
)
from flowsched_gym.evaluation.engines import with_faster_engine
from flowsched_gym.evaluation.result_checks import INTERVAL_FIELDS
from flowsched_gym.evaluation.results import check_label, check_printable
from flowsched_gym.evaluation.runner import check_seeds, with_networks_read
from flowsched_gym.evaluation.tuning import TunedRule, tune_rule
from flowsched_gym.evaluation.written import column_of, there
from flowsched_gym.flows.metrics import merit, unit_of
from flowsched_gym.leaderboard import Table, acting, metrics_beside
from flowsched_gym.players import Kind, Player, arguments_of_agents, find_player, load_agent, told_apart
from flowsched_gym.players.kept import MODEL_PREFIX
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import with_workload_read

OUT_SUFFIXES: Final = (".json", ".csv")
REWARD: Final = "reward"
METRICS_BESIDE: Final = 2
"""Metrics between the environment's own and the reward, where not all are asked for."""
CSV_COLUMNS: Final = ("policy", "metric", "unit", "mean", "low", "high", "confidence", "num_episodes")
AT_ONCE: Final = 256
"""Episodes that are played before they are written."""


def run(options: argparse.Namespace) -> None:
    """Plays the episodes, and prints and writes the results."""
    spec = find_environment(options.environment)
    players, kwargs = players_of(options, spec)
    if options.out is not None:
        if not options.out.endswith(OUT_SUFFIXES):
            raise ConfigError(f"--out is {options.out!r}: its extension must be one of {', '.join(OUT_SUFFIXES)}")
        check_target(options.out)
    check_printable("the command", _command(options))
    rules = _rules(options, players, kwargs) if options.explain else {}
    # Beside models, heuristics see what they need.
    see_all = any(player.learned for player in players)
    arguments = [player.arguments(kwargs) if see_all else {**kwargs, **player.settings} for player in players]
    with standard_output_kept_clean(), ExitStack() as processes, ProgressBar("playing episodes") as progress:
        # All of them before the first one plays: what is wrong with the last one is known at once.
        policies = [
            processes.enter_context(acting(player, seen, seed=options.seed, trust=options.trust))
            for player, seen in zip(players, arguments, strict=True)
        ]
        results: list[EvaluationResult] = []
        tell: Progress = lambda done, each: progress(len(results) * each + done, len(policies) * each)  # noqa: E731
        played = partial(evaluate, spec, episodes=options.episodes, seed=options.seed, progress=tell)
        for player, policy, seen in zip(players, policies, arguments, strict=True):
            results.append(played(policy, kwargs=seen, label=player.name, command=_command(options)))
    if options.out is not None:
        _write(options.out, results)
    if options.json:
        print_json(_document(results))
        return
    for source, text in rules.items():
        print(f"{source}: {text}")
    names = ", ".join(result.policy for result in results)
    counts = sorted({len(result.episodes) for result in results})
    print(f"{names} on {spec.id}, {' or '.join(map(str, counts))} episode{'s' * (counts != [1])}:")
    table, hidden = _table(results, spec.metric, everything=options.all)
    print(table.text(), end="")
    if hidden:
        print(f"--all shows {hidden} more metrics.")
    if 1 < options.episodes < MIN_EPISODES:
        print(f"Intervals need at least {MIN_EPISODES} episodes.")


def run_tune_rule(options: argparse.Namespace) -> None:
    """Tunes each rule, and prints what was found, the best one first."""
    spec, kwargs = find_environment(options.environment), key_values("--kwarg", options.kwarg)
    found: list[TunedRule] = []
    how: Any = {"kwargs": kwargs, "trials": options.trials, "episodes": options.episodes, "seed": options.seed}
    with standard_output_kept_clean(), ProgressBar("tuning rules") as progress:
        tell: Progress = lambda done, each: progress(len(found) * each + done, len(options.policy) * each)  # noqa: E731
        for policy in options.policy:
            found.append(tune_rule(spec.id, policy, progress=tell, **how))
    found.sort(key=lambda rule: -merit(spec.metric, rule.value))
    if options.json:
        print_json({"environment": spec.id, "kwargs": kwargs, "rules": [rule._asdict() for rule in found]})
        return
    shown = column_of(spec.metric)
    columns = ("rule", shown.label, "as given")
    rows = [(rule.policy, shown.write(rule.value), shown.write(rule.given)) for rule in found]
    print(Table(columns=columns, rows=tuple(rows)).text(), end="")


def players_of(options: argparse.Namespace, spec: EnvironmentSpec) -> tuple[list[Player], dict[str, object]]:
    """Finds who plays, and an agent's arguments of the environment."""
    given = key_values("--kwarg", options.kwarg)
    players = told_apart([find_player(source, spec, given) for source in options.policy])
    for player in players:
        check_label("--policy", player.name)
    return players, {**arguments_of_agents(players), **given}


def run_collect(options: argparse.Namespace) -> None:
    """Plays the episodes and writes the dataset."""
    from flowsched_gym.integrations.minari import DatasetWriter, Played, new_folder  # noqa: PLC0415 - optional

    check_seeds(options.episodes, options.seed)
    spec = find_environment(options.environment)
    players, kwargs = players_of(options, spec)
    kept = with_networks_read(with_workload_read(kwargs))
    words = ["flowsched", "collect", options.environment, *repeated("--policy", options.policy)]
    words += ["--episodes", str(options.episodes), "--seed", str(options.seed), *repeated("--kwarg", options.kwarg)]
    command = shlex.join(words)
    check_printable("the command", command)
    with (
        new_folder(options.out) as folder,
        standard_output_kept_clean(),
        ExitStack() as processes,
        ProgressBar("collecting episodes") as progress,
    ):
        seen = [player.arguments(kwargs) for player in players]
        policies = [
            processes.enter_context(acting(player, arguments, seed=options.seed, trust=options.trust))
            for player, arguments in zip(players, seen, strict=True)
        ]
        labels = [player.name for player in players]
        dataset = DatasetWriter(folder, spec.id, kept, name="-".join(labels), policies=labels, command=command)
        with closing(make_environment(spec, kwargs)) as env:
            space = env.action_space
        total, done, decisions = options.episodes * len(policies), 0, 0
        progress(0, total)
        for label, policy, arguments in zip(labels, policies, seen, strict=True):
            with closing(EpisodeRunner(spec, arguments)) as runner:
                if runner.env.action_space != space:
                    needed, has = runner.env.action_space, space
                    raise ConfigError(f"policy {label} needs the actions {needed}, --kwarg gives the agent {has}")
                episodes = options.episodes
                if episodes > 1 and plays_the_same(policy, runner.env):
                    warnings.warn(SameEpisodesWarning(label, episodes), stacklevel=2)
                    total, episodes = total - episodes + 1, 1
                for begin in range(0, episodes, AT_ONCE):
                    count = min(AT_ONCE, episodes - begin)
                    played = runner.play(policy, episodes=count, seed=options.seed + done)
                    dataset.add(
                        [
                            Played(each.seed, np.asarray(each.actions), {"policy": label, **each.metrics})
                            for each in played
                        ]
                    )
                    done, decisions = done + count, decisions + sum(each.num_decisions for each in played)
                    progress(done, total)
    print(f"{options.out}: {done} episodes, {decisions:,} decisions; minari.MinariDataset({options.out!r}) reads them")


def _rules(options: argparse.Namespace, players: Sequence[Player], kwargs: Mapping[str, object]) -> dict[str, str]:
    """Writes what models do, beside the rules that play too, or the best one that an agent's card names."""
    models = [player for player in players if player.learned]
    if not models or options.json:
        raise ConfigError("--explain prints the rules of models (--policy model.zip) as text, without --json")
    from flowsched_gym.cli.explanation import explain  # noqa: PLC0415 - used by this option alone

    texts, spec = {}, models[0].spec
    with standard_output_kept_clean(), closing(make_environment(spec, with_faster_engine(spec, kwargs))) as env:
        for player in models:
            source = str(player.source)
            card = load_agent(source).results if source.startswith(MODEL_PREFIX) else {}
            given = [each.name for each in players if each.kind is Kind.RULE]
            given = given or ([str(card["rule"])] if card.get("rule") else [])
            texts[source] = explain(env, player.make(env, trust=options.trust), spec, given)
    return texts


def _table(results: Sequence[EvaluationResult], metric: str, *, everything: bool) -> tuple[Table, int]:
    """Lays out metrics that are defined, policies below each other; returns how many it leaves out too."""
    columns = [result.intervals() for result in results]
    known = [there({name: each.mean for name, each in column.items()}) for column in columns]
    defined = [name for name in columns[0] if any(name in names for names in known)]
    first = [metric, *metrics_beside(metric)[:METRICS_BESIDE], REWARD]
    order = [name for name in first if name in defined]
    if everything or not order:
        order += [name for name in defined if name not in first]
    rows = [
        (name, column_of(name).value_unit, result.policy, column_of(name).write(intervals[name]))
        for name, (result, intervals, names) in product(order, zip(results, columns, known, strict=True))
        if name in names
    ]
    heads = ("metric", "unit", "policy", f"mean, {columns[0][REWARD].confidence:.0%} interval")
    return Table(columns=heads, rows=tuple(rows)), len(defined) - len(order)


def _document(results: Sequence[EvaluationResult]) -> Mapping[str, object]:
    """Returns the result file of one policy, or those of several together."""
    documents = [evaluation.result_content(result) for result in results]
    return documents[0] if len(documents) == 1 else {"results": documents}


def _write(path: str, results: Sequence[EvaluationResult]) -> None:
    """Writes the results: all that is known of them as JSON, or their intervals as CSV."""
    text = io.StringIO()
    if path.endswith(".json"):
        text.write(json.dumps(_document(results), indent=2, allow_nan=False) + "\n")
    else:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for result in results:
            for name, interval in result.intervals().items():
                # An empty cell stands for what is not defined, or has too few episodes.
                numbers = (getattr(interval, each) for each in INTERVAL_FIELDS)
                cells = ("" if number != number else repr(number) for number in numbers)
                writer.writerow([result.policy, name, unit_of(name), *cells])
    write_text(text.getvalue(), path)


def _command(options: argparse.Namespace) -> str:
    """Rebuilds the command line, to be kept with the results."""
    words = ["flowsched", "evaluate", options.environment, *repeated("--policy", options.policy)]
    words += ["--episodes", str(options.episodes), "--seed", str(options.seed)] + ["--trust"] * options.trust
    return shlex.join([*words, *repeated("--kwarg", options.kwarg)])
