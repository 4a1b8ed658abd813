"""Networks: hosts, links, paths."""

from flowsched_gym.topology.crossing import crossing_shares
from flowsched_gym.topology.fabrics import big_switch, fat_tree, leaf_spine, multi_plane, one_link, tree9
from flowsched_gym.topology.isolation import isolated_fct, round_trip_time
from flowsched_gym.topology.registry import TOPOLOGIES, make_topology
from flowsched_gym.topology.topology import DEFAULT_CAPACITY, Topology

__all__ = [
    "DEFAULT_CAPACITY",
    "TOPOLOGIES",
    "Topology",
    "big_switch",
    "crossing_shares",
    "fat_tree",
    "isolated_fct",
    "leaf_spine",
    "make_topology",
    "multi_plane",
    "one_link",
    "round_trip_time",
    "tree9",
]
