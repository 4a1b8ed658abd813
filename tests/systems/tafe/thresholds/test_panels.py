"""Tests that pictures of episodes of thresholds of tasks say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.systems.tafe.thresholds.env import TAFEThresholdsEnv
from tests.envs.pictures import moments, table


@pytest.mark.parametrize("setting", [{}, {"workload": "tafe-alibaba", "topology": "big-switch", "queues": 5}])
def test_what_is_shown_is_what_the_simulation_holds(setting: dict[str, Any]) -> None:
    env = TAFEThresholdsEnv(tasks=20, period_flows=3, **setting)
    for _ in moments(env):
        view = env.panels()
        queues = table(view, "Queues, the highest first")
        times = task_completion_times(env.records()).tct

        assert len(queues) == env.config.queues
        assert sum(int(row[1]) for row in queues) == len(env.scene().active)
        finished = [row for row in table(view, "Finished tasks") if len(row) == 3][-3:]
        assert sum(int(row[1]) for row in finished) == np.count_nonzero(np.isfinite(times))
