"""Tests that pictures of Artemis say the truth."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.flows.metrics import count_deadlines
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.systems.artemis.panels import Outlook, shown_destination, time_left
from flowsched_gym.workload import Workload
from tests.envs.pictures import Recorder, cells, moments, panel, table
from tests.simulate import make_flows

HEAVY: dict[str, Any] = {"workload": "gather-heavy", "bursts": 30, "k": 3, "f": 10}


def make(**arguments: Any) -> ArtemisEnv:
    """Makes an environment without wrappers."""
    env = gym.make("flowsched/Artemis-v0", disable_env_checker=True, **arguments).unwrapped
    assert isinstance(env, ArtemisEnv)
    return env


def outlooks(env: ArtemisEnv) -> dict[int, Outlook]:
    """Returns what is expected of the flows that wait, and of those that hold a token, by row."""
    scene, shown = env.scene(), shown_destination(env.simulation)
    rows = [*shown.requests[shown.head : shown.tail], *shown.active[: shown.num_active]]
    return {row: time_left(env.config, scene, row).outlook for row in map(int, rows)}


@pytest.mark.parametrize(
    "setting", [HEAVY, HEAVY | {"transport": "tcp"}, {"workload": "gather-multi"}, {"workload": "poisson-web-search"}]
)
def test_counts_are_those_of_the_records(setting: dict[str, Any]) -> None:
    env = make(**setting)
    for _ in moments(env, 12):
        view, records, simulation = env.panels(), env.records(), env.simulation
        shown, bound = shown_destination(simulation), records.deadline_span < np.inf
        met = int(np.count_nonzero(records.deadline_met & bound))
        missed = count_deadlines(records, now=simulation.now).missed
        queue, tokens = panel(view, "Queue"), panel(view, "Tokens")

        if bound.any():
            told = ["", f"{met} met", f"{missed} missed", f"{bound.sum() - met - missed} to come"]
            assert cells(("", *view.banner.counts)) == told
        assert len(queue.rows) == shown.num_waiting
        assert len(tokens.rows) == shown.num_active == env.config.k - shown.tokens
        assert tokens.note == f"{shown.num_active} held, {shown.tokens} free"
        assert sum(part.share for part in panel(view, "Link").parts) <= 1.0 + 1e-9
        assert simulation.asking in (None, shown)
        ids = [f"flow {records.flow_id[row]}" for row in shown.requests[shown.head : shown.tail]]
        assert [row[1] for row in queue.rows] == ids


def test_at_the_end_the_hit_ratio_is_the_metric_of_the_episode() -> None:
    env = make(**HEAVY)
    env.reset(seed=2)
    assert env.panels().banner.headline == ("Deadlines met so far", "none yet")
    over, info = False, {}
    while not over:
        _, _, over, _, info = env.step(0)
    view, metrics = env.panels(), info["episode_metrics"]

    assert view.banner.headline[1] == f"{100 * metrics['deadline_hit_ratio']:.1f} %"
    assert cells(("", *view.banner.counts))[1:3] == [
        f"{metrics['deadlines_met']:.0f} met",
        f"{metrics['deadlines_missed']:.0f} missed",
    ]
    last = env.records().deadline_met[env.simulation.delivered]
    assert panel(view, "Recent").means[-1] == last[-20:].mean()
    assert panel(view, "Recent").outcomes == tuple(last[-100:].tolist())


def two_flows(gap: float) -> Workload:
    return make_flows([0.0, gap], [250e3, 250e3], span=[0.02, 0.02], source=[1, 2], destination=[0, 0])


@pytest.mark.parametrize(
    ("gap", "sent", "stage"),
    [
        (0.0002, "0 B", "token on its way"),
        (0.0015, "125 KB", "1.00 Gbit/s"),
        (0.0022, "213 KB", "1.00 Gbit/s"),
        (0.0027, "250 KB", "last byte sent"),
    ],
)
def test_a_flow_is_where_it_is_now_and_not_where_the_last_event_left_it(gap: float, sent: str, stage: str) -> None:
    env = make(workload=two_flows(gap), k=2, f=2)
    env.reset(seed=0)
    env.step(0)
    view, left = env.panels(), 0.02 - gap - 0.0005
    (holder,) = panel(view, "Tokens").rows

    # The request takes 0.5 ms and so does the token; then 250 KB take 2 ms at 1 Gbps. Seen when request 2 arrives.
    assert [cell.text for cell in holder[1][:2]] == ["host 1", stage]
    assert (holder[3].upper, holder[3].lower.text) == (f"{sent} of 250 KB", f"{1000 * left:.1f} ms safe")
    assert holder[2].lower.share == pytest.approx(left / 0.02)
    assert panel(view, "Link").note == ("100 % busy" if "Gbit" in stage else "0 % busy")


def test_a_tcp_flow_connects_and_then_waits_for_acknowledgements() -> None:
    stages: set[str] = set()
    env = make(**HEAVY, transport="tcp")
    for _ in moments(env, 100, every=1):
        stages |= {row[1].lower.text for row in panel(env.panels(), "Tokens").rows}
    assert stages >= {"token on its way", "connects", "waits for ACKs", "last byte sent"}


@pytest.mark.parametrize("transport", ["ideal", "tcp"])
def test_a_flow_that_is_called_lost_never_meets_its_deadline(transport: str) -> None:
    env = make(**HEAVY, transport=transport)
    lost: set[int] = set()
    for _ in moments(env, 1000, every=1):
        lost |= {row for row, outlook in outlooks(env).items() if outlook is Outlook.LOST}
    assert lost
    assert not env.records().deadline_met[list(lost)].any()


def test_flows_without_a_deadline_are_neither_safe_nor_lost() -> None:
    env = make(workload="poisson-web-search")
    for _ in moments(env):
        assert set(outlooks(env).values()) <= {Outlook.UNBOUND}
        assert env.panels().banner.headline[0] == "Mean completion time"


def test_slots_have_the_numbers_of_the_actions_and_words_say_what_colours_do(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(render_mode="rgb_array", workload="gather-heavy", k=3, f=4, defer="to-back")
    recorder = Recorder(monkeypatch)
    for step in moments(env):
        words = recorder.look(env)
        visible = [row[-1] for row in table(env.panels(), "Queue")[:4]]
        assert all(words.count(word) >= visible.count(word) for word in visible)
        if step == 0:
            assert [word for word in words if word.isdigit()] == ["0", "4", "1", "5", "2", "6", "3", "7"]
