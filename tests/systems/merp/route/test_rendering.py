"""Looks at the pictures of routing episodes: they can be read, say the truth, and change nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.systems.merp.route.snapshot import take_snapshot
from tests.envs.pictures import Recorder

WIDEST = 100

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {"flows": 300},
    "failures": {"flows": 300, "failures": 3, "discipline": "ps", "rerouting": "memr-hop-by-hop"},
    "overload": {"flows": 300, "load": 1.5, "discipline": "fifo"},
    "arity 6": {"flows": 400, "arity": 6, "failures": 8},
    "arity 8": {"flows": 500, "arity": 8, "failures": 15},
    "small flows": {"workload": "poisson-exponential", "flows": 20},
}

in_each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


def moments(env: MERPRouteEnv, *, every: int = 23) -> Iterator[None]:
    """Plays an episode with any actions, and stops at its reset, at some of its decisions and at its end."""
    env.reset(seed=5)
    yield
    actions = np.random.default_rng(6)
    over = False
    step = 0
    while not over:
        over = env.step(int(actions.integers(env.num_actions)))[2]
        step += 1
        if over or step % every == 0:
            yield


@pytest.mark.filterwarnings("ignore:load is 1.5")
@in_each_setting
def test_words_and_bars_keep_clear_of_each_other_and_of_the_edges(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = MERPRouteEnv(render_mode="rgb_array", **setting)
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        recorder.look(env)


@pytest.mark.filterwarnings("ignore:load is 1.5")
@in_each_setting
def test_text_has_at_most_a_hundred_columns_and_no_loose_ends(setting: dict[str, Any]) -> None:
    env = MERPRouteEnv(render_mode="ansi", **setting)
    for _ in moments(env):
        text = env.render()

        assert isinstance(text, str)
        lines = text.split("\n")
        assert max(map(len, lines)) <= WIDEST
        assert [line for line in lines if line != line.rstrip()] == []
        assert all(part in text for part in ("Network:", "Paths", "Finished"))


def test_counts_are_those_of_the_records() -> None:
    env = MERPRouteEnv(flows=200, failures=2)
    for _ in moments(env):
        snapshot, records, simulation = take_snapshot(env), env.records(), env.simulation
        done = ~np.isnan(records.fct)

        assert snapshot.num_finished == np.count_nonzero(done)
        assert snapshot.num_links_down == 4
        assert snapshot.num_live == simulation.links.num_active
        assert 0 <= snapshot.num_waiting <= snapshot.num_live
        same_pod = snapshot.flow is not None and snapshot.flow.same_pod
        assert len(snapshot.paths) == (0 if snapshot.flow is None else 2 if same_pod else 4)
        assert [path.live for path in snapshot.paths] == env.action_masks()[: len(snapshot.paths)].tolist()
        # A flow crosses two links of its hosts, and two or four between them.
        assert 2 * snapshot.num_live <= snapshot.flows_on.sum() <= 6 * snapshot.num_live
        if snapshot.num_finished:
            assert snapshot.mean_slowdown == pytest.approx(records.slowdown[done].mean())
            assert snapshot.largest_slowdown == records.slowdown[done].max()


def test_slots_bear_the_numbers_of_the_actions_and_paths_that_are_down_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    env = MERPRouteEnv(render_mode="rgb_array", flows=200, failures=3)
    recorder = Recorder(monkeypatch)
    down = 0
    for _ in moments(env):
        recorder.clear()
        env.render()
        written = [word for word, _ in recorder.words]
        for slot, path in enumerate(take_snapshot(env).paths):
            assert str(slot) in written
            down += not path.live
        # The legend, where the word stands too, is below.
        marks = [word for word, box in recorder.words if word == "down" and box.bottom < 570]
        assert len(marks) == sum(not path.live for path in take_snapshot(env).paths)

    assert down > 3


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_an_episode_that_is_looked_at_goes_as_one_that_is_not(mode: str) -> None:
    seen: list[list[Any]] = []
    for look in (True, False):
        env = MERPRouteEnv(render_mode=mode, flows=120, failures=3)
        env.reset(seed=7)
        actions = np.random.default_rng(8)
        found: list[Any] = []
        over = False
        while not over:
            if look:
                env.render()
            observation, reward, over, _, info = env.step(int(actions.integers(4)))
            found.append((observation.tolist(), reward, info["time"]))
        seen.append(found)

    assert seen[0] == seen[1]
