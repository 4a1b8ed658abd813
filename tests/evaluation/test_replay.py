"""Tells in which forms flows and arguments reach a replay, and how others are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import FlowSchedError
from flowsched_gym.workload import make_workload, read_flows
from tests.simulate import make_flows

FLOWS = {
    "flow_id": [3, 5, 9],
    "source": [0, 1, 2],
    "destination": [1, 2, 0],
    "size_bytes": [1e5, 2e5, 3e5],
    "arrival_s": [0.2, 0.1, 0.0],
}


def test_a_path_a_workload_and_a_mapping_give_the_same_records_in_the_order_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    rows = (FLOWS, *zip(*FLOWS.values(), strict=True))
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    forms = [str(path), path, read_flows(path), FLOWS, {name: np.array(column) for name, column in FLOWS.items()}]

    for flows in forms:
        records = flowsched_gym.replay(flows, discipline="fifo")
        assert records.flow_id.tolist() == [3, 5, 9]
        assert records.fct.tolist() == pytest.approx([0.0008, 0.0016, 0.0024])
        assert records.deadline_met.all()


def test_arguments_that_are_not_allowed_are_refused() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"flows": [1, 2]}, "flows is list: it must be a path, a Workload or a mapping of columns"),
        ({"discipline": ["fifo"]}, r"discipline is \['fifo'\]: it must be one of fifo, ps"),
        ({"topology": None}, "topology is None: it must be one of one-link"),
        ({"capacity": "1e9"}, "capacity is '1e9': it must be a number"),
        ({"capacity": True}, "capacity is True: it must be a number"),
        ({"capacity": 0}, r"capacity is 0\.0: it must be finite and > 0 B/s"),
        *(({"seed": seed}, f"seed is {seed}: it must be an integer >= 0 and below 2") for seed in (-1, 2**64)),
        ({"num_hosts": "3"}, "num_hosts is '3': it must be an integer"),
        ({"parameters": [1]}, r"parameters is \[1\]: it must be a mapping"),
        ({"parameters": {"delay": "1"}}, "delay is '1': it must be a number"),
        ({"parameters": {"weights": [1]}}, "discipline fifo has no parameter 'weights': it takes none"),
        ({"parameters": {"routing": "best"}}, "routing is 'best': it must be one of ecmp, least-loaded"),
        ({"parameters": {"flowlet_gap": 1.0}}, "flowlet_gap is given without a routing"),
        ({"parameters": {"link_changes": 3}}, "link_changes is 3: it must be rows"),
    )
    for arguments, message in cases:
        with pytest.raises(FlowSchedError, match=message):
            flowsched_gym.replay(**{"flows": FLOWS, "discipline": "fifo", "topology": "fat-tree", **arguments})


def test_flows_choose_paths_as_asked_and_wait_while_links_are_down() -> None:
    workload = make_workload("poisson-fat-tree", num_flows=200).draw(0)
    changes = [(time, link, up) for time, up in ((0.0, False), (0.5, True)) for link in range(64, 80)]

    def completed(engine: str, **parameters: object) -> np.ndarray:
        arguments = {"discipline": "merp", "topology": "fat-tree", "parameters": parameters, "engine": engine}
        return flowsched_gym.replay(workload, **arguments).completion_time

    by_hash, late = completed("simpy"), completed("simpy", routing="ecmp", link_changes=changes)

    assert by_hash.tobytes() == completed("simpy", routing="ecmp").tobytes()
    assert by_hash.tobytes() != completed("simpy", routing="memr").tobytes()
    pods_differ = workload.source // 4 != workload.destination // 4
    early = workload.arrival_time < 0.4
    assert (late[pods_differ & early] > 0.5).all()
    assert (late[~pods_differ & early] < 0.5).any()
    assert late.tobytes() == completed("compiled", routing="ecmp", link_changes=changes).tobytes()


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_run_tells_how_far_it_is_and_can_be_interrupted(engine: str) -> None:
    flows = make_flows([0.001 * row for row in range(1000)], [1e5] * 1000)
    told: list[tuple[int, int]] = []
    records = flowsched_gym.replay(flows, discipline="srpt", engine=engine, progress=lambda *call: told.append(call))

    assert records.fct.tolist() == flowsched_gym.replay(flows, discipline="srpt", engine="simpy").fct.tolist()
    assert told == sorted(told)
    assert told[-1] == (1000, 1000)
    assert len({done for done, _ in told}) >= 100

    def interrupt(done: int, total: int) -> None:
        if done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flowsched_gym.replay(flows, discipline="srpt", engine=engine, progress=interrupt)
