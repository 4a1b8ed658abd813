"""Holds every discipline to flow sets that were solved exactly, in rational arithmetic, by other programs."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import flowsched_gym
from flowsched_gym.fluid import Records
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.fluid.rules.sharing import new_filling, share_links
from flowsched_gym.fluid.state import new_controls
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.topology.network import Network
from tests.exact import FOLDER, TOLERANCE, cases_of
from tests.simulate import COMPILED, OF_TASKS, on_each_engine

ENGINES = ("simpy", "compiled")

ONE_LINK = [case for path in sorted(FOLDER.glob("onelink_*.json")) for case in cases_of(path.stem)]
BIG_SWITCH = cases_of("net_bigswitch")


def spans(case: dict[str, Any]) -> list[float | None] | None:
    """Returns the times allowed after arrival, which the flow file holds in place of the absolute deadlines."""
    if "deadline" not in case:
        return None
    return [
        None if due is None else due - arrival for due, arrival in zip(case["deadline"], case["arrival"], strict=True)
    ]


def replay_case(
    case: dict[str, Any], discipline: str, parameters: dict[str, Any], topology: Topology, engine: str
) -> Records:
    """Replays the flows of a case."""
    count = len(case["arrival"])
    columns = {
        "flow_id": list(range(count)),
        "source": case.get("src", [1] * count),
        "destination": case.get("dst", [0] * count),
        "size_bytes": case["size"],
        "arrival_s": case["arrival"],
    }
    allowed = spans(case)
    if allowed is not None:
        columns["deadline_s"] = allowed
    return flowsched_gym.replay(columns, discipline=discipline, topology=topology, parameters=parameters, engine=engine)


def within_tolerance(values: list[float]) -> Any:
    return pytest.approx(values, rel=TOLERANCE, abs=0.0)


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        pytest.param(case, engine, id=f"{case['id']}-{engine}", marks=pytest.mark.exhaustive if slow else ())
        for case in ONE_LINK
        for engine in ENGINES
        for name in [case["discipline"].replace("_", "-")]
        for slow in [engine == "compiled" and not name.startswith("merp") and name not in map(str, COMPILED)]
    ],
)
def test_one_link_finishes_each_flow_when_the_exact_solution_does(case: dict[str, Any], engine: str) -> None:
    discipline, _, within = case["discipline"].partition("_")
    within = "" if discipline == "merp" else within  # what follows names its parameters
    parameters = case["params"] | ({"within": within} if within else {})

    records = replay_case(case, discipline, parameters, one_link(capacity=case["capacity"]), engine)

    assert records.completion_time.tolist() == within_tolerance(case["finish"])
    assert float(records.fct.mean()) == within_tolerance(case["mean_fct"])
    assert float(records.slowdown.max()) == within_tolerance(case["max_er"])
    if "deadline_met" in case:
        met = records.deadline_met.tolist()
        assert [None if due is None else met[row] for row, due in enumerate(case["deadline"])] == case["deadline_met"]


@on_each_engine("ps", "srpt", "psjf", "fifo", "edf")
@pytest.mark.parametrize("case", BIG_SWITCH, ids=lambda case: case["id"])
def test_the_big_switch_finishes_each_flow_when_the_exact_solution_does(case, discipline, engine) -> None:
    topology = big_switch(num_hosts=case["hosts"], capacity=np.array(case["caps"]))
    records = replay_case(case, discipline, {}, topology, engine)
    assert records.completion_time.tolist() == within_tolerance(
        case["finish"]["maxmin" if discipline == "ps" else discipline]
    )


@on_each_engine("ps", "fifo", "srpt", "psjf", "sjf", "las", "merp")
def test_the_worked_examples_of_the_merp_paper_come_out(discipline: str, engine: str) -> None:
    for case in cases_of("named"):
        for name, expected in case["result"].items():
            if name.partition("_alpha")[0] == discipline:
                alpha = {"alpha": float(name.partition("_alpha")[2])} if "alpha" in name else {}
                records = replay_case(case, discipline, alpha, one_link(capacity=case["capacity"]), engine)
                assert records.completion_time.tolist() == within_tolerance(expected["finish"]), (case["id"], name)
                assert float(records.slowdown.max()) == within_tolerance(expected["max_er"]), (case["id"], name)


def rates_of(case: dict[str, Any], priority: list[int]) -> npt.NDArray[np.float64]:
    """Shares the links of a case among its flows."""
    count, capacity = len(case["paths"]), np.array(case["caps"])
    rate = np.zeros(count)
    controls = new_controls(np.arange(count))
    controls.priority[:] = priority
    if case["weights"] is not None:
        controls.weight[:] = case["weights"]
    network = Network(capacity, np.cumsum([0] + [len(path) for path in case["paths"]]), np.concatenate(case["paths"]))
    served = np.zeros(count, dtype=np.int64)
    share_links(np.arange(count), count, controls, network, rate, new_filling(network, count), served, 0)
    return rate


@pytest.mark.parametrize("case", cases_of("maxmin"), ids=lambda case: case["id"])
def test_flows_share_max_min_fair_and_in_the_order_of_their_priorities(case: dict[str, Any]) -> None:
    place = {flow: place for place, flow in enumerate(case["priority_order"])}
    assert rates_of(case, [0] * len(place)).tolist() == within_tolerance(case["maxmin"])
    rates = rates_of(case, [place[flow] for flow in range(len(place))])
    assert rates.tolist() == pytest.approx(case["greedy"], rel=TOLERANCE, abs=TOLERANCE)


def test_every_discipline_has_exact_cases_or_a_reason() -> None:
    solved = {case["discipline"].partition("_")[0] for case in ONE_LINK}
    # Both order by a ratio that never changes; tests/disciplines compares them with a sort.
    ordered_by_ratio = {"ssdf", "lsdf"}
    assert solved | ordered_by_ratio | OF_TASKS == set(DISCIPLINES)
