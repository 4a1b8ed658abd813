"""Tests that pictures of long flows say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.canvas import Canvas
from flowsched_gym.envs.drawing.cards import HEAT
from flowsched_gym.envs.drawing.formats import ratio_text
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.observation import path_of
from tests.envs.pictures import moments, panel, table
from tests.simulate import make_flows

FEW = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}


@pytest.mark.parametrize("setting", [{"flows": 600}, FEW, FEW | {"scope": "network", "n_l": 64}, FEW | {"paths": 1}])
def test_what_is_shown_is_what_the_simulation_holds(setting: dict[str, Any]) -> None:
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
