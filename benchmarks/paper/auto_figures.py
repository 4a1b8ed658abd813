"""Draws AuTO's Figures 9 to 12 and 16 from what ``auto.py`` measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.paper.auto import PHASES, SEARCHED_TOLD, SIZES, TOLD
from benchmarks.paper.auto_agents import draw_agents
from benchmarks.paper.auto_tables import LONGEST, MIXED
from benchmarks.paper.figures import AGENT, GREY, HERE, headline, label_all, panel_title, panels, save, scheme_label
from benchmarks.paper.merp import Runs
from benchmarks.paper.statements import MS, mean
from flowsched_gym.evaluation.figures import CURVES, LEARNED, draw_intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS: Final = {name: f"{name}, load 0.8" for name in SIZES} | {MIXED: "four clusters"}
METRICS: Final = (("mean FCT (ms)", "mean_fct"), ("99th percentile FCT (ms)", "p99_fct"))
DRAWN: Final = {
    "QLAS for the mixture": CURVES[0],
    "PIAS for the mixture": CURVES[2],
    TOLD: CURVES[1],
    SEARCHED_TOLD: CURVES[3],
    AGENT: LEARNED,
    "SRPT": GREY,
}
"""Colours of the curves by phase; the table has all schedulers."""
LINKS: Final = {"ecmp": GREY, "least-loaded": CURVES[2], "least-attained": CURVES[0], AGENT: LEARNED}
"""Colours of the policies that count long flows."""
ARRIVALS: Final = 2.0
"""Seconds in which flows arrive."""


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    runs: Runs = results["studies"]["figures 9 to 12"]
    drawn = {
        "auto_schedulers.png": draw_schedulers(runs),
        "auto_changing.png": draw_changing(runs),
        "auto_agents.png": draw_agents(results["agents"]),
        "auto_long_flows.png": draw_long_flows(results["imbalance"]),
    }
    return save(drawn, folder)


def draw_schedulers(runs: Runs) -> "Figure":
    """Draws Figures 9 and 10: the mean of each scheduler, with its interval."""
    figure, rows = panels(len(POINTS), len(METRICS), (10, 12), sharey=True)
    for row, (point, title) in zip(rows, POINTS.items(), strict=True):
        panel_title(row[0], title[0].upper() + title[1:])
        for axes, (what, metric) in zip(row, METRICS, strict=True):
            found = {scheme_label(scheme): mean(runs, point, scheme, metric) for scheme in runs[point]}
            draw_intervals(axes, found, learned=(AGENT,), scale=MS, digits=0)
            axes.set(xlabel=what, xlim=(0, None))
    headline(figure, "Schedulers on traffic that stays, in this model (AuTO, Figures 9 and 10)")
    return figure


def draw_changing(runs: Runs) -> "Figure":
    """Draws Figures 11 and 12: the phases of the first seed, as each has other traffic."""
    figure, (row,) = panels(1, len(METRICS), (11, 4.5))
    schemes = {scheme_label(name): found for name, found in runs[LONGEST].items()}
    for axes, (what, metric) in zip(row, METRICS, strict=True):
        for name, colour in DRAWN.items():
            by_phase = [MS * schemes[name][f"{metric}, phase {phase}"][0] for phase in range(PHASES)]
            axes.plot(range(1, PHASES + 1), by_phase, marker="o", markersize=4, color=colour, label=name)
        axes.set(xlabel="phase of arrival", ylabel=what, ylim=(0, None))
    headline(figure, f"Traffic {LONGEST}, one seed, in this model (AuTO, Figures 11 and 12)")
    label_all([row])
    return figure


def draw_long_flows(imbalance: dict[str, dict[str, list[list[float]]]]) -> "Figure":
    """Draws Figure 16: differences between links over time, of the first seed."""
    figure, (row,) = panels(1, len(imbalance), (11, 4.5))
    for axes, (point, found) in zip(row, imbalance.items(), strict=True):
        for name, pairs in found.items():
            time, difference = zip(*(pair for pair in pairs if pair[0] <= ARRIVALS), strict=True)
            label = scheme_label(name)
            axes.step(time, difference, where="post", color=LINKS[label], label=label, linewidth=1.2)
        panel_title(axes, f"Flows are long from {point}")
        axes.set(xlabel="time (s)", ylabel="most less fewest long flows on a link", ylim=(0, None))
    headline(figure, "Long flows on links of three paths, one seed, in this model (AuTO, Figure 16)")
    label_all([row])
    return figure
