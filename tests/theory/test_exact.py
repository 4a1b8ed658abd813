"""Holds disciplines to flow sets that other programs, and the rational solver of this folder, solved exactly."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import flowsched_gym
from flowsched_gym.core.packed import files_in
from flowsched_gym.fluid import Records
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.topology import Topology, big_switch, fat_tree, one_link, tree9
from flowsched_gym.workload import Workload
from tests.cases import FOLDER, TOLERANCE, exact_cases
from tests.simulate import COMPILED, OF_TASKS, VARIANTS, Variant, each_engine, on_each_engine, parameters_for
from tests.strategies import NUM_HOSTS, simultaneous_flows
from tests.theory.rational import Flow, finish_times

ONE_LINK = [
    case for path in files_in(FOLDER, ".json") if path.stem.startswith("onelink_") for case in exact_cases(path.stem)
]

ON_ONE_LINK = tuple(variant for variant in VARIANTS if variant.discipline not in OF_TASKS)
ON_A_SWITCH = tuple(variant for variant in ON_ONE_LINK if variant.discipline not in ("las", "sjf", "wfq", "merp"))
"""On many links the others are a matter of definition: the solver would only repeat the package's."""


def with_paths_of(topology: Topology, case: dict[str, Any]) -> Topology:
    """Builds a topology whose one path per pair is the one that the case gives its flows; checks that it exists."""

    def between(pair: int) -> list[list[int]]:
        paths = range(*topology.pair_start[pair : pair + 2])
        return [topology.path_links[slice(*topology.path_start[path : path + 2])].tolist() for path in paths]

    chosen = {}
    for source, destination, path in zip(case["src"], case["dst"], case["path"], strict=True):
        pair = source * topology.num_hosts + destination
        assert path in between(pair)
        chosen[pair] = path
    links = [chosen.get(pair) or between(pair)[0] for pair in range(topology.num_hosts**2)]
    return Topology(
        name=topology.name,
        num_hosts=topology.num_hosts,
        capacity=np.array(case["caps"]),
        delay=np.array(topology.delay),
        link_names=topology.link_names,
        path_start=np.cumsum([0, *(len(path) for path in links)]),
        path_links=np.concatenate([np.array(path) for path in links]),
    )


def one_path_per_pair(case: dict[str, Any]) -> bool:
    """Tells whether a case sends all flows of a pair over the same path."""
    pairs = list(zip(case["src"], case["dst"], strict=True))
    return len(set(pairs)) == len({(pair, *path) for pair, path in zip(pairs, case["path"], strict=True)})


NETWORKS = [
    *(
        (big_switch(num_hosts=case["hosts"], capacity=np.array(case["caps"])), case)
        for case in exact_cases("net_bigswitch")
    ),
    *((with_paths_of(tree9(), case), case) for case in exact_cases("net_tree9")),
    *(
        (with_paths_of(fat_tree(arity=4), case), case)
        for case in exact_cases("net_fattree4")
        if one_path_per_pair(case)
    ),
]


def replay_case(
    case: dict[str, Any], discipline: str, parameters: dict[str, Any], topology: Topology, engine: str
) -> Records:
    """Replays the flows of a case; a flow file holds times allowed after arrival in place of absolute deadlines."""
    count = len(case["arrival"])
    columns = {
        "flow_id": list(range(count)),
        "source": case.get("src", [1] * count),
        "destination": case.get("dst", [0] * count),
        "size_bytes": case["size"],
        "arrival_s": case["arrival"],
    }
    if "deadline" in case:
        times = zip(case["deadline"], case["arrival"], strict=True)
        columns["deadline_s"] = [None if due is None else due - arrival for due, arrival in times]
    return flowsched_gym.replay(columns, discipline=discipline, topology=topology, parameters=parameters, engine=engine)


def within_tolerance(values: list[float]) -> Any:
    return pytest.approx(values, rel=TOLERANCE, abs=0.0)


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        pytest.param(case, engine, id=f"{case['id']}-{engine}", marks=pytest.mark.exhaustive if slow else ())
        for case in ONE_LINK
        for engine in ("simpy", "compiled")
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
@pytest.mark.parametrize(
    ("topology", "case"), NETWORKS, ids=lambda value: value["id"] if isinstance(value, dict) else value.name
)
def test_networks_finish_each_flow_when_the_exact_solution_does(topology, case, discipline, engine) -> None:
    records = replay_case(case, discipline, {}, topology, engine)
    finish = case["finish"]["maxmin" if discipline == "ps" else discipline]
    assert records.completion_time.tolist() == within_tolerance(finish)


@each_engine
@pytest.mark.parametrize("mode", ["greedy", "strict"])
def test_networks_finish_each_flow_of_merp_when_the_exact_solution_does(mode: str, engine: str) -> None:
    for topology, case in NETWORKS:
        records = replay_case(case, "merp", {"mode": mode}, topology, engine)
        assert records.completion_time.tolist() == within_tolerance(case["finish"][f"merp_{mode}"]), case["id"]


@on_each_engine("ps", "fifo", "srpt", "psjf", "sjf", "las", "merp")
def test_the_worked_examples_of_the_merp_paper_come_out(discipline: str, engine: str) -> None:
    for case in exact_cases("named"):
        for name, expected in case["result"].items():
            if name.partition("_alpha")[0] == discipline:
                alpha = {"alpha": float(name.partition("_alpha")[2])} if "alpha" in name else {}
                records = replay_case(case, discipline, alpha, one_link(capacity=case["capacity"]), engine)
                assert records.completion_time.tolist() == within_tolerance(expected["finish"]), (case["id"], name)
                assert float(records.slowdown.max()) == within_tolerance(expected["max_er"]), (case["id"], name)


def test_every_discipline_has_exact_cases_or_a_reason() -> None:
    solved = {case["discipline"].partition("_")[0] for case in ONE_LINK}
    # Both order by a ratio that never changes; the rational solver sorts by it.
    ordered_by_ratio = {"ssdf", "lsdf"}
    assert solved | ordered_by_ratio | OF_TASKS == set(DISCIPLINES)


def solve(workload: Workload, variant: Variant, topology: Topology) -> list[float]:
    """Finds the finish times of a workload in rational arithmetic."""
    parameters: dict[str, Any] = parameters_for(variant, workload)
    path = topology.path_of(workload.source, workload.destination)
    flows = [
        Flow(
            number=row,
            arrival=Fraction(workload.arrival_time[row]),
            size=Fraction(workload.size[row]),
            span=None if workload.deadline_span[row] == np.inf else Fraction(workload.deadline_span[row]),
            path=tuple(topology.path_links[slice(*topology.path_start[path[row] : path[row] + 2])].tolist()),
            queue=parameters.get("queue", [0] * workload.num_flows)[row],
        )
        for row in range(workload.num_flows)
    ]
    finish = finish_times(
        flows,
        [Fraction(value) for value in topology.capacity],
        variant.discipline,
        thresholds=[Fraction(value) for value in parameters.get("thresholds", [])],
        weights=[Fraction(value) for value in parameters.get("weights", [])],
        share=variant.within != "fifo",
    )
    return [float(time) for time in finish]


@pytest.mark.parametrize(
    ("topology", "variant"),
    [
        *((one_link(capacity=1.0), variant) for variant in ON_ONE_LINK),
        *((big_switch(num_hosts=NUM_HOSTS, capacity=1.0), variant) for variant in ON_A_SWITCH),
    ],
    ids=lambda value: str(value) if isinstance(value, Variant) else value.name,
)
@settings(max_examples=20)
@given(workload=simultaneous_flows())
def test_simultaneous_events_are_served_as_the_rules_say(
    topology: Topology, variant: Variant, workload: Workload
) -> None:
    records = flowsched_gym.replay(
        workload, discipline=variant.discipline, topology=topology, parameters=parameters_for(variant, workload)
    )
    assert records.completion_time.tolist() == pytest.approx(solve(workload, variant, topology), rel=1e-9, abs=0.0)
