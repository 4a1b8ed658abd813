"""Holds the arguments of all environments to one clear error each, and the forms in which flows may be given."""

import dataclasses
from enum import StrEnum
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.evaluation import make_environment, rollout
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import find_environment, heuristic_arguments
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import FixedWorkload, UnstableLoadWarning, write_flows
from tests.envs.episodes import SHORT, each_environment, play
from tests.simulate import make_flows

NAN: Final = float("nan")
COUNT: Final = "it must be an integer >= 1"
ONE_OF: Final = "it must be one of"
ONE: Final = make_flows([0.0], [1e5], span=[0.05])
POISSON: Final = "changes Poisson arrivals: workload 'gather-a1' has none"

WRONG: Final[dict[str, list[tuple[dict[str, Any], str]]]] = {
    "flowsched/Artemis-v0": [
        *(({"f": value}, rf"f is {value!r}: {COUNT}") for value in (0, 2.5, True, "5", None, NAN)),
        *(({name: 0}, f"{name} is 0: {COUNT}") for name in ("k", "bursts", "destinations")),
        *(
            ({"load": value}, rf"load is {value!r}: it must be a finite number > 0")
            for value in (-1.0, NAN, "fast", True)
        ),
        *(({name: 0}, rf"{name} is 0: it must be a finite number > 0") for name in ("burst_rate", "seconds")),
        *(({"link_delay_us": value}, rf"link_delay_us is {value!r}: it must be a finite") for value in (-1, NAN, None)),
        ({"burst_rate": 10.0, "load": 0.5}, "burst_rate and load are both given: give one of them"),
        ({"bursts": 10, "seconds": 1.0}, "bursts and seconds are both given: give one of them"),
        ({"workload": "gather-a9"}, r"workload 'gather-a9' does not exist \(did you mean 'gather-a2'\?\): there are"),
        ({"k": 10**400}, "k is 1000+: it must be an integer below"),
        ({"load": 10**400}, "load is 1000+: it must be a finite number"),
        ({"workload": 7}, "workload is 7: it must be a name, a file, a mapping, a Workload or frame, or a source"),
        ({"workload": "poisson-web-search", "bursts": 5}, "workload 'poisson-web-search' has none"),
        ({"workload": "poisson-fat-tree-failures"}, "workload has link changes"),
        (
            {"workload": "poisson-fat-tree"},
            "'poisson-fat-tree' is traffic without deadlines between all 16 hosts of ano",
        ),
        (
            {"workload": {"base": "poisson-tree", "load": 0.4}},
            "without deadlines between all 9 hosts of another network",
        ),
        *(
            ({"workload": flows, name: value}, f"argument {name} changes drawn bursts: workload '.*' has none")
            for flows in (ONE, FixedWorkload(workload=ONE))
            for name, value in {"bursts": 3, "load": 0.5, "destinations": 2, "seconds": 1.0}.items()
        ),
        ({"seconds": 1e-9}, "the episode drawn has no flow: ask for more bursts, or more seconds"),
    ],
    "flowsched/MERPOrder-v0": [
        *(({name: 0}, f"{name} is 0: {COUNT}") for name in ("f", "flows")),
        ({"load": "fast"}, "load is 'fast': it must be a finite number > 0"),
        ({"workload": "gather-a1", "load": 0.5}, f"argument load {POISSON}"),
        ({"workload": "poisson-fat-tree", "topology": "tree9"}, "topology tree9: num_hosts is 16: it has 9"),
    ],
    "flowsched/MERPRoute-v0": [
        *(({"arity": value}, rf"arity is {value!r}: it must be an integer >= 4") for value in (2, 4.0, None)),
        ({"arity": 5}, "arity is 5: it must be even"),
        ({"flows": 0}, f"flows is 0: {COUNT}"),
        ({"failures": -1}, "failures is -1: it must be an integer >= 0"),
        ({"failures": 4}, "failures is 4: it must be from 0 to 3, so that each pair of hosts keeps a path"),
        ({"failures": 16, "arity": 8}, "failures is 16: it must be from 0 to 15"),
        *(
            (
                {"slow_links": value},
                r"slow_links is .*: it must have pairs of a link's number and a share, 0 < share <= 1",
            )
            for value in (64, [64], [[64, 0.0]], [[64, 2]], [[64, NAN]], [[6.5, 0.1]], [[64, "1"]], {64: 0.1}, [[64]])
        ),
        ({"slow_links": [[64, 0.1], [64, 0.2]]}, r"slow_links is .*: it must name each link once"),
        ({"slow_links": [[96, 0.1]]}, "slow_links has link 96: a fat-tree of this arity has 0 to 95"),
        ({"slow_links": [[-1, 0.1]]}, "slow_links has link -1: a fat-tree"),
        ({"rerouting": "best"}, f"rerouting is 'best': {ONE_OF} ecmp, least-loaded, conga, memr, memr-hop-by-hop"),
        ({"workload": "gather-a1", "flows": 5}, f"argument flows {POISSON}"),
        ({"workload": "gather-a1", "failures": 1}, f"argument failures {POISSON}"),
        ({"workload": "gather-multi"}, "workload 'gather-multi' has 24 hosts: a fat-tree of arity 4 has 16"),
    ],
    "flowsched/AuTOLongFlows-v0": [
        *(
            ({name: least - 1}, rf"{name} is {least - 1}: it must be an integer >= {least}")
            for name, least in (("hosts", 2), ("paths", 1), ("n_l", 1), ("m_l", 0), ("flows", 1))
        ),
        ({"period_ms": 0}, "period_ms is 0: it must be a finite number > 0"),
        *(
            ({"thresholds": value}, r"thresholds is \(.*\): it must have 1 to 7 numbers, increasing")
            for value in ([], [1.0, 1.0], list(range(1, 9)))
        ),
        ({"thresholds": ["big"]}, "threshold is 'big': it must be a finite number > 0"),
        ({"thresholds": 5.0}, "thresholds is 5.0: it must be a sequence"),
        ({"workload": "auto-clusters", "load": 0.5}, "workload 'auto-clusters' has a load for each cluster"),
        ({"workload": "auto-clusters", "hosts": 6}, "num_clusters is 4: it must divide the number of hosts, 6"),
        ({"workload": "gather-a1", "hosts": 4}, "workload 'gather-a1' has 11 hosts: the network has 4"),
    ],
    "flowsched/AuTOThresholds-v0": [
        *(({"queues": value}, rf"queues is {value!r}: it must be") for value in (1, 9, 2.5)),
        ({"clusters": 5}, "clusters is 5: it must divide the number of hosts, 32"),
        *(({name: 0}, f"{name} is 0: it must be an integer >=") for name in ("clusters", "hosts", "m_s")),
        ({"period_flows": None}, "exactly one of period_flows and period_ms must be given: neither is"),
        ({"period_ms": 5.0}, r"exactly one of period_flows and period_ms must be given: both are \(500 and 5\.0\)"),
        ({"period_flows": None, "period_ms": NAN}, "period_ms is nan: it must be a finite number > 0"),
        ({"within": "lifo"}, f"within is 'lifo': {ONE_OF} ps, fifo"),
        ({"initial_thresholds": [1e3, NAN, 1e6]}, r"initial_thresholds is .*: they must be finite, > 0 B and "),
        ({"initial_thresholds": [1e3, 1e6]}, r"initial_thresholds is \[.*\]: 4 queues need 3 numbers"),
        ({"initial_thresholds": 1e6}, r"initial_thresholds is 1000000\.0: it must be a list of numbers"),
        ({"initial_thresholds": "web_serach"}, "size distribution 'web_serach' does not exist"),
        ({"workload": "auto-clusters", "load": 0.5}, "load is 0.5: workload 'auto-clusters' has a load for each"),
        ({"workload": "auto-incast", "hosts": 8}, "senders is 16: it must be below the number of hosts, 8"),
    ],
    "flowsched/TAFETasks-v0": [
        *(({name: 0}, f"{name} is 0: {COUNT}") for name in ("f", "tasks")),
        *(({name: NAN}, f"{name} is nan: it must be a finite number > 0") for name in ("load", "typical_kb")),
        ({"tail_weight": -1.0}, r"tail_weight is -1\.0: it must be a finite number >= 0"),
        *(
            ({"cpus": value}, r"cpus is .*: it must have a share of a CPU for each host, or one, each > 0")
            for value in ([], [0.5, 0.0], "fast", [[1.0]], [NAN])
        ),
        ({"cpus": [0.5, 1.0]}, "topology one-link has 1 CPUs, each needs one share"),
        ({"workload": "gather-a1", "tasks": 5}, "argument tasks changes drawn tasks: workload 'gather-a1' has none"),
    ],
    "flowsched/TAFEThresholds-v0": [
        *(({"queues": value}, rf"queues is {value!r}: it must be") for value in (1, 9, 2.5)),
        ({"within": "lifo"}, f"within is 'lifo': {ONE_OF} serial, shortest, fair, remaining"),
        ({"period_ms": 5.0}, r"exactly one of period_flows and period_ms must be given: both are \(20 and 5\.0\)"),
        ({"initial_thresholds": [1e3]}, r"initial_thresholds is \[1000\.0\]: 3 queues need 2 numbers"),
        ({"initial_thresholds": [1e6, 1e3]}, r"initial_thresholds is .*: they must be finite, > 0 B and increasing"),
        ({"reward_scale_ms": 0}, "reward_scale_ms is 0: it must be a finite number > 0"),
        ({"workload": "gather-a1", "tasks": 5}, "argument tasks changes drawn tasks: workload 'gather-a1' has none"),
    ],
    "flowsched/QCluster-v0": [
        *(({"queues": value}, rf"queues is {value!r}: it must be") for value in (1, 9, 2.5)),
        ({"queues": 2, "goal": "deadline"}, "queues is 2: goal 'deadline' needs 3"),
        *(({name: 0}, f"{name} is 0: it must be an integer >= 1") for name in ("window", "buffer", "arrays", "flows")),
        *(({name: NAN}, f"{name} is nan: it must be a finite number > 0") for name in ("period_us", "gap_us")),
        ({"mark_at": 0}, "mark_at is 0: it must be an integer >= 1"),
        ({"buckets": 2**40}, "buckets is 1099511627776: it must be"),
        ({"workload": "qcluster-changing", "load": 0.5}, "workload 'qcluster-changing' has a load for each cluster"),
        ({"workload": "gather-a1", "flows": 5}, f"argument flows {POISSON}"),
    ],
}
"""Arguments by id, and what is said of them."""


@pytest.mark.parametrize(
    ("env_id", "arguments", "message"),
    [
        pytest.param(env_id, *case, id=f"{env_id} {str(case[0])[:60]}")
        for env_id, cases in WRONG.items()
        for case in cases
    ],
)
def test_a_wrong_argument_is_refused_by_name_with_its_value_and_what_is_allowed(env_id, arguments, message) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        gym.make(env_id, **arguments)
    assert "\n" not in str(caught.value)


@each_environment
def test_a_choice_that_does_not_exist_is_refused_with_those_that_do(spec: EnvironmentSpec) -> None:
    config = gym.make(spec.id).get_wrapper_attr("config")
    choices = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    for name, value in choices.items():
        if isinstance(value, StrEnum):
            for wrong in ("nothing", None, 3):
                with pytest.raises(ConfigError, match=f"{name} is {wrong!r}: {ONE_OF} {', '.join(type(value))}"):
                    gym.make(spec.id, **{name: wrong})


@each_environment
def test_flows_of_ones_own_are_played_alike_in_every_form_and_a_fault_in_a_file_is_told_at_once(spec, tmp_path) -> None:
    flows = make_flows([0.0, 1e-4, 2e-4], [1e5, 2e5, 3e5], source=[0, 1, 2], destination=[3, 3, 3], span=[0.1] * 3)
    for name in ("flows.csv", "FLOWS.CSV"):
        write_flows(flows, tmp_path / name)
    given = (flows, FixedWorkload(workload=flows), tmp_path / "flows.csv", str(tmp_path / "FLOWS.CSV"))
    chosen = ("workload", "bursts", "flows", "load", "tasks")
    kept = {name: value for name, value in SHORT[spec.id].items() if name not in chosen}

    played = [play(gym.make(spec.id, workload=form, **kept), seed=1) for form in given]

    first, *others = [[step.info["finished"] for step in steps] for steps in played]
    assert others == [first] * 3
    assert sorted(sum(first, ())) == [0, 1, 2]
    (tmp_path / "flows.csv").write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,-5,0.0\n")
    with pytest.raises(FlowFileError, match=r"flows\.csv.*size_bytes.*-5"):
        gym.make(spec.id, workload=str(tmp_path / "flows.csv"))
    with pytest.raises(FlowFileError, match=r"nowhere\.csv"):
        gym.make(spec.id, workload=str(tmp_path / "nowhere.csv"))


@each_environment
def test_any_number_will_do_becomes_pythons_own_and_a_load_without_bound_is_warned_of(spec: EnvironmentSpec) -> None:
    given = {"load": np.float32(0.5), "link_gbps": np.float64(1.0), "max_decisions": np.uint8(3)}
    config = gym.make(spec.id, **given).get_wrapper_attr("config")
    assert [type(getattr(config, name)) for name in given] == [float, float, int]
    extra = {"initial_thresholds": [1e4, 1e5, 1e6]} if spec.id == "flowsched/AuTOThresholds-v0" else {}
    with pytest.warns(UnstableLoadWarning, match=r"load is 1\.2"):
        gym.make(spec.id, load=1.2, **extra)


def test_heuristics_meet_the_episodes_of_an_agent_that_sees_less() -> None:
    agent = {"workload": "gather-heavy", "k": 3, "bursts": 5, "observation": "paper"}
    spec = find_environment("flowsched/Artemis-v0")
    arguments = heuristic_arguments(spec, agent)
    metrics = []
    for kwargs in (agent, arguments):
        env = make_environment(spec, kwargs)
        metrics.append(rollout(env, make_policy("lsdf", env), seed=3).metrics)

    assert arguments == agent | {"observation": "full"}
    assert find_player("search:base=paced", spec).arguments(agent) == arguments | {"defer": "wait"}
    assert metrics[0] == metrics[1]
