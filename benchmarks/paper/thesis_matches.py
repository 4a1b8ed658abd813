"""Sets completion times beside table 4.6, and finds which comparators an agent is nearest to, as table 4.7 does."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from benchmarks.paper.thesis import PERCENTS
from flowsched_gym.leaderboard import Table
from flowsched_gym.systems import OPTIONS

SOME_PERCENTS: Final = (25, 50, 75, 95, 96, 97, 98, 99, 100)
"""Those of the thesis's Table 4.6."""
COMPARATORS: Final = ("edf", "ssdf", "lsdf")

PARTS: Final[Mapping[str, tuple[str, int, int]]] = {
    "service times, head": ("gaps_ms", 5, 50),
    "service times, tail": ("gaps_ms", 50, 99),
    "completion times, head": ("fct_ms", 5, 50),
    "completion times, tail": ("fct_ms", 50, 95),
    "completion times, very end": ("fct_ms", 95, 100),
}
"""Parts of distributions: which one, and its first and last percentile. A service time is one between deliveries."""

PRINTED: Final[Mapping[str, str]] = {
    "deadlines met": "lsdf",
    "service times, head": "edf, ssdf",
    "service times, tail": "lsdf",
    "completion times, head": "lsdf",
    "completion times, tail": "ssdf",
    "completion times, very end": "edf",
}
"""Table 4.7 of the thesis: the policies that its agent matches."""


def matches_table(policies: dict[str, Any], agents: tuple[str, ...]) -> Table:
    """Lays out which comparator each agent is nearest to, and how far it is from it."""
    rows = tuple(
        (measure, PRINTED[measure], *(nearest(policies, agent, measure) for agent in agents)) for measure in PRINTED
    )
    return Table(columns=("measure", "thesis", *agents), rows=rows)


def nearest(policies: dict[str, Any], agent: str, measure: str) -> str:
    """Names the comparator that an agent is nearest to, with their distance; several if they are equally near."""
    distances = {name: distance(policies[agent], policies[name], measure) for name in COMPARATORS}
    best = min(distances.values())
    unit = "points" if measure not in PARTS else "%"
    names = ", ".join(name for name, value in distances.items() if round(value, 1) == round(best, 1))
    return f"{names} ({best:.1f} {unit})"


def distance(agent: dict[str, Any], other: dict[str, Any], measure: str) -> float:
    """Returns the distance of deadlines met in points, or the mean distance of percentiles in %.

    Percentiles at which deliveries coincide are left out: a time of 0 has no ratio to another.
    """
    if measure not in PARTS:
        mine, its = (np.mean(each["runs"]["deadline_hit_ratio"]) for each in (agent, other))
        return 100 * abs(float(mine - its))
    distribution, first, last = PARTS[measure]
    chosen = [index for index, percent in enumerate(PERCENTS) if first <= percent <= last]
    mine, its = (np.array(each[distribution])[chosen] for each in (agent, other))
    apart = (mine > 0) & (its > 0)
    return 100 * float(np.abs(np.log(mine[apart] / its[apart])).mean())


def percents_table(policies: dict[str, Any], printed: dict[str, Any]) -> Table:
    """Lays percentiles of completion times out, and what the thesis prints below those of its policies."""
    rows = []
    for name, figures in printed.items():
        theirs = figures["fct_percentiles_ms"]
        for policy in (each for each in policies if each.partition(OPTIONS)[0] == name):
            ours = dict(zip(PERCENTS, policies[policy]["fct_ms"], strict=True))
            rows.append((policy, *(f"{ours[percent]:.1f}" for percent in SOME_PERCENTS)))
        rows.append(("thesis", *(f"{theirs[str(percent)]:.1f}" for percent in SOME_PERCENTS)))
    return Table(columns=("policy", *map(str, SOME_PERCENTS)), rows=tuple(rows))
