"""What kept agents, and papers' rules, are worth over packets: the leaderboard's track *packets*, its figure, the page.

All is made of ``from_fluid.json``; ``benchmarks.packets.from_fluid`` measures.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks import pictures
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.tables import Table
from flowsched_gym.evaluation.plots import FAINT, INK, MET, MISSED, dress
from flowsched_gym.evaluation.statistics import CONFIDENCE, Interval, paired_difference
from flowsched_gym.evaluation.written import format_interval

AGENTS: Final = ("distilled", "cmaes", "ppo", "static", "a2c-thesis", "srla", "lrla")
"""Names of kept agents, the last ones of papers."""
PAPER: Final = "papers/"
"""What names of papers' settings begin with."""
TRACK: Final = {
    "fluid": "in the fluid",
    "dctcp": "over DCTCP",
    "cubic": "over Cubic",
    "reno": "over Reno",
    "ns3": "in ns-3",
}
"""Ways to play an agent that the track shows, and what they are called. Another way in the figures needs a line here,
and has its column, its counts and its panel, also where few policies play it."""
MORE_TOKENS: Final = {
    "fluid, more tokens": "in the fluid",
    "cubic, more tokens": "over Cubic",
    "ns3, more tokens": "in ns-3",
}
VERDICTS: Final = {"better": ("o", MET, MET), "equal": ("o", "white", FAINT), "worse": ("D", MISSED, MISSED)}
"""Markers of verdicts, their colours and those of their edges."""
UNITS: Final = ("points of deadlines", "% of the rule's mean")
"""Of differences in the two rows of the figure."""
SHOWN: Final = (-1500.0, 150.0)
"""Ends of its axis in %; what is beyond is in the track."""
PART, NS3 = "packets", "ns-3"
"""Names of generated parts: of the two pages that show the track, and of the README alone."""
IN_NS3: Final = "artemis-thesis-wait/cmaes"
"""The agent of the README's first claim."""
PICTURE: Final = "survivors.png"
NUM_RESAMPLES: Final = 10_000
WHAT_SURVIVES: Final = """\
- **Artemis: what was learned in the right transport survives.** The agents of the thesis's settings learned in a fluid
  fitted to ns-3's TCP of 2018. Over packets of that TCP (`reno`) the networks (`distilled`) of both variants are 3
  points ahead of the best rule, one that was tuned in the same fluid: as far as there in the first, two thirds of it in
  the second. Evolved weights are as far ahead in the first, and level in the second. Over Cubic, which they never saw,
  all are level or a point behind. **In the wrong one they lose**: with DCTCP nothing is lost, so that waiting, which
  these agents learned, costs 7 to 15 points.
- **In ns-3 itself it is the same** (`engine="ns3"`, `--ns3`: the same ten episodes, ns-3.37's own TCP of 2018): in
  variant 1 the evolved weights meet 87.0 % of deadlines, the network 86.4, the tuned rule 83.8, `paced` 79.4, over our
  packets 87.0, 86.7, 83.8 and 79.4. In both variants eighteen policies differ by 0.0 to 1.4 points between ns-3 and our
  packets; with Cubic and six tokens ten differ by 0.5 to 2.5, all fewer in ns-3, and the verdicts are those of our
  packets. In variant 2 the network meets 83.9 % in ns-3, 3 points more than the tuned rule (80.9); evolved weights
  (80.5) are level with the rule, as over our packets. On MERPRoute's slow link, 200 flows, Cubic, ten episodes, the
  evolved agent has a mean slowdown of 3.80 in ns-3 and `memr-ratio` 3.95, over our packets 3.87 and 3.91; neither
  difference is significant.
- **Artemis: three tokens are too few for packets.** Agents that learned in an ideal fluid have three. A flow alone
  takes 11 to 13 ms over packets, so that on `artemis-heavy` three tokens carry 78 MB/s, where 90 MB/s are offered: the
  queue grows, and every policy misses most deadlines. With six, most agents lose to the best rule, about as much in the
  fluid as over packets: what they learned is right for three tokens, and packets change little about it. On
  `artemis-heavy` PPO's network is level with the best rule there.
- **MERP: paths survive best.** Which path has room is the same in packets, although there senders share links, and in
  the fluid MERP's order. On the slow link one agent is equal to the best rule (`memr-ratio`) in the fluid and the other
  8 % behind it; over DCTCP they are 4 and 2 % ahead, over Cubic 7 and 5 %. On `merp-route` `memr`, the best rule of the
  fluid, falls behind `conga`. Where cables fail and come up again, and what waits for one is lost, the agent is 4 %
  ahead in the fluid, 2 over DCTCP, and level with `conga` over Cubic.
- **MERP: a strict order costs packets more than it helps.** On one link `vdg`, which the agent has learned by heart,
  has a largest slowdown of 7 in the fluid, 22 with DCTCP and 202 with Cubic; `sjf` is better. Tried: with Cubic and
  buffers without limit it is 7.4, so losses are the cause: a full buffer drops those who wait. With DCTCP buffers and
  timers change nothing, but without marks it is 7.9: packets that wait mark those of the flow that is served first,
  whose window shrinks.
- **Thresholds survive DCTCP, not drop-tail.** Under DCTCP the evolved thresholds of `qcluster-changing-heavy` and
  `tafe-thresholds-changing` are 3 and 9 % ahead, those of `qcluster-w4` 1 % behind (QCluster's *fluid* is packets of
  fixed windows, of which none is lost). At 10 Gbps a drop-tail buffer of 100 packets makes slowdowns of 8 to 100
  whatever the thresholds, and those of theory lose. On AuTO's incast they lose to `equal` under Cubic; why was not
  looked into.
- **TAFE: what a rule wins on CPUs survives.** Where flows of tasks work and come after others (`tafe-tasks-alibaba`,
  `tafe-tasks-mixed`), the order of policies is nearly the fluid's over DCTCP, where the agents' tasks take 13 and 51 %
  longer. `johnson-ratio`, 3 % ahead of `johnson` on the first and at a lower load (`tafe-tasks-alibaba-light`), is 2
  and 3 % ahead of it there; agents that began with `johnson` stay 1 % ahead of it. Over Cubic tasks take 1.7 and 2.4
  times as long, and `johnson-ratio` falls 16 and 23 % behind `johnson`, the agent 10 % on the first; at the lower load
  it is level with it.
- **In the papers' own settings** MERP's `memr` leads `conga` by 15 % in the fluid and is level with it over packets,
  where the evolved agent leads by 5 %. AuTO's agents stay behind: `lrla` by 4 % in all three, `srla` beside it by 7 %
  in the fluid, 13 and 18 over packets. The thesis's agent, level with the best order in the fluid, is 1.5 and 1.3
  points behind over DCTCP in the two variants, 3.1 over Reno in the first; in ns-3 its first training is 4.4 behind
  there. TAFE's order is 11 % behind `las` in the fluid and 5 over DCTCP; over Cubic random, the best there, leads it by
  15 %. TAFE's thresholds, 7 % ahead of `thirds` in the fluid, are level with it over both; why was not looked into.
  MERP's `vdg` varies too much from episode to episode for a verdict.
- Agents that are equal to the best rule in the fluid are often that rule (`merp-order-pareto`, `tafe-tasks-log`, AuTO's
  and QCluster's constants), and fare as it does.
- The best rule is the best in these very episodes, so that agents are not flattered."""
SURVIVES_TEXT: Final = """\
`python -m benchmarks.packets.from_fluid --write` plays kept agents, which were trained in a fluid, and rules of their
settings in ten test episodes: in the fluid, and in the same environment over packets (`packets="dctcp"`, `"cubic"`,
`"reno"`), with 95 % intervals over paired episodes, each by itself. [Each agent](../README.md#packets) is in the
leaderboard's track *packets*.

Settings named `papers/` are [the papers' own](../README.md#the-papers-settings): there the paper's agent, or its
rule where nothing learns, is compared with the best of what the paper compares it with, and an agent of ours with
the best of all these (`a2c-thesis`: mean of ten trainings; in ns-3 its first). Left out are QCluster's, which is
packets already, and our agents of Artemis, which play the same episodes in `artemis-thesis-wait` and
`artemis-thesis-a2-wait`."""
TRACK_TEXT: Final = """\
Track *packets*: kept agents, rules and random play ten of these episodes over packets. Cells: verdict, **bold** if
not that in the fluid; difference to the best rule played there, positive if better, in points or % of its mean; both
means; Kendall's tau with the order in the fluid; 95 % intervals. `papers/`: the papers' own settings, agents and rules,
a rule beside the best other one.
[Why](packets/README.md#what-survives-of-what-was-learned-in-the-fluid)."""
MORE_TEXT: Final = "With twice as many tokens, for agents as they are (cells as in the track):"
LEARNED_TEXT: Final = """\
**Learning there.** Evolution goes on over packets from the weights found in the fluid, for {decisions:,} decisions, one
to two minutes of computing (`flowsched-train algorithm=cmaes start=model:... env.packets=...`, one training each), in
settings where something was lost. Rules with a margin are the best of 35 tuned there in validation episodes. Ten test
episodes: what was lost comes back, and where requests may be postponed an agent leads even a tuned rule; without, and
over DCTCP, a rule stays ahead."""
POINTS: Final = "deadline_hit_ratio"
"""A measure of which more is better, shown in %; of all others less is."""
MEASURES: Final = {
    POINTS: ("deadlines met, %", 100.0),
    "max_slowdown": ("largest slowdown", 1.0),
    "mean_slowdown": ("mean slowdown", 1.0),
    "mean_fct": ("mean FCT, ms", 1e3),
    "mean_tct": ("mean TCT, ms", 1e3),
}
"""What measures are called, and the factor to their unit."""


class Comparison(NamedTuple):
    """An agent beside the best rule where both are played.

    Attributes:
        way: How they are played.
        agent: Its mean, in the unit shown; ``best`` that of the rule.
        difference: By how much it is better, or worse: in points, or in %.
        tau: Kendall's tau of the order of all policies and that in the fluid, with the ends of its interval.
    """

    setting: str
    policy: str
    way: str
    measure: str
    agent: float
    rule: str
    best: float
    difference: Interval
    tau: tuple[float, float, float]

    @property
    def name(self) -> str:
        """Setting and agent."""
        return f"{self.setting}/{self.policy}"

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.difference.low > 0:
            return "better"
        return "worse" if self.difference.high < 0 else "equal"

    @property
    def shown(self) -> str:
        """The difference with its interval and unit."""
        return format_interval(self.difference, signed=True) + ("" if self.measure == POINTS else " %")


def compare(figures: Mapping[str, Any]) -> list[Comparison]:
    """Compares each agent of each setting with the best rule, in each way it is played, by those who play it so.

    So is the rule that a paper has as its own, with the best other one.
    """
    found = []
    for name, setting in figures["settings"].items():
        policies, measure = setting["policies"], setting["metric"]
        scale, sign = MEASURES[measure][1], 1.0 if measure == POINTS else -1.0
        compared = (each for each in policies if each in AGENTS or each == setting.get("own"))
        for agent, way in [(each, way) for each in compared for way in policies[each]]:
            values = {policy: scale * np.array(each[way]) for policy, each in policies.items() if way in each}
            rules = [each for each in values if each not in (*AGENTS, agent)]
            rule = max(rules, key=lambda each: sign * values[each].mean())
            apart, best = paired_difference(values[agent], values[rule]), values[rule].mean()
            unit = sign if measure == POINTS else sign * 100.0 / best
            low, high = sorted((unit * apart.low, unit * apart.high))
            difference = replace(apart, mean=unit * apart.mean, low=low, high=high)
            order, there = (np.array([policies[policy][key] for policy in values]) for key in ("fluid", way))
            means = values[agent].mean(), rule, best
            found.append(Comparison(name, agent, way, measure, *means, difference, tau_of(order, there)))
    return found


def lines(figures: Mapping[str, Any]) -> list[str]:
    """Lays out what kept agents are worth over packets, for the page about packets."""
    compared = compare(figures)
    lines = [*("", "## What survives of what was learned in the fluid", "", in_a_sentence(compared), "")]
    lines += [f"![Agents beside the best rule]({PICTURE})", "", SURVIVES_TEXT, "", counts(compared)]
    lines += [WHAT_SURVIVES, "", MORE_TEXT, "", track(compared, MORE_TOKENS)]
    learned = figures["learned"]
    rows = []
    for name, shares in learned["settings"].items():
        before, after, *rules = ((policy, 100 * np.array(each)) for policy, each in shares["policies"].items())
        rule, best = max(rules, key=lambda each: each[1].mean())
        means = f"{before[1].mean():.1f}", f"{after[1].mean():.1f}", f"{rule} {best.mean():.1f}"
        rows.append(
            (f"`{name}`", shares["way"], *means, format_interval(paired_difference(after[1], best), signed=True))
        )
    columns = ("setting", "played in", "before", "after", "best rule", "after over it")
    return [
        *lines,
        LEARNED_TEXT.format(decisions=learned["decisions"]),
        "",
        Table(columns=columns, rows=tuple(rows)).markdown(),
    ]


def parts(compared: Sequence[Comparison]) -> dict[tuple[str, str], str]:
    """Returns the generated parts of the README of the project and of the leaderboard's page, by path and name."""
    picture = f"![Agents beside the best rule]({{}}{PICTURE})"
    top = f"{in_a_sentence(compared)}\n\n{picture}\n\n"
    return {
        ("README.md", NS3): in_ns3(compared),
        ("README.md", PART): top.format("benchmarks/packets/") + counts(compared),
        ("benchmarks/README.md", PART): f"{top.format('packets/')}{TRACK_TEXT}\n\n{track(compared)}",
    }


def in_ns3(compared: Sequence[Comparison]) -> str:
    """Says how an agent that learned in the fluid fares in ns-3."""
    found = next(each for each in compared if (each.name, each.way) == (IN_NS3, "ns3"))
    return (
        '**In ns-3.37 itself** (`engine="ns3"`), an agent that learned in a fluid of the Artemis thesis\'s TCP meets '
        f"{found.agent:.1f} %\nof the deadlines, and the best rule, tuned in the same fluid, {found.best:.1f}: "
        f"{found.shown} points.\n"
    )


def in_a_sentence(compared: Sequence[Comparison]) -> str:
    """Says what becomes of the agents that are ahead in the fluid, in the ways in which all of them play."""
    found = {way: each for (verdict, way), each in verdicts(compared).items() if verdict == "better"}
    ahead = found.pop("fluid").total()
    told = "; ".join(
        f"{TRACK[way]} {each['better']}, {each['equal']} and {each['worse']}"
        for way, each in found.items()
        if each.total() == ahead
    )
    return (
        f"{ahead} agents and papers' own rules lead the best other rule in the fluid. Of these are ahead, equal and "
        f"behind: {told}."
    )


def counts(compared: Sequence[Comparison]) -> str:
    """Counts verdicts over packets by those in the fluid."""
    rows = tuple(
        (verdict, str(found.total()), TRACK[way], *(str(found[each]) for each in VERDICTS))
        for (verdict, way), found in verdicts(compared).items()
        if way != "fluid" and found
    )
    return Table(columns=("in the fluid", "agents and rules", "played", *VERDICTS), rows=rows).markdown()


def verdicts(compared: Sequence[Comparison]) -> dict[tuple[str, str], Counter[str]]:
    """Counts verdicts of each way to play by the agent's verdict in the fluid."""
    before = {each.name: each.verdict for each in compared if each.way == "fluid"}
    return {
        (verdict, way): Counter(each.verdict for each in compared if (before[each.name], each.way) == (verdict, way))
        for verdict in VERDICTS
        for way in TRACK
    }


def track(compared: Sequence[Comparison], ways: Mapping[str, str] = TRACK) -> str:
    """Lays the agents out that play in some of these ways, a row each."""
    before = {each.name: each.verdict for each in compared if each.way == "fluid"}
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for each in (each for each in compared if each.way in ways):
        verdict = each.verdict if each.verdict == before[each.name] else f"**{each.verdict}**"
        tau = "" if each.way == "fluid" else "; tau {:.2f} [{:.2f}, {:.2f}]".format(*each.tau)
        text = f"{verdict} {each.shown}; {each.agent:.4g}, `{each.rule}` {each.best:.4g}{tau}"
        cells.setdefault((f"`{each.name}`", MEASURES[each.measure][0]), {})[each.way] = text
    rows = tuple((*agent, *(found.get(way, "") for way in ways)) for agent, found in cells.items())
    return Table(columns=("setting/agent", "measure", *ways.values()), rows=rows).markdown(numbers=False)


def description(compared: Sequence[Comparison]) -> str:
    """Lists what the figure shows, which the picture carries, so that a test tells what is stale."""
    return "\n".join(f"{each.name} {each.way}: {each.shown}" for each in compared if each.way in TRACK)


def draw(compared: Sequence[Comparison], folder: Path) -> Path:
    """Draws the difference of each agent to the best rule, a column for each way to play; returns the path."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional dependency

    blocks = [[each for each in compared if (each.measure == POINTS) == points] for points in (True, False)]
    agents = [list(dict.fromkeys(each.name for each in block)) for block in blocks]
    figure = Figure(figsize=(8.5, 1.6 + 0.2 * sum(map(len, agents))), layout="constrained")
    grid = figure.subplots(2, len(TRACK), sharex="row", sharey="row", height_ratios=list(map(len, agents)))
    for row, block, names, unit in zip(grid, blocks, agents, UNITS, strict=True):
        for axes, way in zip(row, TRACK, strict=True):
            dress(axes)
            axes.axvline(0, color=INK, linewidth=1)
            played = [each for each in block if each.way == way]
            axes.set_visible(bool(played))
            axes.tick_params(axis="x", labelsize=7)
            axes.set_xlabel(unit, fontsize=8, color=INK)
            for each in played:
                index, apart, (mark, face, edge) = names.index(each.name), each.difference, VERDICTS[each.verdict]
                axes.plot([apart.low, apart.high], [index, index], color=edge, linewidth=1.5)
                axes.plot(apart.mean, index, mark, color=face, markeredgecolor=edge, markersize=4.5)
        row[0].set_yticks(range(len(names)), names, fontsize=8)
        row[0].set_ylim(len(names) - 0.5, -0.5)
    for axes, title in zip(grid[0], TRACK.values(), strict=True):
        axes.set_title(title, fontsize=10, color=INK)
    grid[0][0].set_xticks([-10, -5, 0, 5])
    below = grid[1][0]
    below.set_xscale("symlog", linthresh=10, linscale=0.7)
    below.set_xlim(*SHOWN)
    below.set_xticks([-1000, -100, -10, 0, 10, 100], ["", "-100", "-10", "0", "10", "100"])
    below.set_xticks([], minor=True)
    for verdict, (mark, face, edge) in VERDICTS.items():
        below.plot([], [], mark, color=face, markeredgecolor=edge, markersize=5, label=verdict)
    title = "the agent beside the best rule there, with the 95 % interval"
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9, title=title, title_fontsize=9)
    return pictures.save(figure, folder / PICTURE, dpi=120, description=description(compared))


def tau_of(first: FloatArray, second: FloatArray) -> tuple[float, float, float]:
    """Returns Kendall's tau of two orders by means, (num_policies, num_episodes) each, and its 95 % interval."""
    draws = np.random.default_rng(0).integers(0, first.shape[1], (NUM_RESAMPLES, first.shape[1]))
    taus = kendall_tau(*(each[:, draws].mean(axis=2) for each in (first, second)))
    tail = 50 * (1 - CONFIDENCE)
    tau, low, high = kendall_tau(first.mean(axis=1), second.mean(axis=1)), *np.percentile(taus, [tail, 100 - tail])
    return float(tau), float(low), float(high)


def kendall_tau(first: FloatArray, second: FloatArray) -> FloatArray:
    """Returns Kendall's tau-b of orders, (num_policies, ...) to (...): 1 for the same, -1 for the reverse.

    Pairs that are equal weigh less; where all are, it is 0.
    """
    one, other = np.triu_indices(len(first), 1)
    signs = [np.sign(each[one] - each[other]) for each in (first, second)]
    weight = np.sqrt(np.prod([np.count_nonzero(each, axis=0) for each in signs], axis=0))
    tau: FloatArray = (signs[0] * signs[1]).sum(axis=0) / np.maximum(weight, 1.0)
    return tau
