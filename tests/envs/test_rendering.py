"""Looks at the pictures of all environments: they can be read, and they change nothing."""

import sys
from copy import deepcopy
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.envs import FlowSchedEnv
from tests.environments import CASES
from tests.envs.episodes import ENVIRONMENTS, SHORT
from tests.envs.pictures import Recorder, moments

WIDEST: Final = 100


IDS: Final = tuple(environment.id for environment in ENVIRONMENTS)
each_id = pytest.mark.parametrize("env_id", IDS)
in_each_setting = pytest.mark.parametrize(
    ("env_id", "setting"), [(env_id, setting) for env_id, cases in CASES.items() for setting in cases.pictures]
)


def make(env_id: str, **arguments: Any) -> FlowSchedEnv[Any]:
    """Makes an environment without wrappers."""
    env = gym.make(env_id, disable_env_checker=True, **arguments).unwrapped
    assert isinstance(env, FlowSchedEnv)
    return env


@in_each_setting
def test_what_is_written_can_be_read(env_id: str, setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(env_id, render_mode="rgb_array", **CASES[env_id].pictures[setting])
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        words, view = recorder.look(env), env.panels()
        env.render_mode = "ansi"
        text = str(env.render())
        env.render_mode = "rgb_array"
        lines = text.split("\n")

        assert max(map(len, lines)) <= WIDEST
        assert [line for line in lines if line != line.rstrip()] == []
        assert {panel.title for panel in view.panels if panel.in_frame and panel is not view.bottom} <= {*words, ""}
        assert all(panel.title in text and panel.note in text for panel in view.panels)
        assert view.banner.question in text
        assert view.banner.question in words


@each_id
@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_an_episode_that_is_looked_at_goes_as_one_that_is_not_and_its_end_is_told(env_id: str, mode: str) -> None:
    seen: list[Any] = []
    for look in (True, False):
        env = make(env_id, render_mode=mode, **SHORT[env_id])
        told: list[Any] = [env.reset(seed=3)[0].tolist()]
        env.action_space.seed(4)
        over = False
        while not over:
            if look:
                image, again = env.render(), env.render()
                assert np.array_equal(image, again)
                assert isinstance(image, str) or not np.shares_memory(image, again)
            observation, reward, over, _, info = env.step(env.action_space.sample())
            told.append((observation.tolist(), reward, info["time"], info["finished"]))
        end = f"The episode is over: all {env.workload.num_flows} flows have finished."
        assert mode == "rgb_array" or end in str(env.render())
        seen.append((told, env.np_random.bit_generator.state, env.records().completion_time.tolist()))

    assert seen[0] == seen[1]


@each_id
def test_there_is_nothing_to_draw_without_a_render_mode(env_id: str) -> None:
    env = make(env_id)
    env.reset(seed=1)
    assert env.render() is None


def test_text_needs_no_pillow_and_a_frame_names_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIL", "PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"):
        monkeypatch.setitem(sys.modules, name, None)
    env = make("flowsched/MERPOrder-v0", render_mode="ansi", f=7)
    env.reset(seed=1)

    assert "Flows that compete" in str(env.render())
    env.render_mode = "rgb_array"
    with pytest.raises(MissingDependencyError, match=r"Pillow is needed to draw frames: pip install '.*\[plot\]'"):
        env.render()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives pygame a screen that nobody sees."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return pytest.importorskip("pygame").display


@pytest.mark.filterwarnings("error")
def test_a_window_shows_every_state_until_it_is_closed(screen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FlowSchedEnv.metadata, "render_fps", 1000)
    drawn, shown = (make("flowsched/Artemis-v0", render_mode=mode, bursts=2) for mode in ("rgb_array", "human"))

    drawn.reset(seed=3), shown.reset(seed=3)
    for _ in range(4):
        seen = pygame_pixels(screen)
        assert np.array_equal(seen, drawn.render())
        drawn.step(0), shown.step(0)
        assert shown.render() is None
        assert not np.array_equal(pygame_pixels(screen), seen)
    assert screen.get_caption()[0] == "flowsched/Artemis-v0"
    copied = deepcopy(shown.unwrapped)
    shown.close()
    assert not screen.get_init()
    copied.step(0)
    assert screen.get_init(), "a copy has a window of its own"
    shown.close()
    assert screen.get_init(), "and closes it itself"
    copied.close()
    assert not screen.get_init()


def pygame_pixels(screen: Any) -> Any:
    """Returns what stands in the window, (height, width, 3)."""
    import pygame

    return pygame.surfarray.array3d(screen.get_surface()).transpose(1, 0, 2)


def test_windows_are_for_single_environments_and_need_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="render_mode is 'human': vector environments draw rgb_array or ansi"):
        gym.make_vec("flowsched/Artemis-v0", num_envs=2, render_mode="human")
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingDependencyError, match=r"pygame.*flowsched-gym\[human\]"):
        make("flowsched/Artemis-v0", render_mode="human", bursts=2)
