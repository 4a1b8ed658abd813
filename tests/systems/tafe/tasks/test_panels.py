"""Tests that pictures of episodes of tasks say the truth."""

from typing import Any

import pytest

from flowsched_gym.envs.drawing.formats import size_text
from flowsched_gym.systems.tafe.tasks.env import TAFETasksEnv
from tests.envs.pictures import moments, table


@pytest.mark.parametrize("setting", [{}, {"workload": "tafe-alibaba", "topology": "big-switch"}])
def test_what_is_shown_is_what_the_simulation_holds(setting: dict[str, Any]) -> None:
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
