"""Runs a discipline on given flows in one compiled loop, event for event as the reference engine does."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.control import control, review_time
from flowsched_gym.disciplines import BaseDiscipline, DisciplineArrays
from flowsched_gym.errors import ConfigError
from flowsched_gym.model.controls import Controls, new_controls
from flowsched_gym.model.discipline import Discipline
from flowsched_gym.model.records import Records, complete_records
from flowsched_gym.model.rules.compile import allocating_rule
from flowsched_gym.model.rules.progress import advance, next_event_time
from flowsched_gym.model.rules.sharing import share_links
from flowsched_gym.model.state import FlowState, Network, new_flow_state
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload

__all__ = ["run_compiled"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def run_compiled(workload: Workload, topology: Topology, discipline: Discipline, *, seed: int = 0) -> Records:
    """Runs all flows to their end.

    Args:
        workload: The flows.
        topology: The network.
        discipline: Fills the controls.
        seed: Seed of the hash by which flows are spread over equal paths.

    Returns:
        Records, equal bit for bit to the reference engine's.

    Raises:
        ConfigError: The compiled engine does not know the discipline.
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
    """
    if not isinstance(discipline, BaseDiscipline):
        raise ConfigError(f"engine 'compiled' does not know {type(discipline).__name__}: use engine 'simpy'")
    assert workload.deadline_span is not None
    assert workload.task_id is not None
    path = topology.ecmp(workload.source, workload.destination, workload.flow_id, seed=seed)
    topology.check_times(path, workload.size, workload.arrival_time)
    state = new_flow_state(
        size=workload.size,
        volume=workload.size.copy(),
        arrival_time=workload.arrival_time,
        deadline_span=workload.deadline_span,
    )
    controls = new_controls(path)
    discipline.begin(state, controls, topology.network)
    completion_time = np.full(workload.num_flows, np.nan)
    order = np.lexsort((np.arange(workload.num_flows), workload.arrival_time))
    delay = topology.path_delay(path)
    network = topology.network
    data_capacity = network.capacity * discipline.data_share
    _run(order, state, controls, network, data_capacity, discipline.arrays(), delay, completion_time)
    return complete_records(
        flow_id=workload.flow_id,
        task_id=workload.task_id,
        source=workload.source,
        destination=workload.destination,
        size=workload.size,
        arrival_time=workload.arrival_time,
        deadline_span=workload.deadline_span,
        grant_time=workload.arrival_time.copy(),
        completion_time=completion_time,
        ideal_fct=workload.size / topology.path_capacity(path) + delay,
    )


@allocating_rule
def _run(
    order: IntArray,
    state: FlowState,
    controls: Controls,
    network: Network,
    data_capacity: FloatArray,
    own: DisciplineArrays,
    delay: FloatArray,
    completion_time: FloatArray,
) -> None:
    """Goes from event to event: completions, crossings, arrivals in the order of rows, then the sharing of links."""
    num_flows, num_links = len(order), len(network.capacity)
    live = np.zeros(num_flows, dtype=np.int64)
    finished = np.zeros(num_flows, dtype=np.int64)
    crossed = np.zeros(num_flows, dtype=np.int64)
    residual = np.zeros(num_links)
    load = np.zeros(num_links)
    open_flows = np.zeros(num_links, dtype=np.int64)
    links = np.zeros(num_links, dtype=np.int64)
    count = 0
    arrived = 0
    done = 0
    settled_at = 0.0
    wake = np.inf
    while done < num_flows:
        arrival = state.arrival_time[order[arrived]] if arrived < num_flows else np.inf
        now = min(arrival, wake)
        if now > settled_at:
            count, num_finished, _ = advance(
                now,
                now - settled_at,
                live,
                count,
                state.volume,
                state.attained,
                state.remaining,
                state.rate,
                controls.review_at,
                finished,
                crossed,
            )
            for place in range(num_finished):
                completion_time[finished[place]] = now + delay[finished[place]]
            done += num_finished
            settled_at = now
        while arrived < num_flows and state.arrival_time[order[arrived]] == now:
            live[count] = order[arrived]
            count += 1
            arrived += 1
        wake = np.inf
        if count == 0:
            continue
        control(now, live, count, state, controls, network, own)
        share_links(
            live,
            count,
            controls.admitted,
            controls.priority,
            controls.weight,
            controls.rate_cap,
            controls.path,
            data_capacity,
            network.path_start,
            network.path_links,
            state.rate,
            residual,
            load,
            open_flows,
            links,
        )
        review = review_time(now, live, count, state, controls, own)
        wake = next_event_time(
            now, live, count, state.attained, state.remaining, state.rate, controls.review_at, review
        )
