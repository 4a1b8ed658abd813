"""Networks of one's own as the argument ``topology`` of environments (``flowsched_gym.topology.own``)."""

from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import numpy as np

from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.envs.arguments import Converted, argument
from flowsched_gym.topology import (
    OwnNetwork,
    TopologyLike,
    crossing_shares,
    is_own_network,
    make_topology,
    read_network,
)
from flowsched_gym.workload import ClusterWorkload, ReadWorkload

Name = TypeVar("Name", bound=StrEnum)

OwnOr = Converted[Name | TopologyLike, Name | OwnNetwork]
"""The type of a field that is kept as a member of an enumeration, or as a network of one's own."""


def topology_argument(default: StrEnum, meaning: str) -> Any:
    """Declares the network: one of an enumeration, or one's own, whose links may have values of their own."""
    names = ", ".join(f'``"{each}"``' for each in type(default))
    own = (
        'or a network of your own: a file (``"mine.graphml"``, ``"mine.yaml"``), a mapping or a graph of networkx '
        "(``docs/networks.md``)"
    )
    return argument(default, convert=partial(_kept, type(default)), meaning=f"{meaning}: {names}, {own}")


def settle_network(config: Any) -> None:
    """Gives links of an own network that have no values those of the config, which then has its hosts' capacity.

    Metrics and observations count in the capacity of a host's link.

    Raises:
        ConfigError: Hosts have several links, or links of different capacities.
    """
    own = config.topology
    if not isinstance(own, OwnNetwork):
        return
    own = own.filled(capacity=config.capacity, delay=config.delay)
    capacity = own.host_capacity
    if capacity is None:
        raise ConfigError(
            f"network {own.name}: in an environment each host must have one link (both directions count as one), and "
            "all of these one capacity"
        )
    object.__setattr__(config, "topology", own)
    object.__setattr__(config, "link_gbps", capacity / BYTES_PER_SECOND_PER_GBPS)


def network_fields(
    own: OwnNetwork | None, capacity: float | None, workload: ReadWorkload, source: Any
) -> dict[str, object]:
    """Returns the fields that a workload takes from its network, where it leaves them open (``fit_workload``).

    A load is one of links of the capacity in B/s. On a network of one's own, whose links have capacities, a workload
    between all hosts that leaves their number open is one between all of its hosts, and its load that of the busiest
    link; one of clusters has all of its hosts, too.
    """
    if own is not None and isinstance(source, ClusterWorkload):
        return {"num_hosts": len(own.hosts), "capacity": capacity}
    if own is None or getattr(source, "pattern", "") != "all-to-all" or not workload.leaves_open("num_hosts"):
        return {"capacity": capacity}
    topology = make_topology(own, num_hosts=2)
    shares = crossing_shares(topology)
    busiest = int(np.argmax(shares / topology.capacity))
    of_busiest = {"busiest_share": float(shares[busiest]), "capacity": float(topology.capacity[busiest])}
    return {"num_hosts": topology.num_hosts, **of_busiest}


def _kept(kind: type[StrEnum], name: str, given: Any) -> StrEnum | OwnNetwork:
    return read_network(given) if is_own_network(given) else kind(check_choice(name, given, tuple(kind)))
