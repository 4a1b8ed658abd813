"""Holds the flows and thresholds of the environment to what its arguments ask for."""

import pytest

from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload


def test_a_load_is_that_of_the_hosts_links_or_of_the_one_link() -> None:
    switch, link = (AuTOThresholdsEnv(load=0.5, hosts=8, topology=name)._source for name in ("big-switch", "one-link"))
    clusters = AuTOThresholdsEnv("auto-clusters", hosts=8, topology="one-link")._source

    assert isinstance(switch, PoissonWorkload)
    assert isinstance(link, PoissonWorkload)
    assert isinstance(clusters, ClusterWorkload)
    assert switch.flow_rate * switch.size.mean == pytest.approx(8 * 0.5 * 125e6)
    assert link.flow_rate * link.size.mean == pytest.approx(0.5 * 125e6)
    flows = clusters.with_num_flows(40_000).draw(1)
    # A mean over 40,000 flows of very different sizes.
    assert flows.size.sum() / flows.arrival_time[-1] == pytest.approx(0.7 * 125e6, rel=0.1)
