"""Holds pictures to what they are made of, and those of all environments to be readable and to change nothing."""

import sys
from copy import deepcopy
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.envs import FlowSchedEnv
from flowsched_gym.envs.drawing import Scene, View, draw_frame, render_modes, write_text
from flowsched_gym.envs.drawing.canvas import Box, Canvas
from flowsched_gym.envs.drawing.formats import duration_text, rate_text, ratio_text, shortened, size_text
from flowsched_gym.envs.drawing.panels import Column, Panel, Rows, Stack, Table
from flowsched_gym.envs.drawing.text import aligned, text_bar
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import one_link
from flowsched_gym.workload import Workload
from tests.environments import CASES
from tests.envs.episodes import SHORT, core
from tests.envs.pictures import Recorder, cells, moments
from tests.simulate import make_flows

FEW: Final = ("flowsched/Artemis-v0", "flowsched/MERPOrder-v0", "flowsched/TAFETasks-v0")
"""Environments of which a picture is read in each run."""
WIDEST: Final = 100
"""Columns of a text."""


def test_numbers_have_three_digits_and_a_fitting_unit() -> None:
    times = {0.0: "0 us", 0.000729: "729 us", -0.01345: "-13.4 ms", 0.0999: "99.9 ms", 0.9994: "999 ms"}
    times |= {0.9999: "1.00 s", 1234.5: "1234 s", 11_499_812.0: "1e+07 s", np.inf: "inf"}
    sizes = {12.0: "12 B", 1460.0: "1.46 KB", 99400.0: "99.4 KB", 350e3: "350 KB", 999.6e3: "1.00 MB", 3e9: "3000 MB"}
    rates = {125e6: "1.00 Gbit/s", 41.6e6: "333 Mbit/s", 5e9: "40.0 Gbit/s"}
    ratios = {1.0: "1.00", 12.34: "12.3", 99_999.0: "99999", 2e6: "2e+06", np.inf: "inf"}
    for write, texts in ((duration_text, times), (size_text, sizes), (rate_text, rates), (ratio_text, ratios)):
        assert {number: write(number) for number in texts} == texts


def test_a_bar_fills_its_share_and_shows_what_is_not_nothing() -> None:
    canvas = Canvas(100, 8, (255, 255, 255))
    for row, share in enumerate((0.25, 0.001, 0.0, 7.0)):
        canvas.bar(Box(0, 2 * row, 100, 2 * row + 2), share, (0, 0, 0), track=None)
    assert (canvas.array() == 0).all(axis=2).sum(axis=1).tolist() == [25, 25, 2, 2, 0, 0, 100, 100]
    assert [text_bar(share, 4) for share in (-1.0, 0.5, 2.0)] == ["[....]", "[##..]", "[####]"]


def test_tables_of_text_are_aligned_and_have_no_empty_columns() -> None:
    assert aligned([("a", "", "1"), ("bcd", "", "23")], "llr") == ["  a     1", "  bcd  23"]
    assert aligned([], "lr") == []
    assert shortened("some/folder/flows.csv", 12) == "...flows.csv"
    assert shortened("flows.csv", 12) == "flows.csv"


def test_a_table_tells_how_much_of_it_is_not_shown() -> None:
    columns = Column("flow", 10, "left"), Column("only in the text"), Column("only drawn", 10, in_text=False)
    rows = Rows(np.arange(50), lambda number, row: (f"flow {row}", "words", "drawn"))
    view = picture(Table(title="Queue", columns=columns, rows=rows, slots=30, shows_hidden=True))
    text = write_text(view)

    assert "[19]  flow 19" in text
    assert "[20]" not in text
    assert text.count("words") == 20
    assert "+ 10 more in slots" in text
    assert "20 more, hidden from the agent" in text
    assert "drawn" not in text
    assert draw_frame(view).shape == (600, 1000, 3)


def on_one_link(flows: Workload) -> Simulation:
    return Simulation(flows, one_link(capacity=1.25e8), Ps())


def picture(panel: Panel) -> View:
    scene = Scene.of(on_one_link(make_flows([0.0, 1.0], [1e6, 2e6])))
    return View(banner=scene.banner("Test", "on one link", "What now?"), stacks=(Stack(1, (panel,)),))


def test_links_show_what_is_left_on_them() -> None:
    simulation = on_one_link(make_flows([0.0, 0.001, 0.002], [250e3, 500e3, 1e6]))
    simulation.run(until=0.002)
    scene = Scene.of(simulation)
    flows, backlog = scene.loads

    # 1 Gbps is 125 KB in a millisecond.
    assert (scene.now, flows.tolist(), backlog.tolist()) == (0.002, [3], [pytest.approx(1750e3 - 250e3)])
    assert scene.banner("", "", "").counts == ("0 finished, 3 active, 0 to come",)
    assert scene.links().note == "100 % busy"
    assert "1.50 MB left: busy for 12.0 ms" in write_text(picture(scene.links()))


@pytest.mark.parametrize("span", [None, [1.0, 0.001, np.inf]])
def test_finished_flows_are_early_or_late_or_have_a_slowdown(span: list[float] | None) -> None:
    simulation = on_one_link(make_flows([0.0, 1.0, 2.0], [125e3, 250e3, 500e3], span=span))
    simulation.run()
    scene = Scene.of(simulation)
    found = [cells(row)[-1] for row in scene.finished().rows]

    assert scene.over
    assert found == (["x 1.00"] * 3 if span is None else ["took 4.00 ms", "1.00 ms late", "999 ms early"])
    assert [cells(row)[0] for row in scene.finished().rows] == ["flow 2", "flow 1", "flow 0"]


def make(env_id: str, **arguments: Any) -> FlowSchedEnv[Any]:
    """Makes an environment without wrappers."""
    return core(gym.make(env_id, disable_env_checker=True, **arguments))


@pytest.mark.parametrize(
    ("env_id", "setting"),
    [
        pytest.param(env_id, setting, marks=pytest.mark.exhaustive if number or env_id not in FEW else ())
        for env_id, cases in CASES.items()
        for number, setting in enumerate(cases.pictures)
    ],
)
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


@pytest.mark.parametrize("env_id", SHORT)
@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_an_episode_that_is_looked_at_goes_as_one_that_is_not_and_its_end_is_told(env_id: str, mode: str) -> None:
    seen: list[Any] = []
    for look in (True, False):
        env = make(env_id, render_mode=mode if look else None, **SHORT[env_id])
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
        assert mode == "rgb_array" or end in str(env.render()) or not look
        assert look or env.render() is None
        seen.append((told, env.np_random.bit_generator.state, env.records().completion_time.tolist()))

    assert seen[0] == seen[1]


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
    monkeypatch.setattr(render_modes, "find_spec", lambda module: None if module == "pygame" else "found")
    without = render_modes._RenderModes(["rgb_array", "ansi"])
    with pytest.raises(MissingDependencyError, match=r"pygame.*flowsched-gym\[human\]"):
        assert "human" in without, "Gymnasium asks this, and else opens a window of its own"
