"""Holds graphs as networks, those of the Topology Zoo and of networkx, to their edges, and to what is told of them."""

import json
import math
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import NetworkFileWarning, import_network, make_topology, read_network, write_network

networkx = pytest.importorskip("networkx")

RING = """\
<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="Network" attr.type="string" for="graph" id="n"/>
  <key attr.name="Note" attr.type="string" for="graph" id="g"/>
  <key attr.name="label" attr.type="string" for="node" id="l"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="la"/>
  <key attr.name="Longitude" attr.type="double" for="node" id="lo"/>
  <key attr.name="Country" attr.type="string" for="node" id="c"/>
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="s"/>
  <key attr.name="LinkLabel" attr.type="string" for="edge" id="e"/>
  <graph edgedefault="undirected">
    <data key="n">Ring</data><data key="g">made up</data>
    <node id="0"><data key="l">North</data><data key="la">90</data><data key="lo">0</data></node>
    <node id="1"><data key="l">Equator</data><data key="la">0</data><data key="lo">0</data></node>
    <node id="2"><data key="l">Equator</data><data key="la">0</data><data key="lo">90</data></node>
    <node id="3"><data key="l">Nowhere</data><data key="c">X</data></node>
    <edge source="0" target="1" id="a"><data key="s">1e10</data><data key="e">fast</data></edge>
    <edge source="0" target="1" id="a"><data key="s">1e9</data></edge>
    <edge source="1" target="2"><data key="s">2.5e9</data></edge>
    <edge source="2" target="3"/>
    <edge source="3" target="0"/>
    <edge source="3" target="3"/>
  </graph>
</graphml>
"""
QUARTER = math.pi / 2 * 6_371_000 / (299_792_458 * 2 / 3)
"""Delay of a quarter of the globe in s."""


def test_a_graph_of_the_zoo_gets_a_host_beside_each_node_and_what_was_guessed_is_told(tmp_path: Path) -> None:
    (tmp_path / "ring.graphml").write_text(RING)
    with pytest.raises(ConfigError, match=r"no node is a host: .* --hosts beside"):
        read_network(tmp_path / "ring.graphml")
    network, told = import_network(tmp_path / "ring.graphml", hosts="beside")
    assert (network.name, network.directed) == ("Ring", False)
    names = ("North", "Equator (1)", "Equator (2)", "Nowhere")
    assert network.hosts == names
    assert [(each.ends, each.capacity, each.delay) for each in network.cables[:4]] == [
        ((name, f"switch {name}"), 1.25e9, 0.0) for name in names
    ]
    edges = [(tuple(end.removeprefix("switch ") for end in each.ends), each.capacity) for each in network.cables[4:]]
    assert sorted(edges, key=str) == [
        (("Equator (1)", "Equator (2)"), 3.125e8),
        (("Equator (2)", "Nowhere"), None),
        (("North", "Equator (1)"), 1.25e8),
        (("North", "Equator (1)"), 1.25e9),
        (("North", "Nowhere"), None),
    ]
    delays = [each.delay for each in network.cables[4:]]
    assert delays.count(None) == 2
    assert [each for each in delays if each is not None] == pytest.approx([QUARTER] * 3, abs=1e-9)
    assert told == [
        "ignored: 1 edge from a node to itself",
        "guessed: LinkSpeedRaw is the capacity of a link in bit/s",
        "guessed: links without a delay have that of light in fibre (2/3 of its speed in vacuum) along the great "
        "circle between coordinates",
        "guessed: each node is a switch with one host, by a link without delay, of the capacity of 10 Gbps, the "
        "largest of an edge",
        "ignored: attributes of nodes: Country",
        "ignored: attributes of edges: LinkLabel",
        "ignored: attributes of the graph: Note",
    ]
    flows = {"flow_id": [0], "source": [0], "destination": [3], "size_bytes": [1e6], "arrival_s": [0.0]}
    with pytest.warns(NetworkFileWarning, match=r"ring.graphml: ignored: 1 edge .* attributes of edges: LinkLabel"):
        network = read_network(tmp_path / "ring.graphml", hosts="beside")
    records = flowsched_gym.replay(flows, discipline="ps", topology=network, parameters={"delay": 1.0})
    # From North to Nowhere, of no known place: the usual delay and 1 Gbps.
    assert records.fct == pytest.approx([1.0 + 1e6 / 1.25e8])
    env = gymnasium.make("flowsched/MERPOrder-v0", topology=network, workload="poisson-tree", flows=5)
    env.reset(seed=0)


def test_a_graph_in_parts_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "parts.graphml").write_text(
        RING.replace('<edge source="2" target="3"/>', "").replace('<edge source="3" target="0"/>', "")
    )
    network, _ = import_network(tmp_path / "parts.graphml", hosts="beside")
    message = r"no path leads from host .*Nowhere.* of a graph in parts keep one, such as graph.subgraph"
    with pytest.raises(ConfigError, match=message):
        network.facts()
    with pytest.raises(ConfigError, match=message):
        make_topology(network, num_hosts=2)


def test_a_directed_graph_can_be_read_as_cables() -> None:
    graph = networkx.DiGraph(capacity_gbps=1)
    graph.add_edges_from([("a", "b"), ("b", "a"), ("b", "c")], delay_us=2)
    network, _ = import_network(graph, hosts="beside", undirected=True)
    assert not network.directed
    assert [each.ends for each in network.cables[3:]] == [("switch a", "switch b"), ("switch b", "switch c")]
    network, _ = import_network(graph, hosts="beside")
    assert network.directed
    assert [each.ends for each in network.cables[:2]] == [("a", "switch a"), ("switch a", "a")]
    with pytest.raises(ConfigError, match="no path leads from host c to host a"):
        network.facts()
    graph["b"]["a"]["delay_us"] = 3
    with pytest.raises(ConfigError, match="the edges between b and a have other values one way"):
        import_network(graph, hosts="beside", undirected=True)


@pytest.mark.parametrize("edges", ["edges", "links"])
def test_a_node_link_mapping_is_a_network_also_from_a_file(edges: str, tmp_path: Path) -> None:
    graph = networkx.MultiGraph(capacity_gbps=2, name="pair")
    for host in ("a", "b"):
        graph.add_node(host, host=True)
        graph.add_edge(host, "s", delay_us=1)
    mapping = networkx.node_link_data(graph, edges=edges)
    network = read_network(mapping)
    assert network == read_network(graph)
    (tmp_path / "pair.json").write_text(json.dumps(mapping))
    assert read_network(tmp_path / "pair.json") == network
    flows = {"flow_id": [0], "source": [0], "destination": [1], "size_bytes": [1e6], "arrival_s": [0.0]}
    assert flowsched_gym.replay(flows, discipline="ps", topology=mapping).fct == pytest.approx([4e-3 + 2e-6])
    for wrong, message in (
        ({"nodes": 3}, "this is no mapping of networkx"),
        ({"nodes": [*mapping["nodes"], {"id": "a"}]}, "node a is listed 2 times: each must have an id of its own"),
        ({edges: [*mapping[edges], {"source": "a", "target": "t"}]}, "an edge joins a and t: there is no node t"),
        ({"directed": "false"}, "directed is 'false': it must be true or false"),
        ({"multigraph": 0}, "multigraph is 0: it must be true or false"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_network({**mapping, **wrong})
    del mapping["nodes"]
    (tmp_path / "pair.json").write_text(json.dumps(mapping))
    with pytest.raises(ConfigError, match=r"pair.json: it must be a mapping with hosts and links, or a node-link"):
        read_network(tmp_path / "pair.json")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('target="3"/>', 'target="7"/>', "ring.graphml: an edge joins 2 and 7: there is no node 7"),
        ('<node id="3">', '<node id="2">', "ring.graphml: node 2 is listed 2 times"),
        (">Nowhere<", ">switch North<", "ring.graphml: node switch North has the name of the switch beside another"),
        ("1e10", "-1", "ring.graphml, edge from 0 to 1: LinkSpeedRaw is -1"),
        (">90<", ">100<", "ring.graphml, edge from 0 to 1: Latitude is 100.0"),
    ],
)
def test_a_faulty_graphml_is_refused_by_its_node_or_edge(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ring.graphml").write_text(RING.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        import_network(tmp_path / "ring.graphml", hosts="beside")


def changed(**edge: Any) -> Any:
    graph = networkx.Graph()
    for node in ("a", "b"):
        graph.add_node(node, **({} if edge else {"host": True}))
    graph.add_edge("a", "b", **edge)
    return graph


def test_what_is_not_allowed_of_a_graph_is_named() -> None:
    far = changed(LinkSpeedRaw=1)
    far.add_node("a", Latitude=91, Longitude=0)
    far.add_node("b", Latitude=0, Longitude=0)
    for graph, message in (
        (changed(LinkSpeedRaw=0), "LinkSpeedRaw is 0: it must be a finite number > 0"),
        (changed(LinkSpeedRaw="fast"), "LinkSpeedRaw is 'fast': it must be a finite number > 0"),
        (changed(capacity=-1), "capacity is -1: it must be a finite number > 0"),
        (far, "Latitude is 91.0: it must be from -90 to 90 degrees"),
        (changed(), "node a has the attribute host: hosts beside nodes are for graphs without"),
    ):
        with pytest.raises(ConfigError, match=message):
            import_network(graph, hosts="beside")
    with pytest.raises(ConfigError, match="hosts is 'besides': it must be one of beside"):
        read_network(changed(), hosts="besides")
    with pytest.raises(ConfigError, match=r"hosts and undirected .* are for graphs alone"):
        read_network({"hosts": ["a", "b"], "links": [{"ends": ["a", "b"]}]}, undirected=True)


@pytest.mark.parametrize("name", ["network.yaml", "network.json"])
def test_a_network_that_is_written_reads_back_equal(name: str, tmp_path: Path) -> None:
    values = [{"capacity": 1e9 / 3}, {"capacity_gbps": 0.1, "delay_us": 0.7}, {"delay": 1 / 3e7, "capacity": 1e17}, {}]
    links = [{"ends": ends, **value} for ends, value in zip(["as", "sb", "ts", "tü"], values, strict=True)]
    links = [{**link, "ends": list(link["ends"])} for link in links]  # type: ignore[call-overload]
    network = read_network({"name": "odd: [1]", "hosts": ["a", "b", "ü"], "links": links})
    write_network(network, tmp_path / name)
    assert read_network(tmp_path / name) == network
    with pytest.raises(
        ConfigError, match=r"extension of a network file is '.txt': it must be one of .yaml, .yml, .json"
    ):
        write_network(network, tmp_path / "network.txt")


def test_a_value_of_a_graphml_file_that_is_none_of_its_type_is_named_with_whose_it_is(tmp_path: Path) -> None:
    keys = '<key id="c" for="edge" attr.name="capacity" attr.type="double"/>'
    keys += '<key id="h" for="node" attr.name="host" attr.type="boolean"/>'
    for host, capacity, message in (
        ("maybe", "1e9", "node a: host is 'maybe': it must be true or false"),
        ("true", "fast", "edge a to b: capacity is 'fast': it must be a number"),
    ):
        nodes = f'<node id="a"><data key="h">{host}</data></node><node id="b"><data key="h">true</data></node>'
        edge = f'<edge source="a" target="b"><data key="c">{capacity}</data></edge>'
        text = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}<graph>{nodes}{edge}</graph></graphml>'
        (tmp_path / "pair.graphml").write_text(text)
        with pytest.raises(ConfigError, match=message):
            read_network(tmp_path / "pair.graphml")
    unused = text.replace('attr.name="capacity"', 'attr.name="weight"').replace(">fast</data>", "/>")
    (tmp_path / "pair.graphml").write_text(unused)
    network, _ = import_network(tmp_path / "pair.graphml")
    assert [each.capacity for each in network.cables] == [None], "an empty value that nobody reads is no fault"
