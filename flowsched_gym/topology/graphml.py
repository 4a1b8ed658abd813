"""Reads graphs by networkx: GraphML files, and the mappings that ``networkx.node_link_data`` makes.

networkx merges, adds or fails where a file is at fault; what is wrong is named here by node, edge and value.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable
from xml.etree import ElementTree

from flowsched_gym.core.checks import check_flag
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, shown

EXTRA: Final = "networks"
TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}
"""What the attribute ``host`` may be, as text in lower case."""
NUMBER: Final = (float, "a number")
WHOLE: Final = (int, "a whole number")
TYPES: Final[dict[str, tuple[Callable[[str], object], str]]] = {
    **{"float": NUMBER, "double": NUMBER, "int": WHOLE, "long": WHOLE},
    "boolean": (lambda text: TRUTHS[text.lower()], "true or false"),
}
"""How values of GraphML's types are read, and what they must be."""


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
