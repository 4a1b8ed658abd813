"""Tests that pictures of the systems' episodes say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.canvas import Canvas
from flowsched_gym.envs.drawing.cards import HEAT
from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, size_text
from flowsched_gym.envs.drawing.panels import Tone
from flowsched_gym.flows.decisions import PathDecision
from flowsched_gym.flows.metrics import count_deadlines, task_completion_times
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.systems.artemis.panels import Outlook, shown_destination, time_left
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.thresholds.config import SCALE
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.systems.tafe.tasks.env import TAFETasksEnv
from flowsched_gym.systems.tafe.thresholds.env import TAFEThresholdsEnv
from tests.envs.episodes import play
from tests.envs.pictures import Recorder, cells, moments, panel, table
from tests.simulate import make_flows

HEAVY: dict[str, Any] = {"workload": "gather-heavy", "bursts": 30, "k": 3, "f": 10}


def outlooks(env: ArtemisEnv) -> dict[int, Outlook]:
    """Returns what is expected of the flows that wait, and of those that hold a token, by row."""
    scene, shown = env.scene(), shown_destination(env.simulation)
    rows = [*shown.requests[shown.head : shown.tail], *shown.active[: shown.num_active]]
    return {row: time_left(env.config, scene, row).outlook for row in map(int, rows)}


@pytest.mark.parametrize(
    "setting", [HEAVY, HEAVY | {"transport": "tcp"}, {"workload": "gather-multi"}, {"workload": "poisson-web-search"}]
)
def test_counts_are_those_of_the_records(setting: dict[str, Any]) -> None:
    env = ArtemisEnv(**setting)
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
    env = ArtemisEnv(**HEAVY)
    env.reset(seed=2)
    assert env.panels().banner.headline == ("Deadlines met so far", "none yet")
    metrics = play(env, lambda *_: 0, seed=2)[-1].info["episode_metrics"]
    view = env.panels()

    assert view.banner.headline[1] == f"{100 * metrics['deadline_hit_ratio']:.1f} %"
    assert cells(("", *view.banner.counts))[1:3] == [
        f"{metrics['deadlines_met']:.0f} met",
        f"{metrics['deadlines_missed']:.0f} missed",
    ]
    last = env.records().deadline_met[env.simulation.delivered]
    assert panel(view, "Recent").means[-1] == last[-20:].mean()
    assert panel(view, "Recent").outcomes == tuple(last[-100:].tolist())


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
    flows = make_flows([0.0, gap], [250e3, 250e3], span=[0.02, 0.02], source=[1, 2], destination=[0, 0])
    env = ArtemisEnv(flows, k=2, f=2)
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
    env = ArtemisEnv(**HEAVY, transport="tcp")
    for _ in moments(env, 100, every=1):
        stages |= {row[1].lower.text for row in panel(env.panels(), "Tokens").rows}
    assert stages >= {"token on its way", "connects", "waits for ACKs", "last byte sent"}


@pytest.mark.parametrize("transport", ["ideal", "tcp"])
def test_a_flow_that_is_called_lost_never_meets_its_deadline(transport: str) -> None:
    env = ArtemisEnv(**HEAVY, transport=transport)
    lost: set[int] = set()
    for _ in moments(env, 1000, every=1):
        lost |= {row for row, outlook in outlooks(env).items() if outlook is Outlook.LOST}
    assert lost
    assert not env.records().deadline_met[list(lost)].any()


def test_flows_without_a_deadline_are_neither_safe_nor_lost() -> None:
    env = ArtemisEnv(workload="poisson-web-search")
    for _ in moments(env):
        assert set(outlooks(env).values()) <= {Outlook.UNBOUND}
        assert env.panels().banner.headline[0] == "Mean completion time"


def test_slots_have_the_numbers_of_the_actions_and_words_say_what_colours_do(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ArtemisEnv(render_mode="rgb_array", workload="gather-heavy", k=3, f=4, defer="to-back")
    recorder = Recorder(monkeypatch)
    for step in moments(env):
        words = recorder.look(env)
        visible = [row[-1] for row in table(env.panels(), "Queue")[:4]]
        assert all(words.count(word) >= visible.count(word) for word in visible)
        if step == 0:
            assert [word for word in words if word.isdigit()] == ["0", "4", "1", "5", "2", "6", "3", "7"]


@pytest.mark.parametrize(
    "setting",
    [
        {"flows": 3_000, "period_flows": 150},
        {"topology": "one-link", "flows": 400, "load": 0.95, "period_flows": 20},
        {"workload": "auto-clusters", "clusters": 4, "flows": 1_000, "period_flows": 100, "queues": 8},
    ],
)
def test_counts_and_means_are_those_of_the_simulation(setting: dict[str, Any]) -> None:
    env = AuTOThresholdsEnv(**setting)
    for step in moments(env, 12, every=1):
        view, shown, records = env.panels(), env.decision(), env.records()
        active = np.sort(shown.active[: shown.num_active])
        done, charts = np.isfinite(records.completion_time), panel(view, "Sizes").charts
        queues, results = table(view, "Queues, the highest first"), table(view, "Finished flows")
        count, every = int(done.sum()), results[-1]

        assert sum(sum(chart.counts) for chart in charts) == len(active)
        assert [chart.borders for chart in charts] == [tuple(SCALE.position_of(row)) for row in shown.record.thresholds]
        assert queues == [
            [f"queue {number}", count_text(len(rows)), f"{size_text(float(shown.state.remaining[rows].sum()))} left"]
            for number, rows in ((each, active[shown.record.level[active] == each]) for each in range(len(queues)))
        ]
        assert every[1] == str(count) == str(sum(int(row[1]) for row in results[7:10]))
        assert f"Period {step + 1} begins" in view.banner.question or env.simulation.finished
        if count:
            means = duration_text(records.fct[done].mean()), ratio_text(records.slowdown[done].mean())
            assert tuple(every[2:]) == means


def test_the_queues_of_clusters_add_up_to_those_of_all() -> None:
    env = AuTOThresholdsEnv("auto-clusters", clusters=4, flows=1_000, period_flows=100)
    for _ in moments(env, 6, every=1):
        view = env.panels()
        counts = [[int(row[1].split()[0]) for row in table(view, f"Queues of cluster {each}")] for each in range(4)]
        assert np.sum(counts, axis=0).tolist() == [int(row[1].split()[0]) for row in table(view, "Queues, the")]


FEW = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param({"flows": 600}, marks=pytest.mark.exhaustive),
        FEW,
        FEW | {"scope": "network", "n_l": 64},
        FEW | {"paths": 1},
    ],
)
def test_long_flows_are_shown_as_the_simulation_holds_them(setting: dict[str, Any]) -> None:
    env = AuTOLongFlowsEnv(**setting)
    for _ in moments(env, every=11):
        picture, shown, records = env.panels(), env.decision(), env.records()
        every_active = shown.active[: shown.num_active]
        done, is_long = np.isfinite(records.fct), records.size > env.config.long_from
        active_long = every_active[shown.state.attained[every_active] >= env.config.long_from]
        grid = panel(picture, "Long flows on")
        on_links = np.array([counts for _, counts in grid.rows]).reshape(env.config.paths, 2, -1)
        (results,) = ([cells(row) for row in one.rows] for one in picture.panels if not one.title)  # type: ignore[attr-defined]
        long, short, every = results

        active = [len(active_long), len(every_active) - len(active_long), len(every_active)]
        assert [int(row[1]) for row in results] == active
        assert [int(row[2]) for row in results] == [(done & is_long).sum(), (done & ~is_long).sum(), done.sum()]
        assert every[-1] == (ratio_text(records.slowdown[done].mean()) if done.any() else "-")
        assert short[0] == "short so far"
        assert len(panel(picture, "Finished long flows").rows) == int(long[2])
        assert on_links.sum() == 2 * len(active_long)
        paths = np.bincount(shown.controls.path[active_long] % env.config.paths, minlength=env.config.paths)
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


@pytest.mark.parametrize("setting", [{}, {"topology": "tree9"}, {"f": 2, "load": 0.95}])
def test_an_order_is_shown_as_the_simulation_holds_it(setting: dict[str, Any]) -> None:
    env = MERPOrderEnv(**setting)
    for _ in moments(env):
        view, records, observation = env.panels(), env.records(), env._observe()
        slowdown = np.sort(records.slowdown[~np.isnan(records.slowdown)])[::-1]
        contest = table(view, "Flows that compete")

        assert view.banner.counts[0].startswith(f"{len(slowdown)} finished, {env.simulation.links.num_active} active")  # type: ignore[union-attr]
        assert [row[-1] for row in table(view, "Largest slowdowns")] == [ratio_text(each) for each in slowdown[:8]]
        assert len(contest) == env.decision().num_candidates
        seen = env.layout.slot_column(observation, "slowdown_if_last")[: len(contest)].tolist()
        assert [float(row[-1]) for row in contest[: env.config.f]] == pytest.approx(seen, rel=0.01)


@pytest.mark.exhaustive
def test_counts_of_a_fabric_are_those_of_the_records() -> None:
    env = MERPRouteEnv(flows=200, failures=2)
    for _ in moments(env):
        view, records, simulation = env.panels(), env.records(), env.simulation
        done, fabric, pending = ~np.isnan(records.fct), panel(view, "Fat-tree"), simulation.pending
        flows = np.array(fabric.flows)
        waiting = int(np.count_nonzero(env.scene().rate[env.scene().active] == 0.0))

        assert view.banner.counts[0].startswith(f"{done.sum()} finished, {simulation.links.num_active} active")  # type: ignore[union-attr]
        assert view.banner.headline[1] == (ratio_text(records.slowdown[done].mean()) if done.any() else "none yet")
        assert fabric.note == f"{simulation.links.num_active - waiting} flows send, {waiting} wait, 2 cables down"
        assert np.count_nonzero(flows < 0) == 2
        # A flow crosses two links of its hosts, and two or four between them.
        assert 2 * simulation.links.num_active <= flows[flows > 0].sum() <= 6 * simulation.links.num_active
        if isinstance(pending, PathDecision):
            paths = panel(view, f"Paths of flow {records.flow_id[pending.row]}")
            is_open = [slot not in paths.closed for slot in range(paths.slots)]
            assert is_open == env.action_masks()[: pending.last - pending.first].tolist()


def test_a_path_in_question_leads_from_host_to_host_over_the_switch_with_its_number() -> None:
    env = MERPRouteEnv(flows=200, failures=3)
    for _ in moments(env):
        fabric, pending = panel(env.panels(), "Fat-tree"), env.simulation.pending
        if not isinstance(pending, PathDecision):
            continue
        crossed = {cable: fabric.cables[cable] for cable in fabric.paths}
        ends = {lower for tier, _, lower in crossed.values() if tier == 2}
        over = {(tier, upper) for tier, upper, _ in crossed.values() if tier < 2}
        marked = {node: tone for node, (_, tone) in fabric.marks.items()}
        row, workload = pending.row, env.workload

        assert ends == {workload.source[row], workload.destination[row]}
        assert {node for node in over if node in marked} == {at for at, tone in marked.items() if tone is Tone.STRONG}
        assert all(fabric.flows[cable] >= 0 for cable in fabric.paths)


def test_paths_that_are_down_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    env = MERPRouteEnv(render_mode="rgb_array", flows=200, failures=3)
    recorder, down = Recorder(monkeypatch), 0
    for _ in moments(env):
        recorder.look(env)
        pending = env.simulation.pending
        if isinstance(pending, PathDecision):
            closed = int(np.count_nonzero(~env.action_masks()[: pending.last - pending.first]))
            # The legend, where the word may stand too, is below.
            assert sum(word == "down" and box.bottom < 570 for word, box in recorder.words) == closed
            down += closed

    assert down > 0


@pytest.mark.parametrize("setting", [{}, {"workload": "tafe-alibaba", "topology": "big-switch"}])
def test_tasks_are_shown_as_the_simulation_holds_them(setting: dict[str, Any]) -> None:
    env = TAFETasksEnv(tasks=20, **setting)
    for _ in moments(env):
        view, decision = env.panels(), env.decision()
        contest = table(view, "Flows that compete")

        assert len(contest) == decision.num_candidates
        rows = decision.candidates[decision.first_candidate :][: decision.num_candidates]
        assert [row[1] for row in contest] == [f"flow {env.workload.flow_id[row]}" for row in rows]
        under_way = {int(env.workload.task_id[row]) for row in env.scene().active}
        shown = {row[0]: row for row in table(view, "Tasks under way")}
        assert set(shown) == {f"task {task}" for task in under_way}
        for task in under_way:
            assert shown[f"task {task}"][2] == size_text(env.workload.size[env.workload.task_id == task].sum())


@pytest.mark.parametrize("setting", [{}, {"workload": "tafe-alibaba", "topology": "big-switch", "queues": 5}])
def test_queues_of_tasks_are_shown_as_the_simulation_holds_them(setting: dict[str, Any]) -> None:
    env = TAFEThresholdsEnv(tasks=20, period_flows=3, **setting)
    for _ in moments(env):
        view = env.panels()
        queues = table(view, "Queues, the highest first")
        times = task_completion_times(env.records()).tct

        assert len(queues) == env.config.queues
        assert sum(int(row[1]) for row in queues) == len(env.scene().active)
        finished = [row for row in table(view, "Finished tasks") if len(row) == 3][-3:]
        assert sum(int(row[1]) for row in finished) == np.count_nonzero(np.isfinite(times))
