"""Lays TAFE's numbers beside what ``tafe.py`` measured, and a coflow simulator's beside what ``coflows.py`` did."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper import coflows, tafe
from benchmarks.paper.figures import GREY, HERE, headline, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import Runs
from benchmarks.paper.statements import MS, Column, Row, at_points, change, in_percent, page, statements_table, table
from benchmarks.paper.tafe import AT_ONCE, CLOSED, COMPARED, ON_MACHINES, QUEUED, QUEUES, SIX, TASKS, WORKLOADS
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import bootstrap_interval
from flowsched_gym.evaluation.figures import CURVES, label_curves
from flowsched_gym.leaderboard import Table
from flowsched_gym.topology.cpus import CPU_SHARES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCUMENT: Final = HERE / "tafe.md"
PAPERS: Final = ("8, 8", "4, 6", "3, 5", "")
"""When the tasks of Figure 2 end."""
MODES: Final = (CLOSED, AT_ONCE, "load 0.9")
"""Arrivals in the tables."""
BOTH: Final = "TAFE, both"
WINDOWED: Final = ("TAFE", BOTH)
OTHERS, MOVED, AGAINST_PIAS = (
    tuple(name for name in schemes if name not in ("D2TCP", "PIAS")) for schemes in (COMPARED, ON_MACHINES, QUEUED)
)
METRICS: Final = {
    "fct": ", mean response",
    "tct": ", mean TCT",
    "p95": ", 95th percentile TCT",
    "largest": ", largest TCT",
    "in_order": ", in order",
}
STYLES: Final = {
    "D2TCP": (CURVES[0], "-"),
    "FIFO-LM": (GREY, "-"),
    "TAFE": (CURVES[1], "-"),
    "TAFE, 3 queues": (CURVES[1], "--"),
    "STF": (CURVES[3], "-"),
}
"""Colour and line of each scheme."""
LAST: Final = -1
"""End of the percentiles that are drawn: without the largest time, at which all curves are steep."""
REFERENCE: Final = {"SEBF": 1.0, "STF, longest flow": 1.034, "Aalo-like": 1.619, "fair": 2.525, "FIFO": 2.951}
"""Mean coflow completion time over that of SEBF, as ``coflow/coflowsim`` prints it with admission every 8 ms."""
REFERENCE_SEBF: Final = 27.20
"""Its mean with SEBF in s of 1,024 ms."""


def read_results() -> dict[str, Any]:
    """Reads what was measured, of tasks and of coflows."""
    return {"tafe": read_json(tafe.RESULTS), "coflows": read_json(coflows.RESULTS)}


def tafe_markdown(results: dict[str, Any]) -> str:
    """Returns the page."""
    found, trace = results["tafe"], results["coflows"]
    studies: dict[str, Runs] = found["studies"] | {"sizes": found["sizes"]}
    example = [(f"`{name}`", barrier, found["example"][f"{name}, {barrier}"]) for name, barrier in tafe.EXAMPLE]
    rows = tuple(
        (*each, ", ".join(f"{time:g}" for time in ends), PAPERS[index]) for index, (*each, ends) in enumerate(example)
    )
    sizes = {"tafe-log": studies["log"]} | {name: studies[name] for name in WORKLOADS[3:]}
    spread = {f", {mode}": {name: runs[mode] for name, runs in sizes.items() if mode in runs} for mode in MODES}
    return page(
        "tafe",
        example=Table(columns=("discipline", "barrier per", "here", "paper"), rows=rows),
        statements=statements_table("TAFE", at_points(studies, MODES, digits=1), MODES),
        thresholds=thresholds_table(studies),
        queues=queues_table(studies),
        spread=by_mode(spread, "", ("fct", "tct"), OTHERS),
        machines=by_mode(studies, "machines", ("fct", "tct"), MOVED),
        kinds=kinds_table(studies),
        cluster=by_mode(studies, "cluster", ("fct", "tct"), MOVED),
        sequential=by_mode(studies, "sequential", ("tct",), AGAINST_PIAS, "PIAS"),
        parallel=by_mode(studies, "parallel", ("tct", "in_order"), AGAINST_PIAS, "PIAS"),
        mark_at=tafe.MARK_AT,
        buffer=tafe.BUFFER,
        windows=by_mode(studies, "packets", tuple(METRICS)[:4], WINDOWED),
        losses=by_mode(studies, "packets", ("drops",), ("D2TCP", *WINDOWED), None),
        flows=trace["flows"],
        command=trace["command"],
        trace=trace_table(trace),
    )


def by_mode(
    studies: Mapping[str, Runs], study: str, metrics: Iterable[str], schemes: Sequence[str], other: str | None = "D2TCP"
) -> Table:
    """Sets schemes against another for each kind of arrivals, point and metric; without another, shares are in %."""
    rows = [
        Row((f"{point}, {mode}{METRICS.get(metric, '')}",), studies[f"{study}, {mode}"], point, metric)
        for mode in MODES
        for point in studies.get(f"{study}, {mode}", {})
        for metric in metrics
    ]
    return table("", rows, [Column(name, (name,) if other is None else (name, other), scale=100) for name in schemes])


def thresholds_table(studies: dict[str, Runs]) -> Table:
    """Compares the paper's thresholds with thirds."""
    pair = ("paper", "thirds")
    found = {mode: [change(studies[f"thresholds, {mode}"], str(each), "tct", pair) for each in TASKS] for mode in MODES}
    rows = tuple((mode, *(in_percent(each, 1) for each in changes)) for mode, changes in found.items())
    return Table(columns=("", *(f"{count} tasks" for count in TASKS)), rows=rows)


def queues_table(studies: dict[str, Runs]) -> Table:
    """Compares numbers of queues, each seed by its mean over numbers of tasks."""
    rows = []
    for mode, kind in product(MODES, ("spread", "quantiles")):
        runs = studies[f"thresholds, {mode}"]
        found = np.array([[runs[str(count)][f"{kind}, {each}"]["tct"] for count in TASKS] for each in QUEUES])
        cells = [in_percent(bootstrap_interval(each), 1) for each in (found[1:] / found[0] - 1).mean(axis=1)]
        rows.append((mode, kind, *cells))
    return Table(columns=("", "thresholds", *(f"{each} queues" for each in QUEUES[1:])), rows=tuple(rows))


def kinds_table(studies: dict[str, Runs]) -> Table:
    """Lays the response times of the flows of each of the six machines out."""
    rows = [
        Row((mode, f"{cpu:g}", f"{memory:g}"), studies[f"machines, {mode}"], SIX, f"fct {kind}")
        for mode in MODES[:2]
        for kind, (cpu, memory) in enumerate(zip(CPU_SHARES, tafe.MEMORY, strict=True))
    ]
    columns = [Column(name, (name,), scale=MS) for name in ("D2TCP", *MOVED)]
    return table(("", "CPU", "memory"), rows, [*columns, Column(f"{BOTH} to D2TCP, %", (BOTH, "D2TCP"))])


def trace_table(trace: dict[str, Any]) -> Table:
    """Lays the schemes out, beside the simulator."""
    schemes, rules = trace["schemes"], trace["rules"]
    rows = []
    for name in dict.fromkeys([*schemes, *rules]):
        cells = ["", "", "", "", ""]
        if name in schemes:
            found = schemes[name]
            cells = [f"{found[key]:.2f}" for key in ("mean", "median", "p95")]
            cells += [f"{found['mean'] / schemes['SEBF']['mean']:.3f}", f"{found['cpu_s']:.0f}"]
        share = REFERENCE.get(name)
        cells += ["", ""] if share is None else [f"{share * REFERENCE_SEBF:.2f}", f"{share:.3f}"]
        rows.append((name, *cells, f"{rules[name]:.2f}" if name in rules else ""))
    columns = ("", "mean", "median", "95th percentile", "over SEBF", "CPU, s")
    return Table(columns=(*columns, "coflowsim", "over SEBF", "its rules here"), rows=tuple(rows))


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws Figures 7 to 12; returns where they are."""
    return save({"tafe_times.png": draw_times(results["tafe"]["percentiles"])}, folder)


def draw_times(spread: dict[str, dict[str, dict[str, list[float]]]]) -> "Figure":
    """Draws Figures 7 to 12: quantiles of task completion times, whose curves end apart."""
    columns = [(count, mode) for count in (100, 500) for mode in (CLOSED, "load 0.9")]
    figure, rows = panels(2, len(columns), (15, 8))
    for row, size in zip(rows, ("short", "long"), strict=True):
        for axes, (count, mode) in zip(row, columns, strict=True):
            for name, (colour, style) in STYLES.items():
                times = MS * np.array(spread[f"{size}, {count}"][mode][name])
                axes.plot(tafe.PERCENTS[:LAST], times[:LAST], style, color=colour, label=name)
            axes.set(xlim=(0, 100))
            logarithmic(axes.yaxis, (1,))
            panel_title(axes, f"{count} {size} tasks, {mode}")
        row[0].set_ylabel("task completion time (ms)")
        label_curves(row[-1])
    for axes in rows[-1]:
        axes.set_xlabel("percentile of tasks")
    headline(figure, "One link of 1 Gbps, in this model (TAFE, Figures 6 to 12)")
    return figure
