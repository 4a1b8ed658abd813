"""Networks: hosts, links, paths."""

from flowsched_gym.topology.topology import DEFAULT_CAPACITY, TOPOLOGIES, Topology, big_switch, make_topology, one_link

__all__ = ["DEFAULT_CAPACITY", "TOPOLOGIES", "Topology", "big_switch", "make_topology", "one_link"]
