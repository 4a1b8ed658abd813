"""Draws longer and shorter episodes of one seed: the shorter one is the beginning of the longer, to the last bit."""

from dataclasses import replace
from typing import Any

import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload
from tests.workload import test_clusters, test_gather, test_poisson
from tests.workload.drawn import rows_of

CONFIGS = {
    "a1": test_gather.A1,
    "multi": replace(test_gather.MULTI, request_jitter=0.0),
    "continuous": test_gather.CONTINUOUS,
    "weighted": test_gather.WEIGHTED,
    "scatter": test_gather.SCATTER,
    "pair": test_poisson.PAIR,
    "all-to-all": test_poisson.ALL_TO_ALL,
    "static": test_clusters.STATIC,
    "changing": test_clusters.CHANGING,
    "bursting": test_clusters.BURSTING,
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_more_flows_or_time_leave_the_first_flows_as_they_are(config: Any) -> None:
    by_flow = isinstance(config, (PoissonWorkload, ClusterWorkload))
    longer = config.with_num_flows(3_000).draw(5)
    shorter = config.with_num_flows(777).draw(5)
    assert rows_of(longer, shorter.num_flows) == rows_of(shorter)
    assert shorter.num_flows == 777 if by_flow else 777 <= shorter.num_flows < 777 + config.burst_size
    end = float(longer.arrival_time[1_999])
    timed = replace(config, **{"num_flows" if by_flow else "num_bursts": None}, duration=end).draw(5)
    assert 0 < timed.num_flows == (longer.arrival_time < end).sum()
    assert rows_of(timed) == rows_of(longer, timed.num_flows)
    with pytest.raises(ConfigError, match="num_flows is 0: it must be an integer >= 1"):
        config.with_num_flows(0)


def test_jitter_leaves_the_first_bursts_as_they_are() -> None:
    longer, shorter = (replace(test_gather.MULTI, num_bursts=count).draw(8) for count in (90, 40))
    assert rows_of(longer, shorter.num_flows) == rows_of(shorter)
