"""The page: what agents score, who wins and why others lose, then each setting with a film, curves and its table.

``page.html`` lays it out, with Jinja2, which escapes all but pictures: labels of result files may come from anybody.
The page shows all there is without its script, which only sorts, filters and lets films be stopped.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import Any, Final

import numpy as np

from flowsched_gym.envs.drawing.render_modes import Package
from flowsched_gym.evaluation import BOUND_POLICY, Progress, evaluate
from flowsched_gym.flows.metrics import SMALLER_IS_BETTER
from flowsched_gym.leaderboard import comparison
from flowsched_gym.leaderboard.claims import (
    BETTER,
    NO_RULE,
    ON_SECRET_SEEDS,
    OPEN,
    REASONS,
    WORSE,
    Claim,
    claims_of,
    counted_in,
    learned_table,
    score_line,
    tier_of,
)
from flowsched_gym.leaderboard.comparison import ComparedSetting, ComparisonRow
from flowsched_gym.leaderboard.page.charts import Curve, ScoreRow, draw_chart, draw_scores
from flowsched_gym.leaderboard.page.episodes import COMPARED, Player, draw_film, lead, outcome_of, typical_episode
from flowsched_gym.leaderboard.suite import HEADLINE, SHIFT, Groups, Setting

JINJA: Final = Package("jinja2", "Jinja2", "plot", "write the page of a leaderboard")
WORDS: Final = ("actions", "information")
"""Columns without numbers."""
HEADS: Final = ("setting", "measure", "best rule", "difference", ON_SECRET_SEEDS, "score", "verdict")
"""Columns of the lists of agents."""
OPEN_LISTS: Final = ("better", "worse", "shift")
"""Lists that are unfolded from the start."""
ESCAPES: Final = re.compile(r"\\(?=\W)|\*\*")
"""Marks of Markdown in the cells of `learned_table`."""
VERDICTS: Final = {
    BETTER: ("better", "Better than the best rule"),
    OPEN: ("open", "No significant difference from the best rule"),
    WORSE: ("worse", "Worse than the best rule"),
    NO_RULE: ("alone", "Without a rule that has the same actions"),
}
"""Verdicts by their class on the page, and what stands above their agents."""
OTHER_LISTS: Final = {
    "shift": "With traffic, tokens or visible requests unlike those of training",
    "rest": "Not counted in the score",
}
REFERENCE: Final = (
    "A reference is a rule, a search that tries each choice before it takes one, or constants that evolution found "
    "(static)."
)
SCORES_CAPTION: Final = (
    "Each dot is one training of an agent, further right is better; the bar is the best hand-written rule. Red: the "
    "training collapsed, by 0.25 below the middle one of its agent or not above random."
)
DEADLINE_FILM: Final = (
    "The same requests under both, one a line: grey while one waits, blue while it sends if it will be in time, red if "
    "it will be late; the tick is its deadline."
)
OTHER_FILM: Final = (
    "The same {what} under both, one a line, from arrival to end: blue if it ends sooner than under the other, where "
    "it ends at the tick, red if later{pale}."
)
CURVE_POINTS: Final = 300
"""Points of the curve of who is ahead: more would not show."""
Learning = Mapping[str, Sequence[Curve]]
"""Learning curves of agents, by setting."""


def page_html(
    groups: Groups,
    *,
    suite: str,
    yours: Collection[tuple[str, str]] = (),
    with_films: bool = True,
    learning: Learning | None = None,
    progress: Progress | None = None,
    home: str | None = None,
) -> str:
    """Returns the page of settings and their results, each policy once.

    ``yours`` are the settings and policies whose results are not published ones, ``learning`` the learning curves of
    agents by setting; ``progress`` is called with the number of settings that have been compared, and of all; ``home``
    is the address of the site that the page is part of, if any.

    Raises:
        MissingDependencyError: Jinja2 is not installed.
    """
    jinja = JINJA.load()
    compared = comparison.compare_settings(groups, progress)
    claims = claims_of(compared)
    names = {id(each): f"setting-{number}" for number, each in enumerate(compared)}
    told = _told(claims, names)
    sections = []
    for each in compared:
        name = each.setting.name
        mine = {policy for setting, policy in yours if setting == name}
        own = [(claim, of) for claim, of in zip(claims, told, strict=True) if claim.compared is each]
        curves = (learning or {}).get(name, ())
        sections.append({"id": names[id(each)], **_section(each, own, mine, curves, with_films=with_films)})
    folder = resources.files("flowsched_gym.leaderboard.page")
    page, style, script = ((folder / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    writer = jinja.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined)
    text: str = writer.from_string(page).render(
        suite=suite,
        home=home,
        style=style,
        results=sum(len(members) for _, members in groups),
        settings=len(groups),
        episodes=len(groups[0][1][0].seeds),
        bound=BOUND_POLICY,
        **_summary(compared, claims, names),
        heads=HEADS,
        lists=_lists(compared, claims, told),
        environments=sorted({setting.spec.id for setting, _ in groups}),
        sections=sections,
        secret=ON_SECRET_SEEDS,
        script=script,
    )
    return text


def _told(claims: Sequence[Claim], names: Mapping[int, str]) -> list[dict[str, str]]:
    """Returns the cells of the table of claims, by column, as plain text, where they are, and why one does not win."""
    table = learned_table(claims)
    rows = [dict(zip(table.columns, (ESCAPES.sub("", cell) for cell in row), strict=True)) for row in table.rows]
    for claim, row in zip(claims, rows, strict=True):
        row["why"] = f"{claim.reason}: {REASONS[claim.reason]}" if claim.verdict in (WORSE, OPEN) else ""
        row |= {"kind": VERDICTS[claim.verdict][0], "section": names[id(claim.compared)]}
    return rows


def _summary(compared: Sequence[ComparedSetting], claims: Sequence[Claim], names: Mapping[int, str]) -> dict[str, Any]:
    """Returns the score, how many agents are better and worse, and a picture of trainings of the headline settings."""
    before, score, after = ([*score_line(compared, claims).split("**"), "", ""])[:3]
    number, _, interval = score.partition(" ")
    counted = counted_in(claims, HEADLINE)
    words = f"{before.rstrip(': ')}{after}" if score else before
    tally = [
        (kind, count, title)
        for verdict, (kind, title) in VERDICTS.items()
        if (count := sum(claim.verdict == verdict for claim in counted))
    ]
    rows = []
    for each in compared:
        if tier_of(each) == HEADLINE:
            of_setting = [claim for claim in counted if claim.compared is each]
            rule = np.nan if each.best_rule is None or each.best_rule.score is None else each.best_rule.score
            scores = [claim.scores for claim in of_setting]
            learned = any(claim.compared is each for claim in claims)
            instead = f"{each.setting.reference}: reference" if learned else "no agent yet"
            name, address = _name(each.setting), f"#{names[id(each)]}"
            rows.append(ScoreRow(name=name, address=address, scores=scores, rule=rule, instead=instead))
    return {
        "score": {"number": number, "interval": interval, "words": f"{words} {REFERENCE}"},
        "tally": tally,
        "scores": _figure(draw_scores(rows), SCORES_CAPTION) if counted else None,
    }


def _lists(
    compared: Sequence[ComparedSetting], claims: Sequence[Claim], told: Sequence[dict[str, str]]
) -> list[dict[str, Any]]:
    """Lists the agents of headline settings by their verdicts, then those on new traffic, then all others."""
    headline, shift = (set(map(id, counted_in(claims, tier))) for tier in (HEADLINE, SHIFT))
    members: dict[str, list[dict[str, str]]] = {}
    for claim, of in zip(claims, told, strict=True):
        counted = id(claim)
        kind = of["kind"] if counted in headline else "shift" if counted in shift else "rest"
        members.setdefault(kind, []).append(of)
    titles = {**dict(VERDICTS.values()), **OTHER_LISTS}
    notes = {"shift": score_line(compared, claims, SHIFT).replace("**", "")}
    return [
        {"kind": kind, "title": title, "open": kind in OPEN_LISTS, "note": notes.get(kind), "claims": members[kind]}
        for kind, title in titles.items()
        if kind in members
    ]


def _section(
    compared: ComparedSetting,
    claims: Sequence[tuple[Claim, dict[str, str]]],
    mine: Collection[str],
    learning: Sequence[Curve],
    *,
    with_films: bool,
) -> dict[str, Any]:
    """Returns what the page shows of a setting: what is said of its agents, an episode, its curves and its table."""
    setting, members, rows = compared
    shown = compared.column
    figures = []
    agents = [claim.row for claim, _ in sorted(claims, key=lambda each: not each[0].counted)]
    foreign = {member.policy for member in members if member.source and not setting.spec.names(member.source)}
    others = (row for row in rows if row.policy in {*mine, *foreign} and row.is_rule and row is not compared.best_rule)
    filmed = [*others, *agents]
    if with_films:
        figures += next(filter(None, (_episode(compared, row) for row in filmed)), [])
    learning = [curve for curve in learning if curve.name in {row.policy for row in compared.agents}]
    if learning:
        level = _level(compared, {curve.episodes for curve in learning})
        title = f"Learning curves on {_name(setting)}"
        chart = draw_chart(learning, title=title, x_label="decisions in training", level=level)
        caption = (
            f"While it learned: {shown.label} in episodes other than those of the test. Thin: each training; thick: "
        )
        caption += f"the median{'; dashed: the best rule in these episodes' * bool(level)}."
        figures.append(_figure(chart, caption, title="Learning"))
    table = comparison.comparison_table(members, metric=setting.metric, rows=rows)
    # Numbers first: a narrow screen has no room for words before them.
    order = sorted(range(1, len(table.columns)), key=lambda column: table.columns[column] in WORDS)
    lines = []
    for row, texts in zip(rows, table.rows, strict=True):
        kind = "learned" if row.learned else "bound" if row.policy == BOUND_POLICY else ""
        notes = [*row.notes] + ["with more actions or information"] * row.apart + ["yours"] * (row.policy in mine)
        cells = [texts[column] for column in order]
        lines.append({"kind": kind, "policy": row.policy, "notes": notes, "cells": cells})
    direction = "less is better" if setting.metric in SMALLER_IS_BETTER else "more is better"
    names = () if setting.ability is None else zip(("Actions", "Told"), setting.ability, strict=True)
    about = [f"What is decided: {setting.spec.description}."]
    about += [f"{word}: {', '.join(words) or 'nothing'}." for word, words in names]
    about.append(f"Measure: {shown.label}; {direction}.")
    return {
        "environment": setting.spec.id,
        "name": _name(setting),
        "title": setting.title,
        "tier": tier_of(compared),
        "about": " ".join(about),
        "claims": [of for _, of in claims],
        "figures": figures,
        "heads": ("policy", *(table.columns[column] for column in order)),
        "rows": lines,
    }


def _level(compared: ComparedSetting, played: Collection[range | None]) -> tuple[str, float] | None:
    """Returns the best rule and its mean in the episodes of learning curves, where these are known and the same."""
    best, (episodes, *others) = compared.best_rule, played
    result = None if best is None else compared.result(best.policy)
    if result is None or result.source is None or not result.spec.names(result.source) or episodes is None or others:
        return None
    again = evaluate(result.spec, result.source, episodes=len(episodes), seed=episodes[0], kwargs=result.kwargs)
    return result.policy, compared.column.scale * float(again.samples(compared.setting.metric).mean())


def _episode(compared: ComparedSetting, row: ComparisonRow) -> list[dict[str, str]]:
    """Draws the first test episode of a policy and the best rule; nothing where one cannot be played again."""
    metric, rule, shown = compared.setting.metric, compared.row(row.reference) or compared.best_rule, compared.column
    if rule is None or metric not in COMPARED:
        return []
    ours, theirs = compared.result(row.policy), compared.result(rule.policy)
    run, number = typical_episode(ours, theirs, metric)
    found = [outcome_of(each, metric, run=at, number=number) for each, at in ((ours, run), (theirs, 0))]
    players = [
        Player(name=each.policy, learned=each.learned, outcome=outcome)
        for each, outcome in zip((row, rule), found, strict=True)
        if outcome is not None
    ]
    if len(players) < len(found):
        return []
    title = f"{row.policy} and {rule.policy} on {_name(compared.setting)}"
    film = draw_film(players, metric, title=title)
    ahead = shown.scale * lead(players[0].outcome, players[1].outcome, metric)
    at = np.unique(np.linspace(0, len(ahead) - 1, CURVE_POINTS).round().astype(np.int64))
    curve = Curve(name=row.policy, x=np.add(at, 1.0, dtype=np.float64), y=ahead[at], others=np.empty((0, len(at))))
    better = "below" if metric in SMALLER_IS_BETTER else "above"
    what = "tasks" if metric.endswith("tct") else "flows"
    chart = draw_chart([curve], title=f"Lead of {title}", x_label=f"{what} of the episode", level=(rule.policy, 0.0))
    caption = f"Test episode {ours.seeds[number]}, so far: {shown.label}, {row.policy} minus {rule.policy}; "
    pale = "; pale: beyond what it would take alone" * (what == "flows")
    told = DEADLINE_FILM if metric == "deadline_hit_ratio" else OTHER_FILM.format(what=what, pale=pale)
    worse = ahead[-1] < 0 if better == "above" else ahead[-1] > 0
    names = (rule.policy, row.policy) if worse else (row.policy, rule.policy)
    gained = f"with which {names[0]} gains most on {names[1]}"
    told = f"{told} Shown are {what} in a row, {'around the largest slowdown' if metric.startswith('max') else gained}."
    caption += f"{better} the dashed line {row.policy} is ahead. Of all, its difference is nearest the mean."
    return [_figure(film, told, title="An episode", kind="film"), _figure(chart, caption, title="Who is ahead in it")]


def _figure(chart: str, caption: str, *, title: str = "", kind: str = "") -> dict[str, str]:
    return {"chart": chart, "caption": caption, "title": title, "kind": kind}


def _name(setting: Setting) -> str:
    return setting.name or f"{setting.spec.id}, {setting.title}"
