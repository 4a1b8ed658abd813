"""Tests that pictures of TAFE's episodes say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.formats import size_text
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.systems.tafe.tasks.env import TAFETasksEnv
from flowsched_gym.systems.tafe.thresholds.env import TAFEThresholdsEnv
from tests.envs.pictures import moments, table


@pytest.mark.parametrize("setting", [{}, {"workload": "tafe-alibaba", "topology": "big-switch"}])
def test_tasks_are_shown_as_the_simulation_holds_them(setting: dict[str, Any]) -> None:
    env = TAFETasksEnv(tasks=20, **setting)
    for _ in moments(env):
        view, decision = env.panels(), env.decision()
        contest = table(view, "Flows that compete")

        assert len(contest) == decision.num_candidates
        rows = decision.candidates[decision.first_candidate :][: decision.num_candidates]
        assert [row[1] for row in contest] == [f"flow {env.workload.flow_id[row]}" for row in rows]
        under_way = {int(env.workload.task_id[row]) for row in env.scene().active}
        shown = {row[0]: row for row in table(view, "Tasks under way")}
        assert set(shown) == {f"task {task}" for task in under_way}
        for task in under_way:
            assert shown[f"task {task}"][2] == size_text(env.workload.size[env.workload.task_id == task].sum())


@pytest.mark.parametrize("setting", [{}, {"workload": "tafe-alibaba", "topology": "big-switch", "queues": 5}])
def test_queues_of_tasks_are_shown_as_the_simulation_holds_them(setting: dict[str, Any]) -> None:
    env = TAFEThresholdsEnv(tasks=20, period_flows=3, **setting)
    for _ in moments(env):
        view = env.panels()
        queues = table(view, "Queues, the highest first")
        times = task_completion_times(env.records()).tct

        assert len(queues) == env.config.queues
        assert sum(int(row[1]) for row in queues) == len(env.scene().active)
        finished = [row for row in table(view, "Finished tasks") if len(row) == 3][-3:]
        assert sum(int(row[1]) for row in finished) == np.count_nonzero(np.isfinite(times))
