"""Scores of the policies of one workload of a sweep, and their table."""

from dataclasses import dataclass
from typing import Final

from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import BOUND_POLICY, Interval
from flowsched_gym.flows.metrics import unit_of
from flowsched_gym.leaderboard import Table, format_interval

PERCENT: Final = 100.0
DIGITS_OF_SCALED: Final = 1
DIGITS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyScore:
    """The score of a policy.

    Attributes:
        name: Its name.
        learned: Whether it was trained in this sweep.
        runs: Its trainings; 0 for a heuristic.
        decisions: Decisions that each of them made, and those asked for where they differ; empty for a heuristic.
        estimate: The metric, with an interval over episodes and training seeds.
        over_best: The metric minus that of `SettingScores.best`, on the same episodes; ``None`` for that rule.
    """

    name: str
    learned: bool
    runs: int
    decisions: str
    estimate: Interval
    over_best: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingScores:
    """The scores of all policies on one workload.

    Attributes:
        workload: Its name, and what of the environment was swept over.
        metric: The metric that is compared.
        best: The best rule with the actions and the information of the agents.
        episodes: Episodes that each policy and each training played.
        scores: The policies, best first.
        bound: The metric of the clairvoyant bound; ``None`` where there is none.
    """

    workload: str
    metric: str
    best: str
    episodes: int
    scores: tuple[PolicyScore, ...]
    bound: Interval | None

    @property
    def title(self) -> str:
        """Workload, metric, and how the intervals were made."""
        return (
            f"{self.workload}: {score_column(self.metric)[0]}, mean and 95% interval over {self.episodes} episodes "
            "and the training seeds"
        )

    def table(self) -> Table:
        """Lays the policies out, the bound first."""
        _, scale, digits = score_column(self.metric)
        rows = [
            (
                score.name,
                str(score.runs) if score.learned else "",
                score.decisions,
                format_interval(score.estimate, scale=scale, digits=digits),
                format_interval(score.over_best, scale=scale, digits=digits, signed=True),
            )
            for score in self.scores
        ]
        if self.bound is not None:
            rows.insert(0, (BOUND_POLICY, "", "", format_interval(self.bound, scale=scale, digits=digits), ""))
        columns = ("policy", "training seeds", "decisions", score_column(self.metric)[0], f"over {self.best}")
        return Table(columns=columns, rows=tuple(rows))


def score_column(metric: str) -> tuple[str, float, int]:
    """Returns how a metric is written: its name with the unit, the factor to multiply by, and digits."""
    if metric == "deadline_hit_ratio":
        return "deadlines met, %", PERCENT, DIGITS_OF_SCALED
    name = metric.replace("_", " ").replace("fct", "FCT").replace("tct", "TCT")
    if unit_of(metric) == "s":
        return f"{name}, ms", 1 / SECONDS_PER_MILLISECOND, DIGITS
    return name, 1.0, DIGITS
