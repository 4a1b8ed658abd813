"""Judges the learned agents of a suite: what they claim against rules, their scores, and why they lose.

An agent claims to be better than the best rule that keeps to what its setting allows (`comparison`). A verdict stands
where the p-value of their difference is below 0.05 after it was adjusted for all claims of the table (Holm). An agent
that stands apart claims nothing, and none is called better where no rule takes all of its actions.

The score of a suite is made of the headline settings; those of shift have one of their own. Counted are all learned
agents with exactly the actions and the information of their setting: nothing is chosen by the test episodes. Each
setting weighs the same, and in it each training of its agents.

An agent's share of the room is ``(agent - rule) / (search - rule)``: what it wins, beyond the best rule, of what search
finds with the same actions; negative where it loses. A setting has room, and is a headline one, where search is
``LEAST_ROOM`` better than the rule. Where search sees more than agents do (forecasts of paths), 1 may be out of reach.
The share of a suite is the mean over its headline settings.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.tables import Table, code_span, escaped
from flowsched_gym.evaluation import BOUND_POLICY, Interval
from flowsched_gym.evaluation.written import MetricColumn, format_interval
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard.comparison import (
    ACTIONS_ONLY,
    RANDOM,
    WITH_MODELS,
    ComparedSetting,
    ComparisonRow,
    written_score,
)
from flowsched_gym.leaderboard.scores import Compared, holm, mean_score, num_collapsed, suite_score, training_scores
from flowsched_gym.leaderboard.suite import CALIBRATION, HEADLINE, PAPERS

LEVEL: Final = 0.05
"""Adjusted p-value below which a difference is told."""
LEAST_P: Final = 0.001
"""What is smaller is not written out."""
LEAST_ROOM: Final = 0.02
"""Room between the best rule and search below which a setting calibrates: of a share, or relative to a mean."""
LEAST_LOSS: Final = 0.01
"""By how much another policy must be better for an agent to have lost something, likewise."""
BETTER: Final = "**better**"
WORSE: Final = "worse"
OPEN: Final = "no significant difference"
NO_RULE: Final = "no rule has its actions"
ON_SECRET_SEEDS: Final = "on secret seeds"
"""Column of the difference with which a row was verified."""
REASONS: Final = {
    "no room": "neither the best rule nor the reference is more than 1 % better",
    "no information": "every policy that is more than 1 % better than the best rule has more information",
    "not found": "a policy with the same actions and information is better, but training did not find it",
    "not measured": "the reference has no result",
}
"""Why an agent is not better than the best rule, and what that means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is claimed of a learned agent in a setting.

    Attributes:
        p_value: How probable a difference from the rule as large is where there is none, adjusted for all claims.
        scored: What its scores are made of; ``None`` where nothing has the score 0 or 1.
        shared: What its shares of the room are made of; ``None`` where there is no room, or none was measured.
        counted: Whether it has exactly the actions and the information of its setting, and a score; the reference, as
            the best constant action may be, does not count.
    """

    compared: ComparedSetting
    row: ComparisonRow
    rule: ComparisonRow | None
    p_value: float
    scored: Compared | None
    shared: Compared | None
    counted: bool

    @property
    def verdict(self) -> str:
        """What may be said of the agent."""
        if self.rule is None or self.row.difference is None:
            return NO_RULE
        if not self.p_value < LEVEL:
            return OPEN
        if merit(self.compared.setting.metric, self.row.difference.mean) < 0:
            return WORSE
        rules = (each for each in self.compared.rows if each.is_rule and not each.apart)
        matched = any(set(self.row.ability.actions) <= set(each.ability.actions) for each in rules)
        return BETTER if matched else NO_RULE

    @property
    def scores(self) -> FloatArray:
        """Score of each training, (num_runs,); none where there is no scale."""
        return np.empty(0) if self.scored is None else training_scores(self.scored)

    @property
    def share(self) -> float | None:
        """Mean share of the room of its trainings; ``None`` where there is no room."""
        return None if self.shared is None else float(training_scores(self.shared).mean())

    @property
    def reason(self) -> str:
        """Why the agent is not better than the rule, one of ``REASONS``."""
        reference, rule = self.compared.row(self.compared.setting.reference), self.compared.best_rule
        if reference is None or rule is None:
            return "not measured"
        if gain(self.compared, rule, self.row) > LEAST_LOSS:
            return "not found"
        if gain(self.compared, reference, rule) <= LEAST_LOSS:
            return "no room"
        knows = not reference.apart and reference.policy != BOUND_POLICY
        ranked = (each for each in self.compared.rows if not each.apart and each.policy != BOUND_POLICY)
        found = knows or any(gain(self.compared, each, rule) > LEAST_LOSS for each in ranked)
        return "not found" if found else "no information"


def claims_of(settings: Sequence[ComparedSetting]) -> list[Claim]:
    """Returns what is claimed of the learned agents that do not stand apart."""
    found = [(compared, row) for compared in settings for row in compared.agents if not row.apart]
    p_values = [1.0 if row.difference is None else row.difference.p_value for _, row in found]
    adjusted = holm(np.nan_to_num(np.array(p_values), nan=1.0))
    claims = []
    for (compared, row), p_value in zip(found, adjusted.tolist(), strict=True):
        setting, rule = compared.setting, compared.row(row.reference)
        scored = compared.scored(row.policy, reference=setting.reference or row.reference)
        own = setting.ability is None or row.ability.covers(setting.ability)
        counted = own and scored is not None and row.policy != setting.reference
        room = room_of(compared)
        shared = compared.shares(row.policy) if room is not None and room[1] >= LEAST_ROOM else None
        made = {"p_value": p_value, "scored": scored, "shared": shared, "counted": counted}
        claims.append(Claim(compared=compared, row=row, rule=rule, **made))
    return claims


def gain(compared: ComparedSetting, row: ComparisonRow, other: ComparisonRow) -> float:
    """Returns by how much a policy is better than another one: of a share, or relative to the other's mean."""
    metric, shown = compared.setting.metric, compared.column
    difference = merit(metric, row.estimate.mean - other.estimate.mean)
    return difference if shown.unit == "points" else difference / (abs(other.estimate.mean) or 1.0)


def room_of(compared: ComparedSetting) -> tuple[ComparisonRow, float] | None:
    """Returns the best search, and its gain over the best rule; ``None`` without both."""
    rule, search = compared.best_rule, compared.best_search
    return None if rule is None or search is None else (search, gain(compared, search, rule))


def tier_of(compared: ComparedSetting) -> str:
    """Returns the tier of a setting; where its suite has none, that of its room, which search must have measured."""
    room = room_of(compared)
    return compared.setting.tier or (HEADLINE if room is None or room[1] >= LEAST_ROOM else CALIBRATION)


def tier_misfit(compared: ComparedSetting) -> str | None:
    """Returns what is wrong with a setting: a tier unlike its room, or a reference no better than random."""
    setting, room = compared.setting, room_of(compared)
    if setting.tier in (CALIBRATION, HEADLINE) and room is not None:
        search, width = room
        calibrates = setting.tier == CALIBRATION
        if calibrates is not (width < LEAST_ROOM):
            side, percent = "at least" if calibrates else "less than", math.floor(round(1000 * width, 6)) / 10
            return (
                f"{setting.name} is of tier {setting.tier}, but {search.policy} is {percent:.1f} % better than the "
                f"best rule, {side} {100 * LEAST_ROOM:g} %"
            )
    known = all(compared.row(name) is not None for name in (setting.reference, RANDOM))
    if setting.tier not in ("", PAPERS) and known and compared.scored(RANDOM) is None:
        return f"{setting.name}: its reference {setting.reference} is not better than {RANDOM}"
    return None


def counted_in(claims: Sequence[Claim], tier: str = HEADLINE) -> list[Claim]:
    """Lists the agents that count in the settings of a tier."""
    return [each for each in claims if each.counted and tier_of(each.compared) == tier]


def score_of(claims: Sequence[Claim], tier: str = HEADLINE) -> Interval | None:
    """Returns the score of the settings of a tier, the interquartile mean of all trainings that count, if there are."""
    counted = pooled(counted_in(claims, tier))
    return suite_score(counted) if counted else None


def pooled(claims: Sequence[Claim]) -> list[Compared]:
    """Returns what the scores of each setting are made of, with the trainings of all agents of the claims."""
    groups = ((group[0], [each.row.policy for each in group]) for group in _by_setting(claims))
    found = (
        first.compared.scored(*names, reference=first.compared.setting.reference or first.row.reference)
        for first, names in groups
    )
    return [each for each in found if each is not None]


def _by_setting(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Groups claims by their settings."""
    agents: dict[int, list[Claim]] = {}
    for each in claims:
        agents.setdefault(id(each.compared), []).append(each)
    return list(agents.values())


def share_of(claims: Sequence[Claim]) -> Interval | None:
    """Returns the share of the room: the mean over headline settings with room of all trainings that count there."""
    counted = _by_setting(each for each in counted_in(claims, HEADLINE) if each.shared is not None)
    shared = [group[0].compared.shares(*(each.row.policy for each in group)) for group in counted]
    known = [each for each in shared if each is not None]
    return suite_score(known, mean_score) if known else None


def share_line(settings: Sequence[ComparedSetting], claims: Sequence[Claim]) -> str:
    """Writes the share of the room in headline settings in one line: of agents by their names, and the extremes."""
    of_tier = [each for each in settings if tier_of(each) == HEADLINE]
    counted = [each for each in counted_in(claims, HEADLINE) if each.shared is not None]
    if not counted:
        return f"Search finds no more than the best rule in the {len(of_tier)} headline settings, or was not measured."
    kinds = Counter(each.row.policy for each in counted)
    shares = {name: share_of([each for each in counted if each.row.policy == name]) for name in kinds}
    won = ", ".join(
        f"{code_span(name)} **{format_interval(share, digits=2)}** in {kinds[name]}"
        for name, share in sorted(shares.items(), key=lambda each: -kinds[each[0]])
        if share is not None
    )
    names = {each.compared.setting.name for each in counted}
    ends = [end(counted, key=lambda each: each.share or 0.0) for end in (min, max)]
    least, most = (f"{written_score(each.share)} in {escaped(each.compared.setting.name)}" for each in ends)
    told = {each.compared.setting.name for each in counted if (room := room_of(each.compared)) and room[0].apart}
    more = f" In {len(told)} of them search sees more than agents do." if told else ""
    return (
        f"In {len(names)} of {len(of_tier)} headline settings, search is at least {100 * LEAST_ROOM:g} % better than "
        f"the best rule. Agents win of that room (0: rule, 1: search): {won}; from {least} to {most}.{more}"
    )


def score_line(settings: Sequence[ComparedSetting], claims: Sequence[Claim], tier: str = HEADLINE) -> str:
    """Writes the score of a tier in one line, with how many of its settings count, and the agent that scores least."""
    score, of_tier = score_of(claims, tier), [each for each in settings if tier_of(each) == tier]
    counted = counted_in(claims, tier)
    names = {each.compared.setting.name for each in counted}
    if score is None:
        return f"No learned agent counts in the {len(of_tier)} {tier} settings."
    least = min(counted, key=lambda each: float(each.scores.mean()))
    written = f"{written_score(float(least.scores.mean()))} in {escaped(least.compared.setting.name)}"
    return (
        f"Score of the learned agents: **{format_interval(score, digits=2)}** in {len(names)} of {len(of_tier)} {tier} "
        f"settings (0: random choice, 1: the reference of each setting); the lowest agent has {written}."
    )


def learned_table(claims: Sequence[Claim]) -> Table:
    """Lays the claims out, a row for each agent."""
    lines = []
    for each in claims:
        row, shown, setting = each.row, each.compared.column, each.compared.setting
        scores, difference = each.scores, row.difference
        collapsed = num_collapsed(scores) if len(scores) else 0
        judged = difference is not None and each.verdict != NO_RULE
        trainings = [*map(escaped, row.trainings()), *[f"{collapsed} collapsed"] * bool(collapsed)]
        rule = "" if each.rule is None else f"{escaped(each.rule.policy)} {_mean(shown, each.rule)}"
        lines.append(
            (
                escaped(setting.name or setting.title),
                tier_of(each.compared),
                escaped(row.policy) + " (the reference)" * (row.policy == setting.reference),
                ", ".join(trainings),
                f"{shown.label}: {_mean(shown, row)}",
                rule,
                shown.write(difference, signed=True),
                written_score(float(scores.mean())) if len(scores) else "",
                _written_room(each.compared),
                written_score(each.share),
                f"{each.verdict}, {_written_p(each.p_value)}" if judged else each.verdict,
                shown.write(row.secret, signed=True) if row.secret else WITH_MODELS if row.backed else ACTIONS_ONLY,
            )
        )
    columns = (
        "setting",
        "tier",
        "agent",
        "trainings",
        "measure",
        "best rule",
        "difference",
        "score",
        "room, %",
        "share of it",
        "verdict",
        ON_SECRET_SEEDS,
    )
    return Table(columns=columns, rows=tuple(lines))


def _written_room(compared: ComparedSetting) -> str:
    """Writes how much better search is than the best rule, in % or points."""
    room = room_of(compared)
    return "" if room is None else f"{100 * room[1]:+.1f}{', told more' * room[0].apart}"


def _written_p(value: float) -> str:
    digits = 2
    while float(f"{value:.{digits}g}") == LEVEL != value:
        digits += 1
    return f"p < {LEAST_P:g}" if value < LEAST_P else f"p = {value:.{digits}g}"


def _mean(shown: MetricColumn, row: ComparisonRow) -> str:
    return shown.write(row.estimate.mean)
