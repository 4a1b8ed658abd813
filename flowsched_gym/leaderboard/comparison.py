"""Compares policies that played the same episodes, by the methods of Agarwal et al. (NeurIPS 2021).

A policy is described by the mean of a metric and its interquartile mean; it is compared with its *reference*, by the
difference in the same episodes and by the probability that it is better in one of them. The reference of a policy is
the best other rule with no other actions and no other information than its own: what an agent gains by waiting, or by
sizes that it is told, is no merit of learning. Rules are all policies but trained ones, planners and the bound.
Intervals are over episodes and, for an agent that was trained several times, over trainings.

A setting may say what its agents may do and know. Policies that keep to that are compared with the best rule that does;
all others stand apart, below them. The futures that search draws are no information of a setting.

Runs of one agent that are equal in all episodes are one training; where no models back them, they are counted once.
What is equal to a rule, or to another agent, is named so.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.tables import Table, escaped
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult, Interval, Progress, statistics
from flowsched_gym.evaluation.written import PERCENT, MetricColumn, column_of, format_interval
from flowsched_gym.flows.metrics import SMALLER_IS_BETTER, merit
from flowsched_gym.leaderboard.published import published_outcome
from flowsched_gym.leaderboard.scores import Compared, training_scores
from flowsched_gym.leaderboard.suite import Groups, Setting
from flowsched_gym.players import find_player
from flowsched_gym.registration import agent_ability
from flowsched_gym.systems import Ability, Information

OF_SEARCH: Final = Ability(information=(Information.DRAWN_FUTURES,))
APART: Final = "With more actions or information"
"""Stands above the rows of what the agents of a setting cannot be compared with."""
VERIFIED, WITH_MODELS, ACTIONS_ONLY = "verified", "with models", "actions only"
"""Marks of rows: the policy played on secret seeds; a learned agent's models are kept; nobody has them."""
RANDOM: Final = "random"
"""Policy that every environment has, and that has the score 0."""


OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "deadline_hit_ratio": ("mean_fct", "p99_fct"),
    "mean_tct": ("p99_tct", "mean_fct", "p99_fct"),
}
"""Metrics that stand beside the one that a table is ordered by."""
OTHERS_WITHOUT_DEADLINES: Final = ("mean_slowdown", "max_slowdown", "mean_fct", "p99_fct")
"""The same for all other metrics."""
MOST_CURVES: Final = 6
BASELINES: Final = ("edf", "fifo", "ecmp", "equal", "constant")
"""Plain heuristics: the first of them that plays has a curve, however it fares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """Summary of one policy.

    Attributes:
        searches: Whether it tries its choices on copies of the episode.
        num_runs: Trainings behind it; 1 for what is not trained.
        num_distinct: How many of them differ in some episode.
        copies: How many of them are equal to another policy in all episodes, by its name; nothing of rules by name.
        backed: Whether the models of all trainings are kept.
        estimate: Mean of the metric that is compared; for the bound, what no scheduler exceeds.
        middle: Interquartile mean of it over runs and episodes.
        ability: What it may do, and what it knows.
        reference: Name of the policy that it is compared with; ``None`` for the bound, and where no other rule has as
            little.
        difference: Its metric minus the reference's in the same episodes; ``None`` without a reference.
        improvement: Probability that it is better than the reference in an episode; ``None`` likewise.
        to_bound: Bound's metric minus its own in the same episodes; ``None`` without a bound, and for the bound.
        others: Means of other metrics, by name, in the order of a table; none for the bound.
        secret: Its difference from the best rule on secret seeds; ``None`` where it was not verified there.
        apart: Whether it may do or knows something that the agents of the setting do not.
        score: Its mean score (`flowsched_gym.leaderboard.scores`); ``None`` where there is no scale.
    """

    policy: str
    learned: bool
    searches: bool = False
    num_runs: int
    num_distinct: int = 1
    copies: Mapping[str, int] = field(default_factory=dict)
    backed: bool = False
    estimate: Interval
    middle: Interval
    ability: Ability
    reference: str | None = None
    difference: Interval | None = None
    improvement: Interval | None = None
    to_bound: Interval | None = None
    others: Mapping[str, Interval] = field(default_factory=dict)
    secret: Interval | None = None
    apart: bool = False
    score: float | None = None

    @property
    def notes(self) -> list[str]:
        """What stands beside its name: its trainings, and whether more is known of it than its actions."""
        known = [] if self.secret is None else [VERIFIED]
        if not self.learned:
            return [*(f"equal to {name}" for name in self.copies), *known]
        unit = " seed" if self.num_runs == 1 else " seeds"
        return ["learned", *self.trainings(unit), *(known or [WITH_MODELS if self.backed else ACTIONS_ONLY])]

    def trainings(self, unit: str = "") -> list[str]:
        """Returns how many trainings there are, how many of them differ, and what they are equal to."""
        differ = f"{self.num_distinct} distinct of " if self.num_distinct < self.num_runs else ""
        return [f"{differ}{self.num_runs}{unit}", *(f"{count} equal to {name}" for name, count in self.copies.items())]

    @property
    def is_rule(self) -> bool:
        """Whether it may be a reference: neither learned, nor searching, nor the bound, and with a known mean."""
        return not (self.learned or self.searches or self.policy == BOUND_POLICY or np.isnan(self.estimate.mean))


class ComparedSetting(NamedTuple):
    """Results of a setting, and what comparing them gave: best first, below the bound; last what stands apart."""

    setting: Setting
    results: Sequence[EvaluationResult]
    rows: Sequence[ComparisonRow]

    @property
    def column(self) -> MetricColumn:
        """How the metric of the setting is shown."""
        return column_of(self.setting.metric)

    @property
    def best_rule(self) -> ComparisonRow | None:
        """The best rule that does not stand apart."""
        return next((row for row in self.rows if row.is_rule and not row.apart), None)

    @property
    def agents(self) -> list[ComparisonRow]:
        """The learned agents, among them the best constant action where it was found as agents are."""
        return [row for row in self.rows if row.learned]

    def row(self, policy: str | None) -> ComparisonRow | None:
        """Returns the row of a policy."""
        return next((row for row in self.rows if row.policy == policy), None)

    def result(self, policy: str) -> EvaluationResult:
        """Returns the result of a policy."""
        return next(result for result in self.results if result.policy == policy)

    @property
    def best_search(self) -> ComparisonRow | None:
        """The best that is known to be possible: search that sees what agents do; where none has played, any."""
        return next((row for row in self.rows if row.searches), None)  # those that stand apart come last

    def scored(self, *policies: str, reference: str | None = None) -> Compared | None:
        """Returns what the scores of policies are made of, from random to the reference, by default the setting's."""
        return self.between(RANDOM, reference or self.setting.reference, *policies)

    def shares(self, *policies: str) -> Compared | None:
        """Returns what their shares of the room are made of, from the best rule to the best search."""
        rule, search = self.best_rule, self.best_search
        return None if rule is None or search is None else self.between(rule.policy, search.policy, *policies)

    def between(self, low: str, high: str, *policies: str) -> Compared | None:
        """Returns what a scale is made of, runs of one policy after those of another, where all have a value.

        ``None`` where there is no scale: one of both ends has not played, or the upper one is not better.
        """
        names, metric = (*policies, low, high), self.setting.metric
        found = [result for name in names for result in self.results if result.policy == name]
        if len(found) < len(names) or any(metric not in result.metric_names for result in found):
            return None
        *played, low_end, high_end = (result.counted.samples(metric) for result in found)
        ours = np.concatenate(played)
        known = np.logical_and.reduce([~np.isnan(each).any(axis=0) for each in (ours, low_end, high_end)])
        compared = Compared(ours[:, known], low_end[:, known].mean(axis=0), high_end[:, known].mean(axis=0))
        better = known.any() and merit(metric, float(compared.high.mean() - compared.low.mean())) > 0
        return compared if better else None


def compare_settings(groups: Groups, progress: Progress | None = None) -> list[ComparedSetting]:
    """Compares the policies of each setting; ``progress`` is called with the number of settings done, and of all."""
    compared = []
    for number, (setting, members) in enumerate(groups):
        if progress is not None:
            progress(number, len(groups))
        rows = compare(members, metric=setting.metric, ability=setting.ability)
        found = ComparedSetting(setting, members, rows)
        scored = ((row, found.scored(row.policy)) for row in rows)
        rows = [row if of is None else replace(row, score=float(training_scores(of).mean())) for row, of in scored]
        compared.append(found._replace(rows=rows))
    return compared


def written_score(score: float | None) -> str:
    """Writes a score; empty for none."""
    return "" if score is None else f"{round(score, 2) + 0.0:.2f}"


def metrics_beside(metric: str) -> list[str]:
    """Lists the metrics that stand beside the one that policies are compared by, the most telling first."""
    return [name for name in OTHERS.get(metric, OTHERS_WITHOUT_DEADLINES) if name != metric]


def reference_of(results: Sequence[EvaluationResult], metric: str) -> str | None:
    """Names the best rule by a metric: the best mean of what is neither learned, nor plans, nor is the bound."""
    merits = _merits_of_rules(results, metric)
    return max(merits, key=merits.__getitem__, default=None)


def ability_of(result: EvaluationResult) -> Ability:
    """Returns what a policy might do, and what it knew."""
    name = result.source or result.policy
    if name == BOUND_POLICY or (result.spec.names(name) and not result.learned):
        return find_player(name, result.spec, result.kwargs).ability
    return agent_ability(result.spec, result.kwargs, trained=result.learned)


def plans(result: EvaluationResult) -> bool:
    """Returns whether what played tries its choices on copies of the episode, as search does."""
    return any(name is not None and result.spec.plans(name) for name in (result.source, result.policy))


def compare(
    results: Sequence[EvaluationResult],
    *,
    metric: str | None = None,
    reference: str | None = None,
    ability: Ability | None = None,
) -> list[ComparisonRow]:
    """Compares policies on the same episodes, best first, below the bound; those that stand apart come last.

    Args:
        results: One result per policy; that of the bound (`evaluate_bound`) gives the distance to it.
        metric: What is compared. Default: what the tables of the environment are ordered by.
        reference: Policy that all others are compared with. Default: for each of them the best other rule with no
            other actions and no other information than its own, or than those of the setting.
        ability: What agents of the setting may do and know; by default nothing stands apart.

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
            ours, theirs = (f"{each.seeds[0]} to {each.seeds[-1]}" for each in (result, results[0]))
            raise ConfigError(
                f"{result.policy!r} played the seeds {ours}, {results[0].policy!r} {theirs}: evaluate both with the "
                "same seed and number of episodes"
            )
        by_name[result.policy] = result
    metric = metric or results[0].spec.metric
    if reference is not None and reference not in by_name:
        raise ConfigError(f"reference is {reference!r}: there are results of {', '.join(by_name)}")
    if BOUND_POLICY in by_name and metric not in by_name[BOUND_POLICY].metric_names:
        del by_name[BOUND_POLICY]
    abilities = {name: ability_of(result) for name, result in by_name.items()}
    rules = _merits_of_rules(results, metric)
    rows, copies = [], copies_of(results)
    for name, result in by_name.items():
        apart = ability is not None and name != BOUND_POLICY and not (ability + OF_SEARCH).covers(abilities[name])
        allowed = abilities[name] if ability is None else abilities[name] + ability if apart else ability
        fair = [rule for rule in rules if rule != name and allowed.covers(abilities[rule])]
        base = by_name.get(reference or max(fair, key=rules.__getitem__, default=""))
        row = _row(result, metric, ability=abilities[name], bound=by_name.get(BOUND_POLICY), base=base)
        rows.append(replace(row, apart=apart, copies=copies[name]))
    merits = {row.policy: np.nan_to_num(merit(metric, row.estimate.mean), nan=-np.inf) for row in rows}
    return sorted(rows, key=lambda row: (row.policy != BOUND_POLICY, row.apart, -merits[row.policy]))


def comparison_table(
    results: Sequence[EvaluationResult], *, metric: str | None = None, rows: Sequence[ComparisonRow] | None = None
) -> Table:
    """Lays the comparison of `compare`, or the ``rows`` that it gave, out: percent and ms, intervals in brackets."""
    rows = rows or compare(results, metric=metric)
    shown = column_of(metric or results[0].spec.metric)
    columns: dict[str, list[str]] = {
        "policy": [f"{row.policy} ({', '.join(row.notes)})" if row.notes else row.policy for row in rows],
        "actions": [", ".join(row.ability.actions) for row in rows],
        "information": [", ".join(row.ability.information) or "none" for row in rows],
        shown.label: [shown.write(row.estimate) for row in rows],
        "middle half": [shown.write(row.middle.mean) for row in rows],
    }
    if any(row.score is not None for row in rows):
        columns["score"] = [written_score(row.score) for row in rows]
    unit = f", {shown.unit}" if shown.unit else ""
    if any(row.difference is not None for row in rows):
        columns["reference"] = [row.reference or "" for row in rows]
        columns[f"minus reference{unit}"] = [shown.write(row.difference, signed=True) for row in rows]
        chances = [format_interval(row.improvement, scale=PERCENT) for row in rows]
        columns["better than reference, %"] = chances
    if any(row.to_bound is not None for row in rows):
        columns[f"to the bound{unit}"] = [shown.write(row.to_bound) for row in rows]
    for name in next((row.others for row in rows if row.others), {}):
        other = column_of(name)
        columns[other.label] = [other.write(row.others.get(name)) for row in rows]
    return Table(columns=tuple(columns), rows=tuple(zip(*columns.values(), strict=True)))


def curves_of(order: Sequence[str], learned: Collection[str]) -> list[str]:
    """Chooses at most six policies for curves, best first: learned ones, one plain heuristic, and the best others."""
    plain = [name for name in BASELINES if name in order][:1]
    first = [name for name in order if name in learned][: MOST_CURVES - len(plain)] + plain
    others = [name for name in order if name not in first and name not in learned]
    chosen = first + others[: MOST_CURVES - len(first)]
    return [name for name in order if name in chosen]


def tables_markdown(settings: Sequence[ComparedSetting]) -> str:
    """Returns a table for each setting, under headings of settings and environments.

    What stands apart, with actions or information that the agents of a setting do not have, has a table of its own.
    """
    parts = []
    for environment, group in groupby(settings, key=lambda each: each.setting.spec.id):
        parts.append(f"\n## {environment}\n")
        for compared in group:
            setting = compared.setting
            heading = ": ".join(escaped(name) for name in (setting.name, setting.title) if name)
            parts.append(f"\n### {heading}\n")
            if setting.ability is not None:
                named = "Tier: {}. Actions: {}. Information: {}. Score 1: {}."
                parts.append(f"\n{named.format(setting.tier, *setting.ability.words, escaped(setting.reference))}\n")
            ranked = [row for row in compared.rows if not row.apart]
            apart = [row for row in compared.rows if row.apart]
            for words, rows in (("", ranked), (f"\n{APART}:\n", apart)):
                if rows:
                    table = comparison_table(compared.results, metric=setting.metric, rows=rows)
                    parts.append(f"{words}\n{table.markdown()}")
    return "".join(parts)


def copies_of(results: Sequence[EvaluationResult]) -> dict[str, dict[str, int]]:
    """Counts, for each policy, its runs that are equal to a rule, or else to another policy, in all episodes.

    A rule of the package has none: what is equal to it is the copy. Equal is what has all figures that are published.
    """
    outcomes = {each.policy: [*map(published_outcome, each.runs)] for each in results}
    rules = [each.policy for each in results if not each.learned and each.spec.names(each.source or each.policy)]
    first: dict[str, list[str]] = {}
    for name in (*rules, *(name for name in outcomes if name not in rules)):
        for outcome in dict.fromkeys(outcomes[name]):
            first.setdefault(outcome, []).append(name)
    found = {}
    for name, runs in outcomes.items():
        others = ([each for each in first[run] if each != name][:1] for run in runs)
        found[name] = {} if name in rules else dict(Counter(each for other in others for each in other))
    return found


def _merits_of_rules(results: Sequence[EvaluationResult], metric: str) -> dict[str, float]:
    """Returns how good each rule is on average, by its name; rules of which nothing is known are left out."""
    rules = [each for each in results if not (each.policy == BOUND_POLICY or each.learned or plans(each))]
    means = {rule.policy: statistics.known_mean(rule.samples(metric)) for rule in rules}
    return {rule: merit(metric, mean) for rule, mean in means.items() if not np.isnan(mean)}


def _row(
    result: EvaluationResult,
    metric: str,
    *,
    ability: Ability,
    bound: EvaluationResult | None,
    base: EvaluationResult | None,
) -> ComparisonRow:
    counted = result.counted
    samples = counted.samples(metric)
    row = ComparisonRow(
        policy=result.policy,
        learned=result.learned,
        searches=plans(result),
        num_runs=len(result.runs),
        num_distinct=result.num_distinct,
        backed=result.backed,
        secret=None if result.secret is None else result.secret.interval(metric),
        estimate=statistics.bootstrap_interval(samples),
        middle=statistics.bootstrap_interval(samples, statistic=statistics.interquartile_mean),
        ability=ability,
    )
    if result is bound:
        return row
    others = {name: counted.interval(name) for name in metrics_beside(metric) if name in result.metric_names}
    to_bound = None if bound is None else statistics.paired_difference(bound.samples(metric), samples)
    row = replace(row, others=others, to_bound=to_bound)
    if base is None or base is result:
        return row
    theirs, sign = base.samples(metric), -1.0 if metric in SMALLER_IS_BETTER else 1.0
    return replace(
        row,
        reference=base.policy,
        difference=statistics.paired_difference(samples, theirs),
        improvement=statistics.probability_of_improvement(sign * samples, sign * theirs),
    )
