"""Holds the share of uniform traffic on each link to a count of all paths, and to the figures of the networks."""

from fractions import Fraction

import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import Topology, big_switch, crossing_shares, fat_tree, leaf_spine, multi_plane, tree9

EVERY_NETWORK = [
    big_switch(num_hosts=5),
    tree9(),
    fat_tree(arity=4),
    leaf_spine(num_leaves=3, num_spines=2, hosts_per_leaf=4),
    multi_plane(num_hosts=4),
]


def counted(topology: Topology) -> list[Fraction]:
    """Adds up, path by path, how often each link is crossed."""
    hosts = range(topology.num_hosts)
    pairs = [(source, destination) for source in hosts for destination in hosts if source != destination]
    shares = [Fraction(0)] * topology.num_links
    for source, destination in pairs:
        pair = source * topology.num_hosts + destination
        first, last = (pair, pair + 1) if topology.pair_start is None else topology.pair_start[pair : pair + 2]
        for path in range(first, last):
            for link in topology.path_links[topology.path_start[path] : topology.path_start[path + 1]]:
                shares[link] += Fraction(1, len(pairs) * int(last - first))
    return shares


@pytest.mark.parametrize("topology", EVERY_NETWORK, ids=lambda topology: topology.name)
def test_shares_are_those_that_a_count_of_all_paths_gives(topology: Topology) -> None:
    expected = [float(share) for share in counted(topology)]
    # Sums of up to a thousand rounded terms.
    assert crossing_shares(topology).tolist() == pytest.approx(expected, rel=1e-12)


def test_a_rack_uplink_of_the_tree_carries_nine_quarters_of_what_a_host_link_does() -> None:
    shares = crossing_shares(tree9())
    names = tree9().link_names
    assert shares[names.index("rack 0 up")] == pytest.approx(0.25)
    assert shares[names.index("rack 0 up")] / shares[names.index("host 0 up")] == pytest.approx(2.25)


def test_a_single_host_has_no_traffic() -> None:
    with pytest.raises(ConfigError, match="topology leaf-spine has one host: flows need at least two"):
        crossing_shares(leaf_spine(num_leaves=1, num_spines=1, hosts_per_leaf=1))
