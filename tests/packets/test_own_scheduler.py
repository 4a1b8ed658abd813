"""Holds a scheduler from outside the package to the same bits in both engines."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.schedulers import Arrival, Order, PacketTable, Scheduler, Traffic
from tests.packets.test_engines import DCTCP, LOSSES, flows, on_both
from tests.packets.test_fabric import LOSSES as FABRIC_LOSSES
from tests.packets.test_fabric import Reference, columns, replay

LIMITS = (3, 20)
"""Packets of the largest flows in the two high queues."""


class Sizes(NamedTuple):
    """What it keeps: the packets of each flow."""

    packets: IntArray


class SmallFirst(Scheduler):
    """Strict priority by size: the flows of fewest packets are in the highest of three queues."""

    record_type = Sizes
    num_queues = len(LIMITS) + 1

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Sizes) -> Arrival:
        packets = record.packets[table.flow[p]]
        queue = 0
        for limit in LIMITS:
            if packets > limit:
                queue += 1
        return Arrival(queue, 0.0, float(packets), np.nan, False)

    def new_record(self, traffic: Traffic, num_ports: int) -> Sizes:
        assert traffic.packets_of_flow is not None
        return Sizes(traffic.packets_of_flow)


class SmallestFirst(SmallFirst):
    """The same record, but the flow of fewest packets first, in one queue."""

    order = Order.RANK
    num_queues = 1

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Sizes) -> Arrival:
        packets = float(record.packets[table.flow[p]])
        return Arrival(0, packets, packets, np.nan, False)


class BySize(Reference):
    """The plain simulation of a leaf-spine, whose packets are tagged with the packets of their flow."""

    def tag(self, row: int) -> float:
        return float(len(self.cut(float(self.flows["size_bytes"][row]))))


@pytest.mark.parametrize("senders", [LOSSES, DCTCP], ids=["losses", "dctcp"])
@pytest.mark.parametrize("scheduler", [SmallFirst(), SmallestFirst()], ids=lambda each: type(each).__name__)
def test_a_scheduler_of_your_own_gives_the_same_bits_in_both_engines(
    scheduler: Scheduler, senders: dict[str, object]
) -> None:
    records = on_both(flows(seed=3), scheduler, keep_trace=True, **senders)
    assert set(records.trace.queue.tolist()) == set(range(scheduler.num_queues))
    assert records.drops.sum() > 0


def test_on_a_leaf_spine_a_scheduler_of_your_own_serves_every_port() -> None:
    given = columns(seed=4)
    reference = BySize(given, LIMITS, **FABRIC_LOSSES)
    reference.run()

    records = replay(given, scheduler=SmallFirst(), **FABRIC_LOSSES)

    assert records.completion_time.tolist() == reference.completion
    assert records.drops.tolist() == reference.drops
    assert min(records.drops) == 0 < max(records.drops)


def test_parameters_of_a_scheduler_that_is_made_and_a_class_in_its_place_are_errors() -> None:
    with pytest.raises(ConfigError, match="SmallFirst is made, and has no parameter 'queues'"):
        flowsched_gym.replay_packets(flows(seed=3), scheduler=SmallFirst(), parameters={"queues": 3})
    other: Any = SmallFirst
    with pytest.raises(ConfigError, match="scheduler is"):
        flowsched_gym.replay_packets(flows(seed=3), scheduler=other)
