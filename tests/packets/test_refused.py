"""Asks for packets that could never be delivered, or only after years of computing: each is refused in one line."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym import replay_packets
from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology import Topology, leaf_spine
from tests.simulate import make_flows

TCP: dict[str, Any] = {"transport": "newreno"}
SMALL = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=2)


def send(size: float = 1e5, scheduler: str = "fifo", *, destination: int = 3, **arguments: Any) -> PacketRecords:
    flows = {"flow_id": [0], "source": [0], "destination": [destination], "size_bytes": [size], "arrival_s": [0.0]}
    given = {name: arguments.pop(name) for name in ("topology", "capacity", "engine") if name in arguments}
    return replay_packets(flows, scheduler=scheduler, parameters=arguments, **given)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("scheduler", ["fifo", "pfabric", "afq", "qcluster"])
def test_a_buffer_without_room_for_a_packet_is_refused_with_the_least_that_would_do(scheduler, engine) -> None:
    for arguments, room, least in (
        ({"buffer": 1499}, 1499, 1500),
        ({"buffer": 0.001, **TCP}, 0.001, 1500),
        ({"buffer": 1500, "acks": "packets", "ack_bytes": 2000}, 1500, 2000),
        ({"buffer": 1500, "handshake": True, "ack_bytes": 2000}, 1500, 2000),
        ({"buffer": 99, "payload": 80, "header": 20, "initial_window": 1, "mark_at": 0}, 99, 100),
        ({"buffer": {"host": 1400}, "topology": SMALL}, 1400, 1500),
        ({"buffer": {"host": 1500, "core": 1400}, "topology": SMALL, "paths": "packet", **TCP}, 1400, 1500),
    ):
        with pytest.raises(FlowSchedError, match=f"^buffer is .* room for {room:g} B: it must be at least {least} B"):
            send(scheduler=scheduler, engine=engine, **arguments)


def test_a_buffer_that_no_packet_comes_to_or_that_holds_one_is_allowed() -> None:
    for arguments in (
        {"buffer": 1500},
        {"buffer": 140, "size": 100.0},
        {"buffer": {"core": 1}, "topology": SMALL, "destination": 1},
        {"buffer": 1500, "acks": "free", "ack_bytes": 2000, **TCP},
    ):
        assert np.isfinite(send(**arguments).fct).all()


def test_what_a_full_buffer_drops_does_not_lock_a_flow_out_of_afq() -> None:
    """The window takes all rounds to come while the port has room for two packets."""
    assert send(scheduler="afq", buffer=3000, initial_window=100, size=3e5).fct[0] < 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"buffer": 3000, "min_rto": 1e308, **TCP}, r"^min_rto is 1e\+308: it must be at most 1e\+09 s$"),
        ({"ack_delay": 1e308}, r"^ack_delay is 1e\+308: it must be at most"),
        ({"capacity": 1e-9, **TCP}, "a packet takes 1.5e.12 s at the slowest port, .*: links must be faster$"),
        ({"delay": 1e200, **TCP}, "a packet takes 2e.200 s"),
        ({"capacity": 5e-324}, "capacity is 5e-324: it must be finite and at least 1e-300 B/s"),
        ({"capacity": 1e-299}, r"which take until .* s at 1e-299 B/s: they must be able to end before 1e\+300 s"),
        ({"header": 1e308}, "the flows have inf B with headers and acknowledgements"),
        ({"ack_bytes": 1e308, "acks": "packets"}, "the flows have inf B with headers and acknowledgements"),
        ({"payload": 5e-324}, "inf packets of 4.94066e-324 B: at most 2147483648 are allowed"),
        ({"ack_every": None}, "ack_every is None: it must be a whole number from 1"),
    ],
)
def test_parameters_that_lead_to_no_end_are_refused_in_one_line(arguments, message) -> None:
    with pytest.raises(FlowSchedError, match=message):
        send(**arguments)


def test_a_flow_of_next_to_nothing_is_one_packet_and_none_is_empty() -> None:
    assert send(size=5e-324).packets.tolist() == [1]
    assert send(size=sum([0.1] * 8), payload=0.1, header=0).packets.tolist() == [8]
    assert send(transport="tafe", mark_at=0, largest=5e-324).fct[0] > 0.0


def test_the_port_of_an_environment_has_room_for_one_packet_at_least() -> None:
    for arguments in ({"buffer": 1}, {"buffer": 4, "link_gbps": 1e-9, "period_us": 1e15}):
        gym.make("flowsched/QCluster-v0", flows=2, **arguments).reset(seed=1)


def test_hosts_that_forward_cannot_tag_what_others_have_tagged() -> None:
    line = Topology(
        name="line",
        num_hosts=3,
        capacity=np.full(4, 1e3),
        delay=np.zeros(4),
        link_names=("0 to 1", "1 to 2", "2 to 1", "1 to 0"),
        path_start=np.array([0, 1, 3, 4, 5, 7, 8]),
        path_links=np.array([0, 0, 1, 3, 1, 2, 3, 2]),
        pair_start=np.array([0, 0, 1, 2, 3, 3, 4, 5, 6, 6]),
    )
    flows = make_flows([0.0, 0.5], [6e3, 1e3], source=[0, 1], destination=[2, 2])
    senders = {"payload": 1_000, "header": 0}
    assert replay_packets(flows, scheduler="fifo", topology=line, parameters=senders).fct[0] == 7.5
    with pytest.raises(ConfigError, match="line: link 1 to 2 begins a path and lies within another: a scheduler that"):
        replay_packets(flows, scheduler="pifo-las", topology=line, parameters=senders)
