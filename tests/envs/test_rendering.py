"""Looks at the pictures of episodes: they say the truth, nothing in them overlaps, and they change nothing."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import flowsched_gym  # noqa: F401 - registers the environments
from flowsched_gym.envs.rendering import (
    Box,
    Canvas,
    aligned,
    duration_text,
    rate_text,
    shortened,
    size_share,
    size_text,
    text_bar,
)
from flowsched_gym.errors import MissingDependencyError, SimulationError
from flowsched_gym.metrics import count_deadlines
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.systems.artemis.snapshot import Outlook, take_snapshot
from flowsched_gym.workload import Workload
from tests.envs.pictures import Recorder

WIDEST = 100


def crowd(num_flows: int = 300, *, first_host: int = 1, num_destinations: int = 1) -> Workload:
    """Returns flows that all arrive at once, so that the queue is as long as can be."""
    rows = np.arange(num_flows)
    return Workload(
        flow_id=rows,
        source=first_host + num_destinations + rows % 20,
        destination=first_host - 1 + rows % num_destinations,
        size=np.where(rows % 3, 350e3, 2.5e6),
        arrival_time=np.zeros(num_flows),
        deadline_span=np.where(rows % 7, 0.001 * rows + 0.002, np.inf),
    )


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "heavy": {"workload": "gather-heavy", "k": 3, "f": 10},
    "tcp": {"workload": "gather-heavy", "transport": "tcp", "k": 10, "f": 5},
    "crowd": {"workload": crowd(), "k": 64, "f": 64},
    "crowd of one": {"workload": crowd(), "k": 1, "f": 1},
    "crowd that waits": {"workload": crowd(), "k": 20, "f": 30, "defer": "wait"},
    "crowd sent back": {"workload": crowd(first_host=700), "k": 5, "f": 12, "defer": "to-back"},
    "several destinations": {"workload": "gather-multi", "k": 4, "f": 8},
    "many destinations": {"workload": crowd(first_host=900, num_destinations=90), "k": 2, "f": 3},
    "hosts with long numbers": {"workload": crowd(100, first_host=1000), "k": 10, "f": 5},
    "no deadlines": {"workload": "poisson-web-search", "k": 5, "f": 5},
}

in_each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())


def make(**arguments: Any) -> ArtemisEnv:
    """Makes an environment without wrappers."""
    env = gym.make("flowsched/Artemis-v0", disable_env_checker=True, **arguments).unwrapped
    assert isinstance(env, ArtemisEnv)
    return env


def moments(env: ArtemisEnv, count: int = 12, *, every: int = 25) -> Iterator[int]:
    """Plays the start of an episode with any actions, and stops at its reset and at some of its decisions."""
    env.reset(seed=5)
    yield 0
    actions = np.random.default_rng(6)
    for step in range(1, count * every):
        if env.step(int(actions.integers(env.num_actions)))[2]:
            yield step
            return
        if step % every == 0:
            yield step


def play(env: ArtemisEnv, look: Callable[[], object]) -> list[Any]:
    """Plays an episode and looks at it after every step; returns all that the agent has seen."""
    observation, _ = env.reset(seed=3)
    actions = np.random.default_rng(4)
    seen: list[Any] = [observation.tolist()]
    over = False
    while not over:
        look()
        observation, reward, over, _, info = env.step(int(actions.integers(env.num_actions)))
        seen.append((observation.tolist(), reward, info["time"], info["finished"]))
    look()
    return seen


# Pictures change nothing


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize("transport", ["ideal", "tcp"])
def test_an_episode_that_is_looked_at_goes_as_one_that_is_not(mode: str, transport: str) -> None:
    setting: dict[str, Any] = {"workload": "gather-heavy", "bursts": 8, "k": 3, "f": 10, "transport": transport}
    unseen, seen = make(**setting), make(**setting, render_mode=mode)
    expected = play(unseen, lambda: None)
    images: list[Any] = []

    assert play(seen, lambda: images.append(seen.render())) == expected
    assert len(images) == len(expected)
    assert seen.np_random.bit_generator.state == unseen.np_random.bit_generator.state
    assert np.array_equal(seen.records().completion_time, unseen.records().completion_time)


def test_looking_twice_gives_the_same_picture_in_memory_of_its_own() -> None:
    env = make(render_mode="rgb_array")
    env.reset(seed=1)
    first, second = env.render(), env.render()

    assert isinstance(first, np.ndarray)
    assert isinstance(second, np.ndarray)
    assert np.array_equal(first, second)
    first[:] = 0
    assert second.any()


def test_without_a_render_mode_there_is_no_picture() -> None:
    env = make()
    env.reset(seed=1)

    assert env.render() is None


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_before_the_first_reset_there_is_nothing_to_draw(mode: str) -> None:
    with pytest.raises(SimulationError, match="call reset"):
        make(render_mode=mode).render()


def test_a_missing_pillow_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)

    with pytest.raises(MissingDependencyError, match=r"Pillow is needed to draw frames: pip install '.*\[plot\]'"):
        Canvas(10, 10)


def test_text_needs_no_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIL", "PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"):
        monkeypatch.setitem(sys.modules, name, None)
    env = make(render_mode="ansi")
    env.reset(seed=1)

    assert "Queue of host 0" in str(env.render())


# Pictures can be read


@in_each_setting
def test_words_and_bars_keep_clear_of_each_other_and_of_the_edges(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make(render_mode="rgb_array", **setting)
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        recorder.look(env)


@in_each_setting
def test_text_has_at_most_a_hundred_columns_and_no_loose_ends(setting: dict[str, Any]) -> None:
    env = make(render_mode="ansi", **setting)
    for _ in moments(env):
        text = env.render()

        assert isinstance(text, str)
        lines = text.split("\n")
        assert max(map(len, lines)) <= WIDEST
        assert [line for line in lines if line != line.rstrip()] == []
        assert all(part in text for part in ("Tokens of host", "Queue of host", "Finished"))


def test_colour_is_never_alone_in_telling_whether_a_deadline_can_be_met(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(render_mode="rgb_array", workload="gather-heavy", k=3, f=10)
    recorder = Recorder(monkeypatch)
    for _ in moments(env):
        recorder.clear()
        env.render()
        snapshot = take_snapshot(env)
        written = [word for word, _ in recorder.words]
        visible = [request.outlook.value for request in snapshot.waiting[:10]]

        for word in set(visible):
            assert written.count(word) >= visible.count(word)


def test_slots_bear_the_numbers_of_the_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(render_mode="rgb_array", workload="gather-heavy", k=3, f=4, defer="to-back")
    recorder = Recorder(monkeypatch)
    env.reset(seed=1)
    env.render()

    assert [word for word, _ in recorder.words if word.isdigit()] == ["0", "4", "1", "5", "2", "6", "3", "7"]


# Pictures say the truth


@in_each_setting
def test_counts_are_those_of_the_records(setting: dict[str, Any]) -> None:
    env = make(**setting)
    for _ in moments(env):
        snapshot, records, simulation = take_snapshot(env), env.records(), env.simulation
        has_deadline = records.deadline_span < np.inf
        late = records.arrival_time + records.deadline_span < simulation.now
        due = count_deadlines(records, now=simulation.now)

        assert snapshot.num_finished == np.count_nonzero(~np.isnan(records.fct))
        assert snapshot.met == np.count_nonzero(records.deadline_met & has_deadline)
        assert snapshot.missed == np.count_nonzero(has_deadline & late & ~records.deadline_met)
        assert snapshot.met >= due.met
        assert snapshot.missed == due.missed
        assert len(snapshot.active) + snapshot.tokens_free == env.config.k
        assert snapshot.link_share <= 1.0
        if simulation.asking is not None:
            assert snapshot.host == simulation.asking.host
            assert snapshot.num_waiting == simulation.asking.num_waiting


def test_at_the_end_the_hit_ratio_is_the_metric_of_the_episode() -> None:
    env = make(workload="gather-heavy", bursts=30, k=3, f=10, render_mode="ansi")
    env.reset(seed=2)
    over, info = False, {}
    while not over:
        _, _, over, _, info = env.step(0)
    snapshot, metrics = take_snapshot(env), info["episode_metrics"]

    assert snapshot.over
    assert snapshot.hit_ratio == metrics["deadline_hit_ratio"]
    assert (snapshot.met, snapshot.missed) == (metrics["deadlines_met"], metrics["deadlines_missed"])
    assert snapshot.recent[-1] == np.mean(env.records().deadline_met[env.simulation.delivered[-20:]])
    assert "The episode is over" in str(env.render())


def test_before_anything_is_decided_there_is_no_hit_ratio() -> None:
    env = make(render_mode="ansi")
    env.reset(seed=2)

    assert take_snapshot(env).hit_ratio is None
    assert "none yet" in str(env.render())


def two_flows(gap: float) -> Workload:
    """Returns two flows of 250 KB from two hosts to host 0, one after the other."""
    return Workload(
        flow_id=[1, 2],  # type: ignore[arg-type]
        source=[1, 2],  # type: ignore[arg-type]
        destination=[0, 0],  # type: ignore[arg-type]
        size=[250e3, 250e3],  # type: ignore[arg-type]
        arrival_time=[0.0, gap],  # type: ignore[arg-type]
        deadline_span=[0.02, 0.02],  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("gap", "sent", "stage"),
    [
        (0.0002, 0.0, "token on its way"),
        (0.0015, 0.5, "sends"),
        (0.0022, 0.85, "sends"),
        (0.0027, 1.0, "last byte on its way"),
    ],
)
def test_a_flow_is_where_it_is_now_and_not_where_the_last_event_left_it(gap: float, sent: float, stage: str) -> None:
    env = make(workload=two_flows(gap), k=2, f=2)
    env.reset(seed=0)
    env.step(0)
    snapshot = take_snapshot(env)
    flow = snapshot.active[0]

    # The request takes 0.5 ms and so does the token; then 250 KB take 2 ms at 1 Gbps. Seen when request 2 arrives.
    assert snapshot.now == pytest.approx(gap + 0.0005)
    assert flow.share_sent == pytest.approx(sent)
    assert flow.stage == stage
    assert snapshot.bytes_left == pytest.approx(250e3 * (1.0 - sent))
    assert flow.time_left == pytest.approx(0.02 - gap - 0.0005)
    assert snapshot.link_share == (1.0 if stage == "sends" else 0.0)


def test_a_tcp_flow_connects_and_then_waits_for_acknowledgements() -> None:
    stages = set()
    env = make(workload="gather-heavy", bursts=10, k=3, f=10, transport="tcp")
    for _ in moments(env, 100, every=1):
        stages |= {flow.stage for flow in take_snapshot(env).active}

    assert stages >= {"token on its way", "connects", "waits for ACKs", "sends", "last byte on its way"}


@pytest.mark.parametrize("transport", ["ideal", "tcp"])
def test_a_flow_that_is_called_lost_never_meets_its_deadline(transport: str) -> None:
    env = make(workload="gather-heavy", bursts=30, k=3, f=10, transport=transport)
    lost: set[int] = set()

    def look() -> None:
        snapshot = take_snapshot(env)
        lost.update(flow.flow_id for flow in (*snapshot.waiting, *snapshot.active) if flow.outlook is Outlook.LOST)

    play(env, look)
    records = env.records()
    missed = set(records.flow_id[~records.deadline_met].tolist())

    assert lost
    assert lost <= missed


def test_a_request_that_is_called_safe_meets_its_deadline_when_it_is_granted_at_once() -> None:
    env = make(workload="gather-heavy", bursts=30, k=3, f=10)
    env.reset(seed=3)
    safe: set[int] = set()
    over = False
    while not over:
        granted = take_snapshot(env).waiting[0]
        if granted.outlook is Outlook.SAFE:
            safe.add(granted.flow_id)
        over = env.step(0)[2]
    records = env.records()

    assert len(safe) > 50
    assert safe <= set(records.flow_id[records.deadline_met].tolist())


def test_flows_without_a_deadline_are_neither_safe_nor_lost() -> None:
    env = make(workload="poisson-web-search", render_mode="ansi")
    for _ in moments(env):
        snapshot = take_snapshot(env)

        assert {flow.outlook for flow in (*snapshot.waiting, *snapshot.active)} <= {Outlook.UNBOUND}
        assert (snapshot.deadlines, snapshot.hit_ratio, snapshot.outcomes) == (0, None, ())
        assert "mean completion time" in str(env.render())


def test_the_destination_that_is_shown_is_among_the_few_of_the_strip() -> None:
    env = make(**SETTINGS["many destinations"])
    for _ in moments(env):
        snapshot = take_snapshot(env)
        few = snapshot.some_destinations(7)

        assert len(snapshot.destinations) == 90
        assert len(few) == 6
        assert snapshot.host in [host for host, _, _ in few]


# Words and numbers


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 us"),
        (0.000729, "729 us"),
        (0.0032, "3.20 ms"),
        (-0.01345, "-13.4 ms"),
        (0.0999, "99.9 ms"),
        (0.9994, "999 ms"),
        (0.9999, "1.00 s"),
        (1234.5, "1234 s"),
        (np.inf, "inf"),
    ],
)
def test_times_have_three_digits_and_a_fitting_unit(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (12.0, "12 B"),
        (1460.0, "1.46 KB"),
        (99400.0, "99.4 KB"),
        (350e3, "350 KB"),
        (999.6e3, "1.00 MB"),
        (3e9, "3000 MB"),
    ],
)
def test_sizes_have_three_digits_and_a_fitting_unit(size: float, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(("rate", "text"), [(125e6, "1.00 Gbit/s"), (41.6e6, "333 Mbit/s"), (5e9, "40.0 Gbit/s")])
def test_rates_are_in_bits_per_second(rate: float, text: str) -> None:
    assert rate_text(rate) == text


def test_a_long_text_keeps_its_end() -> None:
    assert shortened("some/folder/flows.csv", 12) == "...flows.csv"
    assert shortened("flows.csv", 12) == "flows.csv"


def test_tables_are_aligned() -> None:
    assert aligned([("a", "1"), ("bcd", "23")], "lr") == ["  a     1", "  bcd  23"]
    assert aligned([], "lr") == []


@pytest.mark.parametrize(("share", "text"), [(-1.0, "[....]"), (0.5, "[##..]"), (2.0, "[####]")])
def test_bars_of_text_stay_between_their_brackets(share: float, text: str) -> None:
    assert text_bar(share, 4) == text


def test_bars_of_sizes_that_differ_much_show_their_logarithm() -> None:
    assert size_share(250e3, (250e3, 500e3)) == 0.5
    assert size_share(1e9, (1e3, 1e9)) == 1.0
    assert 0.5 < size_share(1e6, (1e3, 1e9)) < 0.6
    assert size_share(1e3, (1e3, 1e9)) > 0.05


def test_a_bar_fills_its_share_and_shows_what_is_not_nothing() -> None:
    canvas = Canvas(100, 10, (255, 255, 255))
    canvas.bar(Box(0, 0, 100, 2), 0.25, (0, 0, 0), track=None)
    canvas.bar(Box(0, 2, 100, 4), 0.001, (0, 0, 0), track=None)
    canvas.bar(Box(0, 4, 100, 6), 0.0, (0, 0, 0), track=None)
    canvas.bar(Box(0, 6, 100, 8), 7.0, (0, 0, 0), track=None)
    black = (canvas.array() == 0).all(axis=2).sum(axis=1)

    assert black.tolist() == [25, 25, 2, 2, 0, 0, 100, 100, 0, 0]
