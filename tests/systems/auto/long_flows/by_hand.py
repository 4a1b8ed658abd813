"""Makes hand-worked episodes of long flows: links carry 1 B/s and take no time, and the agent is asked every second."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.workload import Workload

AS_IT_WAS: Final = (2, 2, 0)
"""The last of three queues, no limit of rates, the first path."""


def begin(workload: Workload, **arguments: Any) -> AuTOLongFlowsEnv:
    """Begins an episode with thresholds of 1 and 2 B, two paths and three slots."""
    settings: dict[str, Any] = {
        "hosts": 4,
        "paths": 2,
        "thresholds": (1.0, 2.0),
        "scope": "network",
        "period_ms": 1e3,
        "n_l": 3,
        "m_l": 2,
        "link_gbps": 8e-9,
        "link_delay_us": 0.0,
    }
    env = AuTOLongFlowsEnv(workload, **(settings | arguments))
    env.reset(seed=0)
    return env


def choices(*slots: tuple[int, int, int]) -> npt.NDArray[np.int64]:
    rows = [*slots, *[(0, 0, 0)] * (3 - len(slots))]
    return np.array(rows).ravel()
