"""Sets AuTO's statements beside what ``auto.py`` measured; ``run.py`` puts the text into the README of this folder."""

from typing import Any, Final

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
from benchmarks.paper.auto_agents import agents_markdown, by_training
from benchmarks.paper.auto_long_flows import ENVIRONMENT, FEW, FLOWS, SLOTS
from benchmarks.paper.auto_schemes import ENVIRONMENT as THRESHOLDS_ENVIRONMENT
from benchmarks.paper.auto_search import SEARCHED, THEORY, TRAINING_SEEDS
from benchmarks.paper.merp import Runs
from benchmarks.paper.statements import MS, change, in_percent, mean, plain
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.leaderboard import Table, format_interval
from flowsched_gym.players import find_player
from flowsched_gym.registration import agent_ability, find_environment
from flowsched_gym.systems import Ability, Action, Information

WEB, MINING = SIZES
MIXED: Final = "clusters"
CAN: Final = ("actions", "information")
POINTS: Final = tuple(f"changing every {length:g} s" for length in PHASE_LENGTHS)
LONGEST: Final = POINTS[-1]

HEAD: Final = """
## AuTO, section 6

Fluid model, 32 servers under one switch, 1 Gbps, a round trip of 100 us, four queues that are shared inside where
nothing else is said. All 32 servers send, as sections 6.1.1 and 6.1.2 have it: they make four equal clusters, which the
15 generators in the description of the testbed do not. QLAS has queues by bytes sent, QSJF by size, which no switch
knows; their thresholds are the best ones in theory for queues that are first in, first out, for web search at load 0.8
as in the paper, or `matched` to the traffic. PIAS has its own rule for the thresholds. PS is fair sharing; SRPT knows
what is left of each flow and shows what is possible. {seeds} seeds, each of {flows:,} flows where nothing else is said,
the same for all schemes; changes are ratios of means with 95 % bootstrap intervals. Measured by `{command}`,
flowsched-gym {version}.

{learned}

What the paper's text says of its trained agents (its axes cannot be read in the text that we have), and what comes out
here of schedulers in their place:

"""

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

HOMOGENEOUS: Final = """
Figure 9, {name} at load 0.8. Change: of the mean FCT, against QLAS.

"""

CLUSTERS: Final = """
Figure 10, four clusters of 8 servers: web search at load 0.6 and 0.8, data mining at 0.6 and 0.8. Change: of the mean
FCT, against QLAS for each cluster.

"""

CHANGING: Final = """
Figures 11 and 12: each cluster takes other sizes or another load (0.6, 0.7 or 0.8) after so many seconds, in {phases}
phases. Those that are told of each change have the best thresholds in theory for what a cluster sends just then, or for
what all four send together; these depend on the sizes alone, as loads from 0.6 to 0.8 make no difference. `searched`:
thresholds that a search found (below). Change: of the mean FCT, against the best setting that stays and knows no sizes.

"""

ROOM: Final = """
**The room that a learner has here**, against {best} with phases of {length:g} s:

"""

THRESHOLDS: Final = """
Figures 13 to 15, load 0.6: thresholds by theory, and the best that a search found on other flows (seeds {first} to
{last}): one threshold at a time, for the mean FCT.

"""

GROUPED: Final = """
FCT in ms by size: small up to 100 KB, large above 10 MB. Change: searched against theory.

"""

LONG_FLOWS: Final = """
Figure 16, three paths between any two servers, {flows:,} flows of the same clusters, for the most part of their first
phase of 2 s: long flows on the link with the most less those on the link with the fewest, while flows arrive. The paper
asks an agent for each server, these policies are asked about the oldest {slots} long flows of all servers, once in
10 ms. ECMP knows nothing of loads; the others count long flows on links; agents that `learned` did so on web search.
Change: of the mean slowdown of long flows, against ECMP.

"""

DELAY: Final = """
Figure 17, time of a decision in ms, on one thread and one machine: the forward pass of a network, and what the
environment does once per step beside simulating. The thresholds agent has an actor with two layers of 600, the
long-flow agent a network with ten layers of 300 that sees n_l active and m_l finished flows. The environment's part:
to look at the flows, check the action and set what it says, then to look again, pay and observe, of one of the native
vector environments with its usual 10,000 flows, half of which have finished, and with one cluster of servers. Not in
it: the simulation until the next period, moving a long flow to another path, which is the engine's work, gathering
`infos`, drawing the flows of the next episode; nor what an agent does around its forward pass. Both are repeated on one
state: after the simulation of a period, which empties the caches, either takes several times as long; in the first
seconds on a machine, before its rules are compiled, the environment's part does too. The paper's 10 ms contain the
queueing of 32 servers' updates and both agents.

"""

DIFFERENCES: Final = """
What a flow-level model does not show, and why:

- **-48 % of the mean FCT of web search is out of reach.** A search finds thresholds no better than those of theory,
  and SRPT, which knows all sizes, is 35 % below QLAS. More takes a baseline that loses packets and waits for timeouts,
  or thresholds that are far off. The paper does not print those of its heuristics.
- **To adapt thresholds to changing traffic gains nothing in the mean FCT.** One set for the mixture of all traffic is
  as good as thresholds that are set anew, for all clusters, at the very moment of each change. With thresholds of its
  own for each cluster it is worse, in clusters that stay too: on a link where flows of two clusters meet, one of 50 MB
  then goes before one of 12 MB. So an agent can learn what the mixture is, where nobody has measured it: that is worth
  the difference between the settings that stay. Beyond that it has to guess sizes.
- **A wrong distribution costs some percent, a wrong load nothing**, with sharing inside a queue.
- **The thresholds that the paper prints** (64 and 87 packets, some 100 KB) lie far below the sizes of long flows.
  The optimum is flat: the lowest threshold for web search may be 50 KB or 200 KB for the same mean, but the 99th
  percentile of small flows is 11 % longer with the former.
- **Incast is the same with QLAS and QSJF, as in the paper**: on web search at load 0.6 with 50 bursts a second of 16
  flows of 20 KB to one server, bursts are short flows that pass what is longer in either discipline.
- **The 99th percentile is that of large flows**, which QLAS delays: on web search and on the clusters PS is below it.
- **Long flows are spread more evenly by counting them than by a hash**, which the paper's agent has to learn. How many
  there are depends on where long begins. To raise their priority besides (least-attained) costs the other flows more
  than it gains.
- **A network's forward pass takes less than a millisecond at the paper's size**, and the environment's part less than
  that, closest with the summary, which looks at all flows that have finished in the period and gives the actor few
  numbers. Times are of the machine that made this file and move with it; those of the environment depend on the flows
  that are there more than on the slots.
"""


def auto_markdown(results: dict[str, Any]) -> str:
    """Returns the part of the document on AuTO."""
    runs: Runs = results["studies"]["figures 9 to 12"]
    all_runs = (*runs.values(), *results["studies"]["long flows"].values())
    agents = any(name.startswith("learned") for found in all_runs for name in found)
    head = HEAD.format(
        seeds=len(results["seeds"]),
        flows=results["num_flows"],
        command=results["command"],
        version=results["package_version"],
        learned=AGENTS if agents else NO_AGENT,
    )
    parts: list[str | Table] = [head, statements_table(results).markdown(numbers=False)]
    for name in SIZES:
        parts += [HOMOGENEOUS.format(name=name), schemes_table(runs, name, "QLAS"), findings(runs, name)]
    parts += agents_markdown(results["agents"])
    parts += [CLUSTERS, schemes_table(runs, MIXED, "QLAS for each cluster"), findings(runs, MIXED)]
    parts += ["\n![Schedulers on traffic that stays](auto_schedulers.png)\n"]
    parts += [CHANGING.format(phases=PHASES), changing_table(runs), *(findings(runs, point) for point in POINTS)]
    parts += [ROOM.format(best=best_fixed(runs), length=PHASE_LENGTHS[-1]), room_table(runs)]
    parts += ["\n![Mean FCT by phase](auto_changing.png)\n"]
    searched = THRESHOLDS.format(first=TRAINING_SEEDS[0], last=TRAINING_SEEDS[-1])
    parts += [searched, thresholds_table(results), GROUPED, groups_table(results["studies"]["thresholds"])]
    long: Runs = results["studies"]["long flows"]
    parts += [LONG_FLOWS.format(flows=FLOWS, slots=SLOTS), long_flows_table(long)]
    parts += [findings(long, point, metric="mean_slowdown_long", label=f"Long from {point}") for point in long]
    parts += ["\n![Differences between links over time](auto_long_flows.png)\n"]
    parts += [DELAY, delay_table(results["delays"]), DIFFERENCES]
    return "".join(part if isinstance(part, str) else part.markdown() for part in parts)


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


def statements_table(results: dict[str, Any]) -> Table:
    """Sets the statements of the paper's text beside what comes out here."""
    runs, searched, long = (results["studies"][name] for name in ("figures 9 to 12", "thresholds", "long flows"))

    def here(found: Runs, point: str, first: str, second: str, metric: str = "mean_fct") -> str:
        names = (f"thresholds {each}" if each in (SEARCHED, THEORY) else each for each in (first, second))
        return f"{' against '.join(names)}: {in_percent(change(found, point, metric, (first, second)))} %"

    few = "share_below_few"
    rows = (
        ("6.1.1", "mean FCT, web search, against heuristics", "up to -48.14 %", here(runs, WEB, "SRPT", "QLAS")),
        ("6.1.1", "the same", "", here(runs, WEB, "QSJF", "QLAS")),
        ("6.1.1", "mean FCT, web search, by training", "-18.31 %", f"both agents: {by_training(results['agents'])} %"),
        ("6.1.1", "the same", "", here(searched, WEB, SEARCHED, THEORY)),
        ("6.1.1", "mean FCT, data mining, against QLAS", "almost 0 %", here(runs, MINING, "QLAS, matched", "QLAS")),
        ("6.1.1", "mean FCT, data mining, by training", "-4.12 %", here(searched, MINING, SEARCHED, THEORY)),
        *(
            ("6.1.1", f"{words} of incast flows", "almost the same", here(runs, "incast", "QSJF", "QLAS", metric))
            for words, metric in (("mean FCT", "mean_fct, bursts"), ("99th percentile", "p99_fct, bursts"))
        ),
        (
            "6.1.2",
            "four clusters, mean FCT against QLAS",
            "-37.20 %",
            here(runs, MIXED, "SRPT", "QLAS for each cluster"),
        ),
        (
            "6.1.2",
            "the same, 99th percentile",
            "-19.78 %",
            here(runs, MIXED, "SRPT", "QLAS for each cluster", "p99_fct"),
        ),
        (
            "6.1.2",
            "four clusters, mean FCT against QSJF",
            "-27.95 %",
            here(runs, MIXED, "SRPT", "QSJF for each cluster"),
        ),
        (
            "6.1.2",
            "the same, 99th percentile",
            "-11.98 %",
            here(runs, MIXED, "SRPT", "QSJF for each cluster", "p99_fct"),
        ),
        (
            "6.1.3",
            "changing traffic, last phase, mean FCT against QSJF",
            "-8.71 %",
            here(runs, LONGEST, TOLD, "QSJF for web search", f"mean_fct, phase {PHASES - 1}"),
        ),
        (
            "6.1.3",
            "the same, 99th percentile",
            "-9.18 %",
            here(runs, LONGEST, TOLD, "QSJF for web search", f"p99_fct, phase {PHASES - 1}"),
        ),
        ("6.2.1", "mean FCT of other thresholds, web search, 0.6", "small", here(searched, WEB, SEARCHED, THEORY)),
        *(
            (
                "6.2.2",
                f"difference of long flows between links below {FEW}",
                "most of the time",
                f"{name}, long from 10 MB: {100 * np.mean(found[few]):.0f} % of the time",
            )
            for name, found in long["10 MB"].items()
        ),
        (
            "6.2.3",
            "time of a decision",
            "10 ms",
            f"network {results['delays']['long_flows'][0]['network_ms']:.2f} ms",
        ),
    )
    return Table(columns=("section", "statement", "paper", "here"), rows=rows)


def schemes_table(runs: Runs, point: str, against: str) -> Table:
    """Lays Figure 9 or 10 out."""
    rows = tuple(
        (
            name,
            *ability(name).words,
            *(plain(mean(runs, point, name, metric), scale=MS) for metric in ("mean_fct", "p99_fct")),
            *(plain(mean(runs, point, name, metric), digits=2) for metric in ("mean_slowdown", "p99_slowdown")),
            "" if name == against else in_percent(change(runs, point, "mean_fct", (name, against))),
        )
        for name in runs[point]
    )
    columns = ("", *CAN, "mean FCT, ms", "99th percentile", "mean slowdown", "99th percentile", "change, %")
    return Table(columns=columns, rows=rows)


def changing_table(runs: Runs) -> Table:
    """Lays the whole runs of Figures 11 and 12 out, for both lengths of a phase."""
    columns, against = ["", *CAN], best_fixed(runs)
    for length in PHASE_LENGTHS:
        columns += [f"{length:g} s: mean FCT, ms", "99th percentile", "mean slowdown", "change, %"]
    rows = []
    for name in runs[POINTS[0]]:
        cells = [name, *ability(name).words]
        for point in POINTS:
            cells += [plain(mean(runs, point, name, metric), scale=MS) for metric in ("mean_fct", "p99_fct")]
            cells += [plain(mean(runs, point, name, "mean_slowdown"), digits=2)]
            cells += ["" if name == against else in_percent(change(runs, point, "mean_fct", (name, against)))]
        rows.append(tuple(cells))
    return Table(columns=tuple(columns), rows=tuple(rows))


def room_table(runs: Runs) -> Table:
    """Says how much better than the best setting that stays those are that know more."""
    against = best_fixed(runs)
    rows = tuple(
        (name, *(in_percent(change(runs, LONGEST, metric, (name, against))) for metric in ("mean_fct", "p99_fct")))
        for name in (TOLD, TOLD_MIXTURE, SEARCHED_TOLD, "QSJF for the mixture", "SRPT")
    )
    return Table(columns=("", "change of the mean FCT, %", "of the 99th percentile, %"), rows=rows)


def thresholds_table(results: dict[str, Any]) -> Table:
    """Lays Figure 13 out."""
    runs = results["studies"]["thresholds"]
    rows = []
    for point, found in results["searched"].items():
        for name, limits in found.items():
            written = " / ".join(f"{limit / BYTES_PER_KILOBYTE:,.0f}" for limit in limits)
            changed = "" if name == THEORY else in_percent(change(runs, point, "mean_fct", (name, THEORY)))
            fct = [plain(mean(runs, point, name, metric), scale=MS) for metric in ("mean_fct", "p99_fct")]
            rows.append((f"{point}, {name}", written, *fct, changed))
    columns = ("", "thresholds, KB", "mean FCT, ms", "99th percentile", "change of the mean, %")
    return Table(columns=columns, rows=tuple(rows))


def groups_table(runs: Runs) -> Table:
    """Lays Figures 14 and 15 out."""
    rows = []
    for point in runs:
        for group in GROUPS:
            cells = [f"{point}, {group}"]
            for metric in (f"mean_fct, {group}", f"p99_fct, {group}"):
                cells += [plain(mean(runs, point, name, metric), scale=MS, digits=2) for name in (THEORY, SEARCHED)]
                cells += [in_percent(change(runs, point, metric, (SEARCHED, THEORY)))]
            rows.append(tuple(cells))
    columns = ["sizes"]
    for title in ("mean FCT", "99th percentile"):
        columns += [f"{title}: {THEORY}", SEARCHED, "change, %"]
    return Table(columns=tuple(columns), rows=tuple(rows))


def long_flows_table(runs: Runs) -> Table:
    """Lays Figure 16 out."""
    rows = tuple(
        (
            f"{point}, {name}",
            *ability(name).words,
            *(plain(mean(runs, point, name, f"{kind}_difference")) for kind in ("mean", "p99", "max")),
            f"{100 * np.mean(runs[point][name]['share_below_few']):.0f}",
            *(
                format_interval(mean(runs, point, name, metric), digits=2)
                for metric in ("mean_slowdown_long", "mean_slowdown")
            ),
            "" if name == "ecmp" else in_percent(change(runs, point, "mean_slowdown_long", (name, "ecmp"))),
        )
        for point in runs
        for name in runs[point]
    )
    columns = ("long from", *CAN, "mean difference", "99th percentile", "largest", f"below {FEW}, % of the time")
    return Table(columns=(*columns, "mean slowdown of long flows", "of all", "change, %"), rows=rows)


def delay_table(delays: dict[str, Any]) -> Table:
    """Lays Figure 17 out."""
    named = [(f"thresholds, observation `{row['observation']}`", row) for row in delays["thresholds"]]
    named += [(f"long flows, n_l {row['n_l']}, m_l {row['m_l']}", row) for row in delays["long_flows"]]
    rows = tuple((name, f"{row['network_ms']:.2f}", f"{row['environment_ms']:.2f}") for name, row in named)
    return Table(columns=("agent", "network", "environment"), rows=rows)
