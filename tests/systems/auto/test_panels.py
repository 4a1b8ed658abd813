"""Tests that pictures of AuTO's episodes say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.canvas import Canvas
from flowsched_gym.envs.drawing.cards import HEAT
from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, size_text
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.observation import path_of
from flowsched_gym.systems.auto.thresholds.config import SCALE
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from tests.envs.pictures import moments, panel, table
from tests.simulate import make_flows


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


FEW = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}


@pytest.mark.parametrize("setting", [{"flows": 600}, FEW, FEW | {"scope": "network", "n_l": 64}, FEW | {"paths": 1}])
def test_long_flows_are_shown_as_the_simulation_holds_them(setting: dict[str, Any]) -> None:
    env = AuTOLongFlowsEnv(**setting)
    for _ in moments(env, every=11):
        picture, view, records = env.panels(), env.view(), env.records()
        done, is_long = np.isfinite(records.fct), records.size > env.config.long_from
        active_long = view.active[view.attained[view.active] >= env.config.long_from]
        grid = panel(picture, "Long flows on")
        on_links = np.array([counts for _, counts in grid.rows]).reshape(env.config.paths, 2, -1)
        (results,) = (
            [[cell if isinstance(cell, str) else cell.text for cell in row] for row in one.rows]  # type: ignore[attr-defined]
            for one in picture.panels
            if not one.title
        )
        long, short, every = results

        assert [int(row[1]) for row in results] == [
            len(active_long),
            len(view.active) - len(active_long),
            len(view.active),
        ]
        assert [int(row[2]) for row in results] == [(done & is_long).sum(), (done & ~is_long).sum(), done.sum()]
        assert every[-1] == (ratio_text(records.slowdown[done].mean()) if done.any() else "-")
        assert short[0] == "short so far"
        assert len(panel(picture, "Finished long flows").rows) == int(long[2])
        assert on_links.sum() == 2 * len(active_long)
        paths = np.bincount(path_of(view, env.config, active_long), minlength=env.config.paths)
        assert on_links[:, 0].sum(axis=1).tolist() == paths.tolist()
        assert panel(picture, "Long flows on").note == f"differ by {on_links.max() - on_links.min()}"
        mean = ratio_text(records.slowdown[done].mean()) if done.any() else "none yet"
        assert picture.banner.headline == ("Mean slowdown so far", mean)
        present = env.layout.slot_column(env._observe(), "source") > 0
        assert len(table(picture, "Long flows that")) == present.sum()


def test_a_link_has_the_mark_and_the_colour_of_its_long_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = make_flows(np.zeros(9), np.full(9, 1e8), source=[0] * 5 + [1] * 3 + [2], destination=[4] * 9)
    env = AuTOLongFlowsEnv(flows, hosts=5, paths=1, scope="network", render_mode="ansi", n_l=9)
    env.reset(seed=0)
    while len(table(env.panels(), "Long flows that")) < 9:
        env.step(env.action_space.sample() * 0)
    assert "path 0 up    531..\n" in str(env.render())
    assert "path 0 down  ....9\n" in str(env.render())
    drawn: list[Any] = []
    draw = Canvas.rectangle

    def rectangle(canvas: Canvas, box: Any, colour: Any, **style: Any) -> None:
        drawn.append(colour)
        draw(canvas, box, colour, **style)

    monkeypatch.setattr(Canvas, "rectangle", rectangle)
    env.render_mode = "rgb_array"
    env.render()
    expected = [HEAT[number] for number in (0, 4, 3, 1, 0, 4)]

    assert any(drawn[at : at + 6] == expected for at in range(len(drawn)))
