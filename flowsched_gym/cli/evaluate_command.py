"""Plays episodes of an environment with policies, side by side: ``flowsched evaluate``."""

import argparse
import csv
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import product
from typing import Final

from flowsched_gym import evaluation
from flowsched_gym.cli.arguments import key_values, repeated
from flowsched_gym.cli.output import ProgressBar, print_json, standard_output_kept_clean
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import check_target, write_text
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import MIN_EPISODES, EvaluationResult, Progress, evaluate
from flowsched_gym.evaluation.result_checks import INTERVAL_FIELDS
from flowsched_gym.evaluation.results import check_label, check_printable
from flowsched_gym.evaluation.written import column_of, there
from flowsched_gym.flows.metrics import unit_of
from flowsched_gym.leaderboard import Table, metrics_beside, played_apart
from flowsched_gym.leaderboard.kept import model_arguments, model_path
from flowsched_gym.leaderboard.play import check_once
from flowsched_gym.registration import agent_ability, find_environment, heuristic_arguments, is_model, is_named
from flowsched_gym.systems import OPTIONS, EnvironmentSpec

OUT_SUFFIXES: Final = (".json", ".csv")
REWARD: Final = "reward"
METRICS_BESIDE: Final = 2
"""Metrics between the environment's own and the reward, where not all are asked for."""
CSV_COLUMNS: Final = ("policy", "metric", "unit", "mean", "low", "high", "confidence", "num_episodes")


def run(options: argparse.Namespace) -> None:
    """Plays the episodes, and prints and writes the results."""
    spec = find_environment(options.environment)
    kwargs = {**model_arguments(options.policy, spec.id), **key_values("--kwarg", options.kwarg)}
    if options.out is not None:
        if not options.out.endswith(OUT_SUFFIXES):
            raise ConfigError(f"--out is {options.out!r}: its extension must be one of {', '.join(OUT_SUFFIXES)}")
        check_target(options.out)
    check_printable("the command", _command(options))
    rules = _rules(options, spec, kwargs) if options.explain else {}
    with standard_output_kept_clean(), ExitStack() as processes, ProgressBar("playing episodes") as progress:
        # All of them before the first one plays: what is wrong with the last one is known at once.
        policies = policies_of(options, spec, kwargs, processes, see_all=any(map(is_model, options.policy)))
        results: list[EvaluationResult] = []
        tell: Progress = lambda done, each: progress(len(results) * each + done, len(policies) * each)  # noqa: E731
        played = partial(evaluate, spec, episodes=options.episodes, seed=options.seed, progress=tell)
        for label, policy, arguments in policies:
            results.append(played(policy, kwargs=arguments, label=label, command=_command(options)))
    if options.out is not None:
        _write(options.out, results)
    if options.json:
        print_json(_document(results))
        return
    for source, rule in rules.items():
        print(f"{source}: weights of what is seen (x) in the score of each kind of action; the highest score wins\n")
        print(rule.text())
    names = ", ".join(result.policy for result in results)
    counts = sorted({len(result.episodes) for result in results})
    print(f"{names} on {spec.id}, {' or '.join(map(str, counts))} episode{'s' * (counts != [1])}:")
    table, hidden = _table(results, spec.metric, everything=options.all)
    print(table.text(), end="")
    if hidden:
        print(f"--all shows {hidden} more metrics.")
    if 1 < options.episodes < MIN_EPISODES:
        print(f"Intervals need at least {MIN_EPISODES} episodes.")


def policies_of(
    options: argparse.Namespace,
    spec: EnvironmentSpec,
    kwargs: Mapping[str, object],
    processes: ExitStack,
    *,
    see_all: bool,
) -> list[tuple[str, Policy, Mapping[str, object]]]:
    """Makes all policies, with labels and arguments; those not of the package act in processes of their own.

    Heuristics have the actions and columns of an agent with these arguments, or ``see_all`` that they need.
    """
    made: list[tuple[str, Policy, Mapping[str, object]]] = []
    for label, source in zip(_labels(options.policy), options.policy, strict=True):
        check_label("--policy", label)
        if is_model(source) or (OPTIONS in source and not is_named(source)):
            found = str(model_path(source)) if is_model(source) else source
            apart = played_apart(label, found, spec, kwargs, is_model=is_model(source), trust=options.trust)
            made.append((label, processes.enter_context(apart), kwargs))
            continue
        arguments = heuristic_arguments(spec, kwargs, source) if see_all and spec.names(source) else kwargs
        with closing(evaluation.make_environment(spec, arguments)) as env:
            made.append((label, evaluation.resolve_policy(source, env, seed=options.seed), arguments))
    return made


def _rules(options: argparse.Namespace, spec: EnvironmentSpec, kwargs: Mapping[str, object]) -> dict[str, Table]:
    """Lays out the rules that models of a few weights are."""
    sources = list(filter(is_model, options.policy))
    if not sources or options.json:
        raise ConfigError("--explain prints the rules of models (--policy model.zip) as text, without --json")
    from flowsched_gym.integrations.few_weights import read_terms  # noqa: PLC0415 - used by this option alone

    kinds, tables = agent_ability(spec, kwargs).actions, {}
    with closing(evaluation.make_environment(spec, kwargs)) as env:
        for source in sources:
            rows = [
                (action, column, meaning, f"{weight:+.3g}", "" if square is None else f"{square:+.3g}")
                for action, column, meaning, weight, square in read_terms(model_path(source), env, kinds)
            ]
            tables[source] = Table(columns=("action", "seen", "x", "times x", "times x squared"), rows=tuple(rows))
    return tables


def _labels(sources: Sequence[str]) -> list[str]:
    """Names policies as they were given, models by their files, or by folders and file where files are called alike."""
    paths = {source: model_path(source).resolve() for source in sources if is_model(source)}
    for source, path in paths.items():
        check_once([source for other in sources if paths.get(other) == path])
    labels = [paths[source].stem if source in paths else source for source in sources]
    folders = {source: list(path.parents) for source, path in paths.items()}
    while any(labels.count(label) > 1 and folders.get(source) for label, source in zip(labels, sources, strict=True)):
        labels = [
            f"{folders[source].pop(0).name}-{label}" if labels.count(label) > 1 and folders.get(source) else label
            for label, source in zip(labels, sources, strict=True)
        ]
    check_once(labels)
    return labels


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
