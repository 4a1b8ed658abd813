"""Shows what each discipline does on a few flows, worked by hand: one link of 1 B/s, so bytes are seconds."""

import math

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.disciplines import DISCIPLINES, Ranked, make_discipline, task_levels
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import big_switch, one_link
from flowsched_gym.workload import Workload
from tests.cases import exact_cases
from tests.simulate import VARIANTS, make_flows, parameters_for


def finish(workload: Workload, discipline: str, **parameters: object) -> list[float]:
    """Returns when the flows finish."""
    return flowsched_gym.replay(
        workload, discipline=discipline, capacity=1.0, parameters=parameters
    ).completion_time.tolist()


def test_disciplines_of_sizes_and_arrivals_serve_as_their_names_say() -> None:
    for discipline, arrival, size, completed in (
        ("fifo", [1.0, 0.0, 2.0], [1.0, 4.0, 1.0], [5.0, 4.0, 6.0]),
        ("ps", [0.0, 0.0], [1.0, 3.0], [2.0, 4.0]),
        # At 3, flow 0 has one byte left; flow 1 brings two. At 0.5, flow 2 brings less than flow 0 has left.
        ("srpt", [0.0, 3.0, 0.5], [3.5, 2.0, 0.5], [4.0, 6.0, 1.0]),
        ("psjf", [0.0, 3.0], [4.0, 2.0], [6.0, 5.0]),
        ("sjf", [0.0, 1.0, 2.0], [4.0, 2.0, 1.0], [4.0, 7.0, 5.0]),
        # Flow 1 catches up at 4; then both have two bytes left to send at half the link.
        ("las", [0.0, 2.0], [4.0, 4.0], [8.0, 8.0]),
        ("las", [0.0, 2.0], [4.0, 3.0], [7.0, 6.0]),
    ):
        assert finish(make_flows(arrival, size), discipline) == completed, discipline


def test_disciplines_of_deadlines_serve_those_without_one_last() -> None:
    workload = make_flows([0.0, 0.0, 0.0, 0.0], [2.0, 1.0, 1.0, 3.0], span=[np.inf, 9.0, 4.0, np.inf])
    assert finish(workload, "edf") == [4.0, 2.0, 1.0, 7.0]
    # Ratios 1/2, 1/4, 2/3; the last flow has no deadline and comes last in both.
    workload = make_flows([0.0] * 4, [2.0, 1.0, 2.0, 1.0], span=[4.0, 4.0, 3.0, np.inf])
    assert finish(workload, "ssdf") == [3.0, 1.0, 5.0, 6.0]
    assert finish(workload, "lsdf") == [4.0, 5.0, 2.0, 6.0]
    # The later flow has the ratio 1/8, although its absolute deadline is the later one.
    workload = make_flows([0.0, 1.0], [4.0, 1.0], span=[8.0, 8.0])
    assert finish(workload, "ssdf") == [5.0, 2.0]
    assert finish(workload, "lsdf") == [4.0, 5.0]


def test_mlfq_demotes_a_flow_that_has_attained_a_threshold() -> None:
    workload = make_flows([0.0, 1.0], [4.0, 2.0])
    # Flow 0 has sent two bytes at 3 (alone, then at half) and makes way for flow 1, which has sent one.
    assert finish(workload, "mlfq", thresholds=[2.0]) == [6.0, 4.0]
    # In the order of entry flow 0 keeps the link until 2.
    assert finish(workload, "mlfq", thresholds=[2.0], within="fifo") == [6.0, 4.0]
    # A flow as large as a threshold finishes before the demoted ones.
    assert finish(make_flows([0.0, 0.0], [3.0, 2.0]), "mlfq", thresholds=[2.0], within="fifo") == [5.0, 4.0]
    # Flow 0 enters queue 1 at 1, flow 1 at 2; flow 2 takes the link at 2.5; then flow 0 goes on before flow 1.
    workload = make_flows([0.0, 0.0, 2.5], [3.0, 3.0, 1.0])
    assert finish(workload, "mlfq", thresholds=[1.0], within="fifo") == [5.0, 7.0, 3.5]


def test_qsjf_sorts_by_original_size_and_a_size_on_the_limit_belongs_to_the_smaller() -> None:
    workload = make_flows([0.0] * 4, [3.0, 2.0, 5.0, 1.0])
    assert finish(workload, "qsjf", thresholds=[2.0, 4.0], within="fifo") == [6.0, 2.0, 11.0, 3.0]
    assert finish(workload, "qsjf", thresholds=[2.0, 4.0], within="ps") == [6.0, 3.0, 11.0, 2.0]


def test_wfq_gives_each_queue_its_weight_while_both_hold_flows() -> None:
    workload = make_flows([0.0] * 3, [3.0, 3.0, 2.0])
    queues = {"queue": [0, 0, 1], "weights": [3.0, 1.0]}
    # Queue 0 has 3/4 of the link: shared, each of its flows finishes at 8; one after the other, at 4 and 8.
    assert finish(workload, "wfq", **queues, within="ps") == [8.0, 8.0, 8.0]
    assert finish(workload, "wfq", **queues, within="fifo") == [4.0, 8.0, 8.0]


def test_ranked_serves_as_told_and_otherwise_in_the_order_of_arrival() -> None:
    discipline = Ranked()
    simulation = Simulation(make_flows([0.0, 0.0, 0.0, 1.0], [4.0] * 4), one_link(capacity=1.0), discipline)
    simulation.run(until=1.0)
    for row in (1, 2):
        discipline.serve_first(0, row, discipline.record)
    simulation.links.request_sharing()
    simulation.run()

    # Flow 0 has sent one byte at 1; then flow 2, which was put first last, goes before flow 1.
    assert simulation.records().completion_time.tolist() == [12.0, 9.0, 5.0, 16.0]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_flow_alone_gets_the_whole_link_from_every_discipline_and_flows_on_other_links_do_not_meet(variant) -> None:
    alone, empty = make_flows([2.0], [3.0]), make_flows([], [])
    apart = make_flows([0.0, 0.0], [3.0, 2.0], source=[0, 1], destination=[1, 0])
    parameters = parameters_for(variant, apart)

    assert DISCIPLINES[variant.discipline].__doc__
    assert finish(alone, variant.discipline, **parameters_for(variant, alone)) == [5.0]
    records = flowsched_gym.replay(
        apart, discipline=variant.discipline, topology=big_switch(num_hosts=2, capacity=1.0), parameters=parameters
    )
    assert records.completion_time.tolist() == [3.0, 2.0]
    nothing = parameters | ({"queue": []} if "queue" in parameters else {})
    assert finish(empty, variant.discipline, **nothing) == []


def test_a_wrong_name_or_parameter_is_refused_with_what_is_allowed() -> None:
    for name, parameters, message in (
        ("sjrf", {}, "discipline is 'sjrf': it must be one of fifo, ps, srpt, sjf, psjf, las, edf, ssdf, lsdf, mlfq"),
        ("ps", {"alpha": 1}, "discipline ps has no parameter 'alpha': it takes none"),
        ("mlfq", {"threshold": [1.0]}, "discipline mlfq has no parameter 'threshold': it takes thresholds, within"),
        ("mlfq", {}, "discipline mlfq needs thresholds, such as"),
        ("mlfq", {"thresholds": [2.0, 1.0]}, r"thresholds is .*they must be finite, > 0 B and increasing"),
        ("qsjf", {"thresholds": [math.nan]}, r"thresholds is .*they must be finite, > 0 B and increasing"),
        ("mlfq", {"thresholds": []}, r"thresholds is \[\]: there must be at least one, between two queues"),
        ("qsjf", {"thresholds": []}, r"thresholds is \[\]: there must be at least one, between two queues"),
        ("mlfq", {"thresholds": [1.0], "within": "lifo"}, "within is 'lifo': it must be one of ps, fifo"),
        ("wfq", {"queue": [0], "weights": [0.0]}, r"weights is \[0\.0\]: each must be finite and > 0.*, at least one"),
        ("wfq", {"queue": [2], "weights": [1.0, 1.0]}, "queue holds 2: each must be 0 to 1"),
        ("wfq", {"queue": [0, 0.5], "weights": [1.0]}, r"queue is \[0, 0\.5\]: it must be a list of whole numbers"),
        ("wfq", {"queue": "a", "weights": [1.0]}, "queue is 'a': it must be a list of numbers"),
        ("wfq", {"queue": [0, 2**70], "weights": [1.0]}, "queue is .*: it must be a list of whole numbers"),
        ("wfq", {"queue": [0], "weights": [1e-320]}, r"weights is \[1e-320\]: each must be finite and > 0"),
        ("mlfq", {"thresholds": 1e5}, r"thresholds is 100000\.0: it must be a list of numbers, such as \[1, 2\.5\]"),
        ("merp", {"alpha": 0.0}, r"alpha is 0\.0: it must be a number > 0 and <= 1"),
        ("merp", {"alpha": math.nan}, "alpha is nan"),
        ("merp", {"alpha": "high"}, "alpha is 'high'"),
        ("merp", {"gap": -1.0}, r"gap is -1\.0: it must be a finite number >= 0 s"),
        ("merp", {"mode": "lenient"}, "mode is 'lenient': it must be one of greedy, strict"),
        (["ps"], {}, r"discipline is \['ps'\]: it must be one of fifo"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_discipline(name, parameters)
    with pytest.raises(ConfigError, match="only one link has a gap"):
        flowsched_gym.replay(
            make_flows([0.0], [1.0]), discipline="merp", topology="big-switch", parameters={"gap": 0.1}
        )


@pytest.mark.parametrize("case", exact_cases("tafe_levels"), ids=lambda case: case["id"])
def test_levels_are_those_of_the_exact_cases(case: dict) -> None:
    tasks, sizes = zip(*case["arrivals"], strict=True)
    levels = task_levels(tasks, sizes, case["thresholds"])
    assert levels.dtype == np.int64
    assert (levels + 1).tolist() == case["flow_priority"]


def test_a_flow_demotes_its_task_by_one_level_at_most_and_only_above_the_threshold() -> None:
    # The first flow would do for two levels. Task 8 reaches the first threshold, and stays above it.
    assert task_levels([7, 7, 7, 8, 8, 8], [100, 1, 1, 10, 1, 1], [10, 20]).tolist() == [0, 1, 2, 0, 0, 1]


def test_a_flow_without_a_task_is_a_task_of_its_own_and_without_thresholds_there_is_one_level() -> None:
    assert task_levels([-1, -1, 0, 0], [50.0] * 4, [10.0]).tolist() == [0, 0, 0, 1]
    assert task_levels([0, 0], [50.0, 50.0], []).tolist() == [0, 0]
    assert task_levels([], [], [1.0]).tolist() == []


def test_tasks_that_have_no_levels_are_refused_by_name_and_value() -> None:
    for arguments, words in (
        (([0, -2], [1, 1], [5]), r"task_id of flow 1 is -2: it must be >= 0, or -1 for no task"),
        (([0.5], [1], [5]), r"task_id is \[0.5\]: it must be a list of whole numbers"),
        (([0, 0], [1, math.nan], [5]), r"size of flow 1 is nan: it must be finite and > 0 B"),
        (([0], [1, 2], [5]), r"size has 2 flows, task_id has 1: lengths must agree"),
        (([0], [1], [5, 5]), r"thresholds is \[5.0, 5.0\]: they must be finite, > 0 B and increasing"),
    ):
        with pytest.raises(ConfigError, match=words):
            task_levels(*arguments)
