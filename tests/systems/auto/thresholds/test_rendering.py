"""Looks at the pictures of episodes of thresholds: they can be read, say the truth, and change nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.systems.auto.thresholds.snapshot import take_snapshot
from tests.envs.pictures import Recorder
from tests.flows import make_flows

WIDEST = 100

CROWD = make_flows(np.zeros(300), 10.0 ** (3 + np.arange(300) % 7), source=np.arange(300) % 8, destination=[8] * 300)
"""Flows of very different sizes that all arrive at once."""

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {"flows": 3_000, "period_flows": 150},
    "one link": {"topology": "one-link", "flows": 400, "load": 0.95, "period_flows": 20},
    "clusters": {"workload": "auto-clusters", "clusters": 4, "flows": 2_000, "period_flows": 100, "queues": 8},
    "many clusters": {"clusters": 32, "flows": 1_000, "period_flows": None, "period_ms": 3.0, "queues": 2},
    "crowd": {"workload": CROWD, "hosts": 9, "clusters": 3, "period_flows": 15, "initial_thresholds": "web_search"},
    "slow crowd": {"workload": CROWD, "hosts": 9, "period_flows": 15, "link_gbps": 1e-5, "link_delay_us": 0.0},
}

in_each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


def moments(env: AuTOThresholdsEnv, count: int = 12) -> Iterator[int]:
    """Plays the start of an episode by any thresholds, and stops at its reset and at each decision."""
    env.reset(seed=5)
    env.action_space.seed(6)
    yield 0
    for step in range(1, count):
        over = env.step(env.action_space.sample())[2]
        yield step
        if over:
            return


@in_each_setting
def test_words_and_bars_keep_clear_of_each_other_and_of_the_edges(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = AuTOThresholdsEnv(render_mode="rgb_array", **setting)
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        recorder.look(env)


@in_each_setting
def test_text_has_at_most_a_hundred_columns_and_no_loose_ends(setting: dict[str, Any]) -> None:
    env = AuTOThresholdsEnv(render_mode="ansi", **setting)
    for _ in moments(env):
        text = env.render()

        assert isinstance(text, str)
        lines = text.split("\n")
        assert max(map(len, lines)) <= WIDEST
        assert [line for line in lines if line != line.rstrip()] == []
        assert all(part in text for part in ("AuTO thresholds", "queue 1", "Finished in all"))


@in_each_setting
def test_counts_and_means_are_those_of_the_simulation(setting: dict[str, Any]) -> None:
    env = AuTOThresholdsEnv(**setting)
    for step in moments(env):
        snapshot, records = take_snapshot(env), env.records()
        done = np.isfinite(records.completion_time)
        live = sum(queue.num_flows for cluster in snapshot.clusters for queue in cluster.queues)

        assert live == snapshot.num_live == sum(len(cluster.sizes) for cluster in snapshot.clusters)
        assert snapshot.num_finished == done.sum() == snapshot.in_all[-1].num_finished
        assert snapshot.num_finished == sum(each.num_finished for each in snapshot.in_all[:-1])
        assert snapshot.num_periods == step + 1 or snapshot.over
        if done.any():
            assert snapshot.in_all[-1].mean_fct == pytest.approx(records.fct[done].mean())
            assert snapshot.in_all[-1].mean_slowdown == pytest.approx(records.slowdown[done].mean())


def test_drawing_changes_nothing() -> None:
    drawn, other = (AuTOThresholdsEnv(flows=300, period_flows=20, render_mode="rgb_array") for _ in range(2))
    for step in moments(drawn):
        drawn.render()
        if step == 0:
            others = moments(other)
        next(others)
        assert (drawn._observe() == other._observe()).all()


def test_a_frame_shows_the_thresholds() -> None:
    env = AuTOThresholdsEnv(flows=300, period_flows=20, render_mode="rgb_array")
    env.reset(seed=1)
    env.step(np.array([-0.5, -0.5, -0.5]))
    first = env.render()
    env.step(np.array([0.5, -0.5, -0.5]))

    assert isinstance(first, np.ndarray)
    assert (first[140:300] != env.render()[140:300]).any()  # type: ignore[index]
