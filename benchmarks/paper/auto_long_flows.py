"""Counts long flows on links under policies that steer them (AuTO, Figure 16), on 32 servers with three paths."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.paper.auto_schemes import models_for
from benchmarks.paper.merp import rounded
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import make_environment
from flowsched_gym.fluid import Records
from flowsched_gym.players import find_player
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.rules import on_links
from flowsched_gym.workload import ClusterWorkload, Workload, make_workload

ENVIRONMENT: Final = "flowsched/AuTOLongFlows-v0"
POLICIES: Final = ("ecmp", "least-loaded", "least-attained")
WORKLOAD: Final = "auto-changing"
PATHS: Final = 3
SLOTS: Final = 128
"""Long flows that are steered, of all servers together."""
FLOWS: Final = 5_000
"""Flows of a run at most."""
THRESHOLDS: Final[Mapping[str, tuple[float, ...]]] = {
    "10 MB": (200_000.0, 2_000_000.0, 10_000_000.0),
    "3 MB": (200_000.0, 1_000_000.0, 3_000_000.0),
}
"""Thresholds in B by the last one, from which on a flow is long."""
SAMPLE_EVERY: Final = 10 * SECONDS_PER_MILLISECOND
"""Period of the environment in s, at whose beginning long flows on links are counted."""
EVERY: Final = 5
"""Of so many counts one is kept for the figure."""
FEW: Final = 10
"""Difference below which the paper finds the links most of the time (section 6.2.2)."""

Imbalance = dict[str, list[list[float]]]
"""Of the first seed, by policy: pairs of time in s and difference."""


class Episode(NamedTuple):
    """Tells how an episode went.

    Attributes:
        records: What became of the flows.
        time: When links were looked at, s, (num_samples,).
        difference: Long flows on the link with the most less those on the link with the fewest, (num_samples,).
    """

    records: Records
    time: npt.NDArray[np.float64]
    difference: npt.NDArray[np.int64]


def run(
    thresholds: Sequence[float], num_flows: int, seeds: Sequence[int], models: Path
) -> tuple[dict[str, dict[str, list[float]]], Imbalance]:
    """Runs all policies and agents on the same flows; returns metrics by seed, and the imbalance of the first."""
    workload = workload_of(num_flows)
    agents = models_for(ENVIRONMENT, models, "auto-long-flows")
    policies: dict[str, str | Path] = {name: name for name in POLICIES}
    policies |= {name: file for name, (file, _) in agents.items()}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in policies}
    imbalance: Imbalance = {}
    for seed in seeds:
        flows = workload.draw(seed)
        for name, policy in policies.items():
            episode = play(flows, policy, thresholds)
            for metric, value in metrics_of(episode, flows, thresholds[-1]).items():
                found[name].setdefault(metric, []).append(value)
            if name not in imbalance:
                imbalance[name] = np.column_stack([episode.time.round(2), episode.difference])[::EVERY].tolist()
    return found, imbalance


def workload_of(num_flows: int) -> ClusterWorkload:
    """Returns the traffic, whose loads are those of the three links of a server."""
    capacity = PATHS * BYTES_PER_SECOND_PER_GBPS
    workload = make_workload(WORKLOAD, capacity=capacity, num_flows=min(num_flows, FLOWS))
    assert isinstance(workload, ClusterWorkload)
    return workload


def play(flows: Workload, policy: str | Path, thresholds: Sequence[float]) -> Episode:
    """Plays one episode, in which a policy, or a model by its file, is asked about all long flows once in 10 ms."""
    arguments: dict[str, Any] = {"workload": flows, "thresholds": tuple(thresholds), "paths": PATHS}
    arguments |= {"scope": "network", "n_l": SLOTS, "period_ms": SAMPLE_EVERY / SECONDS_PER_MILLISECOND}
    env = make_environment(ENVIRONMENT, arguments | {"engine": "compiled"}).unwrapped
    assert isinstance(env, AuTOLongFlowsEnv)
    chooser = _chooser(policy, env)
    observation, _ = env.reset(seed=0)
    differences: list[int] = []
    over = False
    while not over:
        decision = env.decision()
        counts, _ = on_links(env.rules, decision)
        # A question about no long flow is passed over: until this one there was none.
        passed = decision.num_periods - 1 - len(differences)
        differences += [0] * passed + [int(counts.max() - counts.min())]
        action, _ = chooser.predict(observation, deterministic=True)
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    difference = np.array(differences, dtype=np.int64)
    return Episode(env.records(), SAMPLE_EVERY * np.arange(len(difference), dtype=np.float64), difference)


def _chooser(policy: str | Path, env: AuTOLongFlowsEnv) -> Policy:
    """Makes a policy by its name, or loads a model."""
    if isinstance(policy, str):
        return find_player(policy, env).make(env)
    from flowsched_gym.integrations.sb3 import load_policy  # noqa: PLC0415 - Stable-Baselines3 is optional

    return load_policy(policy, env)


def metrics_of(episode: Episode, flows: Workload, long_from: float) -> dict[str, float]:
    """Returns how evenly long flows were spread while flows arrived, and slowdowns and FCT in s of long and all."""
    records = episode.records
    while_loaded = episode.difference[episode.time <= flows.arrival_time[-1]]
    long = records.size > long_from
    found = {
        "mean_difference": while_loaded.mean(),
        "p99_difference": np.percentile(while_loaded, 99),
        "max_difference": while_loaded.max(),
        "share_below_few": (while_loaded < FEW).mean(),
        "mean_slowdown": records.slowdown.mean(),
        "mean_slowdown_long": records.slowdown[long].mean() if long.any() else np.nan,
        "mean_fct": records.fct.mean(),
        "mean_fct_long": records.fct[long].mean() if long.any() else np.nan,
    }
    return {metric: rounded(value) for metric, value in found.items()}
