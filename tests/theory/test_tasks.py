"""Tasks against hand examples, exact solutions and each other: CPU work, barriers, dependencies and disciplines."""

from collections.abc import Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym import replay, replay_packets
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import one_link
from flowsched_gym.workload import workload_from_columns
from tests.cases import TOLERANCE, exact_cases

ENGINES: Final = ("simpy", "compiled")
WAYS: Final[Mapping[str, tuple[str, dict[str, object]]]] = {
    "fair": ("ps", {}),
    "fifo": ("fifo-lm", {}),
    "tafe": ("tafe", {}),
    "sff": ("tafe", {"within": "shortest"}),
    "mlfq": ("tafe", {"thresholds": None}),
    "mlfq_fair": ("tafe", {"thresholds": None, "within": "fair"}),
}
"""Disciplines as the exact solutions name them; None stands for the thresholds of the case."""

Columns = dict[str, Any]


def flows(task: list[int], size: list[float], **columns: object) -> Columns:
    count = len(size)
    plain = {"flow_id": range(count), "source": [0] * count, "destination": [1] * count, "arrival_s": [0.0] * count}
    return {name: list(values) for name, values in plain.items()} | {"task_id": task, "size_bytes": size} | columns


def completions(columns: Columns, discipline: str, engine: str = "simpy", **parameters: object) -> FloatArray:
    return replay(columns, discipline=discipline, capacity=1.0, parameters=parameters, engine=engine).completion_time


EACH_ENGINE: Final = pytest.mark.parametrize(
    ("engine", "disciplines"),
    [
        ("simpy", ("ps", "fifo-lm", "tafe")),
        ("compiled", ("fifo-lm", "tafe")),
        pytest.param("compiled", ("ps",), marks=pytest.mark.exhaustive),
    ],
)


@EACH_ENGINE
def test_the_papers_two_tasks_of_two_flows(engine: str, disciplines: tuple[str, ...]) -> None:
    two_by_two = flows([0, 0, 1, 1], [1.0] * 4, cpu_s=[1.0] * 4)
    for discipline, parameters, tct in (
        ("ps", {}, [8.0, 8.0]),
        ("fifo-lm", {}, [4.0, 6.0]),
        ("tafe", {}, [3.0, 5.0]),
        ("tafe", {"barrier": "task"}, [4.0, 6.0]),
    ):
        if discipline in disciplines:
            records = replay(two_by_two, discipline=discipline, capacity=1.0, parameters=parameters, engine=engine)
            assert task_completion_times(records).tct == pytest.approx(tct, rel=TOLERANCE), discipline


@EACH_ENGINE
@pytest.mark.parametrize("case", exact_cases("tafe_tandem"), ids=lambda case: str(case["id"]))
def test_flows_in_tandem_end_when_exact_solutions_say(
    case: dict[str, Any], engine: str, disciplines: tuple[str, ...]
) -> None:
    listed = [(number, task, flow) for number, task in enumerate(case["tasks"]) for flow in task["flows"]]
    columns = flows(
        [number for number, _, _ in listed],
        [float(flow[1]) for _, _, flow in listed],
        cpu_s=[float(flow[0]) for _, _, flow in listed],
        arrival_s=[float(task["arrival"]) for _, task, _ in listed],
    )
    for name, exact in case["result"].items():
        way, barrier = name.split("/")
        discipline, parameters = WAYS[way]
        if discipline not in disciplines:
            continue
        given = {key: case["thresholds"] if value is None else value for key, value in parameters.items()}
        found = completions(columns, discipline, engine, **given, barrier=barrier)
        assert found == pytest.approx(list(exact["flow_finish"].values()), rel=TOLERANCE), name


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", exact_cases("tafe_share"), ids=lambda case: str(case["id"]))
def test_flows_that_share_by_what_is_left_end_when_exact_solutions_say(case: dict[str, Any], engine: str) -> None:
    columns = flows([*range(len(case["size"]))], case["size"], arrival_s=case["arrival"])
    parameters = {"within": "remaining"}
    records = replay(columns, discipline="tafe", capacity=case["capacity"], parameters=parameters, engine=engine)
    assert records.completion_time == pytest.approx(case["finish"], rel=TOLERANCE)


def random_tasks(seed: int, *, one_link: bool) -> Columns:
    """Draws tasks whose flows arrive at the same instants, work on CPUs, and wait for others now and then."""
    rng = np.random.default_rng(seed)
    count = 60
    source = np.zeros(count, dtype=np.int64) if one_link else rng.integers(0, 4, count)
    columns = flows(
        rng.integers(0, 12, count).tolist(),
        rng.integers(1, 60, count).astype(np.float64).tolist(),
        source=source.tolist(),
        destination=((source + 1 + rng.integers(0, 3, count)) % 4).tolist(),
        arrival_s=np.sort(rng.integers(0, 30, count) * 1.0).tolist(),
        cpu_s=(rng.integers(0, 3, count) * 1.0).tolist(),
        deadline_s=rng.integers(5, 300, count).astype(np.float64).tolist(),
    )
    return columns | {
        "after": ["" if rng.random() < 0.7 or row == 0 else int(rng.integers(row)) for row in range(count)]
    }


@pytest.mark.parametrize("topology", ["one-link", "big-switch"])
@pytest.mark.parametrize(
    ("discipline", "parameters"),
    [
        ("tafe", {"thresholds": [40.0, 90.0], "within": "remaining"}),
        ("tafe", {"thresholds": [40.0, 90.0], "within": "remaining", "demotion": "arrived", "barrier": "task"}),
        ("tafe", {"thresholds": [40.5], "within": "shortest", "barrier": "task"}),
        ("fifo-lm", {"heavy": 50.0}),
        ("task-las", {"thresholds": [30.0, 80.0]}),
        *(
            pytest.param(*each, marks=pytest.mark.exhaustive)
            for each in (
                ("stf", {"key": "longest"}),
                ("stf", {}),
                ("task-las", {}),
                ("sebf", {"barrier": "task"}),
                ("d2tcp", {"alpha": 0.3}),
                ("srpt", {}),
            )
        ),
    ],
    ids=str,
)
def test_engines_agree_on_tasks(discipline: str, parameters: dict[str, object], topology: str) -> None:
    for seed in range(3):
        columns = random_tasks(seed, one_link=topology == "one-link")
        how: dict[str, Any] = {"topology": topology, "capacity": 10.0, "parameters": parameters | {"cpus": 0.5}}
        one, other = (replay(columns, discipline=discipline, engine=engine, **how) for engine in ENGINES)
        for name in ("ready_time", "completion_time", "ideal_fct"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert (one.slowdown >= 1 - 1e-9).all()
        for row, before in enumerate(columns["after"]):
            if before != "":
                assert one.ready_time[row] == max(columns["arrival_s"][row], one.completion_time[before])


def test_an_imminent_deadline_weighs_more() -> None:
    # Both need 4 s at half the link. The first has 2 s, so d = 2 and its weight is 1 / alpha; that of the other is 1.
    columns = flows([0, 1], [2.0, 2.0], deadline_s=[2.0, None])
    assert completions(columns, "d2tcp", alpha=0.5) == pytest.approx([3.0, 4.0], rel=TOLERANCE)
    assert completions(columns, "d2tcp", alpha=1.0).tolist() == [4.0, 4.0]
    # With 16 s it has four times what it needs, so d = 0.5 for as long as it sends.
    columns = flows([0, 1], [2.0, 2.0], deadline_s=[16.0, None])
    weight = 0.25**0.5
    other_first = 2.0 * (1.0 + weight)
    assert completions(columns, "d2tcp", alpha=0.25) == pytest.approx([4.0, other_first], rel=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flow_that_catches_up_with_its_deadline_loses_the_largest_weight_again(engine: str) -> None:
    # A third of the link takes 22.5 s, so d = 2, and its weight is 10 of 12: it would end at 9 s. So d falls to 1.
    columns = flows([0, 1, 2], [7.5, 100.0, 100.0], deadline_s=[10.0, None, None])
    assert completions(columns, "d2tcp", engine, alpha=0.1) == pytest.approx([10.0, 207.5, 207.5], rel=TOLERANCE)


def test_in_a_closed_loop_a_task_counts_from_its_first_ready_flow() -> None:
    columns = flows([0, 1, 1], [4.0, 1.0, 3.0], after=["", "0", "1"])
    records = replay(columns, discipline="ps", capacity=1.0)
    assert records.ready_time.tolist() == [0.0, 4.0, 5.0]
    assert task_completion_times(records).tct.tolist() == [4.0, 4.0]
    assert records.fct.tolist() == [4.0, 5.0, 8.0]


def test_what_cannot_wait_refuses_flows_that_do() -> None:
    columns = flows([0, 0], [1.0, 1.0], after=["", "0"])
    with pytest.raises(WorkloadError, match="flows have CPU work, or come after others: flows of packets are sent"):
        replay_packets(columns, scheduler="fifo")
    for engine in ENGINES:
        with pytest.raises(ConfigError, match="flows with CPU work, or that come after others: here, flows send at"):
            gym.make("flowsched/MERPOrder-v0", workload="tafe-short", engine=engine)


def test_a_flow_whose_predecessor_has_not_finished_is_not_ready() -> None:
    workload = workload_from_columns(flows([0, 0], [5.0, 1.0], after=["", "0"]))
    simulation = Simulation(workload, one_link(capacity=1.0), Ps())
    simulation.run(until=3.0)
    records = simulation.records()
    assert records.ready_time[0] == 0.0
    assert np.isnan(records.ready_time[1])
    assert np.isnan(task_completion_times(records).tct).all()


def test_a_heavy_task_shares_with_its_successor() -> None:
    two = flows([0, 1], [10.0, 4.0])
    assert completions(two, "fifo-lm").tolist() == [10.0, 14.0]
    assert completions(two, "fifo-lm", heavy=4.0).tolist() == [14.0, 12.0]


def test_a_level_orders_cpus_as_it_orders_links() -> None:
    # Task 0 has sent its threshold when its second flow is ready: its CPU work comes after that of task 1.
    columns = flows([0, 0, 1], [4.0, 1.0, 1.0], cpu_s=[0.0, 2.0, 2.0], arrival_s=[0.0, 0.0, 4.0], after=["", "0", ""])
    assert completions(columns, "tafe", thresholds=[4.0]).tolist() == [4.0, 9.0, 7.0]
    assert completions(columns, "tafe").tolist() == [4.0, 7.0, 9.0]


def test_algorithm_1_literally_demotes_the_flows_that_follow() -> None:
    columns = flows([0, 0, 1], [4.0, 2.0, 3.0])
    assert completions(columns, "tafe", thresholds=[3.0], demotion="arrived").tolist() == [4.0, 9.0, 7.0]


def test_the_flows_of_the_shortest_task_end_together_and_leave_the_rest() -> None:
    # Task 0 needs 8 s at the link of host 0, so that its 4 B from host 1 take half of that link; task 1 has the rest.
    columns = flows([0, 0, 0, 1], [6.0, 2.0, 4.0, 14.0], source=[0, 0, 1, 1], destination=[2, 3, 4, 5])
    for discipline in ("stf", "sebf"):
        records = replay(columns, discipline=discipline, topology="big-switch", num_hosts=6, capacity=1.0)
        assert records.completion_time == pytest.approx([8.0, 8.0, 8.0, 18.0], rel=TOLERANCE)


def test_shortest_first_is_best_of_all_orders_of_tasks_on_one_link() -> None:
    rng = np.random.default_rng(4)
    columns = flows(rng.integers(0, 6, 20).tolist(), rng.integers(1, 50, 20).astype(np.float64).tolist())
    records = {
        name: replay(columns, discipline=name, capacity=1.0)
        for name in ("stf", "sebf", "fifo-lm", "tafe", "ps", "task-las")
    }
    tct = {name: task_completion_times(each).tct.mean() for name, each in records.items()}
    total = np.bincount(columns["task_id"], columns["size_bytes"])
    assert tct["stf"] == pytest.approx(np.cumsum(np.sort(total)).mean(), rel=TOLERANCE)
    assert tct["sebf"] == pytest.approx(tct["stf"], rel=TOLERANCE)
    assert all(tct["stf"] <= each * (1 + TOLERANCE) for each in tct.values())


def test_on_several_links_sharing_by_what_is_left_is_refreshed_often_enough() -> None:
    rng = np.random.default_rng(2)
    columns = flows([*range(20)], (1000 * rng.random(20) + 1).tolist())
    exact = completions(columns, "tafe", within="remaining")
    refreshed = replay(
        columns, discipline="tafe", topology="big-switch", num_hosts=2, capacity=1.0, parameters={"within": "remaining"}
    ).completion_time
    assert refreshed == pytest.approx(exact, rel=0.02)


def test_what_is_no_parameter_of_tasks_is_refused() -> None:
    for discipline, parameters, message in (
        ("ps", {"barrier": "flows"}, "barrier is 'flows': it must be one of flow, task"),
        ("ps", {"cpus": 0.0}, r"cpus is 0\.0: each share of a CPU must be finite and > 0"),
        ("ps", {"cpus": [1.0, 2.0]}, "topology one-link has 1 CPUs, each needs one share"),
        ("tafe", {"within": "long"}, "within is 'long': it must be one of serial, shortest, fair, remaining"),
        ("tafe", {"demotion": "late"}, "demotion is 'late': it must be one of sent, arrived"),
        ("tafe", {"thresholds": [2.0, 1.0]}, "thresholds is .*: they must be finite, > 0 B and increasing"),
        ("fifo-lm", {"heavy": 0}, "heavy is 0: it must be > 0 B, or inf for never"),
        ("d2tcp", {"alpha": 0.0}, r"alpha is 0\.0: it must be > 0 and at most 1"),
        ("stf", {"key": "size"}, "key is 'size': it must be one of remaining, longest"),
    ):
        with pytest.raises(ConfigError, match=message):
            completions(flows([0], [1.0]), discipline, **parameters)


@pytest.mark.parametrize("engine", ENGINES)
def test_shares_by_what_is_left_lose_nothing_at_the_end_of_a_flow(engine: str) -> None:
    """A flow that ends just as another arrives, or goes to the CPU, and equal flows that end together."""
    for gap in (0.0, 1e-6):
        columns = flows([0, 1], [2.404, 1.0], arrival_s=[0.0, 2.404 - gap], cpu_s=[0.0, 5.0])
        found = completions(columns, "tafe", engine, within="remaining")
        assert found == pytest.approx([2.404, 2.404 - gap + 6.0], rel=TOLERANCE)
    equal = flows([0, 1, 2], [4.0, 4.0, 4.0], arrival_s=[4.0, 2.0, 4.0], cpu_s=[1.0, 2.0, 0.0])
    found = completions(equal, "tafe", engine, within="remaining", thresholds=[0.9, 2.3])
    assert found == pytest.approx([16.0, 16.0, 16.0], rel=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
def test_shares_by_what_is_left_survive_a_step_as_short_as_the_clock_can_tell(engine: str) -> None:
    """A flow that has to wait comes one rounding of the clock after the demotion of the first task, at 1 s."""
    columns = flows([1, 0, 1], [3.5, 1.9464, 1.5], arrival_s=[0.0, 0.0, 1.0], cpu_s=[1.9, 0.0, 0.0])
    columns["after"] = ["", "", "0"]
    found = completions(columns, "tafe", engine, within="remaining", thresholds=[1.0])
    left = np.sqrt(2.5**2 - 0.0464**2)  # of the first flow, when the second one has sent its last 0.0464 B
    assert found == pytest.approx([5.4464, 2.9 + 0.0464 + (2.5 - left), 6.9464], rel=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_barrier_waits_for_cpu_work_alone_whoever_else_has_some(engine: str) -> None:
    for others in (0.0, 1.0):
        columns = flows([0, 0, 1], [1.0, 2.0, 1.0], arrival_s=[0.0, 1.0, 100.0], cpu_s=[0.0, 0.0, others])
        found = completions(columns, "tafe", engine, barrier="task")
        assert found == pytest.approx([1.0, 3.0, 101.0 + others], rel=TOLERANCE)
    # Flow 1 works until 4 s; flow 0 waits for it, flow 2, which comes later, for nobody.
    columns = flows([0, 0, 0], [1.0, 1.0, 1.0], arrival_s=[0.0, 1.0, 9.0], cpu_s=[0.0, 3.0, 0.0])
    found = completions(columns, "tafe", engine, barrier="task")
    assert found == pytest.approx([5.0, 6.0, 10.0], rel=TOLERANCE)
