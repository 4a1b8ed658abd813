"""Lays AuTO's figures out as ``auto.py`` measured them, and draws Figures 9 to 12 and 16."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.auto import (
    FIXED,
    GROUPS,
    PHASE_LENGTHS,
    PHASES,
    SEARCHED_TOLD,
    SIZES,
    TOLD,
    TOLD_MIXTURE,
)
from benchmarks.paper.auto_agents import BOTH, TRAINED, agents_values, draw_agents, kilobytes
from benchmarks.paper.auto_long_flows import ENVIRONMENT, FEW, FLOWS, SLOTS
from benchmarks.paper.auto_schemes import ENVIRONMENT as THRESHOLDS_ENVIRONMENT
from benchmarks.paper.auto_schemes import SEARCHED, THEORY, TRAINING_SEEDS
from benchmarks.paper.figures import AGENT, GREY, HERE, headline, label_all, panel_title, panels, save, scheme_label
from benchmarks.paper.merp import Runs
from benchmarks.paper.statements import MS, Column, Row, at_points, change, mean, page, statements_table, table
from flowsched_gym.evaluation.figures import CURVES, draw_intervals
from flowsched_gym.evaluation.figures import LEARNED as AGENTS_COLOUR
from flowsched_gym.leaderboard import Table, format_interval
from flowsched_gym.players import find_player
from flowsched_gym.registration import agent_ability, find_environment
from flowsched_gym.systems import Ability, Action, Information

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEB, MINING = SIZES
MIXED: Final = "clusters"
CAN: Final = ("actions", "information")
HOMOGENEOUS: Final = {
    "web_search": (WEB, "QLAS"),
    "data_mining": (MINING, "QLAS"),
    "clusters": (MIXED, "QLAS for each cluster"),
}
"""Points of Figures 9 and 10, and what their schemes are compared with."""
TIMES: Final = (
    Column("mean FCT, ms", metric="mean_fct", scale=MS),
    Column("99th percentile", metric="p99_fct", scale=MS),
)
SLOWDOWNS: Final = (
    Column("mean slowdown", metric="mean_slowdown", digits=2),
    Column("99th percentile", metric="p99_slowdown", digits=2),
)
POINTS: Final = tuple(f"changing every {length:g} s" for length in PHASE_LENGTHS)
LONGEST: Final = POINTS[-1]

LEARNED: Final = "learned"
"""How rows of agents begin."""
ABILITIES: Final = (
    ("QLAS", Ability((Action.THRESHOLDS,), (Information.TRAFFIC,))),
    ("PIAS", Ability((Action.THRESHOLDS,), (Information.TRAFFIC,))),
    (SEARCHED, Ability((Action.THRESHOLDS,), (Information.TRAFFIC,))),
    ("QSJF", Ability((Action.QUEUE,), (Information.TRAFFIC, Information.SIZES))),
    ("PS", Ability()),
    ("SRPT", Ability((Action.ORDER,), (Information.SIZES,))),
)
"""What schemes do and know, by how their names begin."""
ADDITIONS: Final = (
    ("FIFO inside", Ability(actions=(Action.ORDER,))),
    ("told of each change", Ability(information=(Information.CHANGES,))),
)
"""What those do and know besides whose names end so."""

NO_AGENT: Final = "No agent was trained for these settings when this was measured: there is no row of one."
AGENTS: Final = (
    "Rows that begin with `learned` are agents of `benchmarks/models/paper`. Below each table they are compared\n"
    "with the best of those rules whose actions and information they have too."
)
STAYING: Final = {name: f"{name}, load 0.8" for name in SIZES} | {MIXED: "four clusters"}
METRICS: Final = (("mean FCT (ms)", "mean_fct"), ("99th percentile FCT (ms)", "p99_fct"))
DRAWN: Final = {
    "QLAS for the mixture": CURVES[0],
    "PIAS for the mixture": CURVES[2],
    TOLD: CURVES[1],
    SEARCHED_TOLD: CURVES[3],
    AGENT: AGENTS_COLOUR,
    "SRPT": GREY,
}
"""Colours of the curves by phase; the table has all schedulers."""
LINKS: Final = {"ecmp": GREY, "least-loaded": CURVES[2], "least-attained": CURVES[0], AGENT: AGENTS_COLOUR}
"""Colours of the policies that count long flows."""
ARRIVALS: Final = 2.0
"""Seconds in which flows arrive."""


def auto_markdown(results: dict[str, Any]) -> str:
    """Returns the part of the document on AuTO."""
    studies = results["studies"]
    runs, long = studies["figures 9 to 12"], studies["long flows"]
    agents = any(name.startswith(LEARNED) for each in (runs, long) for found in each.values() for name in found)
    long_findings = (findings(long, point, metric="mean_slowdown_long", label=f"Long from {point}") for point in long)
    return page(
        "auto",
        seeds=len(results["seeds"]),
        flows=results["num_flows"],
        command=results["command"],
        version=results["package_version"],
        learned=AGENTS if agents else NO_AGENT,
        statements=statements_table("AuTO", at_points(studies | further_runs(results))),
        **{
            name: schemes_table(runs, point, against).markdown() + findings(runs, point)
            for name, (point, against) in HOMOGENEOUS.items()
        },
        **agents_values(results["agents"]),
        phases=PHASES,
        changing=changing_table(runs).markdown() + "".join(findings(runs, point) for point in POINTS),
        best=best_fixed(runs),
        length=PHASE_LENGTHS[-1],
        room=room_table(runs),
        first=TRAINING_SEEDS[0],
        last=TRAINING_SEEDS[-1],
        thresholds=thresholds_table(results),
        groups=groups_table(studies["thresholds"]),
        long=FLOWS,
        slots=SLOTS,
        long_flows=long_flows_table(long).markdown() + "".join(long_findings),
        delays=delay_table(results["delays"]),
    )


def further_runs(results: dict[str, Any]) -> dict[str, Runs]:
    """Returns what else statements name: trainings of both agents, and times of decisions."""
    delays = results["delays"]["long_flows"]
    return {
        "agents": {
            point: {name: {"mean_fct": values} for name, values in results["agents"][BOTH + ending]["pairs"].items()}
            for point, ending in TRAINED.items()
            if BOTH + ending in results["agents"]
        },
        "delays": {str(row["n_l"]): {"long flows": {"network_ms": [row["network_ms"]]}} for row in delays},
    }


def best_fixed(runs: Runs, point: str = LONGEST) -> str:
    """Returns which of the settings that stay has the least mean FCT on changing traffic."""
    return min(FIXED, key=lambda name: float(np.mean(runs[point][name]["mean_fct"])))


def ability(scheme: str) -> Ability:
    """Returns what a scheme of a table may do, and what it knows."""
    long_flows = find_environment(ENVIRONMENT)
    if scheme in long_flows.heuristics:
        return find_player(scheme, long_flows).ability
    if scheme.startswith(LEARNED):
        spec = long_flows if "long-flows" in scheme else find_environment(THRESHOLDS_ENVIRONMENT)
        return agent_ability(spec, {}, trained=True)
    found = next(ability for beginning, ability in ABILITIES if scheme.startswith(beginning))
    return sum((ability for ending, ability in ADDITIONS if scheme.endswith(ending)), start=found)


def findings(runs: Runs, point: str, *, metric: str = "mean_fct", label: str | None = None) -> str:
    """Tells how each agent compares with the best rule whose actions and information it has too."""
    lines = []
    for agent in (name for name in runs[point] if name.startswith(LEARNED)):
        rules = [name for name in runs[point] if name != agent and ability(agent).covers(ability(name))]
        best = min(rules, key=lambda name: float(np.mean(runs[point][name][metric])))
        found = change(runs, point, metric, (agent, best))
        verdict = "better" if found.high < 0 else "worse" if found.low > 0 else "no significant difference"
        told = f"{format_interval(found, scale=100, digits=1, signed=True)} %, {verdict}"
        where = label or point[0].upper() + point[1:]
        lines.append(f"- {where}: `{agent}` against {best}, the best rule with its actions and information: {told}.\n")
    return "\n" + "".join(lines)


def schemes_table(runs: Runs, point: str, against: str) -> Table:
    """Lays Figure 9 or 10 out."""
    rows = [Row((name, *ability(name).words), runs, point, scheme=name) for name in runs[point]]
    columns = [*TIMES, *SLOWDOWNS, Column("change, %", ("", against), "mean_fct", digits=0)]
    return table(("", *CAN), rows, columns)


def changing_table(runs: Runs) -> Table:
    """Lays the whole runs of Figures 11 and 12 out, for both lengths of a phase."""
    columns = [*TIMES, SLOWDOWNS[0], Column("change, %", ("", best_fixed(runs)), "mean_fct", digits=0)]
    parts = []
    for length, point in zip(PHASE_LENGTHS, POINTS, strict=True):
        rows = [Row((), runs, point, scheme=name) for name in runs[point]]
        headed = [columns[0]._replace(heading=f"{length:g} s: {columns[0].heading}"), *columns[1:]]
        parts.append(table((), rows, headed))
    names = ((name, *ability(name).words) for name in runs[POINTS[0]])
    rows_beside = zip(names, *(part.rows for part in parts), strict=True)
    return Table(
        columns=("", *CAN, *(each for part in parts for each in part.columns)),
        rows=tuple(tuple(cell for part in row for cell in part) for row in rows_beside),
    )


def room_table(runs: Runs) -> Table:
    """Says how much better than the best setting that stays those are that know more."""
    names = (TOLD, TOLD_MIXTURE, SEARCHED_TOLD, "QSJF for the mixture", "SRPT")
    pair = ("", best_fixed(runs))
    columns = [
        Column("change of the mean FCT, %", pair, "mean_fct", digits=0),
        Column("of the 99th percentile, %", pair, "p99_fct", digits=0),
    ]
    return table("", [Row((name,), runs, LONGEST, scheme=name) for name in names], columns)


def thresholds_table(results: dict[str, Any]) -> Table:
    """Lays Figure 13 out."""
    runs = results["studies"]["thresholds"]
    rows = [
        Row((f"{point}, {name}", kilobytes(limits)), runs, point, scheme=name)
        for point, found in results["searched"].items()
        for name, limits in found.items()
    ]
    changed = Column("change of the mean, %", ("", THEORY), "mean_fct", digits=0)
    return table(("", "thresholds, KB"), rows, [*TIMES, changed])


def groups_table(runs: Runs) -> Table:
    """Lays Figures 14 and 15 out."""

    def columns(group: str) -> list[Column]:
        found = []
        for title, metric in (("mean FCT", f"mean_fct, {group}"), ("99th percentile", f"p99_fct, {group}")):
            found += [
                Column(f"{title}: {THEORY}", (THEORY,), metric, MS, 2),
                Column(SEARCHED, (SEARCHED,), metric, MS, 2),
            ]
            found += [Column("change, %", (SEARCHED, THEORY), metric, digits=0)]
        return found

    parts = [
        table("sizes", [Row((f"{point}, {group}",), runs, point)], columns(group)) for point in runs for group in GROUPS
    ]
    return Table(columns=parts[0].columns, rows=tuple(row for part in parts for row in part.rows))


def long_flows_table(runs: Runs) -> Table:
    """Lays Figure 16 out."""
    rows = [
        Row((f"{point}, {name}", *ability(name).words), runs, point, scheme=name)
        for point in runs
        for name in runs[point]
    ]
    columns = [
        Column("mean difference", metric="mean_difference"),
        Column("99th percentile", metric="p99_difference"),
        Column("largest", metric="max_difference"),
        Column(f"below {FEW}, % of the time", metric="share_below_few", scale=100, digits=0),
        Column("mean slowdown of long flows", metric="mean_slowdown_long", digits=2, interval=True),
        Column("of all", metric="mean_slowdown", digits=2, interval=True),
        Column("change, %", ("", "ecmp"), "mean_slowdown_long", digits=0),
    ]
    return table(("long from", *CAN), rows, columns)


def delay_table(delays: dict[str, Any]) -> Table:
    """Lays Figure 17 out."""
    named = [(f"thresholds, observation `{row['observation']}`", row) for row in delays["thresholds"]]
    named += [(f"long flows, n_l {row['n_l']}, m_l {row['m_l']}", row) for row in delays["long_flows"]]
    rows = tuple((name, f"{row['network_ms']:.2f}", f"{row['environment_ms']:.2f}") for name, row in named)
    return Table(columns=("agent", "network", "environment"), rows=rows)


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
    figure, rows = panels(len(STAYING), len(METRICS), (10, 12), sharey=True)
    for row, (point, title) in zip(rows, STAYING.items(), strict=True):
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
