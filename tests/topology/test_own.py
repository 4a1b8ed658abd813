"""Holds networks of one's own, from GraphML, YAML and mappings, to what their files say, and to clear refusals."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import (
    NetworkFileWarning,
    Topology,
    crossing_shares,
    leaf_spine,
    make_topology,
    read_network,
    write_hpcc_network,
)
from flowsched_gym.workload import make_workload

RACKS = {
    "name": "racks",
    "hosts": ["a", "b", "c"],
    "capacity": 1e9,
    "links": [
        {"ends": ["a", "left"]},
        {"ends": ["b", "left"], "delay_us": 3},
        {"ends": ["left", "right"], "capacity_gbps": 4, "delay_ms": 0.002},
        {"ends": ["right", "c"]},
    ],
}

HPCC = """\
6 2 5
4 5
0 4 100Gbps 1000ns 0
1 4 400Mbps 0.001ms 0
4 5 400Gbps 2us 0.0
2 5 100000000000bps 1000ns 0
3 5 100Gbps 1000ns 0
"""


def graphml(edges: str, nodes: str = "", directed: bool = False) -> str:
    keys = (
        '<key id="h" for="node" attr.name="host" attr.type="boolean"/>'
        '<key id="t" for="node" attr.name="role" attr.type="string"/>'
        '<key id="c" for="edge" attr.name="capacity_gbps" attr.type="double"><default>10</default></key>'
        '<key id="d" for="edge" attr.name="delay_us" attr.type="double"/>'
    )
    kind = "directed" if directed else "undirected"
    ends = re.findall(r'(?:source|target)="(.*?)"', edges)
    nodes += "".join(f'<node id="{end}"/>' for end in dict.fromkeys(ends) if f'id="{end}"' not in nodes)
    return (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{keys}<graph edgedefault="{kind}">{nodes}{edges}</graph></graphml>'
    )


def nodes_of(*hosts: str) -> str:
    return "".join(f'<node id="{host}"><data key="h">true</data></node>' for host in hosts)


def edge(source: str, target: str, data: str = "") -> str:
    return f'<edge source="{source}" target="{target}">{data}</edge>'


def test_links_have_the_values_of_the_file_and_the_usual_ones_elsewhere() -> None:
    network = make_topology(RACKS, num_hosts=3, capacity=7.0, delay=0.5)
    assert network.name == "racks"
    links = ("a to left", "b to left", "c to right", "left to a", "left to b", "right to c")
    assert network.link_names == (*links, "left to right", "right to left")
    assert network.capacity.tolist() == [1e9] * 6 + [5e8] * 2
    assert network.delay.tolist() == pytest.approx([0.5, 3e-6, 0.5, 0.5, 3e-6, 0.5, 2e-6, 2e-6])


def test_flows_take_every_shortest_path_and_no_other() -> None:
    cables = [("h0", "s0"), ("h1", "s1"), ("s0", "up"), ("up", "s1"), ("s0", "down"), ("down", "s1")]
    around = [("s0", "x"), ("x", "y"), ("y", "s1")]
    links = [{"ends": list(ends)} for ends in cables + around]
    network = make_topology({"hosts": ["h0", "h1"], "links": links}, num_hosts=2)
    first, last = network.candidates(np.array([0]), np.array([1]))
    paths = [
        [network.link_names[link] for link in network.path_links[start:end]]
        for start, end in zip(network.path_start[first[0] : last[0]], network.path_start[first[0] + 1 :], strict=False)
    ]
    middles = (["s0 to up", "up to s1"], ["s0 to down", "down to s1"])
    assert paths == [["h0 to s0", *middle, "s1 to h1"] for middle in middles]


def test_the_shares_and_completion_times_of_a_leaf_spine_from_a_file_are_those_of_the_package(tmp_path: Path) -> None:
    hosts = [f"h{number}" for number in range(6)]
    edges = [edge(host, f"leaf{number // 3}") for number, host in enumerate(hosts)]
    edges += [edge(f"leaf{leaf}", f"spine{spine}") for leaf in range(2) for spine in range(2)]
    file = tmp_path / "fabric.graphml"
    file.write_text(graphml("".join(edges), nodes_of(*hosts)))
    own, ours = make_topology(file, num_hosts=6), leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=3)
    assert set(own.capacity) == {1.25e9}
    assert sorted(crossing_shares(own)) == pytest.approx(sorted(crossing_shares(ours)))
    flows = make_workload("poisson-tree", num_hosts=6, num_flows=60, capacity=1.25e9).draw(3)
    fabric = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=3, capacity=1.25e9)
    for discipline in ("ps", "srpt"):
        expected = flowsched_gym.replay(flows, discipline=discipline, topology=fabric)
        # Sums of shares are added in the order of the links, which differs.
        assert flowsched_gym.replay(flows, discipline=discipline, topology=file).fct == pytest.approx(expected.fct)


def test_a_directed_graph_has_links_of_one_direction_and_parallel_edges_are_paths_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "ring.graphml"
    ways = [edge("a", "s"), edge("s", "b"), edge("s", "b", '<data key="d">5</data>'), edge("b", "s"), edge("s", "a")]
    file.write_text(graphml("".join(ways), nodes_of("a", "b"), directed=True))
    network = make_topology(file, num_hosts=2)
    assert network.num_links == 5
    first, last = network.candidates(np.array([0, 1]), np.array([1, 0]))
    assert (last - first).tolist() == [2, 1]
    assert network.path_delay(np.arange(first[0], last[0])).tolist() == pytest.approx([0.0, 5e-6])


def test_parallel_edges_of_one_id_are_two_cables_and_a_second_graph_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cables.graphml"
    cables = "".join(
        f'<edge id="x" source="{ends[0]}" target="{ends[1]}"><data key="c">{gbps}</data></edge>'
        for ends, gbps in (("st", 1), ("ts", 4), ("st", 1))
    )
    text = graphml(edge("a", "s") + edge("b", "t") + cables, nodes_of("a", "b"))
    file.write_text(text)
    network = make_topology(file, num_hosts=2)
    assert network.capacity[-6:].tolist() == [125e6, 125e6, 500e6, 500e6, 125e6, 125e6]
    first, last = network.candidates(np.array([0]), np.array([1]))
    assert (last - first).tolist() == [3]
    file.write_text(text.replace("</graphml>", '<graph edgedefault="directed"/></graphml>'))
    with pytest.raises(ConfigError, match="has 2 graphs: it must have one"):
        make_topology(file, num_hosts=2)


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_a_graph_of_networkx_is_a_network(kind: str) -> None:
    graph = getattr(pytest.importorskip("networkx"), kind)(capacity_gbps=4, name="star")
    graph.add_node(0, host=True)
    graph.add_node("b", host=True)
    graph.add_node("s", host=False)
    for _ in range(2):
        graph.add_edges_from([(0, "s", {"delay_us": 2}), ("s", "b")])
    if graph.is_directed():
        graph.add_edges_from([("s", 0), ("b", "s")])
    network = read_network(graph)
    assert (network.name, network.hosts, network.directed) == ("star", ("0", "b"), graph.is_directed())
    topology = make_topology(graph, num_hosts=2)
    assert set(topology.capacity) == {5e8}
    first, last = topology.candidates(np.array([0]), np.array([1]))
    assert (last - first).tolist() == [4 if graph.is_multigraph() else 1]
    flows = {"flow_id": [0], "source": [0], "destination": [1], "size_bytes": [1e6], "arrival_s": [0.0]}
    assert flowsched_gym.replay(flows, discipline="ps", topology=graph).fct == pytest.approx([2e-3 + 2e-6])
    graph.add_node("0", host=True)
    with pytest.raises(ConfigError, match="topology has two nodes 0: each must have a name of its own"):
        make_topology(graph, num_hosts=2)
    graph.remove_nodes_from([0, "0", "b"])
    with pytest.raises(ConfigError, match="topology: no node is a host"):
        make_topology(graph, num_hosts=2)


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_packets_cross_a_network_whose_hosts_have_several_links(engine: str) -> None:
    links = [{"ends": [host, switch]} for host in ("a", "b", "c") for switch in ("s", "t")]
    network = {"hosts": ["a", "b", "c"], "links": links, "capacity_gbps": 1, "delay_us": 2}
    flows = {
        "flow_id": [0, 1, 2],
        "source": [0, 1, 2],
        "destination": [1, 2, 0],
        "size_bytes": [14600.0, 29200.0, 1460.0],
        "arrival_s": [0.0, 1e-5, 2e-5],
    }
    records = flowsched_gym.replay_packets(flows, scheduler="fifo", topology=network, engine=engine)
    # No two flows share a link: 1 and 10 packets of 1500 B over two links, with twice the delay.
    alone = [(packets + 1) * 1500 / 1.25e8 + 4e-6 for packets in (10, 20, 1)]
    assert records.fct[[0, 2]] == pytest.approx([alone[0], alone[2]])


def test_what_a_network_is_written_down_as_is_the_same_network() -> None:
    network = read_network(RACKS)
    assert read_network(network.plain()) == network


def racks_of(hosts: int, spines: int, *, twice: int = 0) -> dict:
    """Racks of 20 hosts; the first so many hosts have a link to the next rack, too."""
    names = [f"h{host}" for host in range(hosts)]
    links = [{"ends": [name, f"leaf{host // 20}"]} for host, name in enumerate(names)]
    links += [{"ends": [names[host], f"leaf{host // 20 + 1}"]} for host in range(twice)]
    leaves = range(-(-hosts // 20))
    links += [{"ends": [f"leaf{leaf}", f"spine{spine}"]} for leaf in leaves for spine in range(spines)]
    return {"hosts": names, "links": links}


@pytest.mark.exhaustive
def test_a_replay_lists_the_paths_of_its_flows_alone_and_gives_the_same_bits() -> None:
    racks = racks_of(60, 3, twice=5)
    flows = make_workload("poisson-tree", num_hosts=60, num_flows=80).draw(2)
    whole = make_topology(racks, num_hosts=60)
    part = make_topology(racks, num_hosts=60, pairs=(flows.source, flows.destination))
    assert len(part.path_start) < len(whole.path_start) / 10
    assert read_network(racks).facts()["paths"] == len(whole.path_start) - 1 - 60  # those to itself
    for parameters in ({}, {"routing": "least-loaded"}, {"cpus": 1.0}):
        records = [
            flowsched_gym.replay(flows, discipline="srpt", topology=each, parameters=parameters)
            for each in (whole, racks)
        ]
        assert np.array_equal(records[0].fct, records[1].fct)
    records = [flowsched_gym.replay_packets(flows, scheduler="fifo", topology=each) for each in (whole, racks)]
    assert np.array_equal(records[0].fct, records[1].fct)


def test_thousands_of_hosts_can_be_replayed() -> None:
    racks = racks_of(4004, 4)
    flows = {"flow_id": [0, 1], "source": [0, 4003], "destination": [4003, 1], "size_bytes": [1e6] * 2}
    flows["arrival_s"] = [0.0, 0.0]
    assert flowsched_gym.replay(flows, discipline="ps", topology=racks).fct == pytest.approx([8e-3] * 2)
    assert read_network(racks).facts()["paths"] == 4004 * 4003 * 4 - 3 * (200 * 20 * 19 + 4 * 3)
    with pytest.raises(
        ConfigError, match=r"more than 8000000 shortest paths between all hosts: .* a replay lists those"
    ):
        make_topology(racks, num_hosts=4004)
    with pytest.raises(ConfigError, match="number of hosts is 4097: it must be an integer from 2 to 4096"):
        read_network(racks_of(4097, 1))


def test_a_pair_with_too_many_paths_is_refused_before_they_are_listed() -> None:
    hops = [{"ends": [f"s{hop}", f"s{hop + 1}"]} for hop in range(40) for _ in range(2)]
    chain = {"hosts": ["a", "b"], "links": [{"ends": ["a", "s0"]}, *hops, {"ends": ["s40", "b"]}]}
    flows = {"flow_id": [0], "source": [0], "destination": [1], "size_bytes": [1e6], "arrival_s": [0.0]}
    with pytest.raises(ConfigError, match=f"has {2**40} shortest paths from host a to host b: at most 100000"):
        flowsched_gym.replay(flows, discipline="ps", topology=chain)
    with pytest.raises(ConfigError, match="more than 8000000 shortest paths between all hosts"):
        make_topology(chain, num_hosts=2)


def changed(**changes: object) -> dict:
    return {**RACKS, **changes}


def with_link(**link: object) -> dict:
    links: Any = RACKS["links"]
    return changed(links=[*links, {"ends": ["left", "b"], **link}])


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (with_link(capacity=0), r"link 4 \(left to b\): capacity is 0: it must be a finite number > 0"),
        (with_link(delay_us=-1), r"link 4 \(left to b\): delay_us is -1: it must be a finite number >= 0"),
        (with_link(capacity="fast"), "capacity is 'fast'"),
        (with_link(capacity=1, capacity_gbps=1), "gives capacity and capacity_gbps: give one of them"),
        (with_link(speed=1), "has the key 'speed': it must be one of ends, capacity"),
        (with_link(ends=["b", "b"]), "begins and ends at one node"),
        (with_link(ends=["b"]), "it must be a mapping with its two ends"),
        (changed(hosts=["a"]), "number of hosts is 1: it must be an integer from 2 to 4096"),
        (changed(hosts=["a", "b", "b"]), "host b is listed twice"),
        (changed(hosts=["a", "b", "d"]), "host d has no link"),
        (changed(host=["a"]), "has the key 'host': it must be one of name, hosts"),
        (changed(links=[]), "links is .*: it must be a list, and not empty"),
        (changed(directed=True), "no path leads from host b to host a"),
    ],
)
def test_what_is_not_allowed_is_named_with_its_link_and_value(network: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_topology(network, num_hosts=3)


def test_a_faulty_file_is_named(tmp_path: Path) -> None:
    early = edge("a", "b", '<data key="d">-2</data>')
    cases = (
        ("none.graphml", None, "none.graphml does not exist"),
        ("text.graphml", "hosts", "text.graphml: this is not GraphML"),
        ("switches.graphml", graphml(edge("a", "b")), "switches.graphml: no node is a host"),
        ("edge.graphml", graphml(early, nodes_of("a", "b")), "edge.graphml, link 0 .a to b.: delay_us is -2"),
        ("list.yaml", "- 1", "list.yaml: it must be a mapping"),
        ("open.yaml", "hosts: [", "open.yaml: this is not YAML"),
        (
            "value.yml",
            "hosts: [a, b]\nlinks: [{ends: [a, b], delay: .nan}]",
            "value.yml, link 0 .a to b.: delay is nan",
        ),
    )
    for name, text, message in cases:
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(ConfigError, match=message):
            make_topology(tmp_path / name, num_hosts=2)
    with pytest.raises(ConfigError, match=r"it must end in \.graphml, \.txt, \.topo, \.json, \.yaml, \.yml"):
        make_topology(tmp_path / "value.csv", num_hosts=2)
    with pytest.raises(ConfigError, match="network racks has 3 hosts: 5 are needed"):
        make_topology(RACKS, num_hosts=5)


def test_a_topology_of_hpcc_is_read_with_its_rates_and_delays(tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    for text in (HPCC, HPCC.replace("6 2 5", "6 2 2 5").replace("4 5\n", "4\n5\n", 1)):  # PowerTCP's counts racks, too
        file.write_text(text)
        network = make_topology(file, num_hosts=4)
        assert network.num_hosts == 4
        names = ("0 to 4", "1 to 4", "2 to 5", "3 to 5", "4 to 0", "4 to 1", "5 to 2", "5 to 3", "4 to 5", "5 to 4")
        assert network.link_names == names
        assert network.capacity.tolist() == [12.5e9, 5e7, 12.5e9, 12.5e9] * 2 + [50e9] * 2
        assert network.delay.tolist() == [1e-6] * 8 + [2e-6] * 2


def test_what_is_ignored_of_a_topology_of_hpcc_is_said(tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    file.write_text("3 1 2\n0\n0 1 1Gbps 1us 0.001\n0 2 8000000.0 1us 0\n\nFirst line: total node #\n")
    ignored = "error rates of 1 link:.*rates without a unit .1..*have other numbers.*1 line after the last link"
    with pytest.warns(NetworkFileWarning, match=ignored):
        network = read_network(file)
    assert network.hosts == ("1", "2")
    assert [each.capacity for each in network.cables] == [1.25e8, 1e6]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("6 2 5", "6 2", "line 1 is '6 2': it must be the numbers of nodes, switches and links"),
        ("6 2 5", "6 2 x", "line 1: links is 'x': it must be a whole number from 0"),
        ("6 2 5", "6 2 6", "topology.txt ends after 5 links: it must have 6, as its first line says"),
        ("4 5\n", "4 4\n", "line 2 must have the switches, 2 of them, each once: 1 different ones"),
        ("4 5\n", "4 6\n", "line 2: switch is '6': it must be a whole number from 0 to 5"),
        ("0 4", "0 9", "line 3: node is '9': it must be a whole number from 0 to 5"),
        ("100Gbps", "100G", "line 3: the rate is '100G': it must be > 0, such as 100Gbps"),
        ("100Gbps", "0Gbps", "line 3: the rate is '0Gbps'"),
        ("1000ns", "1000", "line 3: the delay is '1000': it must be a time such as 1000ns"),
        ("1000ns 0", "1000ns 1.5", "line 3: the error rate is '1.5': it must be a share from 0 to 1"),
        ("1000ns 0", "1000ns", "line 3 is '0 4 100Gbps 1000ns': it must be a link: two nodes, rate, delay and error"),
        ("0 4", "0 0", "link 0 .0 to 0. begins and ends at one node"),
        ("0 4", "1 4", "host 0 has no link"),
    ],
)
def test_a_faulty_topology_of_hpcc_is_named_with_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    file.write_text(HPCC.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message) as caught:
        read_network(file)
    assert "topology.txt" in str(caught.value)


def equal(first: Topology, second: Topology) -> bool:
    arrays = ("capacity", "delay", "path_start", "path_links", "pair_start")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays)


def test_a_network_written_for_hpcc_reads_back_equal(tmp_path: Path) -> None:
    file = tmp_path / "topology.txt"
    file.write_text(HPCC)
    for given in (file, {**RACKS, "delay_us": 1}):
        network = make_topology(given, num_hosts=3)
        write_hpcc_network(network, tmp_path / "again.txt")
        assert equal(make_topology(tmp_path / "again.txt", num_hosts=3), network)
    # The package's own number links in another order; what is written and read twice has that of files.
    fabric = make_topology("fat-tree", num_hosts=16, capacity=1.25e9, delay=1e-6)
    write_hpcc_network(fabric, file)
    read = make_topology(file, num_hosts=16)
    write_hpcc_network(read, tmp_path / "again.txt")
    assert file.read_text() == (tmp_path / "again.txt").read_text()
    assert (read.num_links, len(read.path_start)) == (fabric.num_links, len(fabric.path_start))
    assert (np.diff(read.pair_start) == np.diff(fabric.pair_start)).all()


def test_a_network_that_hpcc_cannot_have_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="topology one-link has no hosts of its own"):
        write_hpcc_network(make_topology("one-link", num_hosts=2), tmp_path / "topology.txt")
    oneway = {
        "hosts": ["a", "b"],
        "directed": True,
        "links": [{"ends": ["a", "b"]}, {"ends": ["b", "a"], "capacity": 1}],
    }
    with pytest.raises(ConfigError, match="link a to b has no link back with its capacity and delay"):
        write_hpcc_network(make_topology(oneway, num_hosts=2), tmp_path / "topology.txt")
    with pytest.warns(NetworkFileWarning, match="ns-3 rounds rates to bit/s and delays to ns"):
        write_hpcc_network(make_topology(RACKS, num_hosts=2, delay=1e-10), tmp_path / "topology.txt")
