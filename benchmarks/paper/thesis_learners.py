"""Tells what the thesis's agent reaches, why it ends in one slot, and what changes that: a part of ``thesis.md``.

And sets completion times beside table 4.6, and finds which comparators an agent is nearest to, as table 4.7 does.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.paper.statements import Statement
from benchmarks.paper.thesis import AGENTS, NUM_RUNS, NUM_TRAININGS, PACED_RULE, PERCENTS, VARIANTS, Runs
from flowsched_gym.evaluation import Interval, bootstrap_interval
from flowsched_gym.leaderboard import Table, format_interval
from flowsched_gym.systems import OPTIONS

LEARNERS: Final = {
    "a2c-thesis": ("the thesis's A2C", "flat", "lagged"),
    "a2c-paper": ("SB3's A2C", "flat", "on completion"),
    "ppo-paper": ("SB3's PPO", "flat", "on completion"),
    "a2c": ("SB3's A2C", "flat", "on completion"),
    "ppo": ("SB3's PPO", "set-wise", "on completion"),
    "ppo-wait": ("SB3's PPO, may wait", "set-wise", "on completion"),
}
"""Learner, network and reward of each agent."""
RULES: Final = ("edf", "ssdf", "lsdf", "feasible-first", "lifo", "skip-late", "paced")
"""Rules beside which agents stand."""
ONE_SLOT: Final = 0.95
"""Share of one action from which on a training counts as one that has ended in one slot."""


def learners_values(found: dict[str, Any]) -> dict[str, Any]:
    """Returns what the page says of it: the table, and numbers of the text."""
    variants, seen, policies = found["variants"], found["returns"], found["variants"]["1"]
    flat = [ends_in_one(each[agent]) for each in variants.values() for agent in AGENTS if "flat" in LEARNERS[agent]]
    fifo = [100 * float(np.mean(hits(each))) for each in found["tokens"]["fifo"].values()]
    compared = {
        "over_lifo": ("a2c-thesis", "lifo"),
        "ppo": ("ppo", "a2c-thesis"),
        "ppo_skip": ("ppo", "skip-late"),
        "wait": ("ppo-wait", "ppo"),
        "ssdf": ("ssdf:queue=whole", "ssdf"),
        "edf": ("edf:queue=whole", "edf"),
    }
    return {
        **{name: points(policies, *pair) for name, pair in compared.items()},
        **{name: seen[name] for name in ("mean", "deviation", "decisions")},
        "learners": learners_table(variants),
        "reached": format_interval(estimate(policies["a2c-thesis"]["runs"], "deadline_hit_ratio"), scale=100.0),
        "low": min(seen["slots"])[0],
        "high": max(seen["slots"])[0],
        "error": max(error for _, error in seen["slots"]),
        "small": seen["sizes"][0][0],
        "large": seen["sizes"][1][0],
        "of_size": seen["sizes"][1][1],
        "flat": sum(flat),
        "all_flat": NUM_TRAININGS * len(flat),
        "search": 100 * float(np.mean(hits(policies["search"]))),
        "few": min(fifo),
        "best": max(fifo),
    }


def learners_table(variants: dict[str, Any]) -> Table:
    """Lays out what is changed from agent to agent, and what it leads to."""
    rows = []
    for name in (*LEARNERS, *RULES):
        learner, network, reward = LEARNERS.get(name, ("a rule", "", ""))
        sees = "" if name in RULES else "sizes, deadlines" if "observation" in AGENTS[name] else "all"
        cells = [PACED_RULE if name == "paced" else name, learner, network, sees, reward]
        for policies in variants.values():
            cells.append(format_interval(estimate(policies[name]["runs"], "deadline_hit_ratio"), scale=100.0))
            cells.append(f"{ends_in_one(policies[name])} of {NUM_TRAININGS}" if name in AGENTS else "")
        rows.append(tuple(cells))
    heads = [f"variant {variant}: {what}" for variant in VARIANTS for what in ("deadlines met, %", "one slot")]
    return Table(columns=("policy", "learner", "network", "sees", "reward", *heads), rows=tuple(rows))


def ends_in_one(found: dict[str, Any]) -> int:
    """Counts the trainings of an agent that end in one slot."""
    return sum(share >= ONE_SLOT for share in found["favourites"])


def points(policies: dict[str, Any], mine: str, other: str) -> str:
    """Writes by how many points a policy meets more deadlines."""
    return format_interval(difference(policies[mine]["runs"], policies[other]["runs"]), scale=100.0, signed=True)


def hits(found: dict[str, Any]) -> list[float]:
    """Returns the shares of deadlines met in each run."""
    values: list[float] = found["runs"]["deadline_hit_ratio"]
    return values


def difference(agent: Runs, other: Runs) -> Interval:
    """Returns by how much more deadlines a policy meets in the same runs, of agents the mean of their trainings."""
    mine, its = (mean_of_trainings(each, "deadline_hit_ratio") for each in (agent, other))
    return bootstrap_interval((mine - its).tolist())


def estimate(runs: Runs, metric: str) -> Interval:
    """Estimates a mean over runs, each the mean of an agent's trainings."""
    return bootstrap_interval(mean_of_trainings(runs, metric).tolist())


def mean_of_trainings(runs: Runs, metric: str) -> npt.NDArray[np.float64]:
    """Returns a metric of each run, of agents the mean of their trainings, (NUM_RUNS,)."""
    found: npt.NDArray[np.float64] = np.array(runs[metric]).reshape(-1, NUM_RUNS).mean(axis=0)
    return found


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


def nearest(policies: dict[str, Any], agent: str, each: Statement) -> str:
    """Names the comparator that an agent is nearest to, with their distance; several if they are equally near."""
    measure = each.statement
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
