"""Holds the native vector environment of long flows to single environments, whatever its flows are drawn from."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.systems.auto.long_flows import LONG_FLOWS
from flowsched_gym.systems.auto.long_flows.seen import seen_flows
from flowsched_gym.systems.auto.long_flows.vector import AuTOLongFlowsVectorEnv
from flowsched_gym.workload import PoissonWorkload, RandomFailures, make_workload
from tests.envs.vectors import Pair, keep_event_logs

SMALL: dict[str, Any] = {"hosts": 8, "flows": 120, "thresholds": (1e5, 1e6), "n_l": 4, "period_ms": 20.0}


@pytest.fixture(autouse=True, scope="module")
def event_logs() -> Iterator[None]:
    """Lets all environments of this module keep their events."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        keep_event_logs(monkeypatch)
        yield


def compare(num_steps: int, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(LONG_FLOWS, 2, **(SMALL | arguments))
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@pytest.mark.parametrize(
    "arguments",
    [
        {"workload": "auto-clusters"},
        {"workload": "auto-changing", "scope": "network", "period_ms": 7.0},
        {"workload": "poisson-web-search", "paths": 1},
        {"paths": 5, "load": 0.95, "link_gbps": 10.0, "link_delay_us": 500.0},
        {"n_l": 1, "m_l": 0, "observation": "paper", "reward": "throughput_ratio"},
        {"layout": "recorded", "thresholds": (1e3,), "max_decisions": 40},
    ],
    ids=str,
)
def test_every_argument_is_heeded(arguments: dict[str, Any]) -> None:
    compare(70, **arguments)


@pytest.mark.parametrize("scope", ["server", "network"])
def test_links_fail_under_long_flows_alike(scope: str) -> None:
    source = make_workload("auto-web-search", num_hosts=8, num_flows=120, load=0.8, capacity=3 * 125e6)
    assert isinstance(source, PoissonWorkload)
    # Planes 0 and 1 lose links of hosts again and again; plane 2 keeps all.
    cables = tuple((plane * 16 + host, plane * 16 + 8 + host) for plane in (0, 1) for host in range(8))
    failures = RandomFailures(cables=cables, mean_time_up=0.1, mean_time_down=0.05, until=0.5)
    flows = replace(source, failures=failures)
    compare(100, workload=flows, flows=None, scope=scope)


def test_masks_of_many_are_those_of_each() -> None:
    envs = AuTOLongFlowsVectorEnv(3, autoreset_mode=AutoresetMode.NEXT_STEP, **SMALL)
    _, infos = envs.reset(seed=4)

    masks = envs.action_masks()
    assert masks.shape == (3, 4 * (3 + 3 + 3))
    assert np.array_equal(masks, infos["action_mask"])
    for number, mask in enumerate(masks):
        count = len(seen_flows(envs.view(number), envs.config))
        assert 1 <= count < 4
        assert mask.sum() == 9 * count + 3 * (4 - count)
