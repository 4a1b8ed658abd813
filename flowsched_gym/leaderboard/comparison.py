"""Compares policies that played the same episodes, by the methods of Agarwal et al. (NeurIPS 2021).

A policy is described by the mean of a metric and its interquartile mean; it is compared with its *reference*, by the
difference in the same episodes and by the probability that it is better in one of them. The reference of a policy is
the best other rule with no other actions and no other information than its own: what an agent gains by waiting, or by
sizes that it is told, is no merit of learning. Rules are all policies but trained ones, planners and the bound.
Intervals are over episodes and, for an agent that was trained several times, over trainings.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    Interval,
    bootstrap_interval,
    interquartile_mean,
    paired_difference,
    probability_of_improvement,
)
from flowsched_gym.flows.metrics import SMALLER_IS_BETTER, merit
from flowsched_gym.leaderboard.table import Table, format_interval
from flowsched_gym.registration import agent_ability, policy_ability
from flowsched_gym.systems import Ability

OF_THE_BOUND: Final = Ability(("all",), ("the future",))
OF_SEARCH: Final = Ability(information=("drawn futures",))
PERCENT: Final = 100.0
MILLISECONDS: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """How a metric is shown: words above the column, unit of differences, factor of values, digits after the point."""

    label: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 2


COLUMNS: Final[Mapping[str, MetricColumn]] = {
    "deadline_hit_ratio": MetricColumn(label="deadlines met, %", unit="points", scale=PERCENT, digits=1),
    "mean_fct": MetricColumn(label="mean FCT, ms", unit="ms", scale=MILLISECONDS, digits=1),
    "p99_fct": MetricColumn(label="p99 FCT, ms", unit="ms", scale=MILLISECONDS, digits=1),
    "mean_tct": MetricColumn(label="mean TCT, ms", unit="ms", scale=MILLISECONDS, digits=1),
    "p99_tct": MetricColumn(label="p99 TCT, ms", unit="ms", scale=MILLISECONDS, digits=1),
    "mean_slowdown": MetricColumn(label="mean slowdown"),
    "max_slowdown": MetricColumn(label="largest slowdown"),
    "slowdown_fairness": MetricColumn(label="Jain index of slowdowns", digits=3),
}
"""How the metrics of tables are shown."""

OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "deadline_hit_ratio": ("mean_fct", "p99_fct"),
    "mean_tct": ("p99_tct", "mean_fct", "p99_fct"),
}
"""Metrics that stand beside the one that a table is ordered by."""
OTHERS_WITHOUT_DEADLINES: Final = ("mean_slowdown", "max_slowdown", "mean_fct", "p99_fct")
"""The same for all other metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """Summary of one policy.

    Attributes:
        policy: Its name.
        learned: Whether it is a trained model.
        num_runs: Trainings behind it; 1 for what is not trained.
        estimate: Mean of the metric that is compared; for the bound, what no scheduler exceeds.
        middle: Interquartile mean of it over runs and episodes.
        ability: What it may do, and what it knows.
        reference: Name of the policy that it is compared with; ``None`` for the bound, and where no other rule has as
            little.
        difference: Its metric minus the reference's in the same episodes; ``None`` without a reference.
        improvement: Probability that it is better than the reference in an episode; ``None`` likewise.
        to_bound: Bound's metric minus its own in the same episodes; ``None`` without a bound, and for the bound.
        others: Means of other metrics, by name, in the order of a table; none for the bound.
    """

    policy: str
    learned: bool
    num_runs: int
    estimate: Interval
    middle: Interval
    ability: Ability
    reference: str | None = None
    difference: Interval | None = None
    improvement: Interval | None = None
    to_bound: Interval | None = None
    others: Mapping[str, Interval] = field(default_factory=dict)


def column_of(metric: str) -> MetricColumn:
    """Returns how a metric is shown."""
    return COLUMNS.get(metric, MetricColumn(label=metric.replace("_", " ")))


def metrics_beside(metric: str) -> list[str]:
    """Lists the metrics that stand beside the one that policies are compared by, the most telling first."""
    return [name for name in OTHERS.get(metric, OTHERS_WITHOUT_DEADLINES) if name != metric]


def reference_of(results: Sequence[EvaluationResult], metric: str) -> str | None:
    """Names the best rule: the best mean of what is neither learned, nor plans, nor is the bound.

    Args:
        results: One result per policy, at least one.
        metric: What is compared.
    """
    return _best(_merits_of_rules(results, metric))


def ability_of(result: EvaluationResult) -> Ability:
    """Returns what a policy might do, and what it knew."""
    if result.policy == BOUND_POLICY:
        return OF_THE_BOUND
    spec, name = result.spec, result.source or result.policy
    if not result.learned and not plans(result) and spec.names(name):
        return policy_ability(spec, name)
    found = agent_ability(spec, result.kwargs, trained=result.learned)
    return found + OF_SEARCH if plans(result) else found


def plans(result: EvaluationResult) -> bool:
    """Returns whether what played tries its choices on copies of the episode, as search does."""
    return any(name is not None and result.spec.plans(name) for name in (result.source, result.policy))


def compare(
    results: Sequence[EvaluationResult], *, metric: str | None = None, reference: str | None = None
) -> list[ComparisonRow]:
    """Compares policies on the same episodes, best first, below the bound.

    Args:
        results: One result per policy; that of the bound (`evaluate_bound`) gives the distance to it.
        metric: What is compared. Default: what the tables of the environment are ordered by.
        reference: Policy that all others are compared with. Default: for each of them the best other rule with no
            other actions and no other information than its own.

    Raises:
        ConfigError: There is no result, a policy occurs twice, the results are of different seeds, or there is no such
            metric or reference.
    """
    if not results:
        raise ConfigError("there is no result to compare")
    by_name: dict[str, EvaluationResult] = {}
    for result in results:
        if result.policy in by_name:
            raise ConfigError(f"policy {result.policy!r} has two results: compare one of each")
        if result.seeds != results[0].seeds:
            raise ConfigError(
                f"{result.policy!r} played the seeds {_range(result)}, {results[0].policy!r} {_range(results[0])}: "
                "evaluate both with the same seed and number of episodes"
            )
        by_name[result.policy] = result
    metric = metric or results[0].spec.metric
    if reference is not None and reference not in by_name:
        raise ConfigError(f"reference is {reference!r}: there are results of {', '.join(by_name)}")
    abilities = {name: ability_of(result) for name, result in by_name.items()}
    rules = _merits_of_rules(results, metric)
    bound = by_name.get(BOUND_POLICY)
    if bound is not None and metric not in bound.metric_names:
        bound = None
    rows = []
    for name, result in by_name.items():
        if name == BOUND_POLICY and result is not bound:
            continue
        ability = abilities[name]
        others = {rule: value for rule, value in rules.items() if rule != name and ability.covers(abilities[rule])}
        against = reference or _best(others)
        base = None if against is None else by_name[against]
        rows.append(_row(result, metric, ability=ability, bound=bound, base=base))
    return sorted(rows, key=lambda row: (row.policy != BOUND_POLICY, -_known_merit(metric, row.estimate.mean)))


def comparison_table(
    results: Sequence[EvaluationResult],
    *,
    metric: str | None = None,
    reference: str | None = None,
    rows: Sequence[ComparisonRow] | None = None,
) -> Table:
    """Lays the comparison out: percent and ms, intervals in brackets; learned agents are marked with their trainings.

    Args:
        results: As in `compare`.
        metric: As in `compare`.
        reference: As in `compare`.
        rows: What `compare` gave for the same results. Default: it is called.

    Raises:
        ConfigError: As in `compare`.
    """
    rows = rows or compare(results, metric=metric, reference=reference)
    metric = metric or results[0].spec.metric
    shown = column_of(metric)

    def cells(values: Sequence[Interval | None], *, signed: bool = False) -> list[str]:
        return [format_interval(each, scale=shown.scale, digits=shown.digits, signed=signed) for each in values]

    columns: list[tuple[str, list[str]]] = [
        ("policy", [_name_of(row) for row in rows]),
        ("actions", [", ".join(row.ability.actions) for row in rows]),
        ("information", [", ".join(row.ability.information) or "none" for row in rows]),
        (shown.label, cells([row.estimate for row in rows])),
        ("middle half", [cell.partition(" ")[0] for cell in cells([row.middle for row in rows])]),
    ]
    unit = f", {shown.unit}" if shown.unit else ""
    if any(row.difference is not None for row in rows):
        columns.append(("reference", [row.reference or "" for row in rows]))
        columns.append((f"minus reference{unit}", cells([row.difference for row in rows], signed=True)))
        chances = [format_interval(row.improvement, scale=PERCENT, digits=0) for row in rows]
        columns.append(("better than reference, %", chances))
    if any(row.to_bound is not None for row in rows):
        columns.append((f"to the bound{unit}", cells([row.to_bound for row in rows])))
    for name in next((row.others for row in rows if row.others), {}):
        other = column_of(name)
        values = [row.others.get(name) for row in rows]
        columns.append(
            (other.label, [format_interval(each, scale=other.scale, digits=other.digits) for each in values])
        )
    return Table(
        columns=tuple(name for name, _ in columns), rows=tuple(zip(*(cells for _, cells in columns), strict=True))
    )


def _merits_of_rules(results: Sequence[EvaluationResult], metric: str) -> dict[str, float]:
    """Returns how good each rule is on average, by its name; rules of which nothing is known are left out."""
    merits = {
        result.policy: merit(metric, result.interval(metric).mean)
        for result in results
        if result.policy != BOUND_POLICY and not result.learned and not plans(result)
    }
    return {rule: value for rule, value in merits.items() if not np.isnan(value)}


def _best(merits: Mapping[str, float]) -> str | None:
    return max(merits, key=lambda rule: merits[rule]) if merits else None


def _row(
    result: EvaluationResult,
    metric: str,
    *,
    ability: Ability,
    bound: EvaluationResult | None,
    base: EvaluationResult | None,
) -> ComparisonRow:
    samples = result.samples(metric)
    row = ComparisonRow(
        policy=result.policy,
        learned=result.learned,
        num_runs=len(result.runs),
        estimate=bootstrap_interval(samples),
        middle=bootstrap_interval(samples, statistic=interquartile_mean),
        ability=ability,
    )
    if result is bound:
        return row
    others = {name: result.interval(name) for name in metrics_beside(metric) if name in result.metric_names}
    row = replace(row, others=others)
    if bound is not None:
        row = replace(row, to_bound=paired_difference(bound.samples(metric), samples))
    if base is None or base is result:
        return row
    theirs = base.samples(metric)
    chance = probability_of_improvement(_merits(metric, samples), _merits(metric, theirs))
    difference = paired_difference(samples, theirs)
    return replace(row, reference=base.policy, difference=difference, improvement=chance)


def _name_of(row: ComparisonRow) -> str:
    """Names a policy; a learned one with the number of its trainings."""
    if not row.learned:
        return row.policy
    return f"{row.policy} (learned, {row.num_runs} {'seed' if row.num_runs == 1 else 'seeds'})"


def _merits(metric: str, samples: FloatArray) -> FloatArray:
    """Turns samples so that larger ones are better."""
    return -samples if metric in SMALLER_IS_BETTER else samples


def _known_merit(metric: str, mean: float) -> float:
    """Returns the merit of a mean; the worst of all where nothing is known."""
    return -np.inf if np.isnan(mean) else merit(metric, mean)


def _range(result: EvaluationResult) -> str:
    return f"{result.seeds[0]} to {result.seeds[-1]}"


MOST_CURVES: Final = 6
BASELINES: Final = ("edf", "fifo", "ecmp", "equal", "constant")
"""Plain heuristics: the first of them that plays has a curve, however it fares."""


def curves_of(order: Sequence[str], learned: Collection[str]) -> list[str]:
    """Chooses the policies whose curves are drawn: learned ones, one plain heuristic, and the best of the others.

    Args:
        order: Policies, best first.
        learned: Those that are trained models.

    Returns:
        At most six of them, best first.
    """
    plain = [name for name in BASELINES if name in order][:1]
    first = [name for name in order if name in learned][: MOST_CURVES - len(plain)] + plain
    others = [name for name in order if name not in first and name not in learned]
    chosen = first + others[: MOST_CURVES - len(first)]
    return [name for name in order if name in chosen]
