"""The part of the page about packets that tells what kept agents of Artemis are worth there."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.evaluation.statistics import CONFIDENCE, paired_difference

NUM_RESAMPLES: Final = 10_000
AGENTS: Final = ("cmaes", "distilled")
"""Agents of Artemis."""
SURVIVES_TEXT: Final = """\
`python -m benchmarks.packets.from_fluid` plays kept agents of Artemis, which were trained in a fluid, and the rules of
their settings in ten test episodes: in the fluid, and over packets (`packets="dctcp"`, `"cubic"`, `"reno"`). *More
tokens*: twice as many, for agents as they are. Deadlines met, %; the best rule where it is played; the difference with
its 95 % interval over paired episodes, *+* or *-* where that does not hold 0; Kendall's tau of the order of all
policies beside that in the fluid."""
WHAT_SURVIVES: Final = """\
- **What was learned in the right transport survives.** The agents of the thesis's settings learned in a fluid fitted to
  ns-3's TCP of 2018. Over packets of that TCP (`reno`) they are as far ahead of the best rule as in the fluid, and over
  Cubic, which they never saw, still ahead.
- **In the wrong one it loses.** With DCTCP nothing is lost, so that waiting, which these agents learned, costs 8 to 12
  points.
- **Three tokens are too few for packets.** Agents that learned in an ideal fluid have three. A flow alone takes 11 to
  13 ms over packets, so that on `artemis-heavy` three tokens carry 78 MB/s, where 90 MB/s are offered: the queue grows,
  and every policy misses most deadlines. With six, most agents lose to the best rule, about as much in the fluid as
  over packets: what they learned is right for three tokens, and packets change little about it.
- The best rule is the best in these very episodes, so that agents are not flattered."""
LEARNED_TEXT: Final = """\
**Learning there.** Evolution goes on over packets from the weights found in the fluid, for {decisions:,} decisions, one
to two minutes of computing (`flowsched-train algorithm=cmaes start=model:... env.packets=...`, one training each), in
settings where something was lost. Rules with a margin are the best of 35 tuned there in validation episodes. Ten test
episodes: what was lost comes back, and where requests may be postponed an agent leads even a tuned rule; without, and
over DCTCP, a rule stays ahead."""


def survivors(figures: Mapping[str, Any]) -> list[str]:
    """Lays out what kept agents of Artemis are worth in packets, beside the best rule there."""
    lines = [
        *("", "## What survives: Artemis in packets", "", SURVIVES_TEXT, ""),
        "| setting, agent | played in | agent | best rule | difference | tau |",
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    for name, policies in figures["artemis"].items():
        agents = [policy for policy in policies if policy in AGENTS]
        ways = list(next(iter(policies.values())))
        for agent in agents:
            for way in ways:
                shares = {policy: 100 * np.array(each[way]) for policy, each in policies.items()}
                rule = max((policy for policy in shares if policy not in AGENTS), key=lambda each: shares[each].mean())
                apart = paired_difference(shares[agent], shares[rule])
                sign = "+" if apart.low > 0 else "-" if apart.high < 0 else "="
                order, there = (np.array([each[key] for each in policies.values()]) for key in (ways[0], way))
                tau, low, high = tau_of(order, there)
                lines.append(
                    f"| {f'`{name}/{agent}`' if way == ways[0] else ''} | {way} | {shares[agent].mean():.1f} | {rule} "
                    f"{shares[rule].mean():.1f} | {sign} {apart.mean:+.1f} [{apart.low:+.1f}, {apart.high:+.1f}] | "
                    + ("|" if way == ways[0] else f"{tau:.2f} [{low:.2f}, {high:.2f}] |")
                )
    learned = figures["learned"]
    lines += ["", WHAT_SURVIVES, "", LEARNED_TEXT.format(decisions=learned["decisions"]), ""]
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
