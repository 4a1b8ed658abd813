"""Holds the arguments of MERP's routing environment to one clear error each, and to what they do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowsched_gym.errors import ConfigError, FlowFileError, WorkloadError
from flowsched_gym.systems.merp.route.config import MERPRouteConfig, core_cables, route_source
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.topology import fat_tree
from flowsched_gym.workload import FixedWorkload, LinkChanges, PoissonWorkload, Workload, make_workload, write_flows
from tests.flows import make_flows

NAN = float("nan")

WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"arity": value}, rf"arity is {value!r}: it must be an integer >= 4") for value in (2, 0, 4.0, True, "4", None)),
    ({"arity": 5}, "arity is 5: it must be even"),
    *(({"flows": value}, rf"flows is {value!r}: it must be an integer >= 1") for value in (0, -1, 2.5, "9")),
    *(({"failures": value}, rf"failures is {value!r}: it must be an integer >= 0") for value in (-1, 1.5, True)),
    ({"failures": 4}, "failures is 4: it must be from 0 to 3, so that each pair of hosts keeps a path"),
    ({"failures": 16, "arity": 8}, "failures is 16: it must be from 0 to 15"),
    *(
        ({name: value}, rf"{name} is {value!r}: it must be a finite number > 0")
        for name in ("load", "link_gbps")
        for value in (0, -1.0, NAN, float("inf"), "fast", True)
    ),
    *(
        ({"link_delay_us": value}, rf"link_delay_us is {value!r}: it must be a finite number >= 0")
        for value in (-1, NAN, float("inf"), None)
    ),
    ({"discipline": "edf"}, "discipline is 'edf': it must be one of merp, srpt, ps, fifo"),
    ({"reward": None}, "reward is None: it must be one of slowdown, fct, both"),
    ({"rerouting": "best"}, "rerouting is 'best': it must be one of ecmp, least-loaded, conga, memr, memr-hop-by-hop"),
    ({"max_decisions": 0}, "max_decisions is 0: it must be an integer >= 1"),
    ({"workload": "poisson-fat"}, "workload 'poisson-fat' does not exist"),
    ({"workload": 7}, "workload is 7: it must be a name, a flow file, a mapping, a Workload or a source of them"),
    ({"workload": "gather-a1", "flows": 5}, "load and flows change Poisson arrivals: workload 'gather-a1' has none"),
    ({"workload": "gather-a1", "failures": 1}, "failures changes Poisson arrivals: workload 'gather-a1' has none"),
    ({"workload": "gather-multi"}, "workload 'gather-multi' has 24 hosts: a fat-tree of arity 4 has 16"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_argument_is_refused_by_name_with_its_value_and_what_is_allowed(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        MERPRouteEnv(**arguments)

    assert "\n" not in str(caught.value)


def source_of(**arguments: Any) -> PoissonWorkload:
    """Returns what an environment with these arguments draws from."""
    workload = arguments.pop("workload", "poisson-fat-tree")
    source = route_source(MERPRouteConfig(**arguments), workload)
    assert isinstance(source, PoissonWorkload)
    return source


def test_arguments_change_the_named_workload() -> None:
    source = source_of(load=0.4, flows=70, link_gbps=10.0, failures=2)

    assert (source.num_flows, source.capacity) == (70, 1.25e9)
    assert source.offered_load == pytest.approx(0.4)
    assert source.failures is not None
    assert source.failures.count == 2
    assert source_of(failures=0, workload="poisson-fat-tree-failures").failures is None


def test_a_named_workload_spreads_over_all_hosts_and_cables_of_a_larger_fat_tree() -> None:
    source = source_of(arity=8, workload="poisson-fat-tree-failures")

    assert source.num_hosts == 128
    assert source.offered_load == pytest.approx(0.6)
    assert source.failures is not None
    assert (source.failures.cables, source.failures.count) == (core_cables(128), 3)
    names = fat_tree(arity=8).link_names
    assert {names[link].rpartition(" ")[0] for link in source.failures.cables[40]} == {"aggregation 10 port 0"}
    assert all(names[up].endswith("up") and names[down].endswith("down") for up, down in source.failures.cables)


def test_a_source_of_ones_own_stays_as_it_is() -> None:
    source = make_workload("poisson-fat-tree", num_hosts=6)

    assert route_source(MERPRouteConfig(arity=8), source) is source


def test_flows_may_come_in_any_form(tmp_path: Path) -> None:
    flows = make_flows([0.0, 0.0], [1e5, 2e5], source=[0, 9], destination=[4, 2])
    write_flows(flows, tmp_path / "flows.csv")
    for workload in (flows, FixedWorkload(workload=flows), tmp_path / "flows.csv", str(tmp_path / "flows.csv")):
        env = MERPRouteEnv(workload)
        env.reset(seed=1)
        assert env.workload.size.tolist() == [1e5, 2e5]


def test_a_fault_in_a_flow_file_is_told_when_the_environment_is_made(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,-5,0.0\n")
    with pytest.raises(FlowFileError, match=r"flows\.csv.*size_bytes.*-5"):
        MERPRouteEnv(path)


def test_flows_that_lose_all_their_paths_for_good_are_refused() -> None:
    flows = make_flows([0.0], [1e5], source=[0], destination=[4])
    lost = Workload(
        flow_id=flows.flow_id,
        source=flows.source,
        destination=flows.destination,
        size=flows.size,
        arrival_time=flows.arrival_time,
        link_changes=LinkChanges.of([(0.0, 0, False)]),
    )
    with pytest.raises(WorkloadError, match="leave the flow in row 0 none of its 4 paths"):
        MERPRouteEnv(lost).reset(seed=1)


def test_numbers_become_pythons_own_and_names_members() -> None:
    config = MERPRouteConfig(arity=np.int64(6), load=np.float32(0.5), discipline="ps")  # type: ignore[arg-type]

    assert (type(config.arity), type(config.load)) == (int, float)
    assert repr(config.discipline) == "<RouteDiscipline.PS: 'ps'>"
    assert (config.num_hosts, config.num_paths) == (54, 9)
