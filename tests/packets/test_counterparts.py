"""Holds schedulers of packets to the fluid's disciplines whose counterparts they are, on one flow file."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.state import PacketRecords
from tests.simulate import make_flows

PACKET = 5.0
COUNTERPARTS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("fifo", {}, "fifo", {}),
    ("ps", {}, "fq", {}),
    ("srpt", {}, "pfabric", {"initial_window": 1}),
    ("psjf", {}, "ranked", {"ranks": "size"}),
    ("edf", {}, "pfabric-edf", {}),
    ("edf", {}, "ranked", {"ranks": "deadline"}),
    ("las", {}, "pifo-las", {}),
    ("mlfq", {"thresholds": [200.0, 500.0], "within": "fifo"}, "pias", {"thresholds": [200.0, 500.0]}),
]
FLOWS = {
    "flow_id": range(8),
    "source": range(8),
    "destination": [9] * 8,
    "size_bytes": [300.0, 900.0, 150.0, 600.0, 75.0, 450.0, 1_050.0, 120.0],
    "arrival_s": [0.0, 0.0, 100.0, 400.0, 500.0, 1_400.0, 1_500.0, 1_600.0],
    "deadline_s": [2_000.0, 800.0, 900.0, 1_000.0, 150.0, 3_000.0, 1_200.0, 700.0],
}
"""At 1 B/s. A packet of pFabric is ranked when it is sent: with a window of one it knows what is left."""


def in_packets(scheduler: str, **parameters: object) -> PacketRecords:
    """Sends all packets of a flow, small ones without a header, when it arrives."""
    senders = {"payload": PACKET, "header": 0, "initial_window": 1_000}
    return flowsched_gym.replay_packets(FLOWS, scheduler=scheduler, capacity=1.0, parameters={**senders, **parameters})


@pytest.mark.parametrize(("discipline", "given", "scheduler", "parameters"), COUNTERPARTS)
def test_small_packets_finish_when_the_fluid_does(
    discipline: str, given: dict[str, Any], scheduler: str, parameters: dict[str, Any]
) -> None:
    fluid = flowsched_gym.replay(FLOWS, discipline=discipline, capacity=1.0, parameters=given)
    packets = in_packets(scheduler, **parameters)
    # Each flow may have a packet before that of another one.
    np.testing.assert_allclose(packets.fct, fluid.fct, atol=8 * PACKET)


def test_the_order_of_merp_is_played_in_packets_by_the_completion_times_of_the_fluid() -> None:
    fluid = flowsched_gym.replay(FLOWS, discipline="merp", capacity=1.0)
    packets = in_packets("ranked", ranks=fluid.completion_time)
    np.testing.assert_array_equal(np.argsort(packets.completion_time), np.argsort(fluid.completion_time))
    assert packets.slowdown.max() == pytest.approx(fluid.slowdown.max(), rel=0.1)


def test_the_flows_of_a_task_sink_together() -> None:
    # Two flows of one task and one alone, of 100 B each: above 100 B a task is in the lower queue, wherever it is sent.
    flows = replace(make_flows([0.0] * 3, [100.0] * 3, source=[1, 2, 3]), task_id=np.array([5, 5, -1]))
    how: dict[str, Any] = {"scheduler": "pias", "capacity": 1.0, "keep_trace": True}
    senders = {"payload": 10, "header": 0, "initial_window": 1_000, "thresholds": [95.0]}
    task = flowsched_gym.replay_packets(flows, parameters={**senders, "messages": "task"}, **how)
    alone = flowsched_gym.replay_packets(flows, parameters=senders, **how)

    assert task.trace.queue.tolist() == [0] * 10 + [1] * 10 + [0] * 10
    assert alone.trace.queue.tolist() == [0] * 30
    assert task.completion_time.tolist() == [100.0, 300.0, 200.0]


def test_ranks_must_be_one_for_each_flow() -> None:
    for ranks, message in (([1.0], "one for each of 8 flows"), ("length", "one of size, deadline"), ([None], "ranks")):
        with pytest.raises(ConfigError, match=message):
            in_packets("ranked", ranks=ranks)
    with pytest.raises(ConfigError, match="give numbers"):
        flowsched_gym.serve_packets({"flow_id": [0], "size_bytes": [1], "arrival_s": [0]}, scheduler="ranked")
