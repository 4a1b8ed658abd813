"""Holds the arguments of the environment of thresholds to one clear error each."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowsched_gym.errors import ConfigError
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload

NAN = float("nan")

WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"queues": value}, rf"queues is {value!r}: it must be") for value in (1, 9, 2.5, "4", None)),
    *(({"clusters": value}, rf"clusters is {value!r}: it must be an integer >= 1") for value in (0, -1, 1.5, None)),
    ({"clusters": 5}, "clusters is 5: it must divide the number of hosts, 32"),
    *(({"hosts": value}, rf"hosts is {value!r}: it must be an integer >= 2") for value in (1, 3.5, None)),
    *(({"m_s": value}, rf"m_s is {value!r}: it must be an integer >= 1") for value in (0, "all")),
    ({"period_flows": None}, "exactly one of period_flows and period_ms must be given: neither is"),
    ({"period_ms": 5.0}, r"exactly one of period_flows and period_ms must be given: both are \(500 and 5\.0\)"),
    ({"period_flows": 0}, "period_flows is 0: it must be an integer >= 1"),
    *(
        ({"period_flows": None, "period_ms": value}, rf"period_ms is {value!r}: it must be a finite number > 0")
        for value in (0, -1.0, NAN, float("inf"))
    ),
    *(({"load": value}, rf"load is {value!r}: it must be a finite number > 0") for value in (0, -0.5, NAN)),
    ({"link_gbps": 0}, "link_gbps is 0: it must be a finite number > 0"),
    ({"link_delay_us": -1}, "link_delay_us is -1: it must be a finite number >= 0"),
    ({"within": "lifo"}, "within is 'lifo': it must be one of ps, fifo"),
    ({"topology": "ring"}, "topology is 'ring': it must be one of big-switch, one-link"),
    ({"observation": "all"}, "observation is 'all': it must be one of summary, paper"),
    ({"reward": "fct"}, "reward is 'fct': it must be one of log_fct, log_slowdown, fct_ratio"),
    *(
        ({"initial_thresholds": value}, r"initial_thresholds is .*: they must be finite, > 0 B and increasing")
        for value in ([1e3, NAN, 1e6], [-1.0, 1e3, 1e6], [1e3, 1e3, 1e6], [1e6, 1e3, 1e7])
    ),
    ({"initial_thresholds": [1e3, 1e6]}, r"initial_thresholds is \[.*\]: 4 queues need 3 numbers"),
    ({"initial_thresholds": 1e6}, r"initial_thresholds is 1000000\.0: it must be a list of numbers"),
    ({"initial_thresholds": "web_serach"}, "size distribution 'web_serach' does not exist"),
    ({"workload": "auto-web"}, "workload 'auto-web' does not exist"),
    ({"workload": "auto-clusters", "load": 0.5}, "load is 0.5: workload 'auto-clusters' has a load for each cluster"),
    ({"workload": "auto-incast", "hosts": 8}, "senders is 16: it must be below the number of hosts, 8"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_an_argument_that_is_not_allowed_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AuTOThresholdsEnv(**arguments)


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


def test_numbers_become_pythons_own() -> None:
    config = AuTOThresholdsConfig(hosts=np.int64(4), load=np.float32(0.5), initial_thresholds=np.array([1, 2, 3]))  # type: ignore[arg-type]

    assert type(config.hosts) is int
    assert type(config.load) is float
    assert config.initial_thresholds == (1.0, 2.0, 3.0)


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
