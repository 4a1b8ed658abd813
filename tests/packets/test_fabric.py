"""Holds fixed windows on a leaf-spine to a plain simulation and to times by hand."""

import heapq
from collections import deque
from dataclasses import replace as replace_fields
from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.packets.parameters import NetworkParameters
from flowsched_gym.packets.schedulers import PacketSetup, Scheduler, make_scheduler
from flowsched_gym.packets.simpy import DetectingReplay
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology import leaf_spine, make_topology
from flowsched_gym.workload import Workload
from tests.simulate import make_flows

RATE, LINK, HOST = 1.25e9, 1e-7, 2e-5
LEAVES, SPINES, RACK = 2, 4, 16
HOSTS = LEAVES * RACK
THRESHOLDS = (1_460.0, 10_000.0, 40_000.0)
MARKS = {"mark_at": 1_600, "initial_window": 12}
FABRIC = leaf_spine(
    num_leaves=LEAVES,
    num_spines=SPINES,
    hosts_per_leaf=RACK,
    capacity=RATE * np.repeat([1.0, 4.0], [2 * HOSTS, 2 * LEAVES * SPINES]),
    delay=LINK + HOST * np.repeat([0.0, 1.0, 0.0], [HOSTS, HOSTS, 2 * LEAVES * SPINES]),
)
"""Hosts delay what they receive."""


def columns(seed: int, count: int = 60) -> dict[str, Any]:
    """Draws flows between few hosts of both leaves, many of which arrive at one instant."""
    rng = np.random.default_rng(seed)
    hosts = np.array([0, 1, 2, 15, 16, 17, 18, 31])
    pairs = np.array([rng.choice(hosts, 2, replace=False) for _ in range(count)])
    return {
        "flow_id": np.arange(count),
        "source": pairs[:, 0],
        "destination": pairs[:, 1],
        "size_bytes": np.ceil(rng.pareto(1.2, count) * 6_000 + 1),
        "arrival_s": np.sort(rng.integers(0, 20, count)) * 1e-5,
    }


def replay(
    flows: dict[str, Any] | Workload, *, scheduler: str | Scheduler = "pias", **parameters: object
) -> PacketRecords:
    """Replays flows by PIAS, where nothing else is said, whose packets take the spines in turns."""
    if scheduler == "pias":
        parameters = {"thresholds": (), **parameters}
    return flowsched_gym.replay_packets(
        flows,
        scheduler=scheduler,
        topology=FABRIC,
        engine="compiled",
        parameters={"paths": "packet", **parameters},
    )


def one_flow(destination: int, size: float) -> dict[str, Any]:
    return {"flow_id": [0], "source": [0], "destination": [destination], "size_bytes": [size], "arrival_s": [0.0]}


class Reference:
    """A simulation that shares nothing with the package: ports are lists of queues, and all events are in one heap."""

    def __init__(self, flows: dict[str, Any], thresholds: tuple[float, ...], **options: Any) -> None:
        self.flows, self.thresholds = flows, thresholds
        self.mark_at, self.window = options.get("mark_at", 10**9), options.get("initial_window", 64)
        self.turn = spines_of(flows)
        self.queues: dict[Any, list[deque[Any]]] = {}
        self.sending: set[Any] = set()
        self.asked: dict[Any, None] = {}
        self.events: list[Any] = []
        self.number = 0
        count = len(flows["size_bytes"])
        self.unsent = [deque(self.cut(float(size))) for size in flows["size_bytes"]]
        self.left = [len(packets) for packets in self.unsent]
        self.outstanding, self.sent = [0] * count, [0.0] * count
        self.marks, self.completion = [0] * count, [0.0] * count

    @staticmethod
    def cut(size: float) -> list[float]:
        full = int(-(-size // 1460)) - 1
        return [1460.0] * full + [size - 1460.0 * full]

    def later(self, time: float, kind: int, order: int, what: Any) -> None:
        self.number += 1
        heapq.heappush(self.events, (time, kind, order, self.number, what))

    def run(self) -> None:
        for row, time in enumerate(self.flows["arrival_s"]):
            self.later(float(time), 4, row, row)
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, kind, _, _, what = heapq.heappop(self.events)
                (self.arrive, self.acknowledge, self.acknowledge, self.end, self.send)[kind](now, what)
            asked, self.asked = self.asked, {}
            for port in asked:
                packet = next(queue for queue in self.queues[port] if queue).popleft()
                rate = RATE if port[0] in ("host", "down") else 4 * RATE
                self.sending.add(port)
                self.later(now + (packet["payload"] + 40) / rate, 3, 0, (port, packet))

    def send(self, now: float, row: int) -> None:
        while self.unsent[row] and self.outstanding[row] < self.window:
            payload = self.unsent[row].popleft()
            self.outstanding[row] += 1
            packet = {"row": row, "payload": payload, "marked": False, "tag": self.tag(row)}
            packet["spine"] = self.turn[row]
            self.turn[row] = (self.turn[row] + 1) % SPINES
            self.sent[row] += payload
            self.enter(now, ("host", 0, int(self.flows["source"][row])), packet)

    def tag(self, row: int) -> float:
        """Returns the number by which a packet's queue is chosen at every port."""
        return self.sent[row]

    def enter(self, now: float, port: Any, packet: Any) -> None:
        queues = self.queues.setdefault(port, [deque() for _ in range(len(self.thresholds) + 1)])
        waiting = sum(each["payload"] + 40 for queue in queues for each in queue)
        packet["marked"] |= waiting > self.mark_at
        queues[sum(packet["tag"] > threshold for threshold in self.thresholds)].append(packet)
        self.ask(port)

    def ask(self, port: Any) -> None:
        if port not in self.sending and any(self.queues[port]):
            self.asked[port] = None

    def end(self, now: float, what: Any) -> None:
        port, packet = what
        self.sending.discard(port)
        self.ask(port)
        row = packet["row"]
        if port[0] != "down":
            self.later(now + LINK, 0, 0, (port, packet))
            return
        source, destination = self.flows["source"][row], self.flows["destination"][row]
        links = 4 if source // RACK != destination // RACK else 2
        delivery = now + (LINK + HOST)
        self.marks[row] += packet["marked"]
        self.left[row] -= 1
        if not self.left[row]:
            self.completion[row] = delivery
        back = sum([LINK] * (links - 1)) + (LINK + HOST)
        self.later(delivery + back, 1 if links == 2 else 2, 0, packet)

    def arrive(self, now: float, what: Any) -> None:
        port, packet = what
        destination = int(self.flows["destination"][packet["row"]])
        leaf = destination // RACK
        if port[0] == "host" and port[2] // RACK != leaf:
            here = port[2] // RACK
            self.enter(now, ("up", here, packet["spine"]), packet)
        elif port[0] == "up":
            self.enter(now, ("spine", port[2], leaf), packet)
        else:
            self.enter(now, ("down", 0, destination), packet)

    def acknowledge(self, now: float, packet: Any) -> None:
        self.outstanding[packet["row"]] -= 1
        self.send(now, packet["row"])


def spines_of(flows: dict[str, Any]) -> list[int]:
    """Returns the spine of the first packet of each flow, by the hash of the fluid."""
    hosts = flows["source"], flows["destination"]
    return (FABRIC.ecmp(*hosts, flows["flow_id"], seed=0) - FABRIC.candidates(*hosts)[0]).tolist()


@pytest.mark.parametrize("options", [{}, MARKS], ids=["wide", "marks"])
@pytest.mark.parametrize("thresholds", [(), THRESHOLDS], ids=["one queue", "four queues"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fabric_is_as_a_plain_simulation_has_it(
    thresholds: tuple[float, ...], options: dict[str, object], seed: int
) -> None:
    flows = columns(seed)
    reference = Reference(flows, thresholds, **options)
    reference.run()

    records = replay(flows, thresholds=thresholds, **options)

    assert records.completion_time.tolist() == reference.completion
    assert records.marks.tolist() == reference.marks
    assert records.drops.sum() == records.timeouts.sum() == 0
    if options:
        assert min(records.disordered.sum(), records.marks.sum()) > 0


@pytest.mark.parametrize(("destination", "hops", "links"), [(20, 2.5, 4), (1, 2.0, 2)])
def test_a_flow_alone_takes_its_transmissions_and_delays(destination: int, hops: float, links: int) -> None:
    single = replay(one_flow(destination, 1_460.0))
    assert single.fct[0] == pytest.approx(hops * 1_500 / RATE + links * LINK + HOST, rel=1e-12)
    many = replay(one_flow(destination, 70 * 1_460.0), initial_window=1_000)
    assert many.slowdown[0] == pytest.approx(1.0, rel=1e-12)
    assert many.disordered[0] == 0


def test_a_round_trip_across_the_spines_takes_the_papers_time() -> None:
    # With a window of one packet of next to nothing, each packet but the last takes a round trip.
    records = replay(one_flow(20, 11.0), payload=1.0, header=0.0, initial_window=1)
    assert records.fct[0] == pytest.approx(10 * 40.8e-6 + 4 * LINK + HOST, rel=1e-3)


def test_spraying_is_even() -> None:
    # Each uplink of 4 has a fourth of the packets: 16 hosts at full rate fit into 4 links of four times the rate.
    flows = make_flows([0.0] * RACK, [1_460_000.0] * RACK, source=range(RACK), destination=range(RACK, 2 * RACK))
    records = replay(flows, initial_window=1_000)
    assert records.slowdown.max() < 1.01


def test_acknowledgements_weigh_nothing_where_deadlines_do() -> None:
    flows = make_flows([0.0, 0.0], [40.0, 30.0], source=[0, 2], destination=[2, 0])
    setup = PacketSetup(
        scheduler=make_scheduler("qcluster", {"goal": "deadline", "interval": 1}),
        topology=make_topology("big-switch", num_hosts=3, capacity=1.0, delay=1.0),
        parameters=NetworkParameters(payload=10.0, header=6.0, acks="packets", ack_bytes=4.0),
    )
    fabric = DetectingReplay(setup.network(replace_fields(flows, deadline_span=np.array([100.0, 90.0]))))
    fabric.run()
    assert fabric.record.sketch.counted.min() == 0.0  # smaller than headers, they have no payload
    assert np.isfinite(fabric.record.clusters.weight).all()
