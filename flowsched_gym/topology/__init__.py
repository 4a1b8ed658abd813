"""Networks: hosts, links, paths, and ways to choose among these."""

from functools import partial

from flowsched_gym.topology.cpus import add_cpus, cpu_path, machine_mix
from flowsched_gym.topology.exported import write_hpcc_network, write_htsim_network
from flowsched_gym.topology.fabrics import (
    TOPOLOGIES,
    big_switch,
    fat_tree,
    leaf_spine,
    make_topology,
    multi_plane,
    one_link,
    tree9,
)
from flowsched_gym.topology.own import (
    NetworkFileWarning,
    OwnNetwork,
    TopologyLike,
    import_network,
    is_own_network,
    read_network,
    write_network,
)
from flowsched_gym.topology.routes import DEFAULT_FLOWLET_GAP, ROUTINGS, Routing, RoutingKind, make_routing
from flowsched_gym.topology.topology import DEFAULT_CAPACITY, Topology, crossing_shares

__all__ = [
    "DEFAULT_CAPACITY",
    "DEFAULT_FLOWLET_GAP",
    "ROUTINGS",
    "TOPOLOGIES",
    "NetworkFileWarning",
    "OwnNetwork",
    "Routing",
    "RoutingKind",
    "Topology",
    "TopologyLike",
    "add_cpus",
    "big_switch",
    "cpu_path",
    "crossing_shares",
    "fat_tree",
    "import_network",
    "is_own_network",
    "leaf_spine",
    "machine_mix",
    "make_routing",
    "make_topology",
    "multi_plane",
    "one_link",
    "read_network",
    "tree9",
    "write_hpcc_network",
    "write_htsim_network",
    "write_network",
]
__dir__ = partial(sorted, __all__)
