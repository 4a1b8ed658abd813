"""Holds the arguments of the ordering environment to one clear error each."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.errors import ConfigError, FlowFileError, WorkloadError
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.workload import (
    FixedWorkload,
    LinkChanges,
    UnstableLoadWarning,
    Workload,
    make_workload,
    write_flows,
)
from tests.flows import make_flows

ID = "flowsched/MERPOrder-v0"
NAN = float("nan")

WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"f": value}, rf"f is {value!r}: it must be an integer >= 1") for value in (0, -3, 2.5, True, "5", None, NAN)),
    *(({"flows": value}, rf"flows is {value!r}: it must be an integer >= 1") for value in (0, 1.5, "9")),
    *(
        ({name: value}, rf"{name} is {value!r}: it must be a finite number > 0")
        for name in ("load", "link_gbps")
        for value in (0, -1.0, NAN, float("inf"), "fast", True)
    ),
    *(
        ({"link_delay_us": value}, rf"link_delay_us is {value!r}: it must be a finite number >= 0")
        for value in (-1, NAN, None)
    ),
    *(({"topology": value}, rf"topology is {value!r}: it must be one of one-link, tree9") for value in ("ring", None)),
    ({"reward": "mean"}, "reward is 'mean': it must be one of lexicographic, max_slowdown, slowdown, fct"),
    ({"workload": "poisson-tre"}, r"workload 'poisson-tre' does not exist \(did you mean 'poisson-tree'\?\)"),
    ({"workload": 7}, "workload is 7: it must be a name, a flow file, a mapping, a Workload or a source of them"),
    ({"workload": "gather-a1", "load": 0.5}, "load and flows change Poisson arrivals: workload 'gather-a1' has none"),
    ({"workload": "poisson-fat-tree", "topology": "tree9"}, "topology tree9: num_hosts is 16: it has 9"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_argument_is_refused_by_name_with_its_value_and_what_is_allowed(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        gym.make(ID, **arguments)

    assert "\n" not in str(caught.value)


def source_of(**arguments: Any) -> Any:
    """Returns what an environment draws its flows from."""
    return MERPOrderEnv(**arguments)._source


def test_without_a_workload_the_flows_are_merps_on_the_topology() -> None:
    assert source_of() == make_workload("poisson-pareto")
    assert source_of(topology="tree9") == make_workload("poisson-tree")


def test_a_load_is_one_of_the_links_that_there_are() -> None:
    for source in (source_of(load=0.5, link_gbps=10.0), source_of(workload="poisson-tree", load=0.5, link_gbps=10.0)):
        assert (source.load, source.capacity) == (0.5, 1.25e9)
        assert source.offered_load == pytest.approx(0.5)
    assert source_of(link_gbps=10.0).capacity == 1.25e9
    assert source_of(workload=make_workload("poisson-pareto"), link_gbps=10.0) == make_workload("poisson-pareto")


def test_as_many_flows_are_drawn_as_are_asked_for() -> None:
    env = MERPOrderEnv(flows=17, topology="tree9")
    env.reset(seed=1)

    assert env.workload.num_flows == 17


def test_a_load_that_no_link_can_carry_is_called_unstable() -> None:
    with pytest.warns(UnstableLoadWarning):
        MERPOrderEnv(load=1.2)


@pytest.mark.parametrize("form", ["flows", "source", "file", "path"])
def test_own_flows_may_be_given_in_every_form(form: str, tmp_path: Path) -> None:
    flows, path = make_flows([0.0, 1e-3, 2e-3], [1e6, 2e6, 3e6]), tmp_path / "flows.csv"
    write_flows(flows, path)
    workload: Any = {"flows": flows, "source": FixedWorkload(workload=flows), "file": str(path), "path": path}[form]
    env = MERPOrderEnv(workload)
    env.reset(seed=0)

    assert env.workload.size.tolist() == [1e6, 2e6, 3e6]


def test_a_flow_file_with_a_fault_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("flow_id\n1\n", encoding="utf-8")
    with pytest.raises(FlowFileError, match=r"flows\.csv"):
        MERPOrderEnv(tmp_path / "flows.csv")


def test_hosts_that_the_tree_does_not_have_are_refused() -> None:
    with pytest.raises((ConfigError, WorkloadError), match="tree9"):
        MERPOrderEnv(make_flows([0.0, 0.0], [1e6, 1e6], source=[9, 10]), topology="tree9").reset(seed=0)


def test_links_that_change_are_refused() -> None:
    flows = make_flows([0.0, 0.0], [1e6, 1e6])
    changes = LinkChanges(time=np.array([0.0, 1.0]), link=np.array([0, 0]), up=np.array([False, True]))
    failing = Workload(
        flow_id=flows.flow_id,
        source=flows.source,
        destination=flows.destination,
        size=flows.size,
        arrival_time=flows.arrival_time,
        link_changes=changes,
    )
    with pytest.raises(ConfigError, match="has link changes: the links of this environment stay up"):
        MERPOrderEnv(failing).reset(seed=0)
