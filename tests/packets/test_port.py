"""Tells small stories of a port and its senders, and holds it to cases that other programs solved exactly."""

from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.state import PacketRecords, PacketTrace
from flowsched_gym.queueing import cluster_thresholds
from flowsched_gym.workload import Workload
from tests.cases import TOLERANCE, exact_cases
from tests.simulate import each_engine, make_flows


def serve(
    rows: list[Any], scheduler: str, *, capacity: float | None = 1.0, engine: str = "simpy", **parameters: object
) -> PacketTrace:
    """Serves packets (time, flow, bytes), at 1 B/s unless said; without a capacity the port is never in the way."""
    time, flow, size = zip(*rows, strict=True)
    packets = {"flow_id": flow, "size_bytes": size, "arrival_s": time}
    return flowsched_gym.serve_packets(
        packets, scheduler=scheduler, capacity=capacity, parameters=parameters, engine=engine
    )


def replay(flows: list[float] | Workload, scheduler: str = "fifo", **parameters: object) -> PacketRecords:
    """Sends flows, of given sizes at 0 or others, in packets of 10 B without header, at 1 B/s."""
    if isinstance(flows, list):
        flows = make_flows([0.0] * len(flows), flows, source=range(1, len(flows) + 1))
    parameters = {"payload": 10, "header": 0, **parameters}
    return flowsched_gym.replay_packets(
        flows, scheduler=scheduler, capacity=1.0, parameters=parameters, keep_trace=True
    )


def served(trace: PacketTrace) -> list[int]:
    """Returns the rows of the packets that were sent, in that order."""
    order = np.argsort(trace.start_time, kind="stable")
    return [int(row) for row in order if not trace.dropped[row]]


def test_at_one_instant_a_transmission_ends_then_packets_arrive_and_last_the_port_chooses() -> None:
    # At 10 the first packet has been sent; the high one of flow 2 arrives just then, and goes before what waited.
    trace = serve([(0, 1, 10), (1, 1, 10), (10, 2, 10)], "pias", thresholds=[5])

    assert served(trace) == [0, 2, 1]
    assert trace.start_time.tolist() == [0, 20, 10]


def test_an_acknowledgement_comes_before_an_arrival_at_its_instant() -> None:
    flows = make_flows([0.0, 16.0], [20.0, 10.0], source=[1, 2])
    records = replay(flows, initial_window=1, delay=3)
    assert records.trace.flow_id.tolist() == [0, 0, 1]
    assert records.trace.arrival_time.tolist() == [0, 16, 16]
    assert records.fct.tolist() == [29, 23]


def test_a_window_waits_for_acknowledgements_that_take_the_delay_twice() -> None:
    # Two packets in 20 s, the first acknowledgement at 10 + 14, the next two packets from there on.
    records = replay([40], initial_window=2, delay=7)

    assert records.trace.arrival_time.tolist() == [0, 0, 24, 34]
    assert records.completion_time.tolist() == [44 + 7]
    assert records.ideal_fct.tolist() == [40 + 7]


def test_a_full_buffer_drops_what_arrives_and_it_is_sent_again_after_the_timeout() -> None:
    # The timer begins anew with each acknowledgement, the last time at 20.
    records = replay([30], buffer=20, min_rto=100, initial_window=3)

    assert records.trace.dropped.tolist() == [False, False, True, False]
    assert records.trace.arrival_time.tolist() == [0, 0, 0, 120]
    assert records.drops.tolist() == [1]
    assert records.packets.tolist() == [3]
    assert records.completion_time.tolist() == [130]
    trace = serve([(0, 1, 10), (1, 1, 10), (2, 1, 10), (3, 1, 10)], "fifo", mark_at=1)
    assert trace.marked.tolist() == [False, False, True, True]


def test_a_fixed_window_stays_as_it_is_when_losses_have_been_repaired() -> None:
    records = replay([300], buffer=60, min_rto=1_000, initial_window=8, delay=3)  # the port idles for 6 s
    assert (records.drops[0], records.timeouts[0], records.completion_time[0]) == (4, 0, 309)


def test_pfabric_sends_the_earliest_packet_of_the_shortest_flow_and_drops_the_longest() -> None:
    # Flow 2 has the least left; of it, the packet that came first is sent although the other has a smaller rank.
    rows = [(0, 1, 10), (1, 1, 10), (1, 1, 10), (2, 2, 4), (3, 2, 4)]
    assert served(serve(rows, "pfabric")) == [0, 3, 4, 1, 2]

    trace = serve(rows, "pfabric", buffer=2)
    assert trace.dropped.tolist() == [False, True, True, False, False]


def test_pfabric_edf_sends_flows_with_deadlines_first() -> None:
    flows = make_flows([0.0] * 3, [10.0, 30.0, 30.0], source=[1, 2, 3], span=[np.inf, 90.0, 70.0])
    assert replay(flows, "pfabric-edf").completion_time.tolist() == [70, 60, 30]


def test_bit_by_bit_round_robin_shares_equally_whatever_the_packets() -> None:
    # Flow 1 has packets of 30 B, flow 2 of 10 B: three for one.
    rows = [(0, 0, 1)] + [(0, 1, 30)] * 2 + [(0, 2, 10)] * 6
    assert served(serve(rows, "fq")) == [0, 3, 4, 1, 5, 6, 7, 2, 8]


def test_a_flow_that_comes_late_joins_the_round_of_bit_by_bit_round_robin_that_goes_on() -> None:
    # At 19 two flows have sent 9.5 rounds of bits: the packet of the third ends in round 19.5, theirs in round 20.
    rows = [(0, 1, 10)] * 3 + [(0, 2, 10)] * 3 + [(19, 3, 10)]
    assert served(serve(rows, "fq")) == [0, 3, 6, 1, 4, 2, 5]
    # Flow 1 has sent its bits at 20, in round 10; then flow 2 is alone until 35, in round 25; flow 3 ends in 35.
    rows = [(0, 1, 10)] + [(0, 2, 10)] * 5 + [(35, 3, 10)]
    assert served(serve(rows, "fq")) == [0, 1, 2, 3, 6, 4, 5]


def test_a_message_ends_with_a_silence_that_is_longer_than_the_gap() -> None:
    rows = [(0, 1, 10), (50, 1, 10), (100.5, 1, 10)]
    for scheduler in ("qcluster", "fifo"):
        trace = serve(rows, scheduler, message_gap=50)
        assert trace.new_message.tolist() == [True, False, True]
        assert np.diff(trace.weight).tolist() == [10, -10]
    trace = serve(rows, "tagged", tags=[2, 1, 0], flowlet_gap=50, disorder="las")
    assert trace.queue.tolist() == [2, 2, 0]


def test_a_gap_that_never_comes_has_one_message_and_one_flowlet_of_each_flow() -> None:
    rows = [(time, flow, 10) for time in (0, 1e6) for flow in (1, 2)]
    hashes = {"hash": [(1, 0)], "message_gap": None, "flowlet_gap": None}
    trace = serve(rows, "tagged", tags=[2, 1, 0, 0], disorder="fq", **hashes)
    assert trace.queue.tolist() == [2, 1, 2, 1]
    assert trace.new_message.tolist() == [True, True, False, False]


def test_afq_sends_a_quantum_of_each_flow_in_a_round_and_drops_what_is_far_ahead() -> None:
    rows = [(0.0, 1, 10.0)] * 5 + [(0.0, 2, 10.0)] * 2
    trace = serve(rows, "afq", queues=4, weights=[10])

    assert trace.queue.tolist() == [1, 2, 3, -1, -1, 1, 2]
    assert served(trace) == [0, 5, 1, 6, 2]


def test_a_fifo_behind_a_pifo_ends_starvation() -> None:
    rows = [(0.0, 0, 1.0)] + [(0.0, 1, 10.0)] * 3 + [(0.0, 2, 10.0)] * 2
    assert served(serve(rows, "pifo-las")) == [0, 1, 4, 2, 5, 3]
    assert served(serve(rows, "pifo-las", thresholds=[5])) == [0, 1, 4, 2, 3, 5]


def test_round_robin_sends_as_many_packets_as_weights_say() -> None:
    rows = [(0.0, 0, 10.0), (0.0, 0, 1.0), (0.0, 0, 1.0), (0.0, 0, 10.0)] + [(0.0, 1, 5.0)] * 2
    tags = [0, 0, 0, 0, 1, 1]
    assert served(serve(rows, "tagged", queues=2, tags=tags, dequeue="wrr", weights=[3, 1])) == [0, 1, 2, 4, 3, 5]
    assert served(serve(rows, "tagged", queues=2, tags=tags, dequeue="drr", weights=[11, 5])) == [0, 1, 4, 2, 3, 5]


@pytest.mark.parametrize(("quanta", "largest"), [([1, 2, 5], 12), ([700, 1, 30], 1_500), ([1, 1, 1], 4)])
def test_rounds_that_are_skipped_change_no_order(quanta: list[int], largest: int) -> None:
    rng = np.random.default_rng(sum(quanta))
    tags = rng.integers(0, 3, 60).tolist()
    sizes = rng.integers(1, largest + 1, 60).tolist()
    rows = [(0.0, 0, float(size)) for size in sizes]

    queues = [[p for p in range(60) if tags[p] == queue] for queue in range(3)]
    credit, expected, turn = [0, 0, 0], [], 0
    while any(queues):  # Shreedhar and Varghese's rounds, one by one
        credit[turn] += quanta[turn] if queues[turn] else -credit[turn]
        while queues[turn] and sizes[queues[turn][0]] <= credit[turn]:
            credit[turn] -= sizes[queues[turn][0]]
            expected.append(queues[turn].pop(0))
        if not queues[turn]:
            credit[turn] = 0
        turn = (turn + 1) % 3

    trace = serve(rows, "tagged", queues=3, tags=tags, dequeue="drr", weights=quanta)
    assert served(trace) == expected


def test_connections_tell_messages_apart_by_silence_alone() -> None:
    flows = make_flows([0.0, 20.0, 100.0], [10.0] * 3)
    for messages, weights in (("ideal", [0, 0, 0]), ("time", [0, 10, 0])):
        records = replay(flows, "pias", payload=1460, thresholds=[5], messages=messages, message_gap=50)
        assert records.trace.weight.tolist() == weights


def test_queue_weights_alpha_and_ageing_follow_the_documented_laws() -> None:
    rng = np.random.default_rng(7)
    count, interval, ageing, step = 900, 20, 60, 1.5
    rows = [(float(p), int(rng.integers(0, 5)), float(rng.integers(1, 2_000))) for p in range(count)]

    sketch = {"rule": "adaptive", "queues": 4, "initial_weights": [100, 200, 400, 800], "message_gap": 9}
    sketch["disorder"] = "none"
    trace = serve(rows, "qcluster", interval=interval, ageing=ageing, alpha_step=step, **sketch)

    weights, alpha = np.array([100.0, 200.0, 400.0, 800.0]), np.ones(3)
    total, number = np.zeros(4), np.zeros(4)
    thresholds = cluster_thresholds(weights, rule="adaptive", packets=number, alpha=alpha)
    for p in range(count):
        queue = int(np.searchsorted(thresholds, trace.weight[p]))
        assert trace.queue[p] == queue, p
        total[queue] += trace.weight[p]
        number[queue] += 1
        if (p + 1) % interval == 0:
            weights = np.maximum.accumulate(np.where(number > 0, total / np.maximum(number, 1e-9), weights))
            sizes = number / weights
            alpha *= np.where(sizes[:-1] < sizes[1:], step, np.where(sizes[:-1] > sizes[1:], 1 / step, 1))
            alpha = np.clip(alpha, 0.05, 20)
            thresholds = cluster_thresholds(weights, rule="adaptive", packets=number, alpha=alpha)
        if (p + 1) % ageing == 0:
            total, number = total / 2, number / 2
    assert len(set(trace.queue.tolist())) == 4


FOUR_QUEUES: dict[str, object] = {"thresholds": [5, 5, 15], "disorder": "none"}
"""Packets with the special property have the first two queues, of those weigh 5 B; the others are parted at 15 B."""


def test_the_shortest_job_goes_first_in_the_queue_of_its_whole_size() -> None:
    # All packets of a flow have one weight: none of the largest goes before the others, as its last one does by SRPT.
    sizes = [30.0, 20.0, 10.0]
    assert replay(sizes, "qcluster", goal="sjf", thresholds=[15, 25]).completion_time.tolist() == [60, 30, 10]
    srpt = replay(sizes, "qcluster", goal="srpt", thresholds=[15, 25], disorder="none")
    assert srpt.trace.queue.tolist() == [2, 1, 0, 1, 0, 0]
    with pytest.raises(ConfigError, match="no flow of known size"):
        serve([(0, 1, 10)], "qcluster", goal="sjf")


@pytest.mark.parametrize(
    ("others", "weights", "completed"),
    [
        ("las", None, [20, 50, 40]),  # first packets in their order, then the second of the larger flow
        ("sjf", None, [20, 50, 30]),  # the smaller flow, then the larger
        ("fq", [10] * 4, [20, 40, 50]),  # the queues of first and second packets in turns of 10 B
    ],
)
def test_behind_deadlines_the_others_have_a_goal_of_their_own(others, weights, completed) -> None:
    flows = make_flows([0.0] * 3, [20.0, 20.0, 10.0], source=[1, 2, 3], span=[100.0, np.inf, np.inf])
    how = {"goal": "deadline", "others": others, "weights": weights, **FOUR_QUEUES}
    records = replay(flows, "qcluster", **how)
    assert records.trace.queue[:2].tolist() == [1, 1]
    assert records.completion_time.tolist() == completed


def test_flows_below_their_least_rate_go_first() -> None:
    # At 15 the first flow has sent 10 B of the 7.5 that it is to have; at 30 the second one 10 B of 15.
    rows = [(0, 1, 10), (0, 2, 10), (15, 1, 10), (30, 2, 10)]
    trace = serve(rows, "qcluster", min_rate=0.5, message_gap=100, **FOUR_QUEUES)
    assert trace.queue.tolist() == [2, 2, 3, 1]


def test_a_hybrid_is_fair_among_flows_with_deadlines_and_serves_others_behind_them() -> None:
    # Each with a deadline has one packet in each of the first queues, which take turns by 10 B; others wait.
    flows = make_flows([0.0] * 3, [10.0, 20.0, 20.0], source=[1, 2, 3], span=[np.inf, 90.0, 90.0])
    how = {"goal": "fq", "others": "las", "weights": [10] * 4, "thresholds": [15, 15, 15], "disorder": "none"}
    records = replay(flows, "qcluster", **how)
    assert records.trace.queue.tolist() == [2, 0, 1, 0, 1]
    assert records.completion_time.tolist() == [50, 20, 40]


@pytest.mark.parametrize(
    ("how", "disorder", "unlike"),
    [
        ({"goal": "las"}, "las", "fq"),
        ({"goal": "srpt"}, "las", "none"),
        ({"goal": "fq"}, "fq", "none"),
        ({"goal": "deadline"}, "las", "none"),
        ({"goal": "deadline", "others": "las"}, "none", "fq"),
        ({"goal": "las", "min_rate": 0.5}, "none", "las"),
    ],
    ids=str,
)
def test_the_avoidance_of_disorder_is_by_default_that_of_the_papers_table_3(how, disorder, unlike) -> None:
    rng = np.random.default_rng(5)
    sizes, span = np.ceil(rng.pareto(1.2, 60) * 100 + 1), np.where(np.arange(60) % 3, np.inf, 2_000.0)
    flows = make_flows(np.sort(rng.uniform(0, 20_000, 60)), sizes, source=range(1, 61), span=span)
    law = {"initial_weights": [10, 30, 100, 300], "interval": 20, "initial_window": 3}
    law |= {"message_gap": 1e4, "flowlet_gap": 1e4}
    queues = {
        each: replay(flows, "qcluster", **law, **how, disorder=each).trace.queue.tolist()
        for each in (None, disorder, unlike)
    }
    assert queues[None] == queues[disorder] != queues[unlike]


def sketch_of(case: dict[str, Any]) -> dict[str, object]:
    return {"arrays": case["d"], "buckets": case["l"], "hash": case["AB"]}


@each_engine
@pytest.mark.parametrize("case", exact_cases("scm_sketch"), ids=lambda case: str(case["id"]))
def test_the_sketch_counts_as_solved_exactly(case: dict[str, Any], engine: str) -> None:
    trace = serve(
        [row[:3] for row in case["trace"]],
        "qcluster",
        capacity=None,
        engine=engine,
        **sketch_of(case),
        message_gap=case["dT_message"],
        conservative=case["conservative"],
    )
    expected = [row[3:6] for row in case["trace"]]
    seen = [None if np.isnan(time) else time for time in trace.last_seen]
    assert trace.weight.tolist() == [row[0] for row in expected]
    assert seen == [row[1] for row in expected]
    assert trace.new_message.tolist() == [row[2] for row in expected]


@each_engine
@pytest.mark.parametrize("case", exact_cases("qc_pda"), ids=lambda case: str(case["id"]))
def test_packets_take_the_queues_that_avoid_disorder(case: dict[str, Any], engine: str) -> None:
    trace = serve(
        [[time, flow, 100] for time, flow, *_ in case["trace"]],
        "tagged",
        capacity=None,
        engine=engine,
        **sketch_of(case),
        queues=4,
        tags=[row[2] for row in case["trace"]],
        flowlet_gap=case["dT_flowlet"],
        disorder=case["mode"],
    )
    assert trace.queue.tolist() == [row[3] for row in case["trace"]]


@pytest.mark.parametrize("case", exact_cases("qc_thresholds"), ids=lambda case: str(case["id"]))
def test_thresholds_lie_where_solved_exactly(case: dict[str, Any]) -> None:
    for rule, solved in (("arithmetic", "arith"), ("geometric", "geo"), ("harmonic", "harm")):
        thresholds = cluster_thresholds(case["m"], rule=rule)
        assert thresholds.tolist() == pytest.approx(case[solved], rel=TOLERANCE)
    for size, solved in (("same", "adaptive_same"), ("proportional", "adaptive_prop")):
        thresholds = cluster_thresholds(
            case["m"], rule="adaptive", packets=case["p"], alpha=case["alpha"], cluster_size=size
        )
        assert thresholds.tolist() == pytest.approx(case[solved], rel=TOLERANCE)


@each_engine
@pytest.mark.parametrize("case", exact_cases("qc_port"), ids=lambda case: str(case["id"]))
def test_a_port_serves_as_solved_exactly(case: dict[str, Any], engine: str) -> None:
    trace = serve(
        case["packets"],
        "pias",
        capacity=case["capacity"],
        engine=engine,
        thresholds=case["thresholds_bytes_sent_before"],
        queues=case["k"],
        dequeue=case["policy"],
        weights=case["weights"],
    )
    assert trace.queue.tolist() == case["queue_of_packet"]
    order = np.argsort(trace.start_time, kind="stable")
    served = np.column_stack([trace.flow_id, trace.queue, trace.start_time, trace.departure_time])[order]
    np.testing.assert_allclose(served, case["service"], rtol=TOLERANCE)


def test_ranks_are_given_for_each_flow_whatever_their_ids() -> None:
    assert served(serve([(0, 1, 10), (0, 2, 10), (0, 4, 10)], scheduler="ranked", ranks=[3, 1, 2])) == [1, 2, 0]


def test_what_is_not_allowed_is_an_error_that_says_so() -> None:
    for scheduler, parameters, message in (
        ("fifi", {}, "did you mean 'fifo'"),
        ("fifo", {"buffers": 3}, "did you mean 'buffer'"),
        ("fifo", {"buffer": 0}, "buffer is 0"),
        ("fifo", {"mark_at": -1}, "mark_at is -1"),
        ("fifo", {"initial_window": 0}, "window is 0"),
        ("fifo", {"payload": 0}, "payload is 0"),
        ("fifo", {"delay": float("nan")}, "delay is nan"),
        ("fifo", {"transport": "tcp"}, "one of fixed, dctcp"),
        ("fifo", {"messages": "guess"}, "one of ideal, time"),
        ("fifo", {"message_gap": 0}, "message_gap is 0"),
        ("pias", {}, "needs thresholds"),
        ("pias", {"thresholds": [2, 1]}, "must not decrease"),
        ("pias", {"thresholds": ["a"]}, "a list of numbers"),
        ("pias", {"thresholds": [1], "queues": 3}, "3 queues need 2"),
        ("pias", {"thresholds": [1], "weights": [1, 1]}, "dequeue 'sp' has none"),
        ("pias", {"thresholds": [1], "dequeue": "drr", "weights": [0, 1]}, "each must be finite and >= 1"),
        ("tagged", {"tags": [9, 0]}, "from 0 to 7"),
        ("tagged", {"tags": [0]}, "one for each of 2 flows"),
        ("qcluster", {"hash": [(1, 2)], "arrays": 2}, "one for each of 2 arrays"),
        ("qcluster", {"hash": 5}, "pairs of whole numbers"),
        ("qcluster", {"buckets": 0}, "buckets is 0"),
        ("qcluster", {"goal": "fair"}, "one of las, srpt, fq, deadline, sjf"),
        ("qcluster", {"others": "deadline"}, "one of las, srpt, fq, sjf"),
        ("qcluster", {"goal": "deadline", "min_rate": 1}, "goal 'deadline' has none"),
        ("qcluster", {"min_rate": 0}, "min_rate is 0"),
        ("qcluster", {"alpha_step": 0.5}, "alpha_step is 0.5"),
        ("qcluster", {"initial_weights": [3, 2]}, "must not decrease"),
        ("afq", {"weights": [1]}, "no round has room"),
        ("pifo-las", {"thresholds": [1, 2]}, "one number, or none"),
    ):
        with pytest.raises(ConfigError, match=message):
            replay([10, 20], scheduler, **parameters)
    assert cluster_thresholds([1, 3], rule="adaptive", packets=[0, 0], alpha=1).tolist() == [2]
    for arguments, message in (
        ({"weights": [1], "rule": "geometric"}, "at least two"),
        ({"weights": [1, 2], "rule": "adaptive"}, "packets is None"),
        ({"weights": [1, 2], "rule": "adaptive", "packets": [1, 1], "alpha": [0]}, "alpha"),
        ({"weights": [1, 2], "rule": "mean"}, "one of arithmetic"),
    ):
        with pytest.raises(ConfigError, match=message):
            cluster_thresholds(**arguments)
