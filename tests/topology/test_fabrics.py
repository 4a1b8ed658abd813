"""Holds networks of many links to exact solutions, and equal-cost paths to their spread."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import Topology, big_switch, fat_tree, leaf_spine, make_topology, multi_plane, tree9
from tests.exact import cases_of
from tests.simulate import on_each_engine


def links_of(topology: Topology, path: int) -> list[int]:
    links: list[int] = topology.path_links[topology.path_start[path] : topology.path_start[path + 1]].tolist()
    return links


def paths_between(topology: Topology, source: int, destination: int) -> list[list[int]]:
    """Lists the paths of a pair of hosts."""
    assert topology.pair_start is not None
    pair = source * topology.num_hosts + destination
    return [links_of(topology, path) for path in range(topology.pair_start[pair], topology.pair_start[pair + 1])]


def with_paths_of(topology: Topology, case: dict[str, Any]) -> Topology:
    """Builds a topology whose one path per pair is the one that the case gives its flows; checks that it exists."""
    chosen = {}
    for source, destination, path in zip(case["src"], case["dst"], case["path"], strict=True):
        assert path in paths_between(topology, source, destination)
        assert chosen.setdefault((source, destination), path) == path
    hosts = range(topology.num_hosts)
    links = [chosen.get((a, b)) or paths_between(topology, a, b)[0] for a in hosts for b in hosts]
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
    chosen: dict[tuple[int, int], list[int]] = {}
    return all(
        chosen.setdefault((source, destination), path) == path
        for source, destination, path in zip(case["src"], case["dst"], case["path"], strict=True)
    )


CASES = [(tree9(), case) for case in cases_of("net_tree9")] + [
    (fat_tree(arity=4), case) for case in cases_of("net_fattree4") if one_path_per_pair(case)
]


@on_each_engine("ps", "srpt", "psjf", "fifo", "edf")
@pytest.mark.parametrize(
    ("topology", "case"), CASES, ids=lambda value: value["id"] if isinstance(value, dict) else value.name
)
def test_every_flow_finishes_when_the_exact_solution_does(topology, case, discipline, engine) -> None:
    columns = {
        "flow_id": list(range(len(case["size"]))),
        "source": case["src"],
        "destination": case["dst"],
        "size_bytes": case["size"],
        "arrival_s": case["arrival"],
        "deadline_s": [due - arrival for due, arrival in zip(case["deadline"], case["arrival"], strict=True)],
    }
    network = with_paths_of(topology, case)
    records = flowsched_gym.replay(columns, discipline=discipline, topology=network, engine=engine)

    finish = case["finish"]["maxmin" if discipline == "ps" else discipline]
    assert records.completion_time.tolist() == pytest.approx(finish, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("arity", "hosts", "links", "paths"), [(2, 2, 12, 1), (4, 16, 96, 4), (6, 54, 324, 9)])
def test_a_fat_tree_has_a_path_through_every_core_switch(arity: int, hosts: int, links: int, paths: int) -> None:
    topology = fat_tree(arity=arity)
    assert (topology.num_hosts, topology.num_links) == (hosts, links)
    assert len(paths_between(topology, 0, hosts - 1)) == paths
    cores = {path[2] for path in paths_between(topology, 0, hosts - 1)}
    assert len(cores) == paths


def test_leaves_reach_each_other_over_every_spine_and_their_own_hosts_over_none() -> None:
    topology = leaf_spine(num_leaves=3, num_spines=2, hosts_per_leaf=2)

    names = [[topology.link_names[link] for link in path] for path in paths_between(topology, 1, 4)]
    assert names == [
        ["host 1 up", "leaf 0 spine 0 up", "leaf 2 spine 0 down", "host 4 down"],
        ["host 1 up", "leaf 0 spine 1 up", "leaf 2 spine 1 down", "host 4 down"],
    ]
    assert len(paths_between(topology, 0, 1)) == 1


def test_each_plane_is_a_big_switch() -> None:
    topology, switch = multi_plane(num_hosts=5, num_planes=2), big_switch(num_hosts=5)
    for source, destination in ((0, 4), (3, 1)):
        own = links_of(switch, source * 5 + destination)
        assert paths_between(topology, source, destination) == [own, [link + 10 for link in own]]
    assert multi_plane(num_hosts=5, num_planes=1).link_names[4] == "host 4 up plane 0"


def ecmp_of(topology: Topology, flow_id: npt.NDArray[np.int64], seed: int) -> list[int]:
    ends = np.zeros(len(flow_id), dtype=np.int64), np.full(len(flow_id), topology.num_hosts - 1)
    return topology.ecmp(*ends, flow_id, seed=seed).tolist()


def test_equal_paths_are_hashed_evenly_by_flow_and_seed() -> None:
    topology = fat_tree(arity=4)
    flows = np.arange(4000)

    counts = np.unique(ecmp_of(topology, flows, 1), return_counts=True)[1]
    # 4000 flows on 4 paths: 1000 each, standard deviation 27.
    assert len(counts) == 4
    assert abs(counts - 1000).max() < 5 * 27
    assert ecmp_of(topology, flows, 1) == ecmp_of(topology, flows, 1)
    assert ecmp_of(topology, flows, 1) != ecmp_of(topology, flows, 2)


def test_named_fabrics_hold_the_hosts_asked_for() -> None:
    assert make_topology("fat-tree", num_hosts=17).num_hosts == 54
    assert make_topology("leaf-spine", num_hosts=33).num_hosts == 48
    assert make_topology("tree9", num_hosts=2).num_hosts == 9
    assert make_topology("multi-plane", num_hosts=7).num_links == 3 * 2 * 7
    for build, counts, message in (
        (make_topology, {"name": "tree9", "num_hosts": 10}, "topology tree9: num_hosts is 10: it has 9"),
        (
            make_topology,
            {"name": "fat-tree", "num_hosts": 500},
            "num_hosts is 500: .* from 1 to 432",
        ),
        (fat_tree, {"arity": 5}, "topology fat-tree: arity is 5: it must be even"),
        (leaf_spine, {"num_leaves": 2, "num_spines": 0, "hosts_per_leaf": 2}, "num_spines is 0: .* from 1 to 512"),
        (multi_plane, {"num_hosts": 4, "num_planes": 0}, "topology multi-plane: num_planes is 0: .* from 1 to 64"),
        (multi_plane, {"num_hosts": 1}, "topology multi-plane: num_hosts is 1: it must be an integer from 2 to 512"),
        (tree9, {"capacity": np.ones(3)}, r"shape \(3,\): it must be \(24,\)"),
    ):
        with pytest.raises(ConfigError, match=message):
            build(**counts)


@pytest.mark.parametrize(
    ("build", "counts"),
    [
        (big_switch, {"num_hosts": 200}),
        (multi_plane, {"num_hosts": 130, "num_planes": 2}),
        (leaf_spine, {"num_leaves": 20, "num_spines": 4, "hosts_per_leaf": 13}),
        (fat_tree, {"arity": 8}),
    ],
)
def test_counts_of_numpy_do_not_overflow(build: Callable[..., Topology], counts: dict[str, int]) -> None:
    """Twice 130 hosts are 4 in eight bits."""
    small, plain = build(**{name: np.uint8(count) for name, count in counts.items()}), build(**counts)
    assert np.array_equal(small.path_links, plain.path_links)
    assert small.link_names == plain.link_names
