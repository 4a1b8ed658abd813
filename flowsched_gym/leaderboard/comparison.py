"""Compares policies that played the same episodes: estimates, intervals, regret to the clairvoyant bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.errors import ConfigError
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult, Interval, paired_difference
from flowsched_gym.leaderboard.table import Table, format_interval
from flowsched_gym.registration import system_of

__all__ = ["ComparisonRow", "compare", "comparison_table"]

BASELINE: Final = "edf"
"""Policy that the others are paired with where it is among them."""
PERCENT: Final = 100.0
MILLISECONDS: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """Summary of one policy.

    Attributes:
        policy: Its name.
        deadline_hit_ratio: Share of deadlines met; for the bound, what no scheduler exceeds.
        regret: Bound's ratio minus the policy's, episode by episode; ``None`` without a bound, and for the bound.
        difference: Policy's ratio minus the baseline's, episode by episode; ``None`` without a baseline, and for it.
        mean_fct: Mean flow completion time in s; ``None`` for the bound.
        p99_fct: 99th percentile of it in s; ``None`` for the bound.
        mean_slowdown: Mean slowdown; ``None`` for the bound, and where it was not measured.
        max_slowdown: Largest slowdown; ``None`` likewise.
        mean_tct: Mean task completion time in s; ``None`` where the environment is not about tasks.
        p99_tct: 99th percentile of it in s; ``None`` likewise.
    """

    policy: str
    deadline_hit_ratio: Interval
    regret: Interval | None
    difference: Interval | None
    mean_fct: Interval | None
    p99_fct: Interval | None
    mean_slowdown: Interval | None
    max_slowdown: Interval | None
    mean_tct: Interval | None
    p99_tct: Interval | None


def compare(results: Sequence[EvaluationResult], *, baseline: str = BASELINE) -> list[ComparisonRow]:
    """Compares policies on the same episodes, best first.

    They are ordered by deadlines met, then by mean flow completion time; where the environment is about tasks, by mean
    task completion time.

    Args:
        results: One result per policy; that of the bound (`evaluate_bound`) gives the regret.
        baseline: Policy that the others are paired with, where it is among them.

    Raises:
        ConfigError: There is no result, a policy occurs twice, or the results are of different seeds.
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
    bound, base = by_name.get(BOUND_POLICY), by_name.get(baseline)
    rows = [_row(result, bound=bound, base=base) for result in results]
    return sorted(rows, key=_place)


def comparison_table(results: Sequence[EvaluationResult], *, baseline: str = BASELINE) -> Table:
    """Lays the comparison out: percent and ms, intervals in brackets; slowdowns where there are no deadlines.

    Args:
        results: As in `compare`.
        baseline: As in `compare`.

    Raises:
        ConfigError: As in `compare`.
    """
    rows = compare(results, baseline=baseline)
    of_tasks = any(row.mean_tct is not None for row in rows)
    with_deadlines = not of_tasks and any(not np.isnan(row.deadline_hit_ratio.mean) for row in rows)
    with_regret = any(row.regret is not None for row in rows)
    with_difference = any(row.difference is not None for row in rows)
    columns: list[tuple[str, list[str]]] = [("policy", [row.policy for row in rows])]
    if with_deadlines:
        cells = [format_interval(row.deadline_hit_ratio, scale=PERCENT) for row in rows]
        columns.append(("deadlines met, %", cells))
    if with_deadlines and with_regret:
        columns.append(("regret to the bound, points", [format_interval(row.regret, scale=PERCENT) for row in rows]))
    if with_deadlines and with_difference:
        cells = [format_interval(row.difference, scale=PERCENT, signed=True) for row in rows]
        columns.append((f"over {baseline}, points", cells))
    if of_tasks:
        columns.append(("mean TCT, ms", [format_interval(row.mean_tct, scale=MILLISECONDS) for row in rows]))
        columns.append(("p99 TCT, ms", [format_interval(row.p99_tct, scale=MILLISECONDS) for row in rows]))
    columns.append(("mean FCT, ms", [format_interval(row.mean_fct, scale=MILLISECONDS) for row in rows]))
    columns.append(("p99 FCT, ms", [format_interval(row.p99_fct, scale=MILLISECONDS) for row in rows]))
    for name, slowdowns in (
        ("mean slowdown", [row.mean_slowdown for row in rows]),
        ("largest slowdown", [row.max_slowdown for row in rows]),
    ):
        if not (of_tasks or with_deadlines) and any(slowdown is not None for slowdown in slowdowns):
            columns.append((name, [format_interval(slowdown, digits=2) for slowdown in slowdowns]))
    return Table(
        columns=tuple(name for name, _ in columns), rows=tuple(zip(*(cells for _, cells in columns), strict=True))
    )


def _row(result: EvaluationResult, *, bound: EvaluationResult | None, base: EvaluationResult | None) -> ComparisonRow:
    ratio = result.values("deadline_hit_ratio")
    is_bound = result is bound
    of_tasks = system_of(result.environment)[1].of_tasks
    regret = None if bound is None or is_bound else paired_difference(bound.values("deadline_hit_ratio"), ratio)
    paired = base is not None and not is_bound and result is not base
    difference = paired_difference(ratio, base.values("deadline_hit_ratio")) if paired and base is not None else None
    return ComparisonRow(
        policy=result.policy,
        deadline_hit_ratio=result.interval("deadline_hit_ratio"),
        regret=regret,
        difference=difference,
        mean_fct=None if is_bound else result.interval("mean_fct"),
        p99_fct=None if is_bound else result.interval("p99_fct"),
        mean_slowdown=result.interval("mean_slowdown") if "mean_slowdown" in result.metric_names else None,
        max_slowdown=result.interval("max_slowdown") if "max_slowdown" in result.metric_names else None,
        mean_tct=result.interval("mean_tct") if of_tasks else None,
        p99_tct=result.interval("p99_tct") if of_tasks else None,
    )


def _place(row: ComparisonRow) -> tuple[bool, float, float]:
    """Orders rows: by mean task completion time; else the bound, by deadlines met, by mean flow completion time."""
    if row.mean_tct is not None:
        return (True, 0.0, row.mean_tct.mean)
    ratio = row.deadline_hit_ratio.mean
    fct = 0.0 if row.mean_fct is None else row.mean_fct.mean
    return (row.policy != BOUND_POLICY, 0.0 if np.isnan(ratio) else -ratio, fct)


def _range(result: EvaluationResult) -> str:
    return f"{result.seeds[0]} to {result.seeds[-1]}"
