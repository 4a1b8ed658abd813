"""Graphs as networks: GraphML, networkx's graphs and node-link mappings, and those of the Internet Topology Zoo.

The nodes whose attribute ``host`` is true are hosts. A graph without this attribute, such as one of the Zoo, gets one
host beside each node where that is asked for. Edges have their values under the names of ``topology.own``, or as in the
Zoo: ``LinkSpeedRaw`` is a capacity in bit/s, and ``Latitude`` and ``Longitude`` of both ends give a delay, that of
light in fibre, at 2/3 of its speed in vacuum, along the great circle, in whole ns.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable
from xml.etree import ElementTree

from flowsched_gym.core.checks import check_flag, check_number
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, shown
from flowsched_gym.core.units import (
    BITS_PER_BYTE,
    BYTES_PER_SECOND_PER_GBPS,
    NANOSECONDS_PER_SECOND,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
)
from flowsched_gym.topology.ends import there_and_back

EXTRA: Final = "networks"
CAPACITY_KEYS: Final = {"capacity": 1.0, "capacity_gbps": BYTES_PER_SECOND_PER_GBPS}
DELAY_KEYS: Final = {"delay": 1.0, "delay_ms": SECONDS_PER_MILLISECOND, "delay_us": SECONDS_PER_MICROSECOND}
"""Names of a link's values, and what each is multiplied by to be in B/s and s."""
OF_LINKS: Final = (*CAPACITY_KEYS, *DELAY_KEYS)
TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}
"""What the attribute ``host`` may be, as text in lower case."""
NUMBER: Final = (float, "a number")
WHOLE: Final = (int, "a whole number")
TYPES: Final[dict[str, tuple[Callable[[str], object], str]]] = {
    **{"float": NUMBER, "double": NUMBER, "int": WHOLE, "long": WHOLE},
    "boolean": (lambda text: TRUTHS[text.lower()], "true or false"),
}
"""How values of GraphML's types are read, and what they must be."""
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


@runtime_checkable
class Graph(Protocol):
    """What is read of a graph of networkx, directed or not, with parallel edges or without."""

    graph: dict[str, Any]
    nodes: Any
    edges: Any
    is_directed: Callable[[], bool]


def read_graphml(path: Path) -> Graph:
    """Reads the graph of a GraphML file.

    Raises:
        ConfigError: It is no GraphML, or has several graphs.
        MissingDependencyError: networkx is not installed.
    """
    networkx = _networkx("read GraphML files")
    root: ElementTree.Element | None = None
    try:
        root = ElementTree.parse(path).getroot()
        for number, edge in enumerate(root.iterfind(".//{*}edge")):
            edge.set("id", str(number))  # of parallel edges with one id networkx would keep the last
        graph: Graph = networkx.parse_graphml(ElementTree.tostring(root, encoding="unicode"))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - of what is no GraphML it raises ParseError, KeyError, ValueError and more
        if root is not None:
            _check_data(root, str(path))
        raise ConfigError(f"{path}: this is not GraphML: {str(error) or type(error).__name__}") from None
    graphs = len(root.findall("{*}graph"))
    if graphs > 1:
        raise ConfigError(f"{path} has {graphs} graphs: it must have one")
    _check_nodes(root.iterfind(".//{*}node"), root.iterfind(".//{*}edge"), str(path))
    return graph


def read_node_link(content: Mapping[str, Any], where: str) -> Graph:
    """Reads the graph of a mapping as ``networkx.node_link_data`` makes it.

    Raises:
        ConfigError: It is none.
        MissingDependencyError: networkx is not installed.
    """
    networkx = _networkx("read node-link mappings")
    for name in ("directed", "multigraph"):
        check_flag(f"{where}: {name}", content.get(name, False))
    edges = "edges" if "edges" in content else "links"
    try:
        graph: Graph = networkx.node_link_graph(dict(content), edges=edges)
    except Exception as error:  # noqa: BLE001 - KeyError, TypeError, NetworkXError and more
        what = str(error) or type(error).__name__
        raise ConfigError(f"{where}: this is no mapping of networkx.node_link_data: {what}") from None
    _check_nodes(content["nodes"], content[edges], where)
    return graph


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


def _check_data(root: ElementTree.Element, where: str) -> None:
    """Names the value of a node or an edge that is none of its type, if there is one: networkx does not say whose."""
    keys = {key.get("id"): (key.get("attr.name"), key.get("attr.type", "")) for key in root.iterfind("{*}key")}
    for kind, ends in (("node", ("id",)), ("edge", ("source", "target"))):
        for each in root.iterfind(f".//{{*}}{kind}"):
            for data in each.iterfind("{*}data"):
                name, type_name = keys.get(data.get("key"), ("", ""))
                text = (data.text or "").strip()
                read, allowed = TYPES.get(type_name, (str, ""))
                try:
                    read(text)
                except (KeyError, ValueError):
                    of = " to ".join(str(each.get(end)) for end in ends)
                    raise ConfigError(f"{where}, {kind} {of}: {name} is {shown(text)}: it must be {allowed}") from None


def _check_nodes(nodes: Iterable[Any], edges: Iterable[Any], where: str) -> None:
    """Refuses nodes of one id, which networkx would merge, and edges to none, for which it would make one."""
    count = Counter(str(node.get("id", number)) for number, node in enumerate(nodes))
    for node, times in count.items():
        if times > 1:
            raise ConfigError(f"{where}: node {node} is listed {times} times: each must have an id of its own")
    for edge in edges:
        for end in (ends := [str(edge.get(name)) for name in ("source", "target")]):
            if end not in count:
                raise ConfigError(f"{where}: an edge joins {' and '.join(ends)}: there is no node {end}")


def _networkx(purpose: str) -> Any:
    try:
        import networkx  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("networkx", extra=EXTRA, purpose=purpose) from None
    return networkx


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
