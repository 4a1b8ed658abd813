"""Networks of one's own, from GraphML or a graph of networkx, HPCC's, YAML or a mapping: hosts, switches, links.

A mapping, as YAML has it::

    name: two-racks                                        # by default that of the file
    hosts: [h0, h1, h2, h3]                                # numbered from 0 in this order
    capacity_gbps: 10                                      # of links that give none of their own
    links:
      - {ends: [h0, left]}                                 # whatever is no host is a switch
      - {ends: [left, right], capacity_gbps: 40, delay_us: 2}
    directed: false                                        # true: a link leads from its first end to its second alone

In a graph the nodes whose attribute ``host`` is true are the hosts, in the order of the file; edges have the attributes
``capacity`` and ``delay``, and an edge of an undirected graph is a cable with both directions. Values are in B/s and s;
a name may end in a unit instead: ``capacity_gbps``, ``delay_ms``, ``delay_us``. The same names on the graph stand for
edges that have none of their own.

A file ``.txt`` is one of HPCC's (``topology.hpcc``).

Flows take the paths with the fewest links, all of them equal; hosts forward nothing.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeGuard, runtime_checkable
from xml.etree import ElementTree

import numpy as np

from flowsched_gym.core.arrays import is_sequence
from flowsched_gym.core.checks import check_between, check_flag, check_number
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, listed, shown
from flowsched_gym.core.files import open_to_read, read_yaml
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MICROSECOND, SECONDS_PER_MILLISECOND
from flowsched_gym.topology.hpcc import read_hpcc_network
from flowsched_gym.topology.topology import Topology

GRAPHML: Final = ".graphml"
HPCC: Final = ".txt"
SUFFIXES: Final = (GRAPHML, ".yaml", ".yml", HPCC)
"""Extensions of network files."""
EXTRA: Final = "networks"
MOST_HOSTS: Final = 512
"""Hosts of a network at most."""
MOST_PATHS: Final = 2_000_000
"""Paths of a network at most; listing so many takes seconds."""
CAPACITY_KEYS: Final = {"capacity": 1.0, "capacity_gbps": BYTES_PER_SECOND_PER_GBPS}
DELAY_KEYS: Final = {"delay": 1.0, "delay_ms": SECONDS_PER_MILLISECOND, "delay_us": SECONDS_PER_MICROSECOND}
"""Names of a link's values, and what each is multiplied by to be in B/s and s."""
OF_LINKS: Final = (*CAPACITY_KEYS, *DELAY_KEYS)
TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}
"""What the attribute ``host`` may be, as text in lower case."""


@runtime_checkable
class Graph(Protocol):
    """What is read of a graph of networkx, directed or not, with parallel edges or without."""

    graph: dict[str, Any]
    nodes: Any
    edges: Any
    is_directed: Callable[[], bool]


class Cable(NamedTuple):
    """A link of a file: its ends, capacity in B/s and delay in s; None where the file gives none."""

    ends: tuple[str, str]
    capacity: float | None
    delay: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNetwork:
    """A network as its file describes it; ``str`` gives its name.

    Attributes:
        name: Its name, for titles and messages.
        hosts: Names of the hosts, which are numbered in this order.
        cables: The links.
        directed: Whether a link has one direction; by default it has both, each with its capacity.
    """

    name: str
    hosts: tuple[str, ...]
    cables: tuple[Cable, ...]
    directed: bool = False

    def __str__(self) -> str:
        return self.name

    def plain(self) -> dict[str, object]:
        """Returns the mapping that describes it, in B/s and s, as result files keep it."""
        links = [{key: value for key, value in each._asdict().items() if value is not None} for each in self.cables]
        links = [{**link, "ends": list(each.ends)} for link, each in zip(links, self.cables, strict=True)]
        return {"name": self.name, "hosts": list(self.hosts), "links": links, "directed": self.directed}

    @property
    def host_capacity(self) -> float | None:
        """Capacity in B/s of every host's only link, each way; None where hosts have several or different ones."""
        hosts = set(self.hosts)
        at_hosts = [(end, each.capacity) for each in self.cables for end in hosts.intersection(each.ends)]
        links_of_host = (2 if self.directed else 1) * len(hosts)
        return at_hosts[0][1] if len(at_hosts) == links_of_host and len({value for _, value in at_hosts}) == 1 else None

    def filled(self, *, capacity: float, delay: float) -> "OwnNetwork":
        """Gives the links that have no capacity in B/s or delay in s of their own these."""
        cables = [
            Cable(
                each.ends,
                capacity if each.capacity is None else each.capacity,
                delay if each.delay is None else each.delay,
            )
            for each in self.cables
        ]
        return replace(self, cables=tuple(cables))

    def topology(self, *, capacity: float, delay: float) -> Topology:
        """Builds it; links without a capacity in B/s or a delay in s of their own have these.

        Links are numbered like those of the package's networks: first those that leave hosts, host by host, then those
        that reach hosts, then all others in the order of the file.

        Raises:
            ConfigError: A host cannot reach another one, or there are too many paths.
        """
        cables = self.filled(capacity=capacity, delay=delay).cables
        number = {host: index for index, host in enumerate(self.hosts)}
        ways = (slice(None),) if self.directed else (slice(None), slice(None, None, -1))
        directions = [((each.ends[way][0], each.ends[way][1]), each) for each in cables for way in ways]

        def tier(link: tuple[tuple[str, str], Cable]) -> tuple[int, int]:
            source, target = link[0]
            return (0, number[source]) if source in number else (1, number[target]) if target in number else (2, 0)

        directions.sort(key=tier)
        ends = [each for each, _ in directions]
        path_start, path_links, pair_start = [0], [], [0]
        by_source = [self._paths_to(host, ends) for host in self.hosts]
        for source in self.hosts:
            for target, paths_from in zip(self.hosts, by_source, strict=True):
                for path in paths_from(source):
                    path_links.extend(path)
                    path_start.append(len(path_links))
                    if len(path_start) > MOST_PATHS:
                        raise ConfigError(f"network {self.name} has more than {MOST_PATHS} shortest paths: too many")
                if len(path_start) - 1 == pair_start[-1]:
                    raise ConfigError(
                        f"network {self.name}: no path leads from host {source} to host {target} (hosts forward "
                        "nothing): every host must reach every other one"
                    )
                pair_start.append(len(path_start) - 1)
        return Topology(
            name=self.name,
            num_hosts=len(self.hosts),
            capacity=np.array([each.capacity for _, each in directions], dtype=np.float64),
            delay=np.array([each.delay for _, each in directions], dtype=np.float64),
            link_names=tuple(f"{source} to {target}" for source, target in ends),
            path_start=np.array(path_start),
            path_links=np.array(path_links),
            pair_start=np.array(pair_start),
        )

    def _paths_to(self, target: str, ends: list[tuple[str, str]]) -> Any:
        """Returns what lists the shortest paths, as links, from a host to this one; from itself: out and back."""
        into: dict[str, list[str]] = {}
        out: dict[str, list[tuple[int, str]]] = {}
        for link, (begin, end) in enumerate(ends):
            into.setdefault(end, []).append(begin)
            out.setdefault(begin, []).append((link, end))
        hosts, distance, reached = set(self.hosts), {target: 0}, [target]
        for node in reached:
            for before in into.get(node, ()) if node == target or node not in hosts else ():
                if before not in distance:
                    distance[before] = distance[node] + 1
                    reached.append(before)

        def walk(node: str) -> Iterator[list[int]]:
            if node == target:
                yield []
            for link, after in out.get(node, ()):
                nearer = after == target or after not in hosts
                if nearer and distance.get(after, -1) == distance.get(node, -1) - 1:
                    yield from ([link, *rest] for rest in walk(after))

        def paths_from(source: str) -> Iterator[list[int]]:
            if source != target:
                return walk(source)
            ways = (next((link for link, each in enumerate(ends) if each[way] == source), None) for way in (0, 1))
            return iter([[link for link in ways if link is not None]])

        return paths_from


TopologyLike = str | PathLike[str] | Mapping[str, object] | Graph | OwnNetwork
"""Forms in which a topology may be given: by name, or one's own."""


def is_own_network(topology: object) -> TypeGuard[TopologyLike]:
    """Returns whether a topology is a file, by its extension, a mapping, a graph, or was read from one."""
    if isinstance(topology, str):
        return topology.lower().endswith(SUFFIXES)
    return isinstance(topology, (PathLike, Mapping, Graph, OwnNetwork))


def read_network(topology: TopologyLike) -> OwnNetwork:
    """Reads a network from a file, a graph of networkx, or the mapping that describes one.

    Raises:
        ConfigError: The file cannot be read, or something in it is not allowed; the message names file, node or link,
            value, and what is allowed.
        MissingDependencyError: networkx, or omegaconf for YAML, is not installed.
    """
    if isinstance(topology, OwnNetwork):
        return topology
    if isinstance(topology, Graph):
        topology = _mapping_of(topology, "topology")
    if isinstance(topology, Mapping):
        return _described(dict(topology), "topology", "topology")
    with open_to_read(topology, "network", "a network file (.graphml, .yaml, .txt)") as file:
        if not fsdecode(file).lower().endswith(SUFFIXES):
            raise ConfigError(f"topology is {shown(os.fspath(file))}: it must end in {', '.join(SUFFIXES)}")
        readers = {GRAPHML: _read_graphml, HPCC: read_hpcc_network}
        reader = readers.get(file.suffix.lower())
        content = read_yaml(file, extra=EXTRA) if reader is None else reader(file)
    if not isinstance(content, Mapping):
        raise ConfigError(f"{file}: it must be a mapping with hosts and links")
    return _described(dict(content), str(file), file.stem)


def _described(content: dict[Any, Any], where: str, name: str) -> OwnNetwork:
    """Checks a mapping, and makes the network that it describes."""
    known = ("name", "hosts", "links", "directed", *OF_LINKS)
    for key in content:
        if key not in known:
            raise ConfigError(f"{where} has the key {shown(key)}: it must be one of {listed(key, known)}")
    for key in ("hosts", "links"):
        if not is_sequence(content.get(key)) or not len(content[key]):
            raise ConfigError(f"{where}: {key} is {shown(content.get(key))}: it must be a list, and not empty")
    hosts = tuple(map(str, content["hosts"]))
    check_between(f"{where}: the number of hosts", len(hosts), 2, MOST_HOSTS)
    for host in hosts:
        if hosts.count(host) > 1:
            raise ConfigError(f"{where}: host {host} is listed twice: each must have a name of its own")
    usual = {key: content[key] for key in OF_LINKS if key in content}
    usual_capacity, usual_delay = _values(usual, where)
    cables = []
    for index, link in enumerate(content["links"]):
        at = f"{where}, link {index}"
        if not isinstance(link, Mapping) or not is_sequence(link.get("ends")) or len(link["ends"]) != 2:
            raise ConfigError(f"{at} is {shown(link)}: it must be a mapping with its two ends, such as ends: [h0, s0]")
        first, second = map(str, link["ends"])
        at = f"{at} ({first} to {second})"
        for key in link:
            if key not in ("ends", *OF_LINKS):
                raise ConfigError(
                    f"{at} has the key {shown(key)}: it must be one of {listed(key, ('ends', *OF_LINKS))}"
                )
        if first == second:
            raise ConfigError(f"{at} begins and ends at one node: it must join two")
        capacity, delay = _values(link, at)
        own = usual_capacity if capacity is None else capacity, usual_delay if delay is None else delay
        cables.append(Cable((first, second), *own))
    ends = {each for cable in cables for each in cable.ends}
    for host in hosts:
        if host not in ends:
            raise ConfigError(f"{where}: host {host} has no link: every host must have one")
    directed = check_flag(f"{where}: directed", content.get("directed", False))
    return OwnNetwork(name=str(content.get("name") or name), hosts=hosts, cables=tuple(cables), directed=directed)


def _values(link: Mapping[str, object], where: str) -> tuple[float | None, float | None]:
    """Reads the capacity in B/s and the delay in s of a link; None for what it does not give."""
    found: list[float | None] = []
    for keys, bound in ((CAPACITY_KEYS, {"above": 0.0}), (DELAY_KEYS, {"at_least": 0.0})):
        given = [key for key in keys if link.get(key) is not None]
        if len(given) > 1:
            raise ConfigError(f"{where} gives {given[0]} and {given[1]}: give one of them")
        values = [check_number(f"{where}: {key}", link[key], **bound) * keys[key] for key in given]
        found.append(values[0] if values else None)
    return found[0], found[1]


def _read_graphml(path: Path) -> dict[str, object]:
    """Reads GraphML as the mapping that describes the same network; attributes that mean nothing here are left out."""
    try:
        import networkx  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("networkx", extra=EXTRA, purpose="read GraphML files") from None
    try:
        root = ElementTree.parse(path).getroot()
        for number, edge in enumerate(root.iterfind(".//{*}edge")):
            edge.set("id", str(number))  # of parallel edges with one id networkx would keep the last
        graph = networkx.parse_graphml(ElementTree.tostring(root, encoding="unicode"))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - of what is no GraphML it raises ParseError, KeyError, ValueError and more
        raise ConfigError(f"{path}: this is not GraphML: {str(error) or type(error).__name__}") from None
    graphs = len(root.findall("{*}graph"))
    if graphs > 1:
        raise ConfigError(f"{path} has {graphs} graphs: it must have one")
    return _mapping_of(graph, str(path))


def _mapping_of(graph: Graph, where: str) -> dict[str, object]:
    """Returns the mapping that describes the network of a graph."""
    usual = {**graph.graph.get("edge_default", {}), **graph.graph}
    hosts, nodes = [], set[str]()
    for node, data in graph.nodes(data=True):
        if str(node) in nodes:
            raise ConfigError(f"{where} has two nodes {node}: each must have a name of its own")
        nodes.add(str(node))
        given = data.get("host", graph.graph.get("node_default", {}).get("host", False))
        if str(given).lower() not in TRUTHS:
            raise ConfigError(f"{where}, node {node}: host is {shown(given)}: it must be true or false")
        if TRUTHS[str(given).lower()]:
            hosts.append(node)
    if not hosts:
        raise ConfigError(f"{where}: no node is a host: the boolean attribute host must be true of those that send")
    links = [
        {"ends": [source, target], **{key: data[key] for key in OF_LINKS if key in data}}
        for source, target, data in graph.edges(data=True)
    ]
    named = {"name": graph.graph["name"]} if graph.graph.get("name") else {}
    usual = {key: usual[key] for key in OF_LINKS if key in usual}
    return {**named, "hosts": hosts, "links": links, "directed": graph.is_directed(), **usual}
