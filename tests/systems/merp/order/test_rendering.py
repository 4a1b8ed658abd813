"""Looks at the pictures of ordering episodes: they can be read, say the truth, and change nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flowsched_gym.errors import SimulationError
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.order.snapshot import take_snapshot
from flowsched_gym.workload import Workload
from tests.envs.pictures import Recorder
from tests.flows import make_flows

WIDEST = 100


def crowd(num_flows: int = 200) -> Workload:
    """Returns flows of very different sizes that all arrive at once."""
    rows = np.arange(num_flows)
    sizes, ends = 10.0 ** (3 + rows % 6), (rows % 9, (rows + 1 + rows % 7) % 9)
    return make_flows(np.zeros(num_flows), sizes, source=ends[0], destination=ends[1])


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "tree": {"topology": "tree9"},
    "few slots": {"f": 2, "load": 0.95},
    "many slots": {"f": 64, "load": 0.95},
    "crowd": {"workload": crowd(), "f": 64},
    "crowd of one": {"workload": crowd(), "f": 1},
    "crowd on the tree": {"workload": crowd(), "topology": "tree9", "f": 18, "link_delay_us": 50.0},
    "slow link": {"workload": crowd(), "link_gbps": 1e-5},
}

in_each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


def moments(env: MERPOrderEnv, count: int = 10, *, every: int = 17) -> Iterator[int]:
    """Plays the start of an episode by the oldest flow, and stops at its reset and at some of its decisions."""
    env.reset(seed=5)
    yield 0
    for step in range(1, count * every):
        if env.step(0)[2]:
            yield step
            return
        if step % every == 0:
            yield step


@in_each_setting
def test_words_and_bars_keep_clear_of_each_other_and_of_the_edges(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = MERPOrderEnv(render_mode="rgb_array", **setting)
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        recorder.look(env)


@in_each_setting
def test_text_has_at_most_a_hundred_columns_and_no_loose_ends(setting: dict[str, Any]) -> None:
    env = MERPOrderEnv(render_mode="ansi", **setting)
    for _ in moments(env):
        text = env.render()

        assert isinstance(text, str)
        lines = text.split("\n")
        assert max(map(len, lines)) <= WIDEST
        assert [line for line in lines if line != line.rstrip()] == []
        assert all(part in text for part in ("MERP order", "Competing", "Links", "Finished"))


@in_each_setting
def test_counts_are_those_of_the_simulation(setting: dict[str, Any]) -> None:
    env = MERPOrderEnv(**setting)
    for _ in moments(env):
        snapshot, records, observation = take_snapshot(env), env.records(), env._observe()
        slowdown = np.sort(records.slowdown[~np.isnan(records.slowdown)])[::-1]

        assert snapshot.num_finished == len(slowdown)
        assert snapshot.largest == tuple(slowdown[:8].tolist())
        assert snapshot.over == env.simulation.finished
        assert sum(link.num_flows > 0 for link in snapshot.links) > 0 or snapshot.num_live == 0
        seen = observation[env.layout.slot_slice("slowdown_if_last")][: len(snapshot.competing)]
        scale = env.layout.slot_scale("slowdown_if_last")
        shown = [flow.if_last / (flow.if_last + scale) for flow in snapshot.competing[: env.config.f]]
        assert shown == pytest.approx(seen.tolist(), abs=1e-6)


def test_a_picture_changes_nothing() -> None:
    unseen, seen = MERPOrderEnv(flows=60), MERPOrderEnv(flows=60, render_mode="rgb_array")
    for env in (unseen, seen):
        env.reset(seed=3)
    over = False
    while not over:
        assert isinstance(seen.render(), np.ndarray)
        expected, found = unseen.step(0), seen.step(0)
        over = bool(found[2])

        assert (found[0] == expected[0]).all()
        assert found[1:4] == expected[1:4]


def test_the_end_is_told() -> None:
    env = MERPOrderEnv(flows=20, render_mode="ansi")
    env.reset(seed=1)
    while not env.step(0)[2]:
        pass

    assert "The episode is over: all 20 flows have finished." in str(env.render())


def test_before_the_first_reset_there_is_nothing_to_draw() -> None:
    with pytest.raises(SimulationError, match="call reset"):
        MERPOrderEnv(render_mode="ansi").render()
