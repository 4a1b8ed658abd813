"""Tells of a scheduler whose hooks break the contract: both engines say so in the same words."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.contract import BEYOND, Arrival, Order, PacketTable, Scheduler, Traffic
from tests.packets.test_fabric import columns, replay

ENGINES = ("simpy", "compiled")


class Few(NamedTuple):
    """What is kept: what the hooks answer, and an array of two numbers."""

    answer: int
    numbers: np.ndarray


class Faulty(Scheduler):
    """Two queues; it answers what it is told to answer."""

    record_type = Few
    num_queues = 2

    def __init__(self, answer: int = 0) -> None:
        self.answer = answer

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Few) -> Arrival:
        return Arrival(record.answer, 0.0, 0.0, np.nan, False)

    def new_record(self, traffic: Traffic, num_ports: int) -> Few:
        return Few(self.answer, np.zeros(2))


class FaultyByRank(Faulty):
    """The same, whose packets wait by rank."""

    order = Order.RANK


class FaultyChoice(Faulty):
    """Packets wait in the first queue; it serves another one."""

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Few) -> Arrival:
        return Arrival(0, 0.0, 0.0, np.nan, False)

    @staticmethod
    def choose(port: int, head_size: np.ndarray, record: Few) -> int:
        return record.answer


class ReadsRemaining(Faulty):
    """It ranks by what it has not asked for."""

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Few) -> Arrival:
        return Arrival(0, 0.0, table.remaining[p], np.nan, False)


class ReadsBeyond(Faulty):
    """It has numbers for two packets alone."""

    needs_remaining = True

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Few) -> Arrival:
        return Arrival(0, 0.0, record.numbers[p], np.nan, False)


class ChoosesBeyond(FaultyChoice):
    """It looks at a third port."""

    @staticmethod
    def choose(port: int, head_size: np.ndarray, record: Few) -> int:
        return int(record.numbers[port + 2])


CASES = [
    (Faulty(2), "Faulty: arrive returned queue 2: it must be from 0 to 1, or -1 to drop the packet"),
    (Faulty(-2), "Faulty: arrive returned queue -2: it must be from 0 to 1, or -1"),
    (FaultyByRank(2), "FaultyByRank: arrive returned queue 2: it must be from 0 to 1, or -1"),
    (FaultyChoice(1), "FaultyChoice: choose returned queue 1: it must be from 0 to 1, and hold a packet"),
    (FaultyChoice(2), "FaultyChoice: choose returned queue 2: it must be from 0 to 1, and hold a packet"),
    (FaultyChoice(-2), "FaultyChoice: choose returned queue -2: it must be from 0 to 1, and hold a packet"),
    (ReadsRemaining(), "ReadsRemaining: arrive .* .table.remaining is empty where, as here, needs_remaining is False"),
    (ReadsBeyond(), "ReadsBeyond: arrive reads or writes beyond the end of an array$"),
    (ChoosesBeyond(), "ChoosesBeyond: choose reads or writes beyond the end of an array$"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("scheduler", "message"), CASES, ids=[f"{type(each).__name__}" for each, _ in CASES])
def test_what_a_hook_may_not_do_is_the_same_error_in_both_engines(scheduler: Faulty, message: str, engine: str) -> None:
    packets = {"flow_id": [0, 1, 2], "size_bytes": [10.0] * 3, "arrival_s": [0.0, 1.0, 2.0]}
    with pytest.raises(ConfigError, match=message):
        flowsched_gym.serve_packets(packets, scheduler=scheduler, engine=engine)


@pytest.mark.parametrize("scheduler", [Faulty(2), FaultyChoice(1)], ids=lambda each: type(each).__name__)
def test_replays_of_flows_on_one_link_and_on_a_leaf_spine_say_so_too(scheduler: Faulty) -> None:
    for engine in ENGINES:
        with pytest.raises(ConfigError, match="returned queue"):
            flowsched_gym.replay_packets(columns(seed=0), scheduler=scheduler, engine=engine)
    with pytest.raises(ConfigError, match="returned queue"):
        replay(columns(seed=0), scheduler=scheduler)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scheduler_may_drop_every_packet_that_is_given(engine: str) -> None:
    packets = {"flow_id": [0, 1], "size_bytes": [10.0] * 2, "arrival_s": [0.0, 1.0]}
    assert flowsched_gym.serve_packets(packets, scheduler=Faulty(BEYOND), engine=engine).dropped.all()


@pytest.mark.parametrize("record_type", [None, 5, dict])
def test_a_scheduler_without_a_record_type_is_refused_where_it_is_written(record_type: Any) -> None:
    members = {"arrive": staticmethod(Faulty.arrive), "new_record": Faulty.new_record}
    if record_type is not None:
        members["record_type"] = record_type
    with pytest.raises(ConfigError, match=r"Bare.record_type is .*: it must be a NamedTuple"):
        type("Bare", (Scheduler,), members)
