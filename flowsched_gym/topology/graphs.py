"""Graphs as networks: those of networkx (``topology.graphml`` reads files), and of the Internet Topology Zoo.

The nodes whose attribute ``host`` is true are hosts. A graph without this attribute, such as one of the Zoo, gets one
host beside each node where that is asked for. Edges have their values under the names of ``topology.own``, or as in the
Zoo: ``LinkSpeedRaw`` is a capacity in bit/s, and ``Latitude`` and ``Longitude`` of both ends give a delay, that of
light in fibre, at 2/3 of its speed in vacuum, along the great circle, in whole ns.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from flowsched_gym.core.checks import check_number
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import (
    BITS_PER_BYTE,
    BYTES_PER_SECOND_PER_GBPS,
    NANOSECONDS_PER_SECOND,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
)
from flowsched_gym.topology.ends import there_and_back
from flowsched_gym.topology.graphml import TRUTHS, Graph

CAPACITY_KEYS: Final = {"capacity": 1.0, "capacity_gbps": BYTES_PER_SECOND_PER_GBPS}
DELAY_KEYS: Final = {"delay": 1.0, "delay_ms": SECONDS_PER_MILLISECOND, "delay_us": SECONDS_PER_MICROSECOND}
"""Names of a link's values, and what each is multiplied by to be in B/s and s."""
OF_LINKS: Final = (*CAPACITY_KEYS, *DELAY_KEYS)
SPEED: Final = "LinkSpeedRaw"
COORDINATES: Final = {"Latitude": 90.0, "Longitude": 180.0}
"""Coordinates in degrees, and their largest absolute values."""
EARTH_RADIUS: Final = 6_371_000.0
"""Mean radius in m."""
FIBRE_SPEED: Final = 299_792_458.0 * 2 / 3
"""Speed of light in fibre, m/s."""
SPEED_GUESSED: Final = f"guessed: {SPEED} is the capacity of a link in bit/s"
DELAY_GUESSED: Final = (
    "guessed: links without a delay have that of light in fibre (2/3 of its speed in vacuum) along the great circle "
    "between coordinates"
)
NAMES_SHOWN: Final = 12
UNNAMED: Final = ("id", "key", "name", "Network", "node_default", "edge_default")
"""Attributes that networkx adds or that are read elsewhere."""


def mapping_of(graph: Graph, where: str, told: list[str], *, beside: bool = False, undirected: bool = False) -> Any:
    """Returns the mapping (``topology.own``) that describes the network of a graph.

    ``told`` gets a sentence for each thing that is guessed or ignored. ``beside`` adds a host beside each node, and
    ``undirected`` takes the edges of a directed graph as cables, an edge and one back as one.

    Raises:
        ConfigError: Something of the graph is not allowed; the message begins with ``where``.
    """
    usual = {**graph.graph.get("edge_default", {}), **graph.graph}
    usual = {key: usual[key] for key in OF_LINKS if key in usual}
    nodes, edges = dict(graph.nodes(data=True)), list(graph.edges(data=True))
    names = _names(nodes, where, labelled=beside)
    hosts = []
    for node, data in nodes.items():
        given = data.get("host", graph.graph.get("node_default", {}).get("host"))
        if beside and given is not None:
            raise ConfigError(f"{where}, node {node} has the attribute host: hosts beside nodes are for graphs without")
        if (text := str(given or False).lower()) not in TRUTHS:
            raise ConfigError(f"{where}, node {node}: host is {shown(given)}: it must be true or false")
        hosts += [names[node]] * TRUTHS[text]
    if not hosts and not beside:
        raise ConfigError(
            f"{where}: no node is a host: the boolean attribute host must be true of those that send; or add one "
            "beside each node: read_network(FILE, hosts='beside'), flowsched import-network FILE --hosts beside"
        )
    links: list[dict[str, Any]] = []
    guessed = dict[str, None]()
    for source, target, data in edges:
        if source != target:
            at = f"{where}, edge from {source} to {target}"
            values = _values(data, (nodes[source], nodes[target]), usual, at, guessed)
            links.append({"ends": [names[source], names[target]], **values})
    if loops := len(edges) - len(links):
        told.append(f"ignored: {loops} edge{'s' * (loops > 1)} from a node to itself")
    told += guessed
    directed = graph.is_directed() and not undirected
    if graph.is_directed() and undirected:
        links = _cables(links, where)
    if beside:
        hosts = list(names.values())
        if both := {f"switch {host}" for host in hosts}.intersection(hosts):
            raise ConfigError(f"{where}: node {min(both)} has the name of the switch beside another host: rename it")
        links = [{**each, "ends": [f"switch {end}" for end in each["ends"]]} for each in links]
        links = [*_access_links(hosts, links, directed, where, told), *links]
    _tell_ignored(nodes.values(), [data for *_, data in edges], graph.graph, told, labelled=beside)
    name = graph.graph.get("name") or graph.graph.get("Network")
    named = {"name": str(name)} if name else {}
    return {**named, "hosts": hosts, "links": links, "directed": directed, **usual}


def _names(nodes: Mapping[Any, Mapping[str, Any]], where: str, *, labelled: bool) -> dict[Any, str]:
    """Names nodes by themselves, or by their labels, followed by the node where several have one label."""
    labels = {node: str(data["label"]) for node, data in nodes.items() if labelled and data.get("label")}
    count = Counter(labels.values())
    names = {}
    for node in nodes:
        label = labels.get(node, str(node))
        names[node] = f"{label} ({node})" if count[label] > 1 else label
    twice = [name for name, times in Counter(names.values()).items() if times > 1]
    if twice:
        raise ConfigError(f"{where} has two nodes {twice[0]}: each must have a name of its own")
    return names


def _values(
    edge: Mapping[str, Any],
    ends: tuple[Mapping[str, Any], ...],
    usual: Mapping[str, Any],
    where: str,
    guessed: dict[str, None],
) -> dict[str, object]:
    """Returns the values of a link, under the names that a mapping has."""
    values: dict[str, Any] = {key: edge[key] for key in OF_LINKS if key in edge}
    if edge.get(SPEED) is not None and not CAPACITY_KEYS.keys() & values.keys():
        values["capacity"] = check_number(f"{where}: {SPEED}", edge[SPEED], above=0.0) / BITS_PER_BYTE
        guessed[SPEED_GUESSED] = None
    if not DELAY_KEYS.keys() & {**usual, **values}.keys() and all(name in end for end in ends for name in COORDINATES):
        values["delay"] = _delay(ends, where)
        guessed[DELAY_GUESSED] = None
    return values


def _delay(ends: tuple[Mapping[str, Any], ...], where: str) -> float:
    """Returns the delay in s between two places, in whole ns: the last bits of sines differ between processors."""
    places = []
    for end in ends:
        for name, most in COORDINATES.items():
            degrees = check_number(f"{where}: {name}", end[name])
            if abs(degrees) > most:
                raise ConfigError(f"{where}: {name} is {degrees}: it must be from {-most:g} to {most:g} degrees")
            places.append(math.radians(degrees))
    north, east, other_north, other_east = places
    halves = (north - other_north) / 2, (east - other_east) / 2
    north_half, east_half = map(math.sin, halves)  # noqa: TID251 - rounded to ns below
    round_half = math.cos(north) * math.cos(other_north) * east_half  # noqa: TID251 - rounded to ns below
    haversine = north_half * north_half + round_half * east_half
    distance = 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(haversine)))
    return round(distance / FIBRE_SPEED * NANOSECONDS_PER_SECOND) / NANOSECONDS_PER_SECOND


def _cables(links: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """Makes one cable of each link and one back, which must have the same values."""
    pairs, alone = there_and_back(link["ends"] for link in links)
    for there, back in pairs:
        if {**links[there], "ends": ()} != {**links[back], "ends": ()}:
            first, second = links[back]["ends"]
            raise ConfigError(f"{where}: the edges between {first} and {second} have other values one way: no cable")
    return [links[number] for number in sorted([*alone, *(there for there, _ in pairs)])]


def _access_links(
    hosts: Iterable[str], links: list[dict[str, Any]], directed: bool, where: str, told: list[str]
) -> list[dict[str, Any]]:
    """Joins a host to each node, at the largest capacity of a link, without delay."""
    given = [
        check_number(f"{where}: {key}", each[key], above=0.0) * unit
        for each in links
        for key, unit in CAPACITY_KEYS.items()
        if key in each
    ]
    value = {"capacity": max(given)} if given else {}
    speed = f"{max(given) / BYTES_PER_SECOND_PER_GBPS:g} Gbps, the largest of an edge" if given else "edges without one"
    told.append(f"guessed: each node is a switch with one host, by a link without delay, of the capacity of {speed}")
    ways = [("{0}", "switch {0}"), ("switch {0}", "{0}")][: 1 + directed]
    return [{"ends": [end.format(host) for end in way], **value, "delay": 0.0} for host in hosts for way in ways]


def _tell_ignored(
    nodes: Iterable[Mapping[str, Any]],
    edges: Iterable[Mapping[str, Any]],
    graph: Mapping[str, Any],
    told: list[str],
    *,
    labelled: bool,
) -> None:
    """Tells the attributes that are not read."""
    of_nodes = ("host", *COORDINATES, *["label"] * labelled)
    for what, found, read in (
        ("nodes", nodes, of_nodes),
        ("edges", edges, (*OF_LINKS, SPEED)),
        ("the graph", [graph], OF_LINKS),
    ):
        names = list(dict.fromkeys(str(key) for data in found for key in data if key not in (*read, *UNNAMED)))
        if names:
            more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
            told.append(f"ignored: attributes of {what}: {', '.join(names[:NAMES_SHOWN])}{more}")
