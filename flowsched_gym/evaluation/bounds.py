"""Bounds the number of deadlines that any scheduler could meet, knowing all flows beforehand.

The clairvoyant reference: no order, sharing, preemption, token or window does better, because only the capacity of
the links and the stated latencies are kept of the network. On one link the count is the optimum of
1 | r_j, pmtn | sum U_j (`selection`). With several destinations, the links into the hosts are bounded one by one and
so are the links out of them; the smaller of the two sums is valid, since dropping the other side's links only helps.
"""

import math
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import Progress
from flowsched_gym.evaluation.player import check_episodes, make_environment
from flowsched_gym.evaluation.results import EvaluationResult, Provenance, Run
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.evaluation.selection import NODE_LIMIT, Jobs, select_most_jobs, serve_earliest_due_first
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec

BoundMethod = Literal["auto", "exact", "relaxed"]
BOUND_POLICY: Final = "clairvoyant-bound"
"""Name of the bound in tables and result files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineBound:
    """Bounds on the deadlines that can be met, of ``num_deadlines`` in all.

    No scheduler meets more than ``upper``; a schedule that knows all flows beforehand meets ``lower``.
    """

    num_deadlines: int
    upper: int
    lower: int

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= self.num_deadlines:
            raise ConfigError(
                f"lower is {self.lower}, upper {self.upper}, num_deadlines {self.num_deadlines}: "
                "they must not decrease, from 0 on"
            )

    @property
    def exact(self) -> bool:
        """Whether the largest number is known."""
        return self.lower == self.upper

    @property
    def upper_ratio(self) -> float:
        """Largest deadline hit ratio that any scheduler could reach; NaN without deadlines."""
        return self.upper / self.num_deadlines if self.num_deadlines else math.nan


def deadline_bound(
    workload: Workload,
    *,
    capacity: float,
    latency_before: float | FloatArray = 0.0,
    latency_after: float | FloatArray = 0.0,
    volume: FloatArray | None = None,
    method: BoundMethod = "auto",
) -> DeadlineBound:
    """Bounds the deadlines that any scheduler could meet on these flows.

    Args:
        workload: The flows; those without a deadline neither count nor get in the way.
        capacity: Capacity of every host's link, in and out, in B/s, > 0.
        latency_before: Time in s from a flow's arrival until its first byte can use a link, >= 0 (token, handshake,
            propagation), one for all or (num_flows,).
        latency_after: Time in s from the last byte's use of a link until the flow counts as finished, >= 0, one for
            all or (num_flows,).
        volume: Bytes that each flow puts on the wire, headers included, (num_flows,) float64, > 0. Default: its size.
        method: ``"auto"`` solves integer programmes up to a fixed number of nodes, ``"exact"`` without limit,
            ``"relaxed"`` only linear ones.

    Raises:
        ConfigError: A number or the method is not allowed.
        MissingDependencyError: SciPy is needed and not installed.
    """
    if not (math.isfinite(capacity) and capacity > 0):
        raise ConfigError(f"capacity is {capacity!r}: it must be finite and > 0 B/s")
    for name, latency in (("latency_before", latency_before), ("latency_after", latency_after)):
        if not (np.isfinite(latency) & (np.asarray(latency) >= 0)).all():
            raise ConfigError(f"{name} is {latency!r}: it must be finite and >= 0 s")
    check_choice("method", method, get_args(BoundMethod))
    workload, _ = workload.on_clock()
    assert workload.deadline_span is not None
    rows = np.flatnonzero(np.isfinite(workload.deadline_span))
    jobs = Jobs(
        release=(workload.arrival_time + latency_before)[rows],
        due=(workload.arrival_time + workload.deadline_span - latency_after)[rows],
        length=(workload.size if volume is None else volume)[rows] / capacity,
    )
    source, destination = workload.source[rows], workload.destination[rows]
    upper, chosen = _bound_links(jobs, destination, method=method)
    if len(np.unique(destination)) <= 1:
        return DeadlineBound(num_deadlines=len(rows), upper=upper, lower=len(chosen))
    upper_of_sources, also_chosen = _bound_links(jobs, source, method=method)
    served = (
        serve_earliest_due_first(jobs[some], source=source[some], destination=destination[some])
        for some in (chosen, also_chosen)
    )
    lower = max(int(np.count_nonzero(each)) for each in served)
    return DeadlineBound(num_deadlines=len(rows), upper=min(upper, upper_of_sources), lower=lower)


def evaluate_bound(
    environment: str | EnvironmentSpec,
    *,
    episodes: int,
    seed: int,
    kwargs: Mapping[str, Any] | None = None,
    method: BoundMethod = "auto",
    command: str | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Bounds the deadlines that any scheduler could meet in the episodes that `evaluate` plays with the same seed.

    The arguments are those of `evaluate`, and ``method`` that of `deadline_bound`.

    Returns:
        A result whose ``deadline_hit_ratio`` and ``deadlines_met`` are upper bounds, and whose ``reachable_hit_ratio``
        is what one schedule that knows all flows beforehand reaches.

    Raises:
        ConfigError: An argument is not allowed, or the environment's flows are not simulated by this package.
        MissingDependencyError: SciPy is needed and not installed.
    """
    begun = time.monotonic()
    episodes, seed = check_episodes(episodes, seed)
    spec = find_environment(environment)
    results = []
    tell = progress or (lambda done, total: None)
    with closing(EnvironmentFlows(spec, kwargs)) as flows:
        for episode in range(episodes):
            tell(episode, episodes)
            bound = bound_of_simulation(flows.simulation(seed + episode), method=method)
            metrics = {
                "deadlines_met": float(bound.upper),
                "deadline_hit_ratio": bound.upper_ratio,
                "reachable_hit_ratio": bound.lower / bound.num_deadlines if bound.num_deadlines else math.nan,
            }
            results.append(EpisodeResult(seed=seed + episode, num_decisions=0, reward=math.nan, metrics=metrics))
    tell(episodes, episodes)
    return EvaluationResult(
        environment=spec.id,
        kwargs=dict(kwargs or {}),
        policy=BOUND_POLICY,
        source=BOUND_POLICY,
        runs=(Run(episodes=tuple(results)),),
        made=Provenance.here(command=command, seconds=time.monotonic() - begun),
    )


def bound_of_simulation(simulation: Simulation, *, method: BoundMethod = "auto") -> DeadlineBound:
    """Bounds the deadlines that any scheduler could meet in a simulated episode.

    Of the network, the bound keeps the capacity of the hosts' links, the bytes on the wire, and the time that a
    request, a token, a handshake and the last byte travel. How far the episode has run does not matter.

    Raises:
        ConfigError: All flows share one link, whatever their hosts: there are no hosts' links.
        MissingDependencyError: SciPy is needed and not installed.
    """
    topology, transport, workload = simulation.topology, simulation.transport, simulation.workload
    if topology.num_hosts == 0:
        raise ConfigError(f"topology {topology.name} has no hosts: bound its flows by deadline_bound")
    # Every topology lists the links of its hosts first, all of one capacity.
    capacity = float(topology.capacity[0])
    delay = topology.path_delay(topology.path_of(workload.source, workload.destination))
    round_trip = 2 * delay + 2 * transport.packet / capacity
    token = 2 * delay if simulation.destinations else 0.0 * delay
    return deadline_bound(
        workload,
        capacity=capacity,
        latency_before=token + transport.handshake_round_trips * round_trip,
        latency_after=delay,
        volume=simulation.state.volume,
        method=method,
    )


class EnvironmentFlows:
    """The flows that an environment would show after ``reset(seed=seed)``, to pair references with policies."""

    def __init__(self, environment: str | EnvironmentSpec, kwargs: Mapping[str, Any] | None = None) -> None:
        self._env = make_environment(environment, kwargs or {})

    def draw(self, seed: int) -> Workload:
        """Returns the flows of the episode."""
        return self.simulation(seed).workload

    def simulation(self, seed: int) -> Simulation:
        """Returns the simulation of the episode, at its first decision."""
        self._env.reset(seed=seed)
        return cast(Simulation, self._env.get_wrapper_attr("simulation"))

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()


def _bound_links(jobs: Jobs, side: IntArray, *, method: BoundMethod) -> tuple[int, IntArray]:
    """Adds the bounds of the links of one side up; returns the sum and the rows that these links could serve."""
    node_limit = None if method == "exact" else NODE_LIMIT
    upper, chosen = 0, [np.zeros(0, dtype=np.int64)]
    for host in np.unique(side):
        rows = np.flatnonzero(side == host)
        selection = select_most_jobs(jobs[rows], integral=method != "relaxed", node_limit=node_limit)
        upper += selection.upper
        chosen.append(rows[selection.chosen])
    return upper, np.concatenate(chosen)
