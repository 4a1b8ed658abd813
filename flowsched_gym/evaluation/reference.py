"""References to compare policies with: disciplines without an environment, and the clairvoyant bound."""

import time
from collections.abc import Mapping
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation.bounds.bound import BoundMethod, DeadlineBound, deadline_bound
from flowsched_gym.evaluation.environment import make_environment
from flowsched_gym.evaluation.evaluate import check_episodes
from flowsched_gym.evaluation.player import Progress
from flowsched_gym.evaluation.replay import replay
from flowsched_gym.evaluation.results import EvaluationResult, Provenance, Run
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.flows.metrics import summary
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.registration import system_of
from flowsched_gym.topology import DEFAULT_CAPACITY, Topology
from flowsched_gym.workload import Workload, WorkloadSource, make_workload

BOUND_POLICY: Final = "clairvoyant-bound"
"""Name of the bound in tables and result files."""


class EnvironmentFlows:
    """The flows that an environment would show after ``reset(seed=seed)``, to pair references with policies.

    Args:
        env_id: Id of the environment.
        kwargs: Its arguments.

    Raises:
        ConfigError: The id or an argument is not allowed.
    """

    def __init__(self, env_id: str, kwargs: Mapping[str, Any] | None = None) -> None:
        self._env = make_environment(env_id, kwargs or {})
        self.environment = system_of(env_id)[1].id
        self.kwargs = dict(kwargs or {})

    def draw(self, seed: int) -> Workload:
        """Returns the flows of the episode."""
        workload: Workload = self.simulation(seed).workload
        return workload

    def simulation(self, seed: int) -> Simulation:
        """Returns the simulation of the episode, at its first decision."""
        self._env.reset(seed=seed)
        base: Any = self._env.unwrapped
        simulation: Simulation = base.simulation
        return simulation

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()


def evaluate_discipline(
    source: str | WorkloadSource | EnvironmentFlows,
    discipline: str,
    *,
    episodes: int,
    seed: int,
    topology: str | None = None,
    capacity: float | None = None,
    parameters: Mapping[str, object] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Runs a discipline, without an environment, on the flows of many episodes.

    Args:
        source: Name of a workload, anything that draws flows, or the flows of an environment, which then run over its
            network, delays included, without tokens.
        discipline: Name of a discipline.
        episodes: Number of episodes, >= 1.
        seed: Seed of the first draw, an integer >= 0; the next ones count on from it.
        topology: Name of a topology. Default: ``big-switch``, or that of the environment, which cannot be changed.
        capacity: Capacity of every link in B/s; ``None`` for 1 Gbps, or that of the environment.
        parameters: Parameters of the discipline.
        command: Command line to keep with the result.
        progress: Called before the first and after every episode.

    Raises:
        ConfigError: An argument or a name is not allowed.
        WorkloadError: The flows cannot be simulated.
    """
    begun = time.monotonic()
    episodes, seed = check_episodes(episodes, seed)
    kwargs: dict[str, object] = {}
    if isinstance(source, EnvironmentFlows):
        if topology is not None or capacity is not None:
            raise ConfigError("topology and capacity are those of the environment: leave them out")
        kwargs |= source.kwargs
    elif isinstance(source, str):
        kwargs["workload"] = source
        source = make_workload(source)
    if capacity is not None:
        kwargs["capacity"] = capacity
    kwargs |= parameters or {}
    name = topology or "big-switch"
    results = []
    for episode in range(episodes):
        if progress is not None:
            progress(episode, episodes)
        network: str | Topology = name
        line_rate = DEFAULT_CAPACITY if capacity is None else capacity
        if isinstance(source, EnvironmentFlows):
            simulation = source.simulation(seed + episode)
            workload, network = simulation.workload, simulation.topology
            line_rate = float(network.capacity[0])
        else:
            workload = source.draw(seed + episode)
        records = replay(workload, discipline=discipline, topology=network, capacity=capacity, parameters=parameters)
        results.append(
            EpisodeResult(
                seed=seed + episode,
                num_decisions=0,
                reward=float("nan"),
                metrics=summary(records, capacity=line_rate).as_dict(),
            )
        )
    if progress is not None:
        progress(episodes, episodes)
    environment = source.environment if isinstance(source, EnvironmentFlows) else f"disciplines/{name}"
    return EvaluationResult(
        environment=environment,
        kwargs=kwargs,
        policy=f"{discipline}-discipline",
        runs=(Run(episodes=tuple(results)),),
        made=Provenance.here(command=command, seconds=time.monotonic() - begun),
    )


def evaluate_bound(
    env_id: str,
    *,
    episodes: int,
    seed: int,
    kwargs: Mapping[str, Any] | None = None,
    method: BoundMethod = "auto",
    command: str | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Bounds the deadlines that any scheduler could meet in the episodes that `evaluate` plays with the same seed.

    Args:
        env_id: Id of the environment.
        episodes: Number of episodes, >= 1.
        seed: Seed of the first episode, an integer >= 0.
        kwargs: Arguments of the environment.
        method: As in `deadline_bound`.
        command: Command line to keep with the result.
        progress: Called before the first and after every episode.

    Returns:
        A result whose ``deadline_hit_ratio`` and ``deadlines_met`` are upper bounds, and whose ``reachable_hit_ratio``
        is what one schedule that knows all flows beforehand reaches.

    Raises:
        ConfigError: An argument is not allowed, or the environment's flows are not simulated by this package.
        MissingDependencyError: SciPy is needed and not installed.
    """
    begun = time.monotonic()
    episodes, seed = check_episodes(episodes, seed)
    flows = EnvironmentFlows(env_id, kwargs)
    results = []
    try:
        for episode in range(episodes):
            if progress is not None:
                progress(episode, episodes)
            bound = bound_of_simulation(flows.simulation(seed + episode), method=method)
            reachable = bound.lower / bound.num_deadlines if bound.num_deadlines else float("nan")
            metrics = {
                "deadlines_met": float(bound.upper),
                "deadline_hit_ratio": bound.upper_ratio,
                "reachable_hit_ratio": reachable,
            }
            results.append(EpisodeResult(seed=seed + episode, num_decisions=0, reward=float("nan"), metrics=metrics))
        if progress is not None:
            progress(episodes, episodes)
    finally:
        flows.close()
    return EvaluationResult(
        environment=flows.environment,
        kwargs=flows.kwargs,
        policy=BOUND_POLICY,
        source=BOUND_POLICY,
        runs=(Run(episodes=tuple(results)),),
        made=Provenance.here(command=command, seconds=time.monotonic() - begun),
    )


def bound_of_simulation(simulation: Simulation, *, method: BoundMethod = "auto") -> DeadlineBound:
    """Bounds the deadlines that any scheduler could meet in a simulated episode.

    Of the network, the bound keeps the capacity of the hosts' links, the bytes on the wire, and the time that a
    request, a token, a handshake and the last byte travel.

    Args:
        simulation: The episode; how far it has run does not matter.
        method: As in `deadline_bound`.

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
