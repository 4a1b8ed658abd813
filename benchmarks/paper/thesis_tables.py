"""Writes ``thesis.md``, chapter 4 of the Artemis thesis beside what ``thesis.py`` played, and draws its figures."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import Runs
from benchmarks.paper.ns3 import THESIS
from benchmarks.paper.statements import at_points, page, read_statements, statements_table
from benchmarks.paper.thesis import (
    AGENTS,
    ARTEMIS,
    DEFERRING,
    HEURISTICS,
    NUM_RUNS,
    PACED,
    PERCENTS,
    SEARCHES,
    TOKENS,
    TRANSPORT,
    WHOLE,
)
from benchmarks.paper.thesis_choices import RULES
from benchmarks.paper.thesis_learners import (
    difference,
    estimate,
    hits,
    learners_values,
    mean_of_trainings,
    nearest,
    percents_table,
    points,
)
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import Interval
from flowsched_gym.evaluation.figures import CURVES, LEARNED
from flowsched_gym.leaderboard import Table, format_interval
from flowsched_gym.leaderboard.comparison import OF_SEARCH
from flowsched_gym.players import find_player
from flowsched_gym.registration import agent_ability, find_environment
from flowsched_gym.systems import OPTIONS, Ability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCUMENT: Final = HERE / "thesis.md"
PRINTED: Final[dict[str, Any]] = read_json(THESIS)
OF_VARIANT: Final = {"1": "gather-a1", "2": "gather-a2"}
COLUMNS: Final = ("policy", "actions", "information")
Figures = Mapping[str, tuple[str, float]]
"""Metrics by heading, each with what it is multiplied by."""
MAIN: Final[Figures] = {
    "deadlines met, %": ("deadline_hit_ratio", 100.0),
    "mean FCT, ms": ("mean_fct_ms", 1.0),
    "median FCT, ms": ("median_fct_ms", 1.0),
    "p99 FCT, ms": ("p99_fct_ms", 1.0),
}
PARTS: Final[Figures] = {
    "by 40 ms, %": ("early", 100.0),
    "40 to 50 ms, %": ("late", 100.0),
    "late by 50 ms, %": ("wasted", 100.0),
    "met after 40 ms, %": ("late_met", 100.0),
    "between deliveries, ms": ("mean_gap_ms", 1.0),
    "served of offered, %": ("served_of_offered", 100.0),
}
NUMBERS: Final = {
    "1": {
        "course": "figures 4.6 and 4.9",
        "tail": "figure 4.11",
        "fct": "figures 4.7 and 4.10",
        "gaps": "figure 4.8",
    },
    "2": {"course": "figure 4.13", "tail": "figure 4.15", "fct": "figure 4.14", "gaps": "figure 4.16"},
}
"""What the thesis's figures of a variant are called."""

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


def thesis_markdown(found: dict[str, Any]) -> str:
    """Returns the document about what ``thesis.py`` played."""
    variants, tokens = found["variants"], found["tokens"]
    policies = variants["1"]
    return page(
        "thesis",
        transport=TRANSPORT,
        runs=NUM_RUNS,
        noise=100 * float(np.std(policies["edf"]["runs"]["deadline_hit_ratio"], ddof=1)),
        statements=statements_table("Artemis", at_points(studies_of(found))),
        findings=findings(variants),
        **learners_values(found),
        variants="".join(variant_text(variant, each) for variant, each in variants.items()),
        tokens=tokens_table(tokens),
        agreement=agreement_table(found["agreement"]),
        five=100 * float(np.mean(hits(tokens["fifo"]["5"]))),
        agent=100 * float(np.mean(hits(policies["ppo-wait"]))),
        paced_rule=name_of(PACED, policies[PACED]),
        paced=100 * float(np.mean(hits(policies[PACED]))),
        mixture=mixture(variants),
        whole=whole_queue(variants),
    )


def studies_of(found: dict[str, Any]) -> dict[str, Runs]:
    """Returns what came of each run, of agents the mean of their trainings, as statements name it."""

    def by_run(policies: dict[str, Any]) -> dict[str, Any]:
        return {
            name: {metric: mean_of_trainings(each["runs"], metric).tolist() for metric in each["runs"]}
            for name, each in policies.items()
        }

    counts = {count: {name: each[count] for name, each in found["tokens"].items()} for count in map(str, TOKENS)}
    studies = {f"variant {variant}": {"runs": by_run(policies)} for variant, policies in found["variants"].items()}
    return studies | {"tokens": {count: by_run(policies) for count, policies in counts.items()}}


def variant_text(variant: str, policies: dict[str, Any]) -> str:
    """Tells of a variant; the thesis has percentiles, and comparators that its agent is near to, of the first."""
    printed = OF_VARIANT[variant]
    percents = matches = ""
    if variant == "1":
        percents = page("thesis", "percents", table=percents_table(policies, PRINTED[printed])) + "\n"
        near = statements_table("Artemis, table 4.7", lambda each, agent: nearest(policies, agent, each), [*AGENTS])
        matches = page("thesis", "matches", table=near)
    return page(
        "thesis",
        "variant",
        variant=variant,
        main=main_table(policies, printed),
        parts=parts_table(policies, printed),
        percents=percents,
        matches=matches,
        **NUMBERS[variant],
    )


def findings(variants: dict[str, Any]) -> str:
    """Tells how agents compare with the best rules with their actions and information."""
    lines = []
    for variant, policies in variants.items():
        for agent in AGENTS:
            mine = ability(agent, policies[agent])
            rule = best_of(
                policies, [each for each in (*HEURISTICS, PACED) if mine.covers(ability(each, policies[each]))]
            )
            change = difference(policies[agent]["runs"], policies[rule]["runs"])
            verdict = "more" if change.low > 0 else "fewer" if change.high < 0 else "no significant difference"
            told = f"{format_interval(change, scale=100.0, signed=True)} points, {verdict}"
            lines.append(f"- Variant {variant}, `{agent}` against `{name_of(rule, policies[rule])}`: {told}.")
    return "\n".join(lines) + "\n"


def best_of(policies: dict[str, Any], names: Iterable[str]) -> str:
    """Names the policy that meets the most deadlines."""
    return max(names, key=lambda name: float(np.mean(hits(policies[name]))))


def ability(policy: str, found: dict[str, Any]) -> Ability:
    """Returns what a policy may do, and what it knows."""
    if policy in AGENTS:
        return agent_ability(find_environment(ARTEMIS), AGENTS[policy], trained=True)
    if policy in SEARCHES:
        return agent_ability(find_environment(ARTEMIS), DEFERRING.get(policy, {})) + OF_SEARCH
    return find_player(name_of(policy, found), find_environment(ARTEMIS)).ability


def name_of(policy: str, found: dict[str, Any]) -> str:
    """Names a policy; a rule with its options."""
    return str(found["played"][0]) if policy == PACED else policy


def mixture(variants: dict[str, Any]) -> str:
    """Tells whether ours does better than both."""
    policies = variants["1"]
    both = max(("ssdf", "lsdf"), key=lambda name: float(np.mean(hits(policies[name]))))
    return f"On variant 1 it meets {points(policies, 'a2c-thesis', both)} points more than the better one, `{both}`."


def whole_queue(variants: dict[str, Any]) -> str:
    """Tells how the thesis's rules compare where they rank all requests."""
    told = []
    for variant, policies in variants.items():
        edf, *others = WHOLE
        for rule in others:
            told.append(f"variant {variant}, `{rule}` over `{edf}` {points(policies, rule, edf)} points")
    return "; ".join(told)


def agreement_table(agreement: dict[str, Any]) -> Table:
    """Lays out which rules the agents agree with."""
    rows = tuple(
        (agent, *(f"{100 * found[name]:.0f}" for name in (*RULES, "waits", "chance")))
        for agent, found in agreement.items()
    )
    return Table(columns=("agent", *RULES, "waits", "by chance"), rows=rows)


def beside_thesis(
    policies: dict[str, Any], printed: str, figures: Figures, write: Callable[[Interval, float], str]
) -> Table:
    """Lays figures of policies out, each with the thesis's."""
    rows = []
    for policy, found in policies.items():
        cells = [name_of(policy, found), *ability(policy, found).words]
        for metric, scale in figures.values():
            # Of a rule the thesis prints one figure, whatever that ranked.
            value = PRINTED[printed].get(policy.partition(OPTIONS)[0], {}).get(metric)
            cells.append(write(estimate(found["runs"], metric), scale))
            cells.append("" if value is None else f"{scale * value:.1f}")
        rows.append(tuple(cells))
    return Table(columns=(*COLUMNS, *(each for name in figures for each in (name, "thesis"))), rows=tuple(rows))


def main_table(policies: dict[str, Any], printed: str) -> Table:
    """Lays deadlines and completion times out."""
    return beside_thesis(policies, printed, MAIN, lambda found, scale: format_interval(found, scale=scale))


def parts_table(policies: dict[str, Any], printed: str) -> Table:
    """Lays out which flows finish when."""
    table = beside_thesis(policies, printed, PARTS, lambda found, scale: f"{found.mean * scale:.1f}")
    stalled = (f"{100 * estimate(found['runs'], 'stalled').mean:.1f}" for found in policies.values())
    rows = tuple((*row, cell) for row, cell in zip(table.rows, stalled, strict=True))
    return Table(columns=(*table.columns, "stalled, %"), rows=rows)


def tokens_table(tokens: dict[str, dict[str, dict[str, Any]]]) -> Table:
    """Lays out what other numbers of tokens do."""
    printed = {each.point: each.number for each in read_statements("Artemis") if each.study == "tokens"}
    rows = []
    for count in map(str, TOKENS):
        fifo, edf = (tokens[policy][count]["runs"] for policy in ("fifo", "edf"))
        medians = (format_interval(estimate(runs, "median_fct_ms")) for runs in (fifo, edf))
        met = (format_interval(estimate(runs, "deadline_hit_ratio"), scale=100.0) for runs in (fifo, edf))
        stalled = f"{100 * estimate(fifo, 'stalled').mean:.1f}"
        rows.append((count, next(medians), printed.get(count, ""), *medians, *met, stalled))
    columns = ("k", "median FCT, ms: fifo", "thesis", "edf", "deadlines met, %: fifo", "edf", "fifo: stalled, %")
    return Table(columns=columns, rows=tuple(rows))


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
