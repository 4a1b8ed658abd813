"""Finds how long flows would take alone on the empty network: what slowdowns are measured against."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.rules.transport.lossy_ports import isolated_lossy_times
from flowsched_gym.fluid.rules.transport.senders import isolated_times
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.topology.cpus import check_cpu_work, cpu_seconds
from flowsched_gym.topology.topology import Topology


def round_trip_time(topology: Topology, path_delay: FloatArray, transport: Transport) -> FloatArray:
    """Returns round-trip times in s of paths with these one-way delays: both ways, and a packet on two links."""
    round_trip: FloatArray = 2.0 * path_delay + 2.0 * transport.packet / topology.capacity[0]
    return round_trip


def ideal_times(
    topology: Topology, flows: Workload, volume: FloatArray, transport: Transport, *, needs_token: bool
) -> FloatArray:
    """Returns ideal flow completion times in s, CPU work included, (num_flows,), of flows with these bytes on the wire.

    They are those of the path that is best for each. Where it ``needs_token``, a request and a token travel before the
    first byte.
    """
    flow, path = topology.rival_paths(flows.source, flows.destination)
    delay, volume = topology.path_delay(path), volume[flow]
    round_trip = round_trip_time(topology, delay, transport)
    sending = np.empty(len(path))
    capacity = topology.path_capacity(path)
    if transport.losses is not None:
        isolated_lossy_times(volume, capacity, round_trip, transport.loss_figures(), sending)
    else:
        isolated_times(
            volume,
            capacity,
            round_trip,
            transport.initial_window * transport.packet,
            transport.exit_window * transport.packet,
            transport.slow_start_growth,
            transport.later_growth,
            sending,
        )
    waits = (2.0 if needs_token else 0.0) * delay
    waits += transport.handshake_round_trips * round_trip
    fct = np.full(flows.num_flows, np.inf)
    np.minimum.at(fct, flow, sending + waits + delay)
    assert flows.cpu_time is not None
    return fct + cpu_seconds(topology, flows.source, flows.cpu_time) if flows.cpu_time.any() else fct


def check_stages(flows: Workload, topology: Topology, transport: Transport, *, has_tokens: bool) -> None:
    """Checks that flows which go through stages before they send can do so.

    Raises:
        ConfigError: Flows need tokens, or their senders have windows; see also ``check_cpu_work``.
        WorkloadError: See there.
    """
    if has_tokens or transport.has_window:
        what = "tokens" if has_tokens else "senders with windows"
        raise ConfigError(f"flows have CPU work, or come after others: that does not go together with {what}")
    check_cpu_work(flows, topology)
