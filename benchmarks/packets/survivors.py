"""The part of the page about packets that tells what kept agents are worth there."""

import itertools
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.packets.from_fluid import AGENTS
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.evaluation.statistics import CONFIDENCE, paired_difference

NUM_RESAMPLES: Final = 10_000
WHAT_SURVIVES: Final = """\
- **Artemis: what was learned in the right transport survives.** The agents of the thesis's settings learned in a fluid
  fitted to ns-3's TCP of 2018. Over packets of that TCP (`reno`) they are as far ahead of the best rule as in the
  fluid, and over Cubic, which they never saw, still ahead. **In the wrong one it loses**: with DCTCP nothing is lost,
  so that waiting, which these agents learned, costs 8 to 12 points.
- **Artemis: three tokens are too few for packets.** Agents that learned in an ideal fluid have three. A flow alone
  takes 11 to 13 ms over packets, so that on `artemis-heavy` three tokens carry 78 MB/s, where 90 MB/s are offered: the
  queue grows, and every policy misses most deadlines. With six, most agents lose to the best rule, about as much in the
  fluid as over packets: what they learned is right for three tokens, and packets change little about it.
- **MERP: paths survive best.** Which path has room is the same in packets, although there senders share links, and in
  the fluid MERP's order: both agents of the slow link stay a quarter ahead of the best rule, and more under Cubic.
  `memr`, the best rule of the fluid, falls behind `conga`.
- **MERP: a strict order costs packets more than it helps.** On one link `vdg`, which the agent has learned by heart,
  has a largest slowdown of 7 in the fluid, 22 with DCTCP and 202 with Cubic; `sjf` is better. Tried: with Cubic and
  buffers without limit it is 7.4, so losses are the cause: a full buffer drops those who wait. With DCTCP buffers and
  timers change nothing, but without marks it is 7.9: packets that wait mark those of the flow that is served first,
  whose window shrinks.
- **Thresholds survive DCTCP, not drop-tail.** Under DCTCP the evolved thresholds of `qcluster-changing-heavy` and
  `tafe-thresholds-changing` are 3 and 14 % ahead, those of `qcluster-w4` 1 % behind (its *fluid* is packets whose
  senders are told of losses). At 10 Gbps a drop-tail buffer of 100 packets makes slowdowns of 8 to 100 whatever the
  thresholds, and those of theory lose. On AuTO's incast they lose to `equal` under Cubic; why was not looked into.
- Agents that are equal to the best rule in the fluid are often that rule (`merp-order-pareto`, `tafe-tasks-log`, AuTO's
  and QCluster's constants), and fare as it does.
- The best rule is the best in these very episodes, so that agents are not flattered."""
SURVIVES_TEXT: Final = """\
`python -m benchmarks.packets.from_fluid --write` plays kept agents, which were trained in a fluid, and rules of their
settings in ten test episodes: in the fluid, and in the same environment over packets (`packets="dctcp"`, `"cubic"`,
`"reno"`). *More tokens*: twice as many, for agents as they are. Means of the setting's measure, of the agent and of the
best rule where it is played; their difference with its 95 % interval over paired episodes, in points of deadlines met,
else in % of the rule's mean; *better* or *worse* where that does not hold 0; Kendall's tau of the order of all policies
beside that in the fluid. Links that fail and flows that wait for CPUs are in no packets."""
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
        agent: Its mean, in the unit shown; ``best`` that of the rule.
        mean: By how much it is better, or worse, with the ends of its interval: in points, or in %.
        tau: Kendall's tau, with the ends of its interval.
    """

    setting: str
    policy: str
    way: str
    measure: str
    agent: float
    rule: str
    best: float
    mean: float
    low: float
    high: float
    tau: tuple[float, float, float]

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "equal"


def compare(figures: Mapping[str, Any]) -> list[Comparison]:
    """Compares each agent of each setting with the best rule, in each way it is played."""
    found = []
    for name, setting in figures["settings"].items():
        policies, measure = setting["policies"], setting["metric"]
        ways, (_, scale) = list(next(iter(policies.values()))), MEASURES[measure]
        sign = 1.0 if measure == POINTS else -1.0
        for agent, way in itertools.product((each for each in policies if each in AGENTS), ways):
            values = {policy: scale * np.array(each[way]) for policy, each in policies.items()}
            rule = max((each for each in values if each not in AGENTS), key=lambda each: sign * values[each].mean())
            apart = paired_difference(values[agent], values[rule])
            unit = sign if measure == POINTS else sign * 100.0 / values[rule].mean()
            low, high = sorted((unit * apart.low, unit * apart.high))
            order, there = (np.array([each[key] for each in policies.values()]) for key in (ways[0], way))
            means = values[agent].mean(), rule, values[rule].mean(), unit * apart.mean, low, high
            found.append(Comparison(name, agent, way, measure, *means, tau_of(order, there)))
    return found


def survivors(figures: Mapping[str, Any]) -> list[str]:
    """Lays out what kept agents are worth in packets, beside the best rule there."""
    compared = compare(figures)
    lines = [*("", "## What survives of what was learned in the fluid", "", SURVIVES_TEXT, ""), *_short(compared), ""]
    lines += [WHAT_SURVIVES, ""]
    lines += ["| setting, agent | played in | agent | best rule | difference | tau |"]
    lines += ["| --- | --- | ---: | --- | --- | ---: |"]
    for each in compared:
        is_fluid = each.way == "fluid"
        shown = f"`{each.setting}/{each.policy}`, {MEASURES[each.measure][0]}" if is_fluid else ""
        unit = "" if each.measure == POINTS else " %"
        tau = "" if is_fluid else "{:.2f} [{:.2f}, {:.2f}] ".format(*each.tau)
        mean, low, high = (round(value, 1) + 0.0 for value in (each.mean, each.low, each.high))
        difference = f"{each.verdict}, {mean:+.1f}{unit} [{low:+.1f}, {high:+.1f}]"
        lines.append(f"| {shown} | {each.way} | {each.agent:.4g} | {each.rule} {each.best:.4g} | {difference} | {tau}|")
    learned = figures["learned"]
    lines += ["", LEARNED_TEXT.format(decisions=learned["decisions"]), ""]
    lines += [
        "| setting | played in | before | after | best rule | after over it |",
        "| --- | --- | ---: | ---: | --- | ---: |",
    ]
    for name, shares in learned["settings"].items():
        before, after, *rules = ((policy, 100 * np.array(each)) for policy, each in shares["policies"].items())
        rule, best = max(rules, key=lambda each: each[1].mean())
        apart = paired_difference(after[1], best)
        means = f"{before[1].mean():.1f} | {after[1].mean():.1f} | {rule} {best.mean():.1f}"
        difference = f"{apart.mean:+.1f} [{apart.low:+.1f}, {apart.high:+.1f}]"
        lines.append(f"| `{name}` | {shares['way']} | {means} | {difference} |")
    return lines


def _short(compared: list[Comparison]) -> list[str]:
    """Counts verdicts, in the fluid and over packets, system by system."""
    verdicts = {(each.setting, each.policy, each.way): each.verdict for each in compared}
    lines = ["| verdict in the fluid | agents | over packets of | better | equal | worse |"]
    lines += ["| --- | ---: | --- | ---: | ---: | ---: |"]
    agents = {(each.setting, each.policy) for each in compared}
    for verdict in ("better", "equal", "worse"):
        here = sorted(agent for agent in agents if verdicts[*agent, "fluid"] == verdict)
        for way in ("dctcp", "cubic", "reno"):
            there = [verdicts[*agent, way] for agent in here if (*agent, way) in verdicts]
            if there:
                counts = " | ".join(str(there.count(each)) for each in ("better", "equal", "worse"))
                lines.append(f"| {verdict} | {len(there)} | {way} | {counts} |")
    return lines


def tau_of(first: FloatArray, second: FloatArray) -> tuple[float, float, float]:
    """Returns Kendall's tau of two orders by means, (num_policies, num_episodes) each, and its 95 % interval."""
    draws = np.random.default_rng(0).integers(0, first.shape[1], (NUM_RESAMPLES, first.shape[1]))
    taus = [kendall_tau(first[:, draw].mean(axis=1), second[:, draw].mean(axis=1)) for draw in draws]
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(taus, [tail, 100 - tail])
    return kendall_tau(first.mean(axis=1), second.mean(axis=1)), float(low), float(high)


def kendall_tau(first: FloatArray, second: FloatArray) -> float:
    """Returns Kendall's tau-b of two orders: 1 for the same, -1 for the reverse; pairs that are equal weigh less."""
    signs = [np.sign(each[:, None] - each[None, :])[np.triu_indices(len(each), 1)] for each in (first, second)]
    weight = np.sqrt(np.count_nonzero(signs[0]) * np.count_nonzero(signs[1]))
    return float((signs[0] * signs[1]).sum() / weight) if weight else 0.0
