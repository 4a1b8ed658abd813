"""The page: a table for each setting, which sorts, the curves below it, and an overview on top.

What comes from result files is escaped: their labels may come from anybody. The page shows all there is without its
script, which only sorts, filters and opens animations in place.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.evaluation import BOUND_POLICY, Interval, Progress, bootstrap_intervals
from flowsched_gym.flows.metrics import SMALLER_IS_BETTER, merit
from flowsched_gym.leaderboard import comparison
from flowsched_gym.leaderboard.claims import BETTER, NO_RULE, WORSE, claims_of
from flowsched_gym.leaderboard.comparison import RANDOM, ComparedSetting, ComparisonRow, MetricColumn
from flowsched_gym.leaderboard.page.charts import Curve, draw_chart
from flowsched_gym.leaderboard.suite import Groups, Setting

OVERVIEW_HEADS: Final = (
    *("setting", "best rule with the agent's actions and information", "best learned agent", "difference"),
    *("the agent", "search"),
)
PROFILE_POINTS: Final = 33
PROFILE_RESAMPLES: Final = 500
WORDS: Final = ("actions", "information")
"""Columns without numbers."""
UNSIGNED: Final = re.compile(r"\+0\.0+(?!\d)")
"""A difference of nothing, which has no sign."""
MOST_DIGITS: Final = 6
MIN_TRAININGS: Final = 2
NAMED_BETWEEN: Final = (0.88, 0.12)
"""Shares at which lines lead from the curves of a profile to their names."""


@dataclass(frozen=True, slots=True)
class Film:
    """An animated episode of a policy in a setting, both by their names, and its address from the page."""

    setting: str
    policy: str
    address: str


def page_html(
    groups: Groups,
    *,
    suite: str,
    yours: Collection[tuple[str, str]] = (),
    films: Sequence[Film] = (),
    learning: Mapping[str, Sequence[Curve]] | None = None,
    progress: Progress | None = None,
) -> str:
    """Returns the page of settings and their results, each policy once.

    ``yours`` are the settings and policies whose results are not published ones, ``learning`` the learning curves of
    agents by setting; ``progress`` is called with the number of settings that have been compared, and of all.
    """
    compared = comparison.compare_settings(groups, progress)
    verdicts = {id(claim.row): claim.verdict for claim in claims_of(compared)}
    body = [_overview(compared, verdicts)]
    for number, each in enumerate(compared):
        name = each.setting.name
        played = {film.policy: film.address for film in films if film.setting == name}
        mine = {policy for setting, policy in yours if setting == name}
        body.append(_section(number, each, played=played, mine=mine, learning=(learning or {}).get(name, ())))
    environments = sorted({escape(setting.spec.id) for setting, _ in groups})
    folder = resources.files("flowsched_gym.leaderboard.page")
    template, style, script = ((folder / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    return template.format(
        suite=escape(suite),
        style=style,
        count=sum(len(members) for _, members in groups),
        settings=len(groups),
        bound=BOUND_POLICY,
        options="".join(f'<option value="{name}">{name}</option>' for name in environments),
        body="".join(body),
        script=script,
    )


def _overview(settings: Sequence[ComparedSetting], verdicts: Mapping[int, str]) -> str:
    """Sets the best learned agent of each setting beside its reference, a rule with its actions and information."""
    lines = []
    for number, compared in enumerate(settings):
        setting, shown = compared.setting, compared.column
        agent = next(iter(compared.agents), None)
        search = next((row for row in compared.rows if row.searches), None)
        rule = compared.best_rule if agent is None else compared.row(agent.reference)
        difference = None if agent is None else agent.difference
        written = shown.write(difference, digits=_telling_digits(difference, shown), signed=True)
        link = f'<a href="#setting-{number}">{escape(_name(setting))}</a>'
        cells = [
            f'<th scope="row">{link} <small>{escape(shown.label)}: {_direction(setting.metric)}</small></th>',
            _best(rule, shown),
            _best(agent, shown, "" if agent is None else _range_of_trainings(compared, agent)),
            _cell(UNSIGNED.sub("0.0", written)),
            _verdict(compared, agent, verdicts.get(id(agent))),
            _best(search, shown),
        ]
        # A narrow screen shows the row as a list, with these names.
        heads = (f'<td data-head="{escape(head)}"' for head in OVERVIEW_HEADS)
        named = [cell.replace("<td", head, 1) for head, cell in zip(heads, cells, strict=True)]
        lines.append(_line(named, environment=setting.spec.id, learned=agent is not None))
    return f'<section id="overview"><h2>Overview</h2>{_table(OVERVIEW_HEADS, lines, "Overview")}</section>\n'


def _direction(metric: str) -> str:
    return "less is better ↓" if metric in SMALLER_IS_BETTER else "more is better ↑"


def _telling_digits(difference: Interval | None, shown: MetricColumn) -> int:
    """Returns as many digits as it takes that what is not 0 does not look like it, but at most ``MOST_DIGITS``."""
    if difference is None:
        return shown.digits
    sizes = [abs(end) * shown.scale for end in (difference.mean, difference.low, difference.high)]
    smallest, digits = min((size for size in sizes if size > 0.0), default=1.0), shown.digits
    while digits < MOST_DIGITS and round(smallest, digits) == 0.0:
        digits += 1
    return digits


def _range_of_trainings(compared: ComparedSetting, agent: ComparisonRow) -> str:
    """Writes the means of the worst and the best training; nothing where there is one."""
    means, shown = _means_of_trainings(compared, agent), compared.column
    low, high = (f"{shown.scale * end:.{shown.digits}f}" for end in (min(means), max(means)))
    return f"{low} to {high} in {len(means)} trainings" if len(means) >= MIN_TRAININGS else ""


def _num_collapsed(compared: ComparedSetting, agent: ComparisonRow) -> int:
    """Counts the trainings of an agent that are worse than a policy that chooses at random."""
    metric, chance = compared.setting.metric, compared.row(RANDOM)
    value = -np.inf if chance is None else merit(metric, chance.estimate.mean)
    return sum(merit(metric, mean) < value for mean in _means_of_trainings(compared, agent))


def _means_of_trainings(compared: ComparedSetting, agent: ComparisonRow) -> FloatArray:
    means: FloatArray = compared.result(agent.policy).samples(compared.setting.metric).mean(axis=1)
    return means


def _section(
    number: int, compared: ComparedSetting, played: Mapping[str, str], mine: Collection[str], learning: Sequence[Curve]
) -> str:
    """Lays out a setting: its table, then its curves."""
    setting, members, rows = compared
    shown = compared.column
    table = comparison.comparison_table(members, metric=setting.metric, rows=rows)
    # Numbers first: a narrow screen has no room for words before them.
    order = sorted(range(1, len(table.columns)), key=lambda column: table.columns[column] in WORDS)
    lines = []
    for row, texts in zip(rows, table.rows, strict=True):
        notes = [row.training] * row.learned
        if row.learned and (collapsed := _num_collapsed(compared, row)):
            notes.append(f"{collapsed} worse than {RANDOM}")
        notes += ["with more actions or information"] * row.apart
        notes += ["yours"] * (row.policy in mine)
        note = f" <small>{', '.join(notes)}</small>" if notes else ""
        film = ""
        if row.policy in played:
            title = escape(f"{row.policy} on {_name(setting)}")
            film = f'<a class="film" href="{escape(played[row.policy])}" data-title="{title}">watch</a>'
        cells = [f'<th scope="row">{escape(row.policy)}{note}</th>', *(_cell(texts[column]) for column in order)]
        cells += [f"<td>{film}</td>"] * bool(played)
        lines.append(_line(cells, learned=row.learned, bound=row.policy == BOUND_POLICY))
    heads = ("policy", *(table.columns[column] for column in order), *["episode"] * bool(played))
    reach = "at most" if setting.metric in SMALLER_IS_BETTER else "at least"
    caption = f"Performance profiles: episodes (%) with {reach} the value on the axis; shaded: 95 % intervals."
    figures = [_figure(_profile(compared), caption)]
    if learning:
        reference, title = compared.best_rule, f"Learning curves on {_name(setting)}"
        level = None if reference is None else (reference.policy, shown.scale * reference.estimate.mean)
        chart = draw_chart(learning, title=title, x_label="decisions in training", level=level)
        caption = f"Learning curves: {shown.label} in validation episodes, mean and range of the training seeds"
        figures.append(_figure(chart, caption + ("; dashed: the best rule, in the test episodes." if level else ".")))
    learned = any(row.learned for row in rows)
    return (
        f'<section class="setting" id="setting-{number}" data-environment="{escape(setting.spec.id)}" '
        f'data-learned="{int(learned)}">\n<h2>{escape(_name(setting))}</h2>\n'
        f"<p>{escape(setting.spec.id)}: {escape(setting.title)}; {len(members[0].seeds)} episodes, ordered by "
        f"{escape(shown.label)} ({_direction(setting.metric)})</p>\n{_table(heads, lines, _name(setting))}"
        f'<div class="charts">{"".join(figures)}</div>\n</section>\n'
    )


def _profile(compared: ComparedSetting) -> str:
    """Draws the share of episodes in which each policy reaches a value (Agarwal et al., section 4)."""
    setting, members, rows = compared
    shown, smaller = compared.column, setting.metric in SMALLER_IS_BETTER
    learned = {row.policy for row in rows if row.learned}
    names = comparison.curves_of([row.policy for row in rows if row.policy != BOUND_POLICY], learned)
    samples = {member.policy: member.samples(setting.metric) for member in members if member.policy in names}
    samples = {name: values[:, np.isfinite(values).all(axis=0)] for name, values in samples.items()}
    samples = {name: shown.scale * values for name, values in samples.items() if values.size}
    if not samples:
        return ""
    every = np.concatenate([values.ravel() for values in samples.values()])
    # Two per cent of the values lie outside the axis, so that outliers of one policy do not squeeze all curves.
    low_end, high_end = np.quantile(every, (0.0, 0.98) if smaller else (0.02, 1.0)).tolist()
    thresholds = np.linspace(low_end, high_end, PROFILE_POINTS)
    ordered = sorted(samples, key=lambda name: float(np.median(samples[name])), reverse=not smaller)
    levels = dict(zip(ordered, np.linspace(*NAMED_BETWEEN, max(len(ordered), 2)).tolist(), strict=False))
    curves = []
    for name in (name for name in names if name in samples):
        values = samples[name]
        reached = {
            str(at): (values <= each if smaller else values >= each).astype(np.float64)
            for at, each in enumerate(thresholds.tolist())
        }
        shares = bootstrap_intervals(reached, num_resamples=PROFILE_RESAMPLES).values()
        mean, low, high = (100 * np.array([getattr(each, end) for each in shares]) for end in ("mean", "low", "high"))
        at = int(np.argmin(np.abs(mean - 100 * levels[name])))
        curves.append(Curve(name=name, learned=name in learned, x=thresholds, y=mean, low=low, high=high, named_at=at))
    title = f"Performance profiles on {_name(setting)}"
    return draw_chart(curves, title=title, x_label=shown.label, y_range=(0.0, 100.0))


def _verdict(compared: ComparedSetting, row: ComparisonRow | None, said: str | None) -> str:
    """Writes whether the best learned agent ``wins``, ``loses`` or ``collapses``, or ``open``; empty if unknown."""
    if row is None or row.difference is None or not row.difference.known or said in (None, NO_RULE):
        return "<td></td>"
    num_collapsed = _num_collapsed(compared, row)
    verdict = {BETTER: "wins", WORSE: "loses"}.get(said or "", "collapses" if num_collapsed else "open")
    if not num_collapsed:
        return f"<td>{verdict}</td>"
    return f"<td>{verdict} <small>{num_collapsed} of {row.num_runs} trainings worse than {RANDOM}</small></td>"


def _best(row: ComparisonRow | None, shown: MetricColumn, note: str = "") -> str:
    if row is None:
        return "<td></td>"
    value = shown.write(row.estimate).partition(" ")[0]
    names = "".join(f" <small>{escape(text)}</small>" for text in (row.policy, note) if text)
    return f'<td data-value="{value}">{value}{names}</td>'


def _cell(text: str) -> str:
    """Writes an estimate with its interval smaller, and a value to sort by; words as they are."""
    value, _, interval = text.partition(" [")
    small = f" <small>[{escape(interval)}</small>" if interval else ""
    return f'<td data-value="{escape(value)}">{escape(value)}{small}</td>'


def _line(cells: Sequence[str], *, environment: str = "", learned: bool = False, bound: bool = False) -> str:
    kind = "learned" if learned and not environment else "bound" if bound else ""
    marks = f' class="{kind}"' if kind else ""
    if environment:
        marks += f' data-environment="{escape(environment)}" data-learned="{int(learned)}"'
    return f"<tr{marks}>{''.join(cells)}</tr>\n"


def _table(heads: Sequence[str], lines: Sequence[str], name: str) -> str:
    columns = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escape(name)}"><table>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{''.join(lines)}</tbody></table></div>\n"
    )


def _figure(chart: str, caption: str) -> str:
    return f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>" if chart else ""


def _name(setting: Setting) -> str:
    return setting.name or f"{setting.spec.id}, {setting.title}"
