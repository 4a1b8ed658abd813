"""Finds which share of uniform traffic crosses each link, and so to which load of a link a rate of flows amounts."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology.topology import Topology


def crossing_shares(topology: Topology) -> FloatArray:
    """Returns the expected share of all flows that cross each link, (num_links,) float64, from 0 to 1.

    Source and destination are any two different hosts with equal probability, and the paths of a pair are taken with
    equal probability. All links are up.

    The busiest link is that with the largest ``share / capacity``. The nine-host tree: a rack's uplink and downlink,
    with 1/4 (a host's link: 1/9). Big switch, leaf-spine and fat-tree with equal links and enough spines: the hosts'
    links, with ``1 / num_hosts``.

    Raises:
        ConfigError: The network has a single host.
    """
    num_hosts = topology.num_hosts
    if num_hosts == 0:
        return np.ones(topology.num_links)
    if num_hosts == 1:
        raise ConfigError(f"topology {topology.name} has one host: flows need at least two")
    num_pairs = num_hosts * num_hosts
    of_pair = np.full(num_pairs, 1.0 / (num_pairs - num_hosts))
    of_pair[:: num_hosts + 1] = 0.0
    paths = np.ones(num_pairs, dtype=np.int64) if topology.pair_start is None else np.diff(topology.pair_start)
    of_path = np.repeat(of_pair / paths, paths)
    shares = np.zeros(topology.num_links)
    np.add.at(shares, topology.path_links, np.repeat(of_path, np.diff(topology.path_start)))
    return shares
