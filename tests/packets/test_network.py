"""Holds the network of ports equal in both engines, to times by hand, and to the conservation of packets."""

import math
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.packets.compiled.network import new_network, run_network
from flowsched_gym.packets.compiled.state import DELIVERED, DROPPED, NONE, SENT
from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.packets.parameters import NetworkParameters
from flowsched_gym.packets.rules import tcp
from flowsched_gym.packets.rules.tcp_windows import DCTCP, OPEN, RECOVERY, RENO, reduce_window
from flowsched_gym.packets.schedulers import PacketSetup, make_scheduler
from flowsched_gym.packets.simpy import DetectingReplay
from flowsched_gym.packets.simpy.detecting import SenderState
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology import Topology, add_cpus, big_switch, fat_tree, leaf_spine, make_topology
from flowsched_gym.workload import Workload
from tests.packets.test_own_scheduler import SmallFirst
from tests.simulate import make_flows

RATE, LINK = 1.25e8, 5e-6
TIGHT: dict[str, Any] = {"buffer": {"host": 30_000, "core": 12_000}, "mark_at": {"host": 9_000, "core": 6_000}}
HARSH: dict[str, Any] = {**TIGHT, "handshake": True, "acks": "packets", "min_rto": 1e-3, "initial_window": 10}
SMALL = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=4, capacity=RATE, delay=LINK)


def mixed_flows(num_hosts: int, count: int = 60, seed: int = 1) -> Workload:
    """Draws flows between few hosts, many of which arrive at one instant."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, num_hosts, count)
    return make_flows(
        np.sort(rng.integers(0, 20, count)) * 1e-4,
        np.ceil(rng.pareto(1.2, count) * 20_000 + 1),
        source=source,
        destination=(source + rng.integers(1, num_hosts, count)) % num_hosts,
    )


def on_both(flows: Workload, topology: str | Topology, scheduler: Any = "fifo", **parameters: object) -> PacketRecords:
    """Replays flows on SimPy; the compiled engine gives the same bits."""
    simpy, compiled = (
        flowsched_gym.replay_packets(
            flows, scheduler=scheduler, topology=topology, parameters=parameters, engine=engine, seed=3
        )
        for engine in ("simpy", "compiled")
    )
    for field in fields(simpy):
        if field.name != "trace":
            np.testing.assert_array_equal(getattr(simpy, field.name), getattr(compiled, field.name), field.name)
    return simpy


def network_of(
    flows: Workload, topology: Topology, parameters: NetworkParameters, scheduler: Any = "fifo", seed: int = 0
) -> PacketNetwork:
    rule = make_scheduler(scheduler, {}) if isinstance(scheduler, str) else scheduler
    return PacketSetup(scheduler=rule, topology=topology, parameters=parameters, seed=seed).network(flows)


@pytest.mark.parametrize("transport", ["fixed", "dctcp", "newreno", "reno", "cubic", "d2tcp", "tafe"])
@pytest.mark.parametrize("change", [{}, {"acks": "free"}, {"paths": "packet", "handshake": False}], ids=str)
def test_both_engines_lose_mark_and_deliver_the_same_packets(transport: str, change: dict[str, object]) -> None:
    records = on_both(mixed_flows(8), SMALL, transport=transport, **{**HARSH, **change})
    assert np.isfinite(records.fct).all()
    assert min(records.drops.sum(), records.marks.sum(), records.timeouts.sum()) > 0
    assert records.slowdown.min() > 1 - 1e-9


def test_both_engines_delay_acknowledgements_to_small_windows_alike() -> None:
    for transport in ("reno", "newreno"):
        late = {"ack_every": 2, "ack_delay": 5e-4, "receive_window": 12, "transport": transport}
        records = on_both(mixed_flows(8), SMALL, **{**HARSH, **late})
        assert np.isfinite(records.fct).all()
        assert min(records.drops.sum(), records.timeouts.sum()) > 0


@pytest.mark.parametrize(
    ("scheduler", "parameters"),
    [
        ("pfabric", {}),
        # To compile one takes ten seconds or more; on one link, tests/packets/test_engines.py does so for some.
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in (
                (SmallFirst(), {}),
                ("pias", {"thresholds": [3_000, 20_000]}),
                ("qcluster", {"buckets": 64, "interval": 20, "disorder": "las"}),
                ("tagged", {"tags": [row % 3 for row in range(60)], "buckets": 64}),
                ("fq", {}),
            )
        ),
    ],
)
def test_both_engines_agree_with_every_kind_of_queue(scheduler: Any, parameters: dict[str, object]) -> None:
    records = on_both(mixed_flows(8), SMALL, scheduler, transport="dctcp", **parameters, **HARSH)
    assert records.drops.sum() > 0


@pytest.mark.parametrize("name", ["one-link", "big-switch", "tree9", "leaf-spine", "fat-tree", "multi-plane"])
def test_every_topology_carries_packets(name: str) -> None:
    records = on_both(mixed_flows(9), name, transport="dctcp", delay=LINK, **HARSH)
    assert np.isfinite(records.fct).all()
    assert records.marks.sum() > 0


def test_packets_take_the_paths_of_the_fluid_and_come_back_by_them() -> None:
    topology, flows = fat_tree(arity=4), mixed_flows(16)
    network = network_of(flows, topology, NetworkParameters(), seed=5)
    path = topology.ecmp(flows.source, flows.destination, flows.flow_id, seed=5)
    np.testing.assert_array_equal(network.there.first + network.there.turn, path)
    np.testing.assert_array_equal(network.back.turn, network.there.turn)


def test_a_lone_flow_takes_the_time_by_hand() -> None:
    flows = make_flows([0.5], [3_000.0], source=[0], destination=[4])
    full, last, ack, parameters = 1_502, 122, 42, {"header": 42, "ack_bytes": 42, "initial_window": 10}
    alone = on_both(flows, SMALL, **parameters)
    shaken = on_both(flows, SMALL, acks="packets", handshake=True, **parameters)

    # Three packets behind each other: the second full one leaves the first port last but one, and crosses three more.
    without = max(2 * full + 4 * last, 5 * full + last) / RATE + 4 * LINK
    assert alone.fct[0] == pytest.approx(without, abs=1e-12)
    # SYN and answer cross four ports each; the third packet goes first.
    assert shaken.fct[0] == pytest.approx(without + (4 + 4 + 1) * ack / RATE + 8 * LINK, abs=1e-12)


def test_a_receiver_acknowledges_several_packets_together_and_keeps_as_many_as_it_has_room_for() -> None:
    packet, delay = 1_500 / RATE, 1e-3
    round_trip = 2 * delay
    how: dict[str, Any] = {"transport": "reno", "delay": delay, "initial_window": 2, "min_rto": 1.0}

    def fct(packets: int, **parameters: object) -> float:
        flows = make_flows([0.0], [packets * 1_460.0])
        return float(on_both(flows, "one-link", **{**how, **parameters}).fct[0])

    # Two packets; those that the first acknowledgement brings, three or, after the first packet, two.
    assert fct(5, ack_every=2) == pytest.approx(2 * packet + round_trip + 3 * packet + delay, abs=1e-12)
    assert fct(4) == pytest.approx(packet + round_trip + 2 * packet + delay, abs=1e-12)
    # One packet is not enough for an acknowledgement before its time; then there are two.
    late = fct(3, ack_every=2, ack_delay=0.2, initial_window=1)
    assert late == pytest.approx(packet + round_trip + 0.2 + 2 * packet + delay, abs=1e-12)
    assert fct(4, receive_window=1) == pytest.approx(4 * packet + 3 * round_trip + delay, abs=1e-12)


def test_without_selective_acknowledgements_one_loss_is_repaired_in_each_round_trip() -> None:
    size, window = 30, 10
    values = tcp.new_sender(
        0, size, window=10.0, min_rto=1.0, due=np.inf, part=1.0, packet_part=0.1, room=window + 5, can_lose=True
    )
    s: Any = SenderState(values)
    segments = tcp.Segments(*([0] * size for _ in range(4)))
    now = 0.0

    def sent() -> list[int]:
        found = []
        while (q := tcp.next_segment(s, segments)) != tcp.NO_SEGMENT:
            tcp.note_segment(now, q, s, segments)
            found.append(q)
        return found

    def after(*arriving: int) -> list[list[int]]:
        """Lets segments arrive; returns what each acknowledgement lets the sender send."""
        found = []
        for q in arriving:
            tcp.receive(q, False, 1, s, segments)
            missing = tcp.told(RENO, s)
            tcp.acknowledge(now, missing, False, 1.0, RENO, s, segments)
            found.append(sent())
        return found

    tcp.connect(now, s)
    assert sent() == list(range(window))
    # The segments 0 and 4 are lost: two equal acknowledgements let new ones go, the third repairs the first loss.
    now = 1.0
    assert after(1, 2, 3) == [[10], [11], [0]]
    assert (s.state, s.slow_start_end) == (RECOVERY, 4.5)  # half of the nine that are thought to be on their way
    # Each that leaves the network makes room for another, until the receiver has none.
    assert after(5, 6, 7, 8, 9) == [[12], [13], [14], [], []]
    deadline = s.deadline
    # The first loss is filled, which shows the second one and restarts the timer; what arrives lets new ones go.
    now = 2.0
    assert after(0) == [[4]]
    assert s.deadline > deadline
    assert after(10, 11, 12, 13, 14) == [[15], [16], [17], [18], []]
    now = 3.0
    assert after(4) == [[]]
    assert (s.una, s.state, s.window, s.recoveries, s.timeouts) == (15, OPEN, 4.5, 1, 0)
    # Of four on their way each lets one more go; when as many are delivered as the window has, one more besides.
    assert after(15, 16, 17, 18) == [[19], [20], [21], [22, 23]]


def test_marks_and_losses_count_the_bytes_that_wait_by_class_of_link() -> None:
    # Two packets of each of two senders meet at the port of the third host. The first two come at one instant, before
    # it sends one of them; the other two when it has sent that, so that one waits.
    flows = make_flows([0.0, 0.0], [2 * 1_460.0] * 2, source=[0, 1], destination=[2, 2])
    switch = big_switch(num_hosts=3, capacity=RATE)
    for limits, marks, drops in (
        ({"mark_at": 1_499}, 3, 0),
        ({"mark_at": 1_500}, 1, 0),
        ({"mark_at": {"core": 0}}, 0, 0),
        ({"buffer": {"host": 3_000}}, 0, 1),
        ({"buffer": {"host": 4_500}}, 0, 0),
    ):
        records = on_both(flows, switch, **limits)
        assert (records.marks.sum(), records.drops.sum()) == (marks, drops), limits


def check_every_event(network: PacketNetwork) -> None:
    """Replays on SimPy, and counts all packets after each event."""
    replay = DetectingReplay(network)
    while replay.env.peek() < math.inf:
        replay.env.step()
        sent, *rest = replay.census
        assert sent == sum(rest)
    assert replay.census.dropped > 0
    assert replay.census.waiting == replay.census.sending == 0


@pytest.mark.parametrize(
    "change",
    [
        {"transport": "dctcp"},
        {"transport": "cubic", "acks": "free"},
        {"transport": "reno", "ack_every": 2, "ack_delay": 1e-4, "receive_window": 20},
        pytest.param({"transport": "fixed", "handshake": False, "acks": "free"}, marks=pytest.mark.exhaustive),
        {"transport": "dctcp", "handshake": False, "acks": "free", "paths": "packet"},
    ],
    ids=str,
)
def test_no_packet_is_lost_sight_of_at_any_event(change: dict[str, Any]) -> None:
    network = network_of(mixed_flows(8, 25), SMALL, NetworkParameters(**{**HARSH, **change}))
    check_every_event(network)

    network = network_of(mixed_flows(8, 25), SMALL, NetworkParameters(**{**HARSH, **change}))
    running = new_network(network)
    tables, underway, *_ = running
    counts, ports = underway.counts, tables.ports
    for step in range(1, 1_500):
        run_network(running, len(underway.arrivals), step * 7e-6)
        travelling = 0
        for first in underway.lists[0].tolist():
            p = first
            while p != NONE:
                travelling += 1
                p = int(tables.packets.after[p])
        here = ports.waiting.sum() + np.count_nonzero(ports.sending != NONE) + travelling
        assert counts[SENT] == counts[DELIVERED] + counts[DROPPED] + here
    assert counts[DROPPED] > 0


def test_a_timer_waits_twice_as_long_each_time_a_syn_is_lost() -> None:
    flows = make_flows([0.0], [1_460.0], source=[0], destination=[1])
    # A SYN finds no room ever: it is sent at 0, 1, 3, 7 and 15 s. Such a buffer is refused, so it shrinks afterwards.
    parameters = NetworkParameters(buffer=1500, ack_bytes=100, min_rto=1.0, handshake=True)
    network = network_of(flows, big_switch(num_hosts=2), parameters)
    network.limits.room[:] = 99
    replay = DetectingReplay(network)
    replay.run(until=16.0)
    running = new_network(network)
    run_network(running, 1, 16.0)

    for sender in (replay.states[0], running.senders.rows[["timeouts", "drops"]].view(np.recarray)[0]):
        assert (sender.timeouts, sender.drops) == (4, 5)


def test_a_window_that_is_halved_sends_for_every_second_packet_delivered_from_the_first_on() -> None:
    sender = SimpleNamespace(flight=10.0, slow_start_end=5.0, prr_delivered=0, prr_out=0, pipe=10)
    sent = []
    for _ in range(6):
        sender.pipe -= 1
        reduce_window(1, 0, True, DCTCP, sender)
        sent.append(int(sender.window) - sender.pipe)
        sender.pipe += sent[-1]
        sender.prr_out += sent[-1]
    assert sent == [1, 0, 1, 0, 1, 0]  # rounded up, RFC 6937


def test_windows_fill_the_link_that_two_flows_share() -> None:
    flows = make_flows([0.0, 0.0], [5e6, 5e6], source=[0, 1], destination=[2, 2])
    switch = big_switch(num_hosts=3, capacity=RATE, delay=LINK)
    for transport in ("dctcp", "newreno", "cubic"):
        records = flowsched_gym.replay_packets(
            flows,
            scheduler="fifo",
            topology=switch,
            engine="compiled",
            parameters={"transport": transport, "mark_at": 30_000, "buffer": 300_000, "acks": "packets"},
        )
        assert records.fct.max() == pytest.approx(10e6 * 1_500 / 1_460 / RATE, rel=0.05)
        if transport == "dctcp":
            assert records.fct.min() > 0.9 * records.fct.max()


@pytest.mark.parametrize(
    ("scheduler", "parameters"),
    [("pias", {"thresholds": [20_000]}), ("pifo-las", {}), ("ranked", {}), ("pfabric", {}), ("pfabric-edf", {})],
)
def test_acknowledgements_do_not_wait_for_the_data_of_others(scheduler: str, parameters: dict[str, object]) -> None:
    # The receiver of a long flow sends short ones, which fill its link and go before what a long flow has to send.
    short, count = 14_600.0, 80
    flows = make_flows(
        [0.0, *np.arange(count) * 10 * 1_500 / RATE],
        [1e6, *[short] * count],
        source=[0, *[1] * count],
        destination=[1, *[2] * count],
        span=[1.0, *[1e-3] * count],
    )
    switch = big_switch(num_hosts=3, capacity=RATE, delay=LINK)
    senders = {"transport": "dctcp", "initial_window": 10, "acks": "packets", "header": 40, "ack_bytes": 58}
    records = flowsched_gym.replay_packets(
        flows, scheduler=scheduler, topology=switch, parameters={**senders, **parameters}
    )
    assert records.fct[0] < 1.1 * records.ideal_fct[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "topology", [pytest.param("one-link", marks=pytest.mark.exhaustive), SMALL], ids=["one-link", "leaf-spine"]
)
def test_fixed_windows_take_packets_as_lost_where_a_port_may_drop_one_and_nowhere_else(topology: Any) -> None:
    flows = mixed_flows(4)
    # Far below what packets wait in a buffer without end.
    patient, hasty, tight = (on_both(flows, topology, **each) for each in ({}, {"min_rto": 1e-9}, {"buffer": 9_000}))
    np.testing.assert_array_equal(patient.fct, hasty.fct)
    assert hasty.timeouts.sum() == hasty.drops.sum() == 0
    assert 0 < tight.timeouts.sum() < tight.drops.sum()
    dropping = on_both(flows, topology, "afq", min_rto=1e-3, queues=2)
    assert 0 < dropping.timeouts.sum() < dropping.drops.sum()


def test_a_flow_backs_off_less_with_d2tcp_before_its_deadline_and_with_tafe_when_it_is_short() -> None:
    how: dict[str, Any] = {"mark_at": 15_000, "delay": LINK, "initial_window": 10}

    def play(second: float, span: float, transport: str) -> PacketRecords:
        hosts = {"source": [0, 1], "destination": [2, 2], "span": [span, np.inf]}
        records = on_both(make_flows([0.0, 0.0], [1e6, second], **hosts), "big-switch", transport=transport, **how)
        assert records.marks.min() > 0
        return records

    dctcp, d2tcp, without = play(1e6, 1e-2, "dctcp"), play(1e6, 1e-2, "d2tcp"), play(1e6, np.inf, "d2tcp")
    assert d2tcp.fct[0] < 0.95 * dctcp.fct[0]
    np.testing.assert_array_equal(without.fct, dctcp.fct)
    assert play(3e5, np.inf, "tafe").fct[1] < 0.95 * play(3e5, np.inf, "dctcp").fct[1]


def test_what_a_network_cannot_do_is_an_error() -> None:
    flows = make_flows([0.0], [1.0], source=[0], destination=[1])
    for how, named in (
        ({"parameters": {"buffer": {"edge": 1}}}, "'edge'"),
        ({"parameters": {"mark_at": {"host": -1}}}, "mark_at"),
        ({"parameters": {"acks": "some"}}, "acks"),
        ({"parameters": {"handshake": "yes"}}, "handshake"),
        ({"parameters": {"transport": "dctcp", "initial_window": 5_000}}, "initial_window"),
        ({"parameters": {"transport": "tcp"}}, "transport"),
        ({"parameters": {"window": 5}}, "no parameter 'window'"),
        ({"parameters": {"losses": "told"}}, "no parameter 'losses'"),
        ({"parameters": {"transport": "reno", "ack_every": 0}}, "ack_every"),
        ({"parameters": {"transport": "dctcp", "ack_every": 2}}, "each mark"),
        ({"parameters": {"transport": "reno", "receive_window": 1.5}}, "receive_window"),
        ({"capacity": 1.0, "topology": SMALL}, "capacity"),
        ({"keep_trace": True}, "no trace"),
    ):
        with pytest.raises(ConfigError, match=named):
            flowsched_gym.replay_packets(flows, scheduler="fifo", **{"topology": "big-switch", **how})
    far = make_flows([0.0], [1.0], source=[0], destination=[9])
    with pytest.raises(WorkloadError, match="hosts 0 to 7"):
        flowsched_gym.replay_packets(far, scheduler="fifo", topology=SMALL)
    working = replace(far, source=np.array([0]), destination=np.array([1]), cpu_time=np.array([1.0]))
    with pytest.raises(WorkloadError, match="flows have CPU work"):
        flowsched_gym.replay_packets(working, scheduler="fifo", topology="big-switch")


def test_cpus_on_which_nobody_works_are_no_ports() -> None:
    flows = make_flows([0.0, 1e-6], [1e5, 1e5], source=[0, 1], destination=[2, 2])
    plain = make_topology("big-switch", num_hosts=3)
    ends = [
        flowsched_gym.replay_packets(flows, scheduler="fifo", topology=topology).completion_time.tolist()
        for topology in (plain, add_cpus(plain, 0.5))
    ]
    assert ends[0] == ends[1]
