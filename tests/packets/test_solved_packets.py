"""Holds packets at a port to cases that were solved exactly by other programs."""

from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.packets.state import PacketTrace
from flowsched_gym.queueing import cluster_thresholds
from tests.exact import TOLERANCE, cases_of

ENGINES = ("simpy", "compiled")

SKETCH = cases_of("scm_sketch")
AVOIDANCE = cases_of("qc_pda")
THRESHOLDS = cases_of("qc_thresholds")
PORT = cases_of("qc_port")


def name_of(value: object) -> str | None:
    return str(value["id"]) if isinstance(value, dict) else None


def serve(rows: list[list[float]], scheduler: str, engine: str, **parameters: object) -> PacketTrace:
    """Serves rows of (time, flow, bytes) at a port that is never in the way."""
    time, flow, size = zip(*rows, strict=True)
    capacity = parameters.pop("capacity", None)
    return flowsched_gym.serve_packets(
        {"flow_id": flow, "size_bytes": size, "arrival_s": time},
        scheduler=scheduler,
        capacity=capacity,  # type: ignore[arg-type]
        parameters=parameters,
        engine=engine,
    )


def sketch_of(case: dict[str, Any]) -> dict[str, object]:
    return {"arrays": case["d"], "buckets": case["l"], "hash": case["AB"]}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", SKETCH, ids=name_of)
def test_the_sketch_counts_as_solved_exactly(case: dict[str, Any], engine: str) -> None:
    trace = serve(
        [row[:3] for row in case["trace"]],
        "qcluster",
        engine,
        **sketch_of(case),
        message_gap=case["dT_message"],
        conservative=case["conservative"],
    )
    expected = [row[3:6] for row in case["trace"]]
    seen = [None if np.isnan(time) else time for time in trace.last_seen]
    assert trace.weight.tolist() == [row[0] for row in expected]
    assert seen == [row[1] for row in expected]
    assert trace.new_message.tolist() == [row[2] for row in expected]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", AVOIDANCE, ids=name_of)
def test_packets_take_the_queues_that_avoid_disorder(case: dict[str, Any], engine: str) -> None:
    trace = serve(
        [[time, flow, 100] for time, flow, *_ in case["trace"]],
        "tagged",
        engine,
        **sketch_of(case),
        queues=4,
        tags=[row[2] for row in case["trace"]],
        flowlet_gap=case["dT_flowlet"],
        disorder=case["mode"],
    )
    assert trace.queue.tolist() == [row[3] for row in case["trace"]]


@pytest.mark.parametrize("case", THRESHOLDS, ids=name_of)
def test_thresholds_lie_where_solved_exactly(case: dict[str, Any]) -> None:
    for rule, solved in (("arithmetic", "arith"), ("geometric", "geo"), ("harmonic", "harm")):
        thresholds = cluster_thresholds(case["m"], rule=rule)
        assert thresholds.tolist() == pytest.approx(case[solved], rel=TOLERANCE)
    for size, solved in (("same", "adaptive_same"), ("proportional", "adaptive_prop")):
        thresholds = cluster_thresholds(
            case["m"], rule="adaptive", packets=case["p"], alpha=case["alpha"], cluster_size=size
        )
        assert thresholds.tolist() == pytest.approx(case[solved], rel=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", PORT, ids=name_of)
def test_a_port_serves_as_solved_exactly(case: dict[str, Any], engine: str) -> None:
    trace = serve(
        case["packets"],
        "pias",
        engine,
        capacity=case["capacity"],
        thresholds=case["thresholds_bytes_sent_before"],
        queues=case["k"],
        dequeue=case["policy"],
        weights=case["weights"],
    )
    assert trace.queue.tolist() == case["queue_of_packet"]
    order = np.argsort(trace.start_time, kind="stable")
    served = np.column_stack([trace.flow_id, trace.queue, trace.start_time, trace.departure_time])[order]
    np.testing.assert_allclose(served, case["service"], rtol=TOLERANCE)
