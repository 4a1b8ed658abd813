"""A port with its scheduler, and the senders into it: what a replay of packets is made of, for both engines."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.workload import Workload
from flowsched_gym.packets.contract import BaseScheduler, Traffic
from flowsched_gym.packets.flows import PacketFlows
from flowsched_gym.packets.rules.windows import Windows, new_windows
from flowsched_gym.packets.state import PacketTransport, PortParameters, SenderParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSetup:
    """A port with its scheduler, and the senders into it.

    Attributes:
        scheduler: Serves the port.
        capacity: Capacity of the port in B/s.
        port: Its buffer.
        senders: How flows are sent.
        seed: Seed of the sketch's hash.
    """

    scheduler: BaseScheduler
    capacity: float
    port: PortParameters
    senders: SenderParameters
    seed: int = 0

    def new_record(self, flows: PacketFlows, capacity: FloatArray | None = None) -> Any:
        """Makes the record of what the scheduler keeps.

        Args:
            flows: The flows and their packets.
            capacity: Capacity of each port in B/s, (num_ports,); ``None`` for the one port.

        Raises:
            ConfigError: Its parameters do not fit the traffic.
        """
        ports = np.array([self.capacity]) if capacity is None else capacity
        traffic = Traffic(
            num_packets=len(flows.table.flow),
            key_id=flows.key_id,
            capacity=ports,
            seed=self.seed,
            packets_of_flow=flows.packets,
            largest_packet=float(flows.table.size.max(initial=0.0)),
            payload=float(self.senders.payload),
        )
        return self.scheduler.new_record(traffic, len(ports))

    def new_windows(self, flows: PacketFlows) -> Windows:
        """Makes the windows of senders."""
        senders, transport = self.senders, PacketTransport(self.senders.transport)
        last = flows.table.size[flows.first_packet[1:] - 1] - flows.table.header
        size = (flows.packets - 1) * float(senders.payload) + last
        by_size, by_deadline = transport is PacketTransport.TAFE, transport is PacketTransport.D2TCP
        bound = senders.largest if by_size else None
        return new_windows(
            size,
            senders.window,
            payload=float(senders.payload),
            largest=float(size.max(initial=senders.payload) if bound is None else bound),
            reacts=transport is not PacketTransport.FIXED,
            by_size=by_size,
            due=flows.table.due if by_deadline else None,
        )

    def ideal_fct(self, size: FloatArray, packets: FloatArray | IntArray) -> FloatArray:
        """Returns the completion times in s of flows alone whose window never makes them wait, (num_flows,).

        Args:
            size: Bytes of each flow, (num_flows,).
            packets: Its packets.
        """
        ideal: FloatArray = (size + packets * self.senders.header) / self.capacity + self.senders.delay
        return ideal

    def records(self, flows: Workload, completion_time: FloatArray, ideal_fct: FloatArray | None = None) -> Records:
        """Builds the records of flows.

        Args:
            flows: The flows.
            completion_time: When they were delivered, in s, (num_flows,), NaN for not yet.
            ideal_fct: Their completion times alone, in s, (num_flows,); ``None`` for those at one port.
        """
        packets = np.ceil(flows.size / self.senders.payload)
        ideal = self.ideal_fct(flows.size, packets) if ideal_fct is None else ideal_fct
        return complete_records(
            flows, grant_time=flows.arrival_time.copy(), completion_time=completion_time, ideal_fct=ideal
        )
