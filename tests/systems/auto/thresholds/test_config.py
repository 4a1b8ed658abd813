"""Holds the flows and thresholds of the environment to what its arguments ask for."""

from pathlib import Path

import pytest

from flowsched_gym.errors import ConfigError
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size_bytes,cdf\n1000,0.5\n2000,0.4\n3000,1\n", "probability of CDF point 1 is 0.4"),
        ("size_bytes,cdf\n1000,0.5\n2000,0.9\n", "the last CDF point has probability 0.9: it must be 1"),
    ],
)
def test_initial_thresholds_for_sizes_that_are_no_distribution_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        AuTOThresholdsEnv(initial_thresholds=str(path))


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
