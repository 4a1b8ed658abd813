"""What AuTO's experiments compare: each scheme serves flows on 32 servers under one switch and tells how it went.

Schedulers from the library of disciplines, thresholds that are told of each change of traffic, and trained agents; and
thresholds that a search finds on flows that nobody is measured on later, which stand for what any way to learn fixed
thresholds can reach in this model (Figures 13 to 15).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import flowsched_gym
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import files_in, folders_in
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import make_environment
from flowsched_gym.evaluation.engines import make_vector
from flowsched_gym.evaluation.rollout import rollout_vector
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.fluid import Records
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.topology import DEFAULT_CAPACITY, make_topology
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload, Workload, make_workload

HOSTS: Final = 32
"""Servers of the testbed (AuTO, section 6)."""
DELAY: Final = 25 * SECONDS_PER_MICROSECOND
"""Propagation delay of a link: a round trip takes 100 us (AuTO, section 6)."""
ENVIRONMENT: Final = "flowsched/AuTOThresholds-v0"

Scheme = Callable[[Workload, int], Records]
"""Serves flows; also given the seed that they were drawn with."""
Thresholds = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]
"""Gives thresholds in B, (num_clusters, num_queues - 1), by the index of each cluster's traffic, (num_clusters,)."""
LOAD: Final = 0.6
"""Load of the paper's comparison of thresholds (section 6.2.1)."""
QUEUES: Final = 4
TRAINING_SEEDS: Final = (1000, 1001, 1002, 1003)
"""Seeds of the flows that thresholds are looked for on."""
FACTORS: Final = (4.0, 2.0, 1.4)
"""Factors by which a threshold is raised or lowered, one after the other as no larger one helps."""
THEORY: Final = "by theory"
SEARCHED: Final = "searched"


def replayed(discipline: str, **parameters: object) -> Scheme:
    """Returns a discipline with these parameters as a scheme."""

    def run(flows: Workload, seed: int) -> Records:
        return flowsched_gym.replay(
            flows,
            discipline=discipline,
            topology="big-switch",
            num_hosts=HOSTS,
            parameters={"delay": DELAY} | parameters,
            engine="compiled",
        )

    return run


def told_of_changes(workload: ClusterWorkload, thresholds: Thresholds) -> Scheme:
    """Returns feedback queues whose thresholds are set anew for each cluster, by what all send, when that changes."""

    def run(flows: Workload, seed: int) -> Records:
        assert workload.change_every is not None
        kinds = workload.phases(seed, 1 + int(flows.arrival_time[-1] / workload.change_every))
        queues = Mlfq(thresholds(kinds[0]), groups=clusters_of(workload))
        simulation = BatchSimulation(
            1,
            flows.num_flows,
            make_topology("big-switch", num_hosts=HOSTS, capacity=DEFAULT_CAPACITY, delay=DELAY),
            queues,
            asks=DecisionKind.PERIOD,
            period=Period(seconds=workload.change_every),
        )
        simulation.load(0, flows)
        simulation.run(0)
        while not simulation.finished(0):
            phase = min(simulation.num_periods(0), len(kinds)) - 1
            queues.set_thresholds(thresholds(kinds[phase]))
            simulation.go_on(0)
            simulation.run(0)
        return simulation.records(0, flows)

    return run


def clusters_of(workload: ClusterWorkload) -> npt.NDArray[np.int64]:
    """Returns the cluster of each host, (num_hosts,)."""
    return np.arange(workload.num_hosts) // workload.hosts_per_cluster


def learned(models: Path, workload: str) -> dict[str, Scheme]:
    """Finds the agents that were trained to set thresholds for a workload, in folders named as it or with more."""
    found = {}
    for name, (file, kwargs) in models_for(ENVIRONMENT, models, workload).items():
        if kwargs.get("workload", AuTOThresholdsConfig().workload) == workload:
            found[name] = _model(file, kwargs)
    return found


def models_for(environment: str, models: Path, beginning: str) -> dict[str, tuple[Path, dict[str, object]]]:
    """Finds models for an environment in folders below one whose names begin so: file and arguments by name."""
    found = {}
    folders = [each for each in folders_in(models) if each.name.startswith(beginning)]
    for file in (file for folder in folders for file in files_in(folder, ".zip")):
        sidecar = read_json(file.with_suffix(".json"))
        if sidecar["environment"].endswith(environment):
            found[f"learned, {file.parent.name}/{file.stem}"] = file, sidecar["kwargs"]
    return found


def acting(kwargs: dict[str, object], make: Callable[[dict[str, object]], Policy]) -> Scheme:
    """Returns a policy that sets thresholds in the environment as a scheme, whose flows the environment has."""
    arguments = {name: value for name, value in kwargs.items() if name not in ("workload", "load", "flows")}

    def run(flows: Workload, seed: int) -> Records:
        found: list[Records] = []
        given = arguments | {"workload": flows}
        envs = make_vector(ENVIRONMENT, given, num_envs=1)
        rollout_vector(envs, make(given), seeds=(0,), ended=lambda _, row: found.append(envs.records(row)))
        return found[0]

    return run


def _model(file: Path, kwargs: dict[str, object]) -> Scheme:
    """Returns a trained agent as a scheme."""

    def load(arguments: dict[str, object]) -> Policy:
        from flowsched_gym.integrations.sb3 import batched, load_policy  # noqa: PLC0415 - Stable-Baselines3 is optional

        return batched(load_policy(file, make_environment(ENVIRONMENT, arguments)))

    return acting(kwargs, load)


def searched_workload(size: str, num_flows: int) -> PoissonWorkload:
    """Returns the traffic of the comparison."""
    workload = make_workload(f"auto-{size.replace('_', '-')}", load=LOAD, num_flows=num_flows)
    assert isinstance(workload, PoissonWorkload)
    return workload


def searched_thresholds(size: str, num_flows: int) -> dict[str, list[float]]:
    """Returns the best thresholds in theory, whose queues are first in, first out, and the best ones found, in B."""
    episodes = [searched_workload(size, num_flows).draw(seed) for seed in TRAINING_SEEDS]

    def mean_fct(thresholds: Sequence[float]) -> float:
        serve = replayed("mlfq", thresholds=list(thresholds))
        return float(np.mean([serve(flows, 0).fct.mean() for flows in episodes]))

    theory = optimal_thresholds("qlas", size, LOAD, QUEUES).tolist()
    return {THEORY: theory, SEARCHED: descend(mean_fct, theory)}


def descend(cost: Callable[[list[float]], float], start: Sequence[float]) -> list[float]:
    """Moves one threshold at a time, by ever smaller factors, as long as the cost falls and their order holds.

    Begins with increasing thresholds in B; returns them in whole B.
    """
    here = list(start)
    least = cost(here)
    for factor in FACTORS:
        improved = True
        while improved:
            improved = False
            for place in range(len(here)):
                for step in (factor, 1 / factor):
                    there = [*here[:place], round(here[place] * step), *here[place + 1 :]]
                    if sorted(set(there)) == there and (found := cost(there)) < least:
                        here, least, improved = there, found, True
    return here
