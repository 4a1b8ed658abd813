"""Bounds the number of deadlines that any scheduler could meet, knowing all flows beforehand.

The clairvoyant reference. Of the network, it keeps the capacity of the links, the stated latencies and the tokens; no
order, no sharing of links and no preemption does better. On one link the count is the optimum of
1 | r_j, pmtn | sum U_j (`selection`). With several destinations, the links into the hosts are bounded one by one and
so are the links out of them; the smaller of the two sums is valid, since dropping the other side's links only helps.

Tokens: a flow that is in time holds one of its destination's k tokens from its grant until its last byte has arrived,
between its request's arrival and its deadline, and at least as long as if it were alone. So in any interval the flows
that are in time and could hold tokens only there need k times its length at most, all holding times together: the
conditions of one link that serves jobs of 1 / k of these times. Of each destination the smaller bound counts.

An episode of a few flows is bounded exactly (`grants`): by the best of all schedules of its environment, in which
flows share links as they do there, and nothing is interrupted.
"""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, cast, get_args

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import Progress
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.evaluation.engines import make_environment
from flowsched_gym.evaluation.grants import MOST_TRIED, most_deadlines
from flowsched_gym.evaluation.results import EvaluationResult, Provenance, Run
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.evaluation.runner import check_seeds
from flowsched_gym.evaluation.selection import NODE_LIMIT, Jobs, fits_alone, select_most_jobs, serve_earliest_due_first
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.isolation import ideal_times
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.packets.simpy import TokenSimulation
from flowsched_gym.players import BOUND_POLICY
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec

BoundMethod = Literal["auto", "exact", "relaxed"]
OF_THE_NETWORK: Final = ("k", "transport", "transport_figures", "link_gbps", "link_delay_us")
"""Arguments that say how flows with tokens send; others say which flows there are, and what an agent does and sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineBound:
    """Bounds on the deadlines that can be met, of ``num_deadlines`` in all.

    No scheduler meets more than ``upper``; one that knows all flows beforehand meets ``lower``, if it may interrupt
    them and needs no token.
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
        """Whether both are one number."""
        return self.lower == self.upper

    @property
    def upper_ratio(self) -> float:
        """Largest deadline hit ratio that any scheduler could reach; NaN without deadlines."""
        return self.upper / self.num_deadlines if self.num_deadlines else math.nan


class Tokens(NamedTuple):
    """The tokens that each destination has.

    Attributes:
        num_tokens: Flows that may hold one at a time, >= 1.
        request: Time in s from a flow's arrival until it can get one, >= 0, (num_flows,).
        holding: Time in s that it holds one at least, without a break, until its last byte has arrived, (num_flows,).
    """

    num_tokens: int
    request: FloatArray
    holding: FloatArray


def deadline_bound(
    workload: Workload,
    *,
    capacity: float,
    latency_before: float | FloatArray = 0.0,
    latency_after: float | FloatArray = 0.0,
    volume: FloatArray | None = None,
    tokens: Tokens | None = None,
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
        tokens: What flows need to send; ``None`` where they need nothing.
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
    num_deadlines, holders = len(rows), None
    if tokens is not None:
        length = tokens.holding[rows]
        release = (workload.arrival_time + tokens.request)[rows]
        holders = Jobs(release=release, due=(workload.arrival_time + workload.deadline_span)[rows], length=length)
        alone = np.flatnonzero(fits_alone(holders))  # no scheduler serves the others in time
        rows, jobs = rows[alone], jobs[alone]
        holders = replace(holders[alone], length=length[alone] / tokens.num_tokens)
    source, destination = workload.source[rows], workload.destination[rows]
    upper, chosen = _bound_hosts(jobs, holders, destination, method=method)
    if len(np.unique(destination)) <= 1:
        return DeadlineBound(num_deadlines=num_deadlines, upper=upper, lower=min(len(chosen), upper))
    upper_of_sources, also_chosen = _bound_hosts(jobs, None, source, method=method)
    served = (
        serve_earliest_due_first(jobs[some], source=source[some], destination=destination[some])
        for some in (chosen, also_chosen)
    )
    upper = min(upper, upper_of_sources)
    lower = max(int(np.count_nonzero(each)) for each in served)
    return DeadlineBound(num_deadlines=num_deadlines, upper=upper, lower=min(lower, upper))


def evaluate_bound(
    environment: str | EnvironmentSpec,
    *,
    episodes: int,
    seed: int | Sequence[int],
    kwargs: Mapping[str, Any] | None = None,
    method: BoundMethod = "auto",
    command: str | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Bounds the deadlines that any scheduler could meet in the episodes that `evaluate` plays with the same seed.

    The arguments are those of `evaluate`, and ``method`` that of `deadline_bound`.

    Episodes of up to 12 flows with tokens are solved exactly unless the method is ``"relaxed"``, as long as that takes
    few tries; the engine is compiled for it.

    Returns:
        A result whose ``deadline_hit_ratio`` and ``deadlines_met`` are upper bounds, and whose ``reachable_hit_ratio``
        is what one schedule that knows all flows beforehand reaches (`DeadlineBound.lower`).

    Raises:
        ConfigError: An argument is not allowed, or the environment's flows are not simulated by this package.
        MissingDependencyError: SciPy is needed and not installed.
    """
    begun = time.monotonic()
    seeds = check_seeds(episodes, seed)
    spec = find_environment(environment)
    results = []
    tell = progress or (lambda done, total: None)
    with closing(EnvironmentFlows(spec, kwargs)) as flows:
        for number, each in enumerate(seeds):
            tell(number, len(seeds))
            bound = bound_of_simulation(simulation := flows.simulation(each), method=method)
            if method != "relaxed":
                bound = _best_of_all(simulation, bound, spec, kwargs or {})
            metrics = {
                "deadlines_met": float(bound.upper),
                "deadline_hit_ratio": bound.upper_ratio,
                "reachable_hit_ratio": bound.lower / bound.num_deadlines if bound.num_deadlines else math.nan,
            }
            results.append(EpisodeResult(seed=each, num_decisions=0, reward=math.nan, metrics=metrics))
    tell(len(seeds), len(seeds))
    return EvaluationResult(
        environment=spec.id,
        kwargs=dict(kwargs or {}),
        policy=BOUND_POLICY,
        source=BOUND_POLICY,
        runs=(Run(episodes=tuple(results)),),
        made=Provenance.here(command=command, seconds=time.monotonic() - begun),
    )


def bound_of_simulation(simulation: Simulation | TokenSimulation, *, method: BoundMethod = "auto") -> DeadlineBound:
    """Bounds the deadlines that any scheduler could meet in a simulated episode.

    Of the network, the bound keeps the capacity of the hosts' links, the bytes on the wire, and the time that a
    request, a token, a handshake and the last byte travel. How far the episode has run does not matter.

    Raises:
        ConfigError: All flows share one link, whatever their hosts: there are no hosts' links.
        MissingDependencyError: SciPy is needed and not installed.
    """
    topology, workload = simulation.topology, simulation.workload
    if topology.num_hosts == 0:
        raise ConfigError(f"topology {topology.name} has no hosts: bound its flows by deadline_bound")
    # Every topology lists the links of its hosts first, all of one capacity.
    capacity = float(topology.capacity[0])
    delay = topology.path_delay(topology.path_of(workload.source, workload.destination))
    if isinstance(simulation, TokenSimulation):
        connecting = 2 * delay if simulation.network.parameters.handshake else 0.0 * delay
    else:
        transport = simulation.transport
        connecting = transport.handshake_round_trips * (2 * delay + 2 * transport.packet / capacity)
    tokens = None
    if simulation.destinations:
        first = next(iter(simulation.destinations.values()))
        holding = holding_times(simulation)
        tokens = Tokens(num_tokens=first.tokens + first.num_active, request=delay, holding=holding)
    return deadline_bound(
        workload,
        capacity=capacity,
        latency_before=(2 * delay if simulation.destinations else 0.0) + connecting,
        latency_after=delay,
        volume=simulation.state.volume,
        tokens=tokens,
        method=method,
    )


def holding_times(simulation: Simulation | TokenSimulation) -> FloatArray:
    """Returns how long each flow holds a token at least, in s, (num_flows,).

    From the grant: the token's way, the handshake, the time that it sends alone on the network, and the last byte's
    way. Sharing makes no window shorter than a round trip, and no rate larger. Where packets are lost, windows grow by
    rules of their own; no flow is faster than its link there either, and no packets are than without windows.
    """
    topology, workload = simulation.topology, simulation.workload
    if isinstance(simulation, TokenSimulation):
        fct = simulation.ideal_fct()
    else:
        transport = simulation.transport
        lossless = transport if transport.losses is None else replace(transport, losses=None, initial_window=0.0)
        fct = ideal_times(topology, workload, simulation.state.volume, lossless, needs_token=True)
    return fct - topology.path_delay(topology.path_of(workload.source, workload.destination))


class EnvironmentFlows:
    """The flows that an environment would show after ``reset(seed=seed)``, to pair references with policies."""

    def __init__(self, environment: str | EnvironmentSpec, kwargs: Mapping[str, Any] | None = None) -> None:
        self._env = make_environment(environment, kwargs or {})

    def draw(self, seed: int) -> Workload:
        """Returns the flows of the episode."""
        return self.simulation(seed).workload

    def simulation(self, seed: int) -> Simulation | TokenSimulation:
        """Returns the simulation of the episode, at its first decision."""
        self._env.reset(seed=seed)
        return cast(Simulation | TokenSimulation, self._env.get_wrapper_attr("simulation"))

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()


def _best_of_all(
    simulation: Simulation | TokenSimulation, bound: DeadlineBound, spec: EnvironmentSpec, kwargs: Mapping[str, Any]
) -> DeadlineBound:
    """Returns the number of deadlines that the best of all schedules meets, where trying them is possible.

    In packets it is not: a schedule that waits longer may meet more there.
    """
    flows = simulation.workload
    if isinstance(simulation, TokenSimulation) or not simulation.destinations or not 0 < flows.num_flows <= MOST_TRIED:
        return bound
    network = {name: kwargs[name] for name in OF_THE_NETWORK if name in kwargs}
    freedom = {"f": flows.num_flows, "defer": "wait", "reward": "on_completion"}
    env = make_environment(spec, {**network, **freedom, "workload": flows})
    try:
        env.reset(seed=0)
        most = most_deadlines(cast(DecisionEnv[Any], env.unwrapped), holding_times(simulation), upper=bound.upper)
    finally:
        env.close()
    return bound if most is None else DeadlineBound(num_deadlines=bound.num_deadlines, upper=most, lower=most)


def _bound_hosts(jobs: Jobs, holders: Jobs | None, side: IntArray, *, method: BoundMethod) -> tuple[int, IntArray]:
    """Adds the bounds of the hosts of one side up; returns the sum and the rows that their links could serve.

    Of a host, the smaller bound counts: that of its link, or that of its tokens, of which one job takes its share.
    """
    limits: Any = {"integral": method != "relaxed", "node_limit": None if method == "exact" else NODE_LIMIT}
    upper, chosen = 0, [np.zeros(0, dtype=np.int64)]
    for host in np.unique(side):
        rows = np.flatnonzero(side == host)
        selection = select_most_jobs(jobs[rows], **limits)
        upper += (
            selection.upper
            if holders is None
            else min(selection.upper, select_most_jobs(holders[rows], **limits).upper)
        )
        chosen.append(rows[selection.chosen])
    return upper, np.concatenate(chosen)
