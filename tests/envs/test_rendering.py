"""Looks at the pictures of all environments: they can be read, and they change nothing."""

import sys
from copy import deepcopy
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.envs import FlowSchedEnv
from flowsched_gym.workload import Workload
from tests.envs.episodes import ENVIRONMENTS, SHORT
from tests.envs.pictures import Recorder, moments
from tests.simulate import make_flows

WIDEST: Final = 100


def gather(num_flows: int = 300, *, first_host: int = 1, num_destinations: int = 1) -> Workload:
    """Returns flows with deadlines that all arrive at once, so that the queue is as long as can be."""
    rows = np.arange(num_flows)
    return make_flows(
        np.zeros(num_flows),
        np.where(rows % 3, 350e3, 2.5e6),
        span=np.where(rows % 7, 0.001 * rows + 0.002, np.inf),
        source=first_host + num_destinations + rows % 20,
        destination=first_host - 1 + rows % num_destinations,
    )


def mixed(num_flows: int, hosts: int) -> Workload:
    """Returns flows of very different sizes that all arrive at once."""
    rows = np.arange(num_flows)
    ends = rows % hosts, (rows + 1 + rows % (hosts - 2)) % hosts
    return make_flows(np.zeros(num_flows), 10.0 ** (3 + rows % 7), source=ends[0], destination=ends[1])


def to_one(size: float) -> Workload:
    """Returns flows of one size that all arrive at once, between the same two hosts."""
    return make_flows(np.zeros(40), np.full(40, size), source=np.zeros(40, dtype=int), destination=[1] * 40)


FEW: Final = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}

SETTINGS: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "Artemis": {
        "default": {},
        "tcp": {"workload": "gather-heavy", "transport": "tcp", "k": 10, "f": 5},
        "crowd": {"workload": gather(), "k": 64, "f": 64},
        "crowd that waits": {"workload": gather(), "k": 20, "f": 30, "defer": "wait"},
        "crowd sent back": {"workload": gather(first_host=700), "k": 5, "f": 12, "defer": "to-back"},
        "many destinations": {"workload": gather(first_host=900, num_destinations=90), "k": 2, "f": 3},
        "no deadlines": {"workload": "poisson-web-search", "k": 5, "f": 5},
    },
    "MERPOrder": {
        "default": {},
        "tree": {"topology": "tree9"},
        "crowd": {"workload": mixed(200, 9), "f": 64},
        "crowd on the tree": {"workload": mixed(200, 9), "topology": "tree9", "f": 18, "link_delay_us": 50.0},
        "slow link": {"workload": mixed(200, 9), "link_gbps": 1e-5},
    },
    "MERPRoute": {
        "default": {"flows": 300},
        "failures": {"flows": 300, "failures": 3, "discipline": "ps", "rerouting": "memr-hop-by-hop"},
        "arity 8": {"flows": 500, "arity": 8, "failures": 15},
        "small flows": {"workload": "poisson-exponential", "flows": 20},
    },
    "AuTOThresholds": {
        "default": {"flows": 3_000, "period_flows": 10},
        "one link": {"topology": "one-link", "flows": 400, "load": 0.95, "period_flows": 2},
        "clusters": {"workload": "auto-clusters", "clusters": 4, "flows": 2_000, "period_flows": 10, "queues": 8},
        "many clusters": {"clusters": 32, "flows": 1_000, "period_flows": None, "period_ms": 0.3, "queues": 2},
        "crowd": {"workload": mixed(300, 9), "hosts": 9, "clusters": 3, "period_flows": 1},
        "slow crowd": {"workload": mixed(300, 9), "hosts": 9, "period_flows": 1, "link_gbps": 1e-5},
    },
    "TAFETasks": {
        "default": {"tasks": 40},
        "jobs": {"workload": "tafe-alibaba", "tasks": 30, "topology": "big-switch", "f": 30, "information": "full"},
        "crowd": {"workload": mixed(200, 9), "f": 64},
        "slow link": {"workload": mixed(200, 9), "link_gbps": 1e-5},
    },
    "TAFEThresholds": {
        "default": {"tasks": 60},
        "jobs": {"workload": "tafe-alibaba", "tasks": 30, "topology": "big-switch", "queues": 8, "period_flows": 3},
        "crowd": {"workload": mixed(200, 9), "period_flows": 1},
        "slow link": {"workload": mixed(200, 9), "link_gbps": 1e-5, "period_flows": 3, "queues": 2},
    },
    "QCluster": {
        "default": {"flows": 300, "period_us": 1_000.0},
        "losses": {"flows": 100, "load": 0.95, "buffer": 20, "mark_at": 5, "transport": "dctcp", "period_us": 500.0},
        "deadlines": {"workload": "qcluster-deadlines", "flows": 200, "goal": "deadline", "action": "rule"},
        "two queues": {"flows": 50, "queues": 2, "link_gbps": 1e-3, "period_us": 1e6},
        "own messages": {"workload": to_one(2e7), "goal": "srpt", "link_gbps": 1.0, "period_us": 1_000.0},
    },
    "AuTOLongFlows": {
        "default": {"flows": 600},
        "few servers": FEW,
        "many slots": FEW | {"scope": "network", "n_l": 64},
        "one slot, one path": FEW | {"n_l": 1, "paths": 1},
        "many servers": {"hosts": 100, "flows": 500, "thresholds": (1e4,), "scope": "network"},
        "slow links": FEW | {"link_gbps": 1e-4, "period_ms": 1e5},
        "fast links": FEW | {"link_gbps": 400.0, "period_ms": 1e-2},
        "own flows": {"workload": to_one(1e9), "hosts": 2, "n_l": 30},
    },
}
"""Arguments by environment under which there is much to show, or little, or numbers are long."""

IDS: Final = tuple(environment.id for environment in ENVIRONMENTS)
each_id = pytest.mark.parametrize("env_id", IDS)
in_each_setting = pytest.mark.parametrize(
    ("name", "setting"), [(name, setting) for name, settings in SETTINGS.items() for setting in settings]
)


def make(env_id: str, **arguments: Any) -> FlowSchedEnv[Any]:
    """Makes an environment without wrappers."""
    env = gym.make(env_id, disable_env_checker=True, **arguments).unwrapped
    assert isinstance(env, FlowSchedEnv)
    return env


def test_each_environment_has_settings() -> None:
    assert {f"flowsched/{name}-v0" for name in SETTINGS} == set(IDS)


@in_each_setting
def test_what_is_written_can_be_read(name: str, setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(f"flowsched/{name}-v0", render_mode="rgb_array", **SETTINGS[name][setting])
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
