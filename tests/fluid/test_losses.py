"""Tells how flows send whose packets are lost where a buffer overflows, as stories in round numbers, on both engines.

Links carry 1 B/s and take 1 s each, packets are bytes: a round trip takes 6 s, and a link and its buffer hold six
packets and those of the buffer.
"""

from dataclasses import replace
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid import TRANSPORTS, Losses, Transport, TransportName, find_transport
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Fifo, Ps
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Routing, RoutingKind, big_switch
from flowsched_gym.workload import Workload, make_workload
from tests.fluid.test_conservation import assert_conserves
from tests.fluid.twins import Twins
from tests.simulate import grant_oldest, make_flows, network_of
from tests.strategies import NUM_HOSTS, random_flows, simultaneous_flows

SLOW: Final = big_switch(num_hosts=NUM_HOSTS, capacity=1.0, delay=1.0)
GIGABIT: Final = big_switch(num_hosts=21, capacity=125e6, delay=250e-6)
LONG, SHORT = 1000.0, 50.0
"""Waits of senders in s."""
LOSSES: Final = Losses(buffer=4.0, largest_window=1e9, added_per_round=1.0, timeout_probability=0.0, timeout=LONG)
DOUBLING: Final = Transport(
    handshake_round_trips=0.5,
    segment=1.0,
    initial_window=1.0,
    exit_window=1e9,
    slow_start_growth=2.0,
    losses=LOSSES,
)
"""Windows of 1, 2, 4, ... packets; four packets of buffer; nobody waits for a timeout."""
LOSSY: Final = [name for name, transport in TRANSPORTS.items() if transport.losses is not None]

each_transport = pytest.mark.parametrize("name", LOSSY, ids=str)


def with_losses(transport: Transport, **figures: Any) -> Transport:
    return replace(transport, losses=replace(transport.losses, **figures))


def attained_at(simulation: Simulation, times: list[float]) -> list[float]:
    """Tells how much the first flow has delivered, after each of some times."""
    found = []
    for time in times:
        simulation.run(until=time)
        simulation.links.advance()
        now = simulation.now
        found.append(float(simulation.state.attained[0] + simulation.state.rate[0] * (time - now)))
    return found


def test_a_sender_that_overflows_the_buffer_loses_the_excess_and_repairs_one_packet_a_round() -> None:
    simulation = Simulation(make_flows([0.0], [1000.0]), SLOW, Ps(), transport=DOUBLING)

    for times, delivered in (
        # Half a round trip of handshake; rounds of 6 s with 1, 2 and 4 packets; one of 8 s with 8, as fast as the link.
        ([3.0, 9.0, 15.0, 21.0, 29.0], [0.0, 1.0, 3.0, 7.0, 15.0]),
        # From 23 s on, ten packets are on their way and no more have room: 6 of 16 are lost by 29 s, and 8 more by
        # 37 s, when the sender notices. It halves its window of 24, of which 14 are missing: one packet a round is all
        # it sends.
        ([37.0, 39.0, 45.0, 51.0], [23.0, 23 + 1 / 3, 24 + 1 / 3, 25 + 1 / 3]),
        # Rounds go on from 39 s. When less than 11 are missing, there is room for new packets beside the repair of
        # one: with 10 2/3, 9 2/3, 8 2/3, ... missing it delivers 1 1/3, 2 1/3, 3 1/3, ... packets in a round.
        ([57.0, 63.0, 69.0, 75.0], [26 + 1 / 3, 27 + 2 / 3, 30.0, 33 + 1 / 3]),
        # With 5 2/3 missing there are 6 1/3 on their way, for which the link needs longer than a round trip.
        ([81.0, 87.0, 87 + 19 / 3], [37 + 2 / 3, 43.0, 49 + 1 / 3]),
    ):
        assert attained_at(simulation, times) == pytest.approx(delivered)


@pytest.mark.parametrize(("probability", "late_ack_probability", "wait"), [(1.0, 0.0, 1000.0), (0.0, 1.0, 400.0)])
def test_a_sender_that_has_sent_all_may_wait_and_keeps_its_token(
    probability: float, late_ack_probability: float, wait: float
) -> None:
    transport = with_losses(
        DOUBLING, timeout_probability=probability, late_ack_probability=late_ack_probability, late_ack=400.0
    )
    workload = make_flows([0.0, 10.0], [30.0, 1.0])
    simulation = Simulation(workload, SLOW, Ps(), transport=transport, num_tokens=1)
    simulation.run()
    simulation.grant(0)
    simulation.run(until=300.0)

    assert simulation.asking is None
    assert simulation.destinations[0].num_active == 1
    grant_oldest(simulation)
    fct = simulation.records().fct
    repairing = grant_oldest(Simulation(workload, SLOW, Ps(), transport=DOUBLING, num_tokens=1)).records().fct
    assert wait < fct[0] < wait + 100
    assert fct[1] > fct[0]
    assert repairing[0] < 200


def test_a_sender_with_something_new_to_send_does_not_wait() -> None:
    transport = with_losses(DOUBLING, timeout_probability=1.0)
    simulation = Simulation(make_flows([0.0], [1000.0]), SLOW, Ps(), transport=transport)
    assert attained_at(simulation, [37.0, 39.0, 87.0]) == pytest.approx([23.0, 23 + 1 / 3, 43.0])


def test_a_buffer_that_does_not_overflow_loses_nothing() -> None:
    flows = make_flows([0.0, 0.0], [100.0, 100.0], source=[1, 2])
    roomy = with_losses(DOUBLING, buffer=1e6)
    lossless, lossy = (grant_oldest(Simulation(flows, SLOW, Ps(), transport=each)) for each in (roomy, DOUBLING))
    # Half a round trip, rounds of 2 and 4 packets, then a packet each second, and the way of the last one.
    assert lossless.records().completion_time.tolist() == pytest.approx([3.0 + 2 * 6.0 + (200.0 - 6.0) + 2.0] * 2)
    assert lossy.records().completion_time.max() > 230.0


def test_a_handshake_waits_in_a_full_buffer() -> None:
    roomy = with_losses(DOUBLING, buffer=1e6)
    flows = make_flows([0.0, 60.0], [500.0, 1.0], source=[1, 2])
    late = grant_oldest(Simulation(flows, SLOW, Ps(), transport=roomy)).records().fct[1]
    alone = grant_oldest(Simulation(make_flows([0.0], [1.0]), SLOW, Ps(), transport=roomy)).records().fct[0]
    assert late > alone + 30.0
    simulation = Simulation(flows, SLOW, Ps(), transport=roomy)
    for time in (64.0, 70.0, 80.0, 90.0):
        simulation.run(until=time)
        assert simulation.state.rate[1] == 0.0


@pytest.mark.parametrize("num_tokens", [pytest.param(None, marks=pytest.mark.exhaustive), 1, 3])
@settings(max_examples=25)
@given(
    workload=random_flows() | simultaneous_flows(),
    buffer=st.sampled_from([0.5, 2.0, 20.0]),
    spread=st.sampled_from([0.0, 0.5]),
    probability=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 3),
)
def test_engines_agree_on_any_flows_and_bring_them_to_their_end(
    num_tokens: int | None, workload: Workload, buffer: float, spread: float, probability: float, seed: int
) -> None:
    figures = {"buffer": buffer, "buffer_spread": spread, "timeout_probability": probability, "seed": seed}
    transport = with_losses(DOUBLING, timeout=SHORT, late_ack_probability=0.2, late_ack=20.0, jitter=0.5, **figures)
    Twins(workload, SLOW, Ps, transport=transport, num_tokens=num_tokens).finish(seed)


@each_transport
@pytest.mark.parametrize("workload", ["gather-heavy", "gather-multi", "scatter-a1"])
def test_engines_agree_on_bursts(name: TransportName, workload: str) -> None:
    source = make_workload(workload)
    topology = big_switch(num_hosts=source.num_hosts, capacity=125e6, delay=250e-6)
    Twins(replace(source, num_bursts=20).draw(4), topology, Ps, transport=TRANSPORTS[name], num_tokens=10).finish()


def beside_others(flows: Workload, gap: float) -> tuple[Workload, npt.NDArray[np.bool_]]:
    """Adds a packet from host 19 to host 20 after every so many s; returns all flows, and which were there before."""
    times = np.arange(0.0, 2 * flows.arrival_time[-1], gap)
    count, spacing = len(times), 1_000_000
    before = np.searchsorted(flows.arrival_time, times, side="right")
    flow_id = np.append(spacing * np.arange(1, flows.num_flows + 1), spacing * before + 1 + np.arange(count))
    order = np.argsort(flow_id)
    everything = Workload(
        flow_id=flow_id[order],
        source=np.append(flows.source, np.full(count, 19))[order],
        destination=np.append(flows.destination, np.full(count, 20))[order],
        size=np.append(flows.size, np.full(count, 500.0))[order],
        arrival_time=np.append(flows.arrival_time, times)[order],
    )
    return everything, order < flows.num_flows


@each_transport
def test_what_happens_at_another_host_loses_nothing_here(name: TransportName) -> None:
    flows = replace(make_workload("gather-a1"), num_bursts=12).draw(5)  # in this one rounding changes nobody's luck
    found = []
    for gap in (0.05, 0.001):
        workload, are_bursts = beside_others(flows, gap)
        records = grant_oldest(Simulation(workload, GIGABIT, Ps(), transport=TRANSPORTS[name], num_tokens=10)).records()
        found.append(records.fct[are_bursts])
    assert found[1] == pytest.approx(found[0], rel=1e-4)  # rounding repeats a step now and then, 1 ns later
    assert found[0].max() > 0.05


@settings(max_examples=15)
@given(workload=simultaneous_flows(), seed=st.integers(0, 99))
def test_no_link_carries_more_than_its_capacity_and_what_is_delivered_stays_so(workload: Workload, seed: int) -> None:
    transport = with_losses(DOUBLING, buffer=1.0, timeout_probability=0.5, timeout=SHORT, seed=seed)
    assert_conserves(Simulation(workload, SLOW, Ps(), transport=transport))


def play(env: gym.Env, steps: int) -> list[tuple[float, float]]:
    """Takes some decisions; returns when which flow was delivered, by size."""
    for _ in range(steps):
        env.step(0)
    records = env.unwrapped.records()  # type: ignore[attr-defined]
    return [(size, time) for size, time in zip(records.size, records.completion_time, strict=True) if time == time]


def test_what_is_lost_depends_on_the_flow_and_the_seed_and_on_nothing_that_comes_later() -> None:
    arguments: dict[str, Any] = {"workload": "gather-a1", "bursts": 20, "transport": "tcp-lossy-2018a"}
    env = gym.make("flowsched/Artemis-v0", **arguments)
    env.reset(seed=1)
    play(env, 80)
    state = env.unwrapped.get_state()  # type: ignore[attr-defined]
    found = play(env, 0)
    env.unwrapped.set_state(state.with_future(7))  # type: ignore[attr-defined]
    assert play(env, 0) == found
    times = {}
    for seed in (0, 1):
        other = gym.make("flowsched/Artemis-v0", transport_figures={"seed": seed}, **arguments)
        other.reset(seed=1)
        times[seed] = play(other, 80)
    assert times[0] == found
    assert times[1] != found


def test_a_copy_of_an_episode_has_other_luck_to_come() -> None:
    flows = make_workload("gather-a1").draw(1)
    batch = BatchSimulation(3, flows.num_flows, GIGABIT, Ps(), transport=TRANSPORTS["tcp-lossy-2018a"], num_tokens=10)
    for number in range(3):
        batch.load(number, flows)
    batch.run(0)
    for _ in range(300):
        network_of(batch, 0).grant(0)
        batch.run(0)
    num_arrived = int(np.searchsorted(flows.arrival_time, batch.now(0), side="right"))
    batch.branch(0, np.array([1, 2]), num_arrived)
    batch.run(1, 2)
    for number in range(3):
        while batch.awaits_decision(number):
            network_of(batch, number).grant(0)
            batch.run(number)
    assert len({batch.outcomes(number)[1][num_arrived:].tobytes() for number in range(3)}) == 3


def test_transports_that_lose_packets_serve_flows_that_share_equally_on_paths_that_stay() -> None:
    flows = make_flows([0.0], [1.0])
    with pytest.raises(ConfigError, match="Fifo cannot serve them, Ps can"):
        Simulation(flows, SLOW, Fifo(), transport=DOUBLING)
    with pytest.raises(ConfigError, match="Ps with a routing cannot serve them"):
        Simulation(flows, SLOW, Ps(), transport=DOUBLING, routing=Routing(RoutingKind.ECMP))
    with pytest.raises(ConfigError, match="Fifo cannot serve them"):
        BatchSimulation(1, 1, SLOW, Fifo(), transport=DOUBLING)


def test_a_figure_that_a_transport_cannot_have_is_refused() -> None:
    for name, figures, message in (
        ("tcp-lossy", {"buffers": 3}, "transport_figures has 'buffers': tcp-lossy has .*buffer"),
        ("tcp", {"buffer": 3}, "transport_figures has 'buffer': tcp has .*initial_window"),
        ("tcp-lossy", {"buffer": 0}, "transport buffer is 0.0: it must be > 0"),
        ("tcp-lossy", {"buffer": float("inf")}, "transport_figures buffer is inf: it must be a finite number"),
        ("tcp-lossy", {"buffer_spread": 1.0}, r"transport buffer_spread is 1\.0: it must be >= 0 and below 1"),
        ("tcp-lossy", {"timeout_probability": 1.5}, r"transport timeout_probability is 1\.5: it must be from 0 to 1"),
        ("tcp-lossy", {"seed": 0.5}, r"transport seed is 0\.5: it must be an integer from 0"),
        ("tcp-lossy", {"buffer": "large"}, "transport_figures buffer is 'large': it must be a finite number"),
        ("tcp-lossy", {"initial_window": 0}, r"transport initial_window is 0\.0: with losses it must be >= 1"),
        ("tcp", {"segment": -1.0}, r"transport segment is -1\.0: it must be >= 0"),
        ("tcp", {"handshake_round_trips": -0.5}, r"transport handshake_round_trips is -0\.5: it must be >= 0"),
        ("tcp", {"slow_start_growth": 0.9}, r"transport slow_start_growth is 0\.9: it must be >= 1"),
        ("ideal", {"initial_window": 10.0}, "transport initial_window counts segments: it needs segment > 0"),
        ("tcp-lossy", ["buffer"], r"transport_figures is \['buffer'\]: it must be a mapping from names to figures"),
    ):
        with pytest.raises(ConfigError, match=message):
            find_transport(TransportName(name), figures)
        with pytest.raises(ConfigError, match=message):
            gym.make("flowsched/Artemis-v0", transport=name, transport_figures=figures)
    with pytest.raises(ConfigError, match="transport header is nan: it must be >= 0"):
        Transport(header=float("nan"))
