"""Runs schedulers from outside the package on both engines: to the same bits, or to the same words where they err."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.contract import BEYOND, Arrival, Order, PacketTable, Scheduler, Traffic
from tests.packets.test_engines import DCTCP, LOSSES, flows, on_both
from tests.packets.test_fabric import FABRIC, MARKS, Reference, columns, replay
from tests.simulate import each_engine

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
@pytest.mark.parametrize(
    "scheduler",
    # Each compiles for itself; tests/packets/test_network.py compiles pfabric, which is served by rank too.
    [SmallFirst(), pytest.param(SmallestFirst(), marks=pytest.mark.exhaustive)],
    ids=lambda each: type(each).__name__,
)
def test_a_scheduler_of_your_own_gives_the_same_bits_in_both_engines(
    scheduler: Scheduler, senders: dict[str, object]
) -> None:
    records = on_both(flows(seed=3), scheduler, keep_trace=True, **senders)
    assert set(records.trace.queue.tolist()) == set(range(scheduler.num_queues))
    assert records.drops.sum() > 0


def test_on_a_leaf_spine_a_scheduler_of_your_own_serves_every_port() -> None:
    given = columns(seed=4)
    reference = BySize(given, LIMITS, **MARKS)
    reference.run()

    records = replay(given, scheduler=SmallFirst(), **MARKS)

    assert records.completion_time.tolist() == reference.completion
    assert records.marks.tolist() == reference.marks
    assert min(records.marks) == 0 < max(records.marks)


def test_parameters_of_a_scheduler_that_is_made_and_a_class_in_its_place_are_errors() -> None:
    with pytest.raises(ConfigError, match="SmallFirst is made, and has no parameter 'queues'"):
        flowsched_gym.replay_packets(flows(seed=3), scheduler=SmallFirst(), parameters={"queues": 3})
    other: Any = SmallFirst
    with pytest.raises(ConfigError, match="scheduler is"):
        flowsched_gym.replay_packets(flows(seed=3), scheduler=other)


REMAINING, OUTSIDE = 1, 2


class Few(NamedTuple):
    answer: int
    reads: int
    numbers: np.ndarray


class Faulty(Scheduler):
    """Two queues; it answers what it is told to answer, and reads what it is told to read."""

    record_type = Few
    num_queues = 2

    def __init__(self, answer: int = 0, reads: int = 0) -> None:
        self.answer, self.reads = answer, reads

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Few) -> Arrival:
        read = 0.0
        if record.reads == REMAINING:
            read = table.remaining[p]
        elif record.reads == OUTSIDE:
            read = record.numbers[p]
        return Arrival(record.answer, 0.0, read, np.nan, False)

    def new_record(self, traffic: Traffic, num_ports: int) -> Few:
        return Few(self.answer, self.reads, np.zeros(2))


class Dropping(Faulty):
    drops = True


class FaultyByRank(Faulty):
    order = Order.RANK


class FaultyChoice(Faulty):
    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Few) -> Arrival:
        return Arrival(0, 0.0, 0.0, np.nan, False)

    @staticmethod
    def choose(port: int, head_size: np.ndarray, record: Few) -> int:
        return int(record.numbers[port + 2]) if record.reads == OUTSIDE else record.answer


class ReadsOutside(Faulty):
    needs_remaining = True


CASES = [
    (Faulty(2), "Faulty: arrive returned queue 2: it must be from 0 to 1, or -1 to drop the packet, with drops = True"),
    (Faulty(BEYOND), "Faulty: arrive returned queue -1: it must be from 0 to 1, or -1 to drop the packet, with drops"),
    (Dropping(-2), "Dropping: arrive returned queue -2: it must be from 0 to 1, or -1 to drop the packet$"),
    (FaultyByRank(2), "FaultyByRank: arrive returned queue 2: it must be from 0 to 1, or -1"),
    (FaultyChoice(1), "FaultyChoice: choose returned queue 1: it must be from 0 to 1, and hold a packet"),
    (FaultyChoice(2), "FaultyChoice: choose returned queue 2: it must be from 0 to 1, and hold a packet"),
    (FaultyChoice(-2), "FaultyChoice: choose returned queue -2: it must be from 0 to 1, and hold a packet"),
    (Faulty(reads=REMAINING), "Faulty: arrive .* .table.remaining is empty where, as here, needs_remaining is False"),
    (ReadsOutside(reads=OUTSIDE), "ReadsOutside: arrive reads or writes beyond the end of an array$"),
    (FaultyChoice(reads=OUTSIDE), "FaultyChoice: choose reads or writes beyond the end of an array$"),
]


@pytest.mark.parametrize(
    ("scheduler", "message", "engine"),
    [
        pytest.param(*case, engine, marks=pytest.mark.exhaustive if rare else (), id=f"{name}-{engine}")
        for case in CASES
        for engine in ("simpy", "compiled")
        for name in [type(case[0]).__name__]
        for rare in [engine == "compiled" and name != "Dropping"]  # each compiles for itself
    ],
)
def test_what_a_hook_may_not_do_is_the_same_error_in_both_engines(scheduler: Faulty, message: str, engine: str) -> None:
    packets = {"flow_id": [0, 1, 2], "size_bytes": [10.0] * 3, "arrival_s": [0.0, 1.0, 2.0]}
    with pytest.raises(ConfigError, match=message):
        flowsched_gym.serve_packets(packets, scheduler=scheduler, engine=engine)


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("scheduler", [Faulty(2), FaultyChoice(1)], ids=lambda each: type(each).__name__)
def test_replays_of_flows_on_one_link_and_on_a_leaf_spine_say_so_too(scheduler: Faulty, engine: str) -> None:
    given = columns(seed=0)
    for how in ({}, {"topology": FABRIC, "parameters": {"paths": "packet"}}):
        with pytest.raises(ConfigError, match="returned queue"):
            flowsched_gym.replay_packets(given, scheduler=scheduler, engine=engine, **how)


@each_engine
def test_a_scheduler_may_drop_every_packet_that_is_given(engine: str) -> None:
    packets = {"flow_id": [0, 1], "size_bytes": [10.0] * 2, "arrival_s": [0.0, 1.0]}
    assert flowsched_gym.serve_packets(packets, scheduler=Dropping(BEYOND), engine=engine).dropped.all()


def test_a_scheduler_without_a_record_type_is_refused_where_it_is_written() -> None:
    hooks = {"arrive": staticmethod(Faulty.arrive), "new_record": Faulty.new_record}
    for record_type in ({}, {"record_type": 5}, {"record_type": dict}):
        with pytest.raises(ConfigError, match=r"Bare.record_type is .*: it must be a NamedTuple"):
            type("Bare", (Scheduler,), hooks | record_type)
