"""Senders with windows whose packets can be lost, as TCP's are where a buffer overflows."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.isolation import round_trip_time
from flowsched_gym.fluid.losses import flow_keys, new_senders
from flowsched_gym.fluid.rules.transport.lossy.modes import control_senders, start_sender
from flowsched_gym.fluid.rules.transport.lossy.overflow import deliver
from flowsched_gym.fluid.rules.transport.lossy.senders import begin_senders, token_jitter
from flowsched_gym.fluid.rules.transport.lossy.steps import next_change
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload


class LossySenders:
    """The senders of an episode, which all advance in common steps; see ``rules.transport.lossy``.

    Args:
        workload: The flows.
        transport: How they send.
        state: The flows as arrays.
        controls: Their controls.
        topology: The network.
        data_capacity: What of each link is for data, in B/s, (num_links,).
    """

    def __init__(
        self,
        workload: Workload,
        transport: Transport,
        state: FlowState,
        controls: Controls,
        topology: Topology,
        data_capacity: FloatArray,
    ) -> None:
        delay = topology.path_delay(np.arange(len(topology.path_start) - 1))
        self._senders = new_senders(1, workload.num_flows, topology.num_links, transport)
        begin_senders(0, flow_keys(workload, transport), self._senders)
        self._state = state
        self._controls = controls
        self._network = topology.network._replace(capacity=data_capacity)
        self._round_trip = round_trip_time(topology, delay, transport)

    def jitter(self) -> FloatArray:
        """Returns by how many s each sender is late in reacting to its token, (num_flows,)."""
        return np.array([token_jitter(0, row, self._senders) for row in range(self._senders.num_rows)])

    def start(self, now: float, row: int) -> None:
        """Lets a sender begin that has its token."""
        start_sender(now, 0, row, self._controls, self._network, self._senders)

    def deliver(self, now: float, elapsed: float, served: IntArray, num_served: int) -> None:
        """Lets windows grow by what was delivered, and loses what has found no room."""
        deliver(now, elapsed, 0, served, num_served, self._state, self._controls, self._senders)

    def control(self, now: float, active: IntArray, count: int) -> float:
        """Sets the weights and largest rates of the active flows; returns when one notices a loss or waits no more."""
        return control_senders(now, 0, active, count, self._state, self._controls, self._round_trip, self._senders)

    def next_change(self, now: float, served: IntArray, num_served: int) -> float:
        """Returns the absolute time in s at which windows and losses next change the rates."""
        return next_change(
            now,
            0,
            served,
            num_served,
            self._state,
            self._controls,
            self._network.capacity,
            self._round_trip,
            self._senders,
        )
