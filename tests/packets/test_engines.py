"""Holds the two engines of packets equal, bit for bit, with losses and marks too."""

from dataclasses import fields
from dataclasses import replace as replace_fields
from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.packets.compiled.network import new_network, run_network
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.network import PacketFlows
from flowsched_gym.packets.parameters import NetworkParameters
from flowsched_gym.packets.schedulers import PacketSetup, make_scheduler
from flowsched_gym.packets.state import PacketRecords, PacketTrace
from flowsched_gym.topology import one_link
from tests.simulate import make_flows

NUM_FLOWS = 60
THRESHOLDS = [2_000, 8_000, 50_000]
LOSSES = {"buffer": 6_000, "mark_at": 1_400, "initial_window": 8, "min_rto": 1e-4, "delay": 1e-5}
DCTCP = {"transport": "dctcp", "mark_at": 7_499, "buffer": 18_000, "min_rto": 2e-4, "delay": 2e-5}
ROUNDS = {"dequeue": "drr", "weights": [6_000, 3_000, 1_500, 1_500]}
SMALL_SKETCH = {"buckets": 16, "interval": 20, "ageing": 100, "message_gap": 1e-3, "flowlet_gap": 1e-4}

CASES = [
    ("fifo", {}),
    ("pias", {"thresholds": THRESHOLDS}),
    ("pias", {"thresholds": THRESHOLDS, "messages": "time", "message_gap": 3e-4, **ROUNDS}),
    ("qcluster", {"rule": "adaptive", "disorder": "las", **SMALL_SKETCH}),
    *(
        pytest.param(*case, marks=pytest.mark.exhaustive)
        for case in (
            ("qcluster", {"goal": "fq", "disorder": "fq", **SMALL_SKETCH}),
            ("qcluster", {"goal": "srpt", "rule": "harmonic", "dequeue": "wrr"}),
            ("qcluster", {"goal": "deadline", "conservative": True, **SMALL_SKETCH}),
            ("qcluster", {"goal": "fq", "others": "sjf", "min_rate": 1e5, **SMALL_SKETCH}),
            ("tagged", {"tags": [row % 8 for row in range(NUM_FLOWS)], "dequeue": "wrr", "weights": range(8, 0, -1)}),
            ("pfabric", {}),
            ("pfabric-edf", {}),
            ("fq", {}),
            ("afq", {}),
            ("pifo-las", {}),
            ("pifo-las", {"thresholds": [20_000], "count": "after"}),
        )
    ),
]
"""Schedulers and parameters; each scheduler compiles for itself."""


def flows(seed: int) -> dict[str, object]:
    """Draws flows between few hosts, many of which arrive at one instant."""
    rng = np.random.default_rng(seed)
    return {
        "flow_id": np.arange(NUM_FLOWS),
        "source": rng.integers(0, 4, NUM_FLOWS),
        "destination": rng.integers(4, 8, NUM_FLOWS),
        "size_bytes": np.ceil(rng.pareto(1.2, NUM_FLOWS) * 3_000 + 1),
        "arrival_s": np.sort(rng.integers(0, 200, NUM_FLOWS)) * 5e-6,
        "deadline_s": [None if row % 3 else 2e-4 * (1 + row % 7) for row in range(NUM_FLOWS)],
    }


def assert_same(first: PacketTrace | PacketRecords, second: PacketTrace | PacketRecords) -> None:
    for field in fields(first):
        if field.name != "trace":
            np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name), field.name)


def on_both(given: Any, scheduler: Any, *, keep_trace: bool = False, **parameters: object) -> PacketRecords:
    """Replays flows on SimPy; the compiled engine gives the same bits."""
    how: dict[str, Any] = {"scheduler": scheduler, "parameters": parameters, "keep_trace": keep_trace}
    simpy, compiled = (flowsched_gym.replay_packets(given, engine=engine, **how) for engine in ("simpy", "compiled"))
    assert_same(simpy, compiled)
    if keep_trace:
        assert_same(simpy.trace, compiled.trace)
    return simpy


@pytest.mark.parametrize(
    "senders",
    [
        pytest.param({"delay": 1e-5}, id="lossless"),
        pytest.param(LOSSES, id="losses"),
        pytest.param(DCTCP, id="dctcp"),
    ],
)
@pytest.mark.parametrize(("scheduler", "parameters"), CASES)
def test_both_engines_deliver_the_same_packets(
    scheduler: str, parameters: dict[str, object], senders: dict[str, object]
) -> None:
    records = on_both(flows(seed=1), scheduler, keep_trace=True, **parameters, **senders)
    assert np.isfinite(records.fct).all()
    assert records.trace.dropped.sum() == records.drops.sum()
    assert records.trace.marked.sum() == records.marks.sum()
    if "buffer" not in senders and scheduler != "afq":
        assert len(records.trace.dropped) == records.packets.sum()
    if "buffer" in senders:
        assert records.drops.sum() > 0
        assert records.marks.sum() > 0


def test_a_short_flow_backs_off_less_with_the_windows_of_tafe_in_both_engines() -> None:
    two = make_flows([0.0, 0.0], [1e6, 3e5], source=[0, 1], destination=[2, 2])
    dctcp, tafe, beyond = (
        on_both(two, "fifo", **{**DCTCP, **windows})
        for windows in ({}, {"transport": "tafe"}, {"transport": "tafe", "largest": 1e5})
    )
    assert min(dctcp.marks.min(), tafe.marks.min(), beyond.marks.min()) > 0
    assert tafe.fct[1] < 0.9 * dctcp.fct[1]
    # With both flows above the bound, both back off by all of alpha until they have less than that left.
    assert beyond.fct[1] > tafe.fct[1]


def test_a_flow_with_an_imminent_deadline_backs_off_less_with_the_windows_of_d2tcp_in_both_engines() -> None:
    two = make_flows([0.0, 0.0], [1e6, 1e6], source=[0, 1], destination=[2, 2])
    d2tcp = {**DCTCP, "transport": "d2tcp"}
    dctcp = on_both(two, "fifo", **DCTCP)
    soon, late = (
        on_both(replace_fields(two, deadline_span=np.array([span, np.inf])), "fifo", **d2tcp) for span in (1e-4, 10.0)
    )
    assert dctcp.marks.min() > 0
    assert soon.fct[0] < 0.95 * dctcp.fct[0]
    assert late.fct[0] > soon.fct[0]
    assert late.fct[1] < dctcp.fct[1]
    # Without deadlines it is DCTCP, and S_max is for TAFE alone.
    assert_same(on_both(two, "fifo", **d2tcp, largest=1e5), dctcp)
    assert not np.array_equal(on_both(flows(2), "fifo", **d2tcp).fct, on_both(flows(2), "fifo", **DCTCP).fct)


def test_both_engines_serve_given_packets_alike_far_from_time_0() -> None:
    rng = np.random.default_rng(5)
    count = 500
    packets = {
        "flow_id": rng.integers(0, 2**60, 20)[rng.integers(0, 20, count)],
        "size_bytes": rng.integers(64, 1_501, count),
        "arrival_s": 1.7e9 + np.sort(rng.integers(0, count, count)) * 2.0**-17,
    }
    how: dict[str, Any] = {"scheduler": "qcluster", "parameters": {"rule": "adaptive", "buffer": 9, "mark_at": 3}}
    simpy, compiled = (flowsched_gym.serve_packets(packets, engine=engine, **how) for engine in ("simpy", "compiled"))
    assert_same(simpy, compiled)
    assert simpy.dropped.any()
    assert simpy.marked.any()


def test_an_empty_port_has_no_bytes_whatever_parts_of_bytes_have_waited_there() -> None:
    # 0.1 + 0.2 - 0.1 - 0.2 is not 0 in floating point: the last packet would wait behind bytes that are not there.
    flows = make_flows([0.0, 1e-9, 2e-9, 1.0], [10.0, 0.1, 0.2, 10.0], source=range(1, 5))
    records = on_both(flows, "fifo", payload=10.0, header=0.0, mark_at=0)
    assert records.marks.tolist() == [0, 0, 1, 0]


def equal_flows(num_flows: int, size: int, packet: float, header: float, apart: float) -> PacketFlows:
    """Makes flows of so many packets, three of which arrive at each instant."""
    ids, first = np.arange(num_flows), np.arange(num_flows + 1) * size
    flow = np.repeat(ids, size)
    left = np.tile(np.arange(size, 0, -1) * (packet - header), num_flows)
    table = PacketTable(flow, np.full(len(flow), packet), header, left, ids, np.full(num_flows, np.inf))
    wire, late = np.full(num_flows, size * packet), np.zeros(num_flows)
    return PacketFlows(ids // 3 * apart, ids, ids, ids + 1, first, table, ids, wire, wire, late)


@pytest.mark.exhaustive
def test_a_run_that_is_cut_into_periods_is_the_same_run() -> None:
    packets = equal_flows(9, 12, packet=10.0, header=0.0, apart=20.0)
    setup = PacketSetup(
        scheduler=make_scheduler("pias", {"thresholds": [30, 60]}),
        topology=one_link(capacity=1.0, delay=5.0),
        parameters=NetworkParameters(
            payload=10.0, header=0.0, initial_window=4, transport="dctcp", min_rto=40.0, buffer=90, mark_at=10
        ),
    )

    def run(times: list[float]) -> tuple[list[float], list[float]]:
        network = new_network(setup.network_of(packets))
        clock = []
        for time in times:
            run_network(network, packets.num_flows, time)
            clock.append(float(network.tables.clock[0]))
        assert network.senders.rows["drops"].sum() > 0
        return network.senders.completion_time.tolist(), clock

    whole, _ = run([np.inf])
    periods = [5.0 * period for period in range(1, 400)]
    in_periods, clock = run(periods)

    assert in_periods == whole
    assert clock[:20] == periods[:20]
