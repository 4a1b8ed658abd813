"""Tells how flows send over TCP as stories in round numbers, worked by hand.

Links carry 1 B/s and take 1 s each, so a path of two takes 2 s; a round trip takes 4 s and two packets' sending times.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid import TRANSPORTS, EventKind, Transport, TransportName, find_transport
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Ps, make_discipline
from flowsched_gym.fluid.rules.transport.progress import next_event_time
from flowsched_gym.fluid.rules.transport.senders import isolated_times, next_window
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, big_switch
from flowsched_gym.workload import Workload
from tests.simulate import grant_oldest, make_flows

SLOW = big_switch(num_hosts=3, capacity=1.0, delay=1.0)
GIGABIT = big_switch(num_hosts=3, capacity=125e6, delay=250e-6)

DOUBLING = Transport(handshake_round_trips=1.0, segment=1.0, initial_window=1.0, exit_window=4.0, slow_start_growth=2.0)
"""Packets of one byte without a header: a round trip of 6 s, windows of 1, 2, 4, 4, ... bytes."""


def run(
    workload: Workload, transport: Transport, topology: Topology = SLOW, num_tokens: int | None = None
) -> Simulation:
    """Runs to the end; with tokens, the oldest request is served first."""
    return grant_oldest(Simulation(workload, topology, Ps(), transport=transport, num_tokens=num_tokens, keep_log=True))


def test_a_flow_sends_in_rounds_until_its_window_fills_the_pause() -> None:
    simulation = run(make_flows([0.0], [8.0]), DOUBLING)

    assert simulation.log == [
        (0.0, EventKind.ARRIVAL, 0),
        (7.0, EventKind.BYTE_THRESHOLD, 0),  # the handshake ends at 6; one byte, then a pause until 12
        (14.0, EventKind.BYTE_THRESHOLD, 0),  # two bytes from 12, then a pause until 18
        (22.0, EventKind.BYTE_THRESHOLD, 0),  # four bytes from 18, then a pause until 24
        (25.0, EventKind.LAST_BYTE_SENT, 0),  # the last byte from 24
        (27.0, EventKind.DELIVERY, 0),
    ]
    assert simulation.records().slowdown.tolist() == [1.0]


def test_flows_that_share_a_link_pause_less_than_a_flow_alone() -> None:
    transport = Transport(handshake_round_trips=1.0, segment=1.0, initial_window=4.0, exit_window=4.0)
    alone = run(make_flows([0.0], [8.0]), transport).records()
    together = run(make_flows([0.0, 0.0], [8.0, 8.0], source=[1, 2]), transport).records()
    # Alone: four bytes from 6, a pause from 10 to 12, four bytes. Together: a window takes 8 s, longer than the 6 s.
    assert alone.completion_time.tolist() == [18.0]
    assert together.completion_time.tolist() == [24.0, 24.0]


def test_a_pause_leaves_the_link_to_the_other_flow() -> None:
    pausing = Transport(segment=1.0, initial_window=1.0, exit_window=1.0)
    log = run(make_flows([0.0, 1.0], [2.0, 2.0], source=[1, 2]), pausing).log
    # Each sends a byte at the whole link while the other pauses, and again when its round trip of 6 s has passed.
    assert [event for event in log if event[1] is not EventKind.ARRIVAL] == [
        (1.0, EventKind.BYTE_THRESHOLD, 0),
        (2.0, EventKind.BYTE_THRESHOLD, 1),
        (7.0, EventKind.LAST_BYTE_SENT, 0),
        (8.0, EventKind.LAST_BYTE_SENT, 1),
        (9.0, EventKind.DELIVERY, 0),
        (10.0, EventKind.DELIVERY, 1),
    ]


def test_every_begun_segment_carries_a_header() -> None:
    flows = make_flows([0.0, 100.0, 200.0], [2.0, 3.0, 0.5])
    simulation = run(flows, Transport(segment=2.0, header=1.0))
    assert run(flows, Transport(header=1.0)).state.volume.tolist() == flows.size.tolist()
    assert simulation.state.volume.tolist() == [3.0, 5.0, 1.5]
    assert simulation.records().fct.tolist() == [5.0, 7.0, 3.5]


def test_headers_make_rounds_longer() -> None:
    transport = Transport(
        handshake_round_trips=1.0, segment=1.0, header=1.0, initial_window=1.0, exit_window=2.0, slow_start_growth=2.0
    )
    simulation = run(make_flows([0.0], [3.0]), transport)

    # A packet has two bytes, so a round trip takes 8 s: one packet from 8, two from 16 to 20, and two seconds more.
    assert simulation.records().completion_time.tolist() == [22.0]
    assert simulation.records().slowdown.tolist() == [1.0]


def test_with_a_token_the_handshake_begins_when_the_token_is_there() -> None:
    simulation = run(make_flows([0.0], [1.0]), DOUBLING, num_tokens=1)
    # Request 2, token 2, handshake 6, one byte, last byte 2.
    assert simulation.records().completion_time.tolist() == [13.0]
    assert simulation.records().slowdown.tolist() == [1.0]


def test_a_flow_over_tcp_keeps_its_token_while_it_pauses() -> None:
    simulation = Simulation(
        make_flows([0.0, 0.0], [2.0, 2.0], source=[1, 2]), SLOW, Ps(), transport=DOUBLING, num_tokens=1
    )
    simulation.run()
    simulation.grant(0)
    simulation.run()

    # Request 2, token 2, handshake 6, a byte, a pause until 16, a byte, last byte 2: then the next is asked for.
    assert simulation.now == 19.0
    assert simulation.delivered == [0]


@pytest.mark.parametrize("name", TransportName)
@settings(max_examples=40)
@given(size=st.floats(1.0, 5e6), tokens=st.sampled_from([None, 3]))
def test_a_flow_alone_takes_exactly_its_ideal_time(name: TransportName, tokens: int | None, size: float) -> None:
    steady = None if TRANSPORTS[name].losses is None else {"jitter": 0.0, "buffer": 1e6}
    records = run(make_flows([0.0], [size]), find_transport(name, steady), GIGABIT, tokens).records()
    assert float(records.fct[0]) == pytest.approx(float(records.ideal_fct[0]), rel=1e-11)
    assert float(records.slowdown[0]) == pytest.approx(1.0, rel=1e-11)


@settings(max_examples=40)
@given(
    sizes=st.lists(st.floats(1.0, 1e6), min_size=1, max_size=6),
    arrivals=st.lists(st.floats(0.0, 5e-3), min_size=6, max_size=6),
)
def test_no_flow_over_tcp_is_faster_than_alone_and_no_byte_is_lost(sizes: list[float], arrivals: list[float]) -> None:
    workload = make_flows(arrivals[: len(sizes)], sizes, source=[1 + row % 2 for row in range(len(sizes))])
    simulation = run(workload, TRANSPORTS[TransportName.TCP], GIGABIT, 3)
    assert (simulation.records().slowdown >= 1 - 1e-9).all()
    assert simulation.state.attained.tolist() == simulation.state.volume.tolist()


def test_windows_and_a_discipline_that_stops_flows_too_are_refused() -> None:
    for name, parameters in (
        ("mlfq", {"thresholds": [1.0]}),
        ("wfq", {"queue": [0], "weights": [1.0], "within": "fifo"}),
        ("merp", {"mode": "strict"}),
        ("merp", {"gap": 1.0}),
    ):
        for transport in (DOUBLING, TRANSPORTS[TransportName.TCP]):
            for begin in (partial(Simulation, make_flows([0.0], [8.0])), partial(BatchSimulation, 1, 1)):
                with pytest.raises(ConfigError, match=r"senders with windows stop flows, and .* does so"):
                    begin(SLOW, make_discipline(name, dict(parameters)), transport=transport)


def test_a_window_grows_to_the_exit_of_slow_start_and_then_slowly() -> None:
    windows = [10.0]
    while len(windows) < 5:
        windows.append(next_window(windows[-1], 19.0, 1.5, 1.1))
    assert windows == pytest.approx([10.0, 15.0, 19.0, 20.9, 22.99])


def test_time_alone_counts_the_pauses_of_each_round_and_none_after_the_pipe_is_full() -> None:
    # Round trip 10 s at 1 B/s: windows 2, 4, 8 are too short to fill it, 16 is not.
    volume = np.array([1.0, 2.0, 3.0, 6.5, 14.5, 40.0])
    times = np.empty(6)
    isolated_times(volume, np.ones(6), np.full(6, 10.0), 2.0, 16.0, 2.0, 1.0, times)
    assert times.tolist() == [1.0, 2.0, 10.0 + 1.0, 20.0 + 0.5, 30.0 + 0.5, 30.0 + 26.0]


@pytest.mark.parametrize("now", [0.0, 5e-324, 1e-310, 1e-300, 1.0, 1e9])
def test_the_next_event_is_later_than_now_however_little_is_left(now: float) -> None:
    row = np.zeros(1, dtype=np.int64)
    left = np.array([5e-324])
    time = next_event_time(now, row, 1, np.zeros(1), left, np.array([1e9]), np.array([np.inf]), np.inf)
    assert now < time <= max(now * (1 + 1e-15), 1e-300)
