"""Holds links that fail and come up to times by hand, and both engines equal."""

import math
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.packets.parameters import NetworkParameters
from flowsched_gym.workload import LinkChanges, Workload
from tests.packets.test_network import HARSH, LINK, SMALL, check_every_event, mixed_flows, network_of, on_both
from tests.simulate import make_flows

PACKET = 12e-6
"""What a full packet takes at a port of ``SMALL``, in s; its header has 40 B."""
TURN = 4 * (PACKET + LINK) + 4 * LINK
"""From sending a packet to its free acknowledgement, over four links."""
FIXED: dict[str, Any] = {"transport": "fixed", "initial_window": 1, "min_rto": 1e-3, "header": 40, "payload": 1460}
BOTH = pytest.mark.parametrize("engine", ["simpy", "compiled"])


def links_of(source: int, destination: int) -> list[list[int]]:
    """Lists the links of each path between two hosts."""
    network, ends = SMALL.network, SMALL.candidates(np.array([source]), np.array([destination]))
    first, last = (int(end[0]) for end in ends)
    start = network.path_start
    return [network.path_links[start[path] : start[path + 1]].tolist() for path in range(first, last)]


def one_flow(packets: int = 4) -> Workload:
    return make_flows([0.0], [1460.0 * packets], source=[0], destination=[4])


def taken(flows: Workload) -> int:
    return int(network_of(flows, SMALL, NetworkParameters(**FIXED)).there.turn[0])


def replay(
    changes: list[tuple[float, int, bool]], engine: str, flows: Workload | None = None, **parameters: Any
) -> Any:
    how = {**FIXED, **parameters, "link_changes": changes}
    return flowsched_gym.replay_packets(
        flows or one_flow(), scheduler="fifo", topology=SMALL, parameters=how, engine=engine
    )


@BOTH
def test_the_packet_that_is_being_sent_gets_through_and_the_next_takes_the_other_path(engine: str) -> None:
    _, uplink, *_ = links_of(0, 4)[taken(one_flow())]
    # The first packet is sent into the uplink from 17 to 29 us.
    records = replay([(20e-6, uplink, False)], engine)
    assert records.drops[0] == 0
    assert records.fct[0] == pytest.approx(3 * TURN + 4 * (PACKET + LINK))


@BOTH
def test_a_packet_that_comes_to_a_failed_link_is_lost_until_its_sender_sends_it_again(engine: str) -> None:
    _, uplink, *_ = links_of(0, 4)[taken(one_flow())]
    records = replay([(15e-6, uplink, False)], engine)
    assert (records.drops[0], records.timeouts[0]) == (1, 1)
    alone = 3 * TURN + 4 * (PACKET + LINK)
    assert records.fct[0] == pytest.approx(FIXED["min_rto"] + alone)


@BOTH
def test_what_waits_for_a_link_that_fails_is_lost(engine: str) -> None:
    # Eight packets of a window begin to wait at the host's own port: at 20 us, one is gone and one is being sent.
    own, *_ = links_of(0, 4)[0]
    records = replay([(20e-6, own, False), (1e-3, own, True)], engine, one_flow(8), initial_window=8)
    assert records.drops[0] == 6
    assert records.timeouts[0] >= 1
    assert np.isfinite(records.fct).all()


@BOTH
def test_a_flow_without_a_path_goes_on_when_a_link_comes_up(engine: str) -> None:
    uplinks = [links[1] for links in links_of(0, 4)]
    for time in (0.0, 15e-6):
        both_fail = [(time, link, False) for link in uplinks]
        records = replay([*both_fail, (2.0, uplinks[0], True)], engine)
        assert records.fct[0] > 2.0
        assert records.timeouts[0] > 1
    with pytest.raises(WorkloadError, match="each flow must have one when the last change has happened"):
        replay(both_fail, engine)
    with pytest.raises(ConfigError, match="paths is 'packet', and links fail"):
        replay([(1.0, uplinks[0], False)], engine, paths="packet", initial_window=2)


@BOTH
def test_a_sender_whose_last_acknowledgement_is_lost_with_its_link_gets_it_by_another_path(engine: str) -> None:
    flow = one_flow(1)
    _, uplink, *_ = links_of(4, 0)[taken(flow)]
    # The flow is over when its packet has crossed four links, at 68 us; what answers it comes to the uplink at 73 us.
    records = replay([(70e-6, uplink, False)], engine, flow, acks="packets")
    assert (records.drops[0], records.timeouts[0]) == (1, 1)
    assert records.fct[0] == pytest.approx(4 * (PACKET + LINK))


def failing(flows: Workload, seed: int) -> Workload:
    """Lets links fail and come up at the instants at which flows arrive."""
    rng, links = np.random.default_rng(seed), sorted({link for links in links_of(0, 4) for link in links[1:-1]})
    rows = [
        (time, link, up)
        for link in links
        for time, up in zip(np.unique(rng.integers(0, 60, 8)) * 1e-4, [False, True] * 4, strict=False)
    ]
    rows += [(0.2, link, True) for link in links]
    return replace(flows, link_changes=LinkChanges.of(sorted(rows, key=lambda row: row[0])))


@pytest.mark.parametrize(
    ("scheduler", "change"),
    [
        ("fifo", {"transport": "dctcp"}),
        pytest.param(
            "pfabric", {"transport": "cubic", "acks": "free", "handshake": False}, marks=pytest.mark.exhaustive
        ),
    ],
)
def test_both_engines_lose_the_same_packets_of_links_that_fail(scheduler: str, change: dict[str, Any]) -> None:
    steady = on_both(mixed_flows(8), SMALL, scheduler, **{**HARSH, **change})
    for seed in range(3):
        records = on_both(failing(mixed_flows(8), seed), SMALL, scheduler, **{**HARSH, **change})
        assert np.isfinite(records.fct).all()
        assert records.drops.sum() > steady.drops.sum()


def test_no_packet_is_lost_sight_of_while_links_fail() -> None:
    network = network_of(failing(mixed_flows(8, 25), 1), SMALL, NetworkParameters(transport="dctcp", **HARSH))
    check_every_event(network)
    assert (network.links.capacity > 0).all()  # each replay has capacities of its own


def make(engine: str, **kwargs: Any) -> Any:
    repaired = "poisson-fat-tree-failures-repaired"
    env = gym.make("flowsched/MERPRoute-v0", packets="dctcp", engine=engine, workload=repaired, flows=150, **kwargs)
    env.reset(seed=3)
    return env.unwrapped


def play(env: Any, seed: int = 0, decisions: float = math.inf) -> tuple[list[list[bool]], list[float]]:
    """Plays so many decisions, drawn with a seed; returns the masks, and when flows were delivered."""
    rng, over, masks = np.random.default_rng(seed), False, list[list[bool]]()
    while not over and len(masks) < decisions:
        masks.append(env.action_masks().tolist())
        *_, over, _, _ = env.step(int(rng.choice(np.flatnonzero(masks[-1]))))
    return masks, env.records().completion_time.tolist()


@pytest.mark.exhaustive
def test_an_agent_chooses_among_the_paths_that_are_up_and_states_go_on_to_the_same_failures() -> None:
    ends = []
    for engine in ("simpy", "compiled"):
        env = make(engine)
        before, _ = play(env, decisions=60)
        state = env.get_state()
        after = play(env, seed=1)
        env.set_state(state)
        assert play(env, seed=1) == after
        ends.append((before, after))
        changes = env.workload.link_changes
        assert 0.0 < changes.time[0] < changes.time[-1]
    assert ends[0] == ends[1]
    assert min(map(sum, ends[0][0])) < max(map(sum, ends[0][0]))


@pytest.mark.parametrize(
    ("topology", "changes", "message"),
    [
        ("one-link", [(0.1, 0, False), (0.2, 0, True)], "links fail, and there is one port alone: its link stays up"),
        ("fat-tree", [(0.1, 99, False)], "topology fat-tree has the links 0 to 95"),
        ("fat-tree", 3, "link_changes is 3: it must be rows of"),
    ],
)
def test_changes_that_packets_cannot_have_are_refused(topology: str, changes: Any, message: str) -> None:
    parameters = {"link_changes": changes}
    with pytest.raises((ConfigError, WorkloadError), match=message):
        flowsched_gym.replay_packets(mixed_flows(8), scheduler="fifo", topology=topology, parameters=parameters)


def test_links_of_ns3_fail_at_the_beginning_or_never() -> None:
    with pytest.raises(WorkloadError, match="in ns-3, they fail at time 0, or never"):
        make("ns3")
