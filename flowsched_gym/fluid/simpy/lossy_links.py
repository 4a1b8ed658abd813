"""Links with buffers that overflow, so that senders with windows lose packets, as TCP's do."""

from typing import Any

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.fluid.isolation import round_trip_time
from flowsched_gym.fluid.rules.transport.lossy_ports import deliver, next_change
from flowsched_gym.fluid.rules.transport.lossy_senders import begin_senders, control_senders, start_sender, token_jitter
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.fluid.transport import Transport, flow_keys, new_senders
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload


class LossyLinks(SharedLinks):
    """Links whose senders can lose packets, and all advance in common steps; see ``rules.transport.lossy_senders``.

    Args:
        arguments: What ``SharedLinks`` takes.
        workload: The flows.
        topology: The network.
        transport: How they send.
    """

    def __init__(self, *arguments: Any, workload: Workload, topology: Topology, transport: Transport) -> None:
        super().__init__(*arguments)
        delay = topology.path_delay(np.arange(len(topology.path_start) - 1))
        self._round_trip = round_trip_time(topology, delay, transport)
        self._senders = new_senders(1, workload.num_flows, topology.num_links, transport)
        begin_senders(0, flow_keys(workload, transport), self._senders)
        self._changes_at = np.inf

    def lateness(self) -> FloatArray:
        """Returns by how many s each sender is late in reacting to its token, (num_flows,)."""
        return np.array([token_jitter(0, row, self._senders) for row in range(self._senders.num_rows)])

    def send(self, row: int) -> Event:
        """Starts a sender that has its token; the event happens when its last byte has arrived."""
        event = super().send(row)
        start_sender(self._env.now, 0, row, self._controls, self._data_network, self._senders)
        return event

    def _advance_bytes(self, now: float, elapsed: float) -> tuple[int, int]:
        """Lets windows grow by what was delivered, and loses what has found no room."""
        counts = super()._advance_bytes(now, elapsed)
        deliver(now, elapsed, 0, self._served, self._num_served, self._state, self._controls, self._senders)
        return counts

    def _control(self, now: float) -> None:
        """Sets the weights and largest rates of the senders, until one notices a loss or waits no more."""
        super()._control(now)
        self._changes_at = control_senders(
            now, 0, self.active, self.num_active, self._state, self._controls, self._round_trip, self._senders
        )

    def _review_time(self, now: float) -> float:
        """Returns when windows and losses next change the rates, too."""
        next_step = next_change(
            now,
            0,
            self._served,
            self._num_served,
            self._state,
            self._controls,
            self._data_network.capacity,
            self._round_trip,
            self._senders,
        )
        return min(super()._review_time(now), self._changes_at, next_step)
