"""Networks of one's own, from graphs, files of HPCC and htsim, YAML or a mapping: hosts, switches, links.

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

``topology.graphs`` says more of graphs. A file ``.txt`` is one of HPCC's (``topology.hpcc``), ``.topo`` of htsim
(``topology.htsim``).

Flows take the paths with the fewest links, all of them equal; hosts forward nothing.
"""

import json
import os
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fsdecode
from typing import Any, Final, NamedTuple, TypeGuard

import numpy as np

from flowsched_gym.core.arrays import is_sequence
from flowsched_gym.core.checks import check_between, check_choice, check_flag, check_number
from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, listed, shown
from flowsched_gym.core.files import open_to_read, read_json, read_yaml, replace_when_written
from flowsched_gym.topology.graphml import EXTRA, Graph, read_graphml, read_node_link
from flowsched_gym.topology.graphs import CAPACITY_KEYS, DELAY_KEYS, OF_LINKS, mapping_of
from flowsched_gym.topology.hpcc import read_hpcc_network
from flowsched_gym.topology.htsim import read_htsim_network
from flowsched_gym.topology.shortest import MOST_HOSTS, Pairs, ShortestPaths, check_paths, path_table
from flowsched_gym.topology.topology import Topology

FORMATS: Final = {"graphml": ".graphml", "hpcc": ".txt", "htsim": ".topo", "json": ".json"}
"""Formats of others, and the extension by which each is recognised; ``json``: a node-link mapping of networkx."""
SUFFIXES: Final = (*FORMATS.values(), ".yaml", ".yml")
"""Extensions of network files."""
OTHERS: Final = " (flowsched import-network FILE --format reads others; GML: networkx.read_gml makes a graph of it)"
BESIDE: Final = "beside"


class NetworkFileWarning(FlowSchedWarning):
    """Something of a network file is ignored, or has no place in one that is written."""


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

    def topology(self, *, capacity: float, delay: float, pairs: Pairs | None = None) -> Topology:
        """Builds it; links without a capacity in B/s or a delay in s of their own have these.

        Links are numbered like those of the package's networks: first those that leave hosts, host by host, then those
        that reach hosts, then all others in the order of the file. Where pairs are given, only theirs have paths.

        Raises:
            ConfigError: A host cannot reach another one, or there are too many paths.
        """
        ends, cables = self.filled(capacity=capacity, delay=delay)._directions()
        shortest = ShortestPaths(self.name, self.hosts, ends)
        if pairs is None:
            check_paths(self.name, shortest.counted()[0], pairs)
        paths = path_table(
            self.name,
            len(self.hosts),
            lambda source, target: shortest.listed(self.hosts[source], self.hosts[target]),
            pairs,
        )
        return Topology(
            name=self.name,
            num_hosts=len(self.hosts),
            capacity=np.array([each.capacity for each in cables], dtype=np.float64),
            delay=np.array([each.delay for each in cables], dtype=np.float64),
            link_names=self.link_names,
            path_start=paths[0],
            path_links=paths[1],
            pair_start=paths[2],
        )

    @property
    def link_names(self) -> tuple[str, ...]:
        """Ends of each directed link, in the order in which ``topology`` numbers them."""
        return tuple(f"{source} to {target}" for source, target in self._directions()[0])

    def facts(self) -> dict[str, int]:
        """Counts hosts, switches, links, shortest paths between hosts and the links of the longest, without listing.

        Raises:
            ConfigError: A host cannot reach another one.
        """
        ends, _ = self._directions()
        paths, longest = ShortestPaths(self.name, self.hosts, ends).counted()
        switches = {end for each in self.cables for end in each.ends} - set(self.hosts)
        counts = {"hosts": len(self.hosts), "switches": len(switches), "links": len(ends)}
        return {**counts, "paths": paths - len(self.hosts), "longest_path": longest}

    def _directions(self) -> tuple[list[tuple[str, str]], list[Cable]]:
        """Returns the ends of each directed link, in their order, and what it is a direction of."""
        number = {host: index for index, host in enumerate(self.hosts)}
        ways = (slice(None),) if self.directed else (slice(None), slice(None, None, -1))
        directions = [((each.ends[way][0], each.ends[way][1]), each) for each in self.cables for way in ways]

        def tier(link: tuple[tuple[str, str], Cable]) -> tuple[int, int]:
            source, target = link[0]
            return (0, number[source]) if source in number else (1, number[target]) if target in number else (2, 0)

        directions.sort(key=tier)
        return [each for each, _ in directions], [each for _, each in directions]


TopologyLike = str | PathLike[str] | Mapping[str, object] | Graph | OwnNetwork
"""Forms in which a topology may be given: by name, or one's own."""


def is_own_network(topology: object) -> TypeGuard[TopologyLike]:
    """Returns whether a topology is a file, by its extension, a mapping, a graph, or was read from one."""
    if isinstance(topology, str):
        return topology.lower().endswith(SUFFIXES) or ("." in topology and os.path.isfile(topology))
    return isinstance(topology, (PathLike, Mapping, Graph, OwnNetwork))


def read_network(
    topology: TopologyLike, *, format: str | None = None, hosts: str | None = None, undirected: bool = False
) -> OwnNetwork:
    """Reads a network from a file, a graph of networkx or its node-link mapping, or the mapping that describes one.

    Args:
        topology: What is read.
        format: Format of a file (``FORMATS``); ``None``: by its extension.
        hosts: ``beside`` adds a host beside each node of a graph that has no attribute ``host``.
        undirected: Whether each edge of a directed graph, or one and another one back, is a cable with both directions.

    Raises:
        ConfigError: The file cannot be read, or something in it is not allowed; the message names file, node or link,
            value, and what is allowed.
        MissingDependencyError: networkx, or omegaconf for YAML, is not installed.

    Warns:
        NetworkFileWarning: Something was guessed or ignored.
    """
    network, told = import_network(topology, format=format, hosts=hosts, undirected=undirected)
    if told:
        where = topology if isinstance(topology, (str, PathLike)) else "topology"
        warnings.warn(NetworkFileWarning(f"{where}: {'; '.join(told)}"), stacklevel=2)
    return network


def import_network(
    topology: TopologyLike, *, format: str | None = None, hosts: str | None = None, undirected: bool = False
) -> tuple[OwnNetwork, list[str]]:
    """Reads a network as ``read_network`` does, and returns what was guessed and ignored in sentences instead."""
    told: list[str] = []
    if hosts is not None:
        check_choice("hosts", hosts, (BESIDE,))
    where, name, content = "topology", "topology", topology
    if isinstance(topology, (str, PathLike)):
        with open_to_read(topology, "network", "a network file (.graphml, .yaml, .txt, .topo, .json)") as file:
            suffix = file.suffix.lower() if format is None else FORMATS[check_choice("format", format, FORMATS)]
            if suffix not in SUFFIXES:
                raise ConfigError(f"topology is {shown(os.fspath(file))}: it must end in {', '.join(SUFFIXES)}{OTHERS}")
            where, name = str(file), file.stem
            if suffix == FORMATS["graphml"]:
                content = read_graphml(file)
            elif suffix == FORMATS["json"]:
                content = read_json(file)
            elif suffix in (FORMATS["hpcc"], FORMATS["htsim"]):
                content = (read_hpcc_network if suffix == FORMATS["hpcc"] else read_htsim_network)(file, told)
            else:
                content = read_yaml(file, extra=EXTRA)
    if isinstance(content, Mapping) and "nodes" in content:
        content = read_node_link(content, where)
    if isinstance(content, Graph):
        content = mapping_of(content, where, told, beside=hosts == BESIDE, undirected=undirected)
    elif hosts is not None or undirected:
        raise ConfigError(f"{where}: hosts and undirected are given, or one of them: they are for graphs alone")
    if isinstance(content, OwnNetwork):
        return content, told
    if not isinstance(content, Mapping) or "hosts" not in content:
        raise ConfigError(f"{where}: it must be a mapping with hosts and links, or a node-link mapping with nodes")
    return _described(dict(content), where, name), told


def write_network(network: OwnNetwork, path: str | PathLike[str]) -> None:
    """Writes a network, from which ``read_network`` reads the same: as YAML, or JSON by the extension. Whole or not.

    Raises:
        ConfigError: The extension is another.
        OSError: The file cannot be written.
    """
    suffix = os.path.splitext(fsdecode(path))[1].lower()
    check_choice("extension of a network file", suffix, (".yaml", ".yml", ".json"))
    dump = partial(json.dumps, ensure_ascii=False)
    lines = [f"{key}: {dump(getattr(network, key))}" for key in ("name", "hosts", "directed")] + ["links:"]
    for each in network.cables:
        values = {"ends": each.ends, **_in_units(each)}
        lines.append(f"  - {{{', '.join(f'{key}: {dump(value)}' for key, value in values.items())}}}")
    text = dump(network.plain()) if suffix == ".json" else "\n".join(lines)
    with replace_when_written(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _in_units(cable: Cable) -> dict[str, float]:
    """Returns the values of a link in Gbps and us, or in B/s and s where these would be other bits."""
    values: dict[str, float] = {}
    for key, unit, own in (("capacity", "capacity_gbps", CAPACITY_KEYS), ("delay", "delay_us", DELAY_KEYS)):
        value = getattr(cable, key)
        if value is not None:
            short = float(f"{value / own[unit]:.12g}")
            values |= {unit: short} if short * own[unit] == value else {key: value}
    return values


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
    for host, times in Counter(hosts).items():
        if times > 1:
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
