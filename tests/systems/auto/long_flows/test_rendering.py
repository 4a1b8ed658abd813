"""Looks at the pictures of long flows: they can be read, say the truth, and change nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.rendering import Canvas
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.rendering import HEAT
from flowsched_gym.systems.auto.long_flows.seen import path_of
from flowsched_gym.systems.auto.long_flows.snapshot import take_snapshot
from flowsched_gym.systems.auto.long_flows.text import link_line
from tests.envs.pictures import Recorder
from tests.flows import make_flows

WIDEST = 100

FEW = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {"flows": 600},
    "few servers": FEW,
    "whole network": FEW | {"scope": "network"},
    "many slots": FEW | {"scope": "network", "n_l": 64},
    "one slot, one path": FEW | {"n_l": 1, "paths": 1},
    "many paths": FEW | {"paths": 12, "scope": "network"},
    "many servers": {"hosts": 100, "flows": 500, "thresholds": (1e4,), "scope": "network"},
    "slow links": FEW | {"link_gbps": 1e-4, "period_ms": 1e5},
    "fast links": FEW | {"link_gbps": 400.0, "period_ms": 1e-2},
    "own flows": {
        "workload": make_flows(np.zeros(40), np.full(40, 1e9), source=np.zeros(40, dtype=int), destination=[1] * 40),
        "hosts": 2,
        "n_l": 30,
    },
}

in_each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


def moments(env: AuTOLongFlowsEnv, count: int = 8, *, every: int = 11) -> Iterator[int]:
    """Plays the start of an episode at random, and stops at its reset and at some of its decisions."""
    env.reset(seed=5)
    env.action_space.seed(5)
    yield 0
    for step in range(1, count * every):
        if env.step(env.action_space.sample())[2]:
            yield step
            return
        if step % every == 0:
            yield step


@in_each_setting
def test_words_and_bars_keep_clear_of_each_other_and_of_the_edges(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = AuTOLongFlowsEnv(render_mode="rgb_array", **setting)
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        recorder.look(env)


@in_each_setting
def test_text_has_at_most_a_hundred_columns_and_no_loose_ends(setting: dict[str, Any]) -> None:
    env = AuTOLongFlowsEnv(render_mode="ansi", **setting)
    for _ in moments(env):
        text = env.render()

        assert isinstance(text, str)
        lines = text.split("\n")
        assert max(map(len, lines)) <= WIDEST
        assert [line for line in lines if line != line.rstrip()] == []
        assert all(part in text for part in ("AuTO long flows", "largest difference", "Finished long flows"))


@in_each_setting
def test_what_is_shown_is_what_the_simulation_holds(setting: dict[str, Any]) -> None:
    env = AuTOLongFlowsEnv(**setting)
    for _ in moments(env):
        snapshot, view, records = take_snapshot(env), env.view(), env.records()
        done = np.isfinite(records.fct)
        long, short, every = snapshot.results
        live_long = view.live[view.attained[view.live] >= env.config.long_from]

        assert snapshot.num_finished == every.num_finished == done.sum() == long.num_finished + short.num_finished
        assert (long.num_live, every.num_live) == (len(live_long), len(view.live))
        assert long.num_finished == (done & (records.size > env.config.long_from)).sum()
        assert np.isnan(every.mean_slowdown) == (not done.any())
        assert every.mean_slowdown * done.sum() == pytest.approx(records.slowdown[done].sum()) or not done.any()
        assert snapshot.on_links.sum() == 2 * len(live_long)
        paths = path_of(view, env.config, live_long)
        assert snapshot.on_links[:, 0].sum(axis=1).tolist() == np.bincount(paths, minlength=env.config.paths).tolist()
        assert snapshot.imbalance == snapshot.on_links.max() - snapshot.on_links.min()
        present = env.layout.slot_column(env._observe(), "source") > 0
        assert len(snapshot.slots) == present.sum()
        assert snapshot.over == env.simulation.finished


def test_a_link_has_the_mark_and_the_colour_of_its_long_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert link_line([0, 1, 9, 10, 400]) == ".19++"
    flows = make_flows(np.zeros(9), np.full(9, 1e8), source=[0] * 5 + [1] * 3 + [2], destination=[4] * 9)
    env = AuTOLongFlowsEnv(flows, hosts=5, paths=1, scope="network", render_mode="rgb_array", n_l=9)
    env.reset(seed=0)
    drawn: list[Any] = []
    draw = Canvas.rectangle

    def rectangle(canvas: Canvas, box: Any, colour: Any, **style: Any) -> None:
        drawn.append(colour)
        draw(canvas, box, colour, **style)

    monkeypatch.setattr(Canvas, "rectangle", rectangle)
    while len(take_snapshot(env).slots) < 9:
        env.step(env.action_space.sample() * 0)
    drawn.clear()
    env.render()

    cells = drawn[-10:]
    assert cells == [HEAT[4], HEAT[3], HEAT[1], HEAT[0], HEAT[0], *[HEAT[0]] * 4, HEAT[4]]


def test_drawing_changes_nothing() -> None:
    drawn, untouched = (AuTOLongFlowsEnv(render_mode=mode, **FEW) for mode in ("rgb_array", None))
    for _ in zip(moments(drawn), moments(untouched), strict=True):
        first = drawn.render()
        assert np.array_equal(first, drawn.render())  # type: ignore[arg-type]

    assert drawn._observe().tolist() == untouched._observe().tolist()
