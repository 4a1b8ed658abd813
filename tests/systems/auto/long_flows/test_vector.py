"""Holds the native vector environment of long flows to single environments, whatever its flows are drawn from."""

from dataclasses import replace
from typing import Any

import pytest

from flowsched_gym.systems.auto.long_flows import LONG_FLOWS
from flowsched_gym.workload import PoissonWorkload, RandomFailures, make_workload
from tests.envs.vectors import Pair

pytestmark = pytest.mark.usefixtures("event_logs")

SMALL: dict[str, Any] = {"hosts": 8, "flows": 120, "thresholds": (1e5, 1e6), "n_l": 4, "period_ms": 20.0}


def compare(num_steps: int, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(LONG_FLOWS, 2, **(SMALL | arguments))
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@pytest.mark.parametrize("scope", ["server", "network"])
def test_links_fail_under_long_flows_alike(scope: str) -> None:
    source = make_workload("auto-web-search", num_hosts=8, num_flows=120, load=0.8, capacity=3 * 125e6)
    assert isinstance(source, PoissonWorkload)
    # Planes 0 and 1 lose links of hosts again and again; plane 2 keeps all.
    cables = tuple((plane * 16 + host, plane * 16 + 8 + host) for plane in (0, 1) for host in range(8))
    failures = RandomFailures(cables=cables, mean_time_up=0.1, mean_time_down=0.05, until=0.5)
    flows = replace(source, failures=failures)
    compare(100, workload=flows, flows=None, scope=scope)
