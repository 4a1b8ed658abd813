"""Draws figures of chapter 4 of the Artemis thesis from what ``thesis.py`` played."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.ns3 import THESIS
from benchmarks.paper.thesis import PERCENTS, TOKENS
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation.figures import CURVES, LEARNED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS: Final = {
    "fifo": GREY,
    "edf": CURVES[1],
    "ssdf": CURVES[2],
    "lsdf": CURVES[0],
    "a2c-thesis": LEARNED,
    "paced": CURVES[4],
    "ppo-wait": CURVES[3],
}
"""Policies that are drawn."""
LAST: Final = PERCENTS.index(95)
"""End of the percentiles that are drawn; the slowest flows have a panel of their own."""
SOME_TOKENS: Final = dict(zip(("1", "3", "5", "10", "31", "127"), CURVES, strict=True))
"""Numbers of tokens whose completion times are drawn."""


def draw(found: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    drawn = {}
    for variant in found["variants"]:
        drawn[f"thesis_fct_{variant}.png"] = draw_times(found, variant)
        drawn[f"thesis_course_{variant}.png"] = draw_course(found, variant)
    return save(drawn | {"thesis_tokens.png": draw_tokens(found["tokens"])}, folder)


def printed_times(variant: str) -> dict[str, dict[int, float]]:
    """Returns the completion times that the thesis prints, in ms by percentile, for each policy."""
    printed = read_json(THESIS)[f"gather-a{variant}"]
    return {
        policy: {int(percent): time for percent, time in each.get("fct_percentiles_ms", {}).items()}
        for policy, each in printed.items()
    }


def draw_course(found: dict[str, Any], variant: str) -> "Figure":
    """Draws the deadlines met so far in the course of a run, and the slowest flows with the thesis's beside them."""
    policies, printed = found["variants"][variant], printed_times(variant)
    figure, [row] = panels(1, 3, (15, 4.6))
    for policy, colour in COLOURS.items():
        so_far = np.array(policies[policy]["so_far"])
        bursts = 10 * np.arange(1, so_far.shape[1] + 1)
        band(row[0], bursts.tolist(), so_far.T.tolist(), color=colour, scale=100.0, label=policy)
        row[1].plot(PERCENTS[LAST:], policies[policy]["fct_ms"][LAST:], "o-", color=colour, label=policy)
        tail = {percent: time for percent, time in printed.get(policy, {}).items() if percent >= PERCENTS[LAST]}
        if tail:
            row[2].plot([*tail], [*tail.values()], "o-", color=colour, label=policy)
    row[0].set(xlabel="bursts", ylabel="deadlines met (%)", xlim=(0, 100))
    row[1].set_ylabel("ms")
    panel_title(row[0], "This model, deadlines met so far")
    for axes, title in zip(row[1:], ("This model, slowest flows", "Thesis, slowest flows"), strict=True):
        logarithmic(axes.yaxis, (1, 2, 5))
        axes.set(xlabel="percentile", xlim=(PERCENTS[LAST], 100))
        axes.set_ylim(50, 6000)
        panel_title(axes, title)
    headline(figure, f"Artemis, workload A, variant {variant}, where packets are lost")
    label_all([[axes] for axes in row])
    return figure


def draw_times(found: dict[str, Any], variant: str) -> "Figure":
    """Draws percentiles of completion times and of the gaps between deliveries, and the thesis's times beside them."""
    policies, printed = found["variants"][variant], printed_times(variant)
    figure, [row] = panels(1, 3 if variant == "1" else 2, (15 if variant == "1" else 11, 4.6))
    for policy, colour in COLOURS.items():
        for axes, name in zip(row, ("fct_ms", "gaps_ms"), strict=False):
            axes.plot(PERCENTS[1 : LAST + 1], policies[policy][name][1 : LAST + 1], color=colour, label=policy)
        percentiles = {percent: time for percent, time in printed.get(policy, {}).items() if percent <= PERCENTS[LAST]}
        if variant == "1" and percentiles:
            row[2].plot([*percentiles], [*percentiles.values()], "o-", color=colour, label=policy)
    titles = ("This model, flow completion time", "This model, time between deliveries", "Thesis, flow completion time")
    for axes, title in zip(row, titles, strict=False):
        logarithmic(axes.yaxis, (1, 2, 5))
        axes.set(xlabel="percentile", xlim=(0, 100))
        panel_title(axes, title)
    row[0].set_ylabel("ms")
    headline(figure, f"Artemis, workload A, variant {variant}, where packets are lost")
    label_all([[axes] for axes in row])
    return figure


def draw_tokens(tokens: dict[str, dict[str, dict[str, Any]]]) -> "Figure":
    """Draws what other numbers of tokens do to completion times and deadlines."""
    figure, rows = panels(2, 2, (11, 8.8))
    for axes, metric, scale in zip(rows[0], ("median_fct_ms", "deadline_hit_ratio"), (1.0, 100.0), strict=True):
        for policy in ("fifo", "edf"):
            samples = [tokens[policy][str(count)]["runs"][metric] for count in TOKENS]
            band(axes, TOKENS, samples, color=COLOURS[policy], scale=scale, label=policy)
        logarithmic(axes.xaxis, (1, 3))
        axes.set_xlabel("tokens (k)")
    for axes, policy, number in zip(rows[1], ("fifo", "edf"), ("4.3", "4.5"), strict=True):
        for count, colour in SOME_TOKENS.items():
            times = tokens[policy][count]["fct_ms"][1 : LAST + 1]
            axes.plot(PERCENTS[1 : LAST + 1], times, color=colour, label=f"k = {count}")
        axes.set(xlabel="percentile", ylabel="flow completion time (ms)", xlim=(0, 100))
        panel_title(axes, f"{policy} (figure {number})")
    for axes in (rows[0][0], *rows[1]):
        logarithmic(axes.yaxis, (1, 2, 5))
    rows[0][0].set_ylabel("median flow completion time (ms)")
    rows[0][1].set_ylabel("deadlines met (%)")
    panel_title(rows[0][1], "edf: figure 4.4")
    headline(figure, "Artemis, workload A, variant 1, with other numbers of tokens")
    label_all([[axes] for row in rows for axes in row])
    return figure
