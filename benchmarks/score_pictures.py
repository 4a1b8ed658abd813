"""Draws the scores of the leaderboard: a dot for each training, and the share of trainings above each score."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from benchmarks import pictures
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, FAINT, INK, MET, MISSED, dress
from flowsched_gym.leaderboard import Claim, ComparedSetting, tier_of
from flowsched_gym.leaderboard.claims import counted_in, pooled
from flowsched_gym.leaderboard.scores import performance_profile
from flowsched_gym.leaderboard.suite import HEADLINE

WIDTH: Final = 5.0
"""Width in inches: on a phone, letters of these sizes are as large as those of the text."""
ROW: Final = 0.3
"""Height of a setting in inches."""
SHOWN: Final = (-0.5, 1.75)
"""Scores within which dots are drawn; those beyond lie at the edge, as triangles."""
PROFILE: Final = np.linspace(0.0, 1.2, 49)
LETTERS: Final = 9


def write(folder: Path, settings: Sequence[ComparedSetting], claims: Sequence[Claim]) -> None:
    """Writes both pictures, where an agent counts; each carries what it was drawn from (`description`)."""
    if not counted_in(claims):
        return
    for name, figure in (("scores.png", draw_scores(settings, claims)), ("profile.png", draw_profile(claims))):
        drawn_from = description(settings, claims)
        pictures.save(figure, folder / name, dpi=DOTS_PER_INCH, description=drawn_from, bbox_inches="tight")


def description(settings: Sequence[ComparedSetting], claims: Sequence[Claim]) -> str:
    """Lists the scores of all trainings that are drawn, and the best rule's, so that a test tells what is stale."""
    lines = []
    for each in settings:
        for claim in counted_of(each, claims):
            scores = " ".join(f"{score:.3f}" for score in claim.scores.tolist())
            lines.append(f"{each.setting.name} {claim.row.policy}: {scores}; rule {rule_score(each, claim):.3f}")
    return "\n".join(lines)


def counted_of(compared: ComparedSetting, claims: Sequence[Claim]) -> list[Claim]:
    """Lists the agents of a headline setting that count."""
    return [each for each in counted_in(claims) if each.compared is compared]


def rule_score(compared: ComparedSetting, claim: Claim) -> float:
    """Returns the score of the best rule of a setting on the scale of an agent; NaN where there is none."""
    rule = compared.best_rule
    if rule is None or claim.scored is None:
        return float("nan")
    low, high = claim.scored.low.mean(), claim.scored.high.mean()
    return float((rule.estimate.mean - low) / (high - low))


def draw_scores(settings: Sequence[ComparedSetting], claims: Sequence[Claim]) -> Figure:
    """Draws a row for each headline setting."""
    rows = [each for each in settings if tier_of(each) == HEADLINE]
    figure = Figure(figsize=(WIDTH, 1.0 + ROW * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    for at, colour in ((0.0, FAINT), (1.0, INK)):
        axes.axvline(at, color=colour, linewidth=1)
    for index, compared in enumerate(rows):
        drawn = counted_of(compared, claims)
        for claim in drawn:
            scores = claim.scores
            inside = (scores >= SHOWN[0]) & (scores <= SHOWN[1])
            # Dots are spread a little, so that equal ones are told apart.
            spread = index + np.linspace(-0.22, 0.22, len(scores))
            axes.plot(scores[inside], spread[inside], "o", color=MET, markersize=3.5, alpha=0.75, linewidth=0)
            edges = (scores < SHOWN[0], "<", SHOWN[0], MISSED), (scores > SHOWN[1], ">", SHOWN[1], MET)
            for beyond, mark, at, color in (each for each in edges if each[0].any()):
                axes.plot(np.full(beyond.sum(), at), spread[beyond], mark, color=color, markersize=5, clip_on=False)
        if drawn:
            axes.plot(rule_score(compared, drawn[0]), index, "|", color=INK, markersize=13, markeredgewidth=2)
        else:
            trained = any(
                each.compared is compared and each.row.policy == compared.setting.reference for each in claims
            )
            text = "the agent is the reference" if trained else "no agent counts"
            axes.text(0.5, index, text, ha="center", va="center", color=FAINT, fontsize=LETTERS)
    axes.set_yticks(range(len(rows)), [each.setting.name for each in rows], fontsize=LETTERS)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(*SHOWN)
    axes.set_xticks([-0.5, 0, 0.5, 1, 1.5], ["-0.5", "random", "0.5", "reference", "1.5"], fontsize=LETTERS)
    axes.set_xlabel("score of each training; bar: the best rule", fontsize=LETTERS + 1)
    return figure


def draw_profile(claims: Sequence[Claim]) -> Figure:
    """Draws the share of trainings with a score above each value, with 95 % intervals."""
    shares = performance_profile(pooled(counted_in(claims)), PROFILE, num_resamples=1000)
    mean, low, high = (100 * np.array([getattr(each, end) for each in shares]) for end in ("mean", "low", "high"))
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    axes.fill_between(PROFILE, low, high, color=MET, alpha=0.25, linewidth=0)
    axes.plot(PROFILE, mean, color=MET, linewidth=2)
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set(xlim=(PROFILE[0], PROFILE[-1]), ylim=(0, 100))
    axes.set_xlabel("score (1: the reference)", fontsize=LETTERS + 1)
    axes.set_ylabel("trainings above it, %", fontsize=LETTERS + 1)
    return figure
