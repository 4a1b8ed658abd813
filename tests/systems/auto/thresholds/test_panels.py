"""Tests that pictures of thresholds say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, size_text
from flowsched_gym.systems.auto.thresholds.config import SCALE
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from tests.envs.pictures import moments, panel, table


@pytest.mark.parametrize(
    "setting",
    [
        {"flows": 3_000, "period_flows": 150},
        {"topology": "one-link", "flows": 400, "load": 0.95, "period_flows": 20},
        {"workload": "auto-clusters", "clusters": 4, "flows": 1_000, "period_flows": 100, "queues": 8},
    ],
)
def test_counts_and_means_are_those_of_the_simulation(setting: dict[str, Any]) -> None:
    env = AuTOThresholdsEnv(**setting)
    for step in moments(env, 12, every=1):
        view, shown, records = env.panels(), env.view(), env.records()
        done, charts = np.isfinite(records.completion_time), panel(view, "Sizes").charts
        queues, results = table(view, "Queues, the highest first"), table(view, "Finished flows")
        count, every = int(done.sum()), results[-1]

        assert sum(sum(chart.counts) for chart in charts) == len(shown.active)
        assert [chart.borders for chart in charts] == [tuple(SCALE.position_of(row)) for row in shown.thresholds()]
        assert queues == [
            [f"queue {number}", count_text(len(rows)), f"{size_text(float(shown.remaining[rows].sum()))} left"]
            for number, rows in ((each, shown.active[shown.queue[shown.active] == each]) for each in range(len(queues)))
        ]
        assert every[1] == str(count) == str(sum(int(row[1]) for row in results[7:10]))
        assert f"Period {step + 1} begins" in view.banner.question or env.simulation.finished
        if count:
            means = duration_text(records.fct[done].mean()), ratio_text(records.slowdown[done].mean())
            assert tuple(every[2:]) == means


def test_the_queues_of_clusters_add_up_to_those_of_all() -> None:
    env = AuTOThresholdsEnv("auto-clusters", clusters=4, flows=1_000, period_flows=100)
    for _ in moments(env, 6, every=1):
        view = env.panels()
        counts = [[int(row[1].split()[0]) for row in table(view, f"Queues of cluster {each}")] for each in range(4)]
        assert np.sum(counts, axis=0).tolist() == [int(row[1].split()[0]) for row in table(view, "Queues, the")]
