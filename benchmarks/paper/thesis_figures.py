"""Draws figures of chapter 4 of the Artemis thesis from what ``thesis.py`` played."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.thesis import PERCENTS, TOKENS
from benchmarks.paper.thesis_agreement import STATES
from flowsched_gym.evaluation.figures import CURVES, LEARNED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS: Final = {
    "fifo": GREY,
    "edf": CURVES[1],
    "ssdf": CURVES[2],
    "lsdf": CURVES[0],
    "a2c-thesis": LEARNED,
    "ppo-wait": CURVES[3],
}
"""Policies that are drawn."""
LEAST_DECISIONS: Final = 50
"""Of a state that is drawn."""
LAST: Final = PERCENTS.index(95)
"""End of the percentiles that are drawn."""


def draw(found: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    drawn = {f"thesis_fct_{variant}.png": draw_times(found, variant) for variant in found["variants"]}
    drawn |= {
        "thesis_tokens.png": draw_tokens(found["tokens"]),
        "thesis_agreement.png": draw_agreement(found["agreement"]),
    }
    return save(drawn, folder)


def draw_times(found: dict[str, Any], variant: str) -> "Figure":
    """Draws percentiles of completion times and of the gaps between deliveries, and the thesis's times beside them."""
    printed = json.loads((HERE / "data" / "artemis_thesis.json").read_text(encoding="utf-8"))
    policies = found["variants"][variant]
    figure, [row] = panels(1, 3 if variant == "1" else 2, (15 if variant == "1" else 11, 4.6))
    for policy, colour in COLOURS.items():
        for axes, name in zip(row, ("fct_ms", "gaps_ms"), strict=False):
            axes.plot(PERCENTS[1 : LAST + 1], policies[policy][name][1 : LAST + 1], color=colour, label=policy)
        percentiles = printed["gather-a1"].get(policy, {}).get("fct_percentiles_ms", {})
        if variant == "1" and percentiles:
            row[2].plot([int(each) for each in percentiles], [*percentiles.values()], "o-", color=colour, label=policy)
    titles = ("This model, flow completion time", "This model, time between deliveries", "Thesis, flow completion time")
    for axes, title in zip(row, titles, strict=False):
        logarithmic(axes.yaxis, (1, 2, 5))
        axes.set(xlabel="percentile", xlim=(0, 100))
        panel_title(axes, title)
    row[0].set_ylabel("ms")
    headline(figure, f"Artemis, workload A, variant {variant}, where packets are lost")
    label_all([[axes] for axes in row])
    return figure


def draw_tokens(tokens: dict[str, dict[str, dict[str, list[float]]]]) -> "Figure":
    """Draws what other numbers of tokens do to completion times and deadlines."""
    figure, [row] = panels(1, 2, (11, 4.4))
    for axes, metric, scale in zip(row, ("median_fct_ms", "deadline_hit_ratio"), (1.0, 100.0), strict=True):
        for policy in ("fifo", "edf"):
            samples = [tokens[policy][str(count)][metric] for count in TOKENS]
            band(axes, TOKENS, samples, color=COLOURS[policy], scale=scale, label=policy)
        logarithmic(axes.xaxis, (1, 3))
        axes.set_xlabel("tokens (k)")
    logarithmic(row[0].yaxis, (1, 2, 5))
    row[0].set_ylabel("median flow completion time (ms)")
    row[1].set_ylabel("deadlines met (%)")
    headline(figure, "Artemis, workload A, variant 1, with other numbers of tokens (figures 4.3 and 4.4)")
    label_all([[axes] for axes in row])
    return figure


def draw_agreement(agents: dict[str, Any]) -> "Figure":
    """Draws how often two agents agree with rules, by state."""
    colours = {**COLOURS, "feasible-first": CURVES[3], "waits": LEARNED}
    figure, rows = panels(2, len(STATES), (14, 7.5), sharey=True)
    for row, agent in zip(rows, ("ppo", "ppo-wait"), strict=True):
        for axes, (kind, names) in zip(row, STATES.items(), strict=True):
            found = agents[agent]["states"][kind]
            states = [name for name in names if found[name]["decisions"] >= LEAST_DECISIONS]
            for rule in ("ssdf", "lsdf", "feasible-first", "fifo", *(("waits",) if agent == "ppo-wait" else ())):
                values = [100 * found[name][rule] for name in states]
                axes.plot(range(len(states)), values, "o-", color=colours[rule], label=rule)
            chance = [100 * found[name]["chance"] for name in states]
            axes.plot(range(len(states)), chance, "--", color=GREY, label="by chance")
            axes.set_xticks(range(len(states)), states)
            axes.set(xlabel=kind, ylim=(0, 100))
            panel_title(axes, agent)
        row[0].set_ylabel("same request as the rule (%)")
    headline(figure, "Which rules the agents agree with, workload A, variant 1, where packets are lost")
    label_all([[row[-1]] for row in rows])
    return figure
