"""Holds the tables to the results that they are made of, and the committed documents to today's code."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper.run import DOCUMENT as PAPER_DOCUMENT
from benchmarks.paper.run import FIGURE as PAPER_FIGURE
from benchmarks.paper.run import paper_markdown
from flowsched_gym.errors import ConfigError
from flowsched_gym.evaluation import BOUND_POLICY, EpisodeResult, EvaluationResult, Interval, evaluate, evaluate_bound
from flowsched_gym.leaderboard import (
    FIRST_SEED,
    NUM_EPISODES,
    Setting,
    Table,
    compare,
    comparison_table,
    format_interval,
    group_results,
    leaderboard_markdown,
    play_settings,
    read_results,
    settings,
    speed_table,
    write_leaderboard,
)
from flowsched_gym.leaderboard import document as document_module
from flowsched_gym.registration import SYSTEMS, policy_specs, system_of
from tests.repository import ROOT

ARTEMIS = "flowsched/Artemis-v0"
BENCHMARKS = ROOT / "benchmarks"


def make_result(policy, ratios, *, kwargs=None, fct=0.01, first=0):
    """Builds a result from the deadline hit ratios of its episodes."""
    names = ("deadline_hit_ratio", "mean_fct", "p99_fct") if policy != BOUND_POLICY else ("deadline_hit_ratio",)
    episodes = tuple(
        EpisodeResult(
            seed=first + row, num_decisions=1, reward=0.0, metrics=dict(zip(names, (ratio, fct, 2 * fct), strict=False))
        )
        for row, ratio in enumerate(ratios)
    )
    return EvaluationResult(
        environment=ARTEMIS, kwargs=kwargs or {}, policy=policy, package_version="0.1.0", episodes=episodes
    )


SPREAD = np.linspace(0.3, 0.7, 12)


def test_regret_and_difference_are_paired_episode_by_episode():
    rows = compare(
        [make_result("edf", SPREAD), make_result("fifo", SPREAD + 0.1), make_result(BOUND_POLICY, SPREAD + 0.25)]
    )
    assert [row.policy for row in rows] == [BOUND_POLICY, "fifo", "edf"]
    bound, fifo, edf = rows
    assert (fifo.regret.mean, fifo.regret.low, fifo.regret.high) == pytest.approx((0.15, 0.15, 0.15))
    assert (fifo.difference.mean, fifo.difference.low, fifo.difference.high) == pytest.approx((0.1, 0.1, 0.1))
    assert edf.difference is None
    assert (bound.regret, bound.difference, bound.mean_fct) == (None, None, None)
    assert fifo.deadline_hit_ratio.low < 0.55 < fifo.deadline_hit_ratio.high


def test_without_deadlines_policies_are_ordered_by_completion_time():
    nothing = [np.nan] * 12
    table = comparison_table([make_result("slow", nothing, fct=0.2), make_result("fast", nothing, fct=0.1)])
    assert table.columns == ("policy", "mean FCT, ms", "p99 FCT, ms")
    assert [row[0] for row in table.rows] == ["fast", "slow"]
    assert table.rows[0][1] == "100.0 [100.0, 100.0]"


def test_without_deadlines_slowdowns_are_compared_where_they_were_measured():
    def measured(policy, ratio):
        times = {"mean_fct": 0.01, "p99_fct": 0.02, "mean_slowdown": 1.5, "max_slowdown": 7.25}
        result = make_result(policy, [ratio] * 12)
        episodes = tuple(replace(each, metrics={"deadline_hit_ratio": ratio} | times) for each in result.episodes)
        return replace(result, episodes=episodes)

    table = comparison_table([measured("vdg", np.nan), make_result("old", [np.nan] * 12)])
    assert table.columns == ("policy", "mean FCT, ms", "p99 FCT, ms", "mean slowdown", "largest slowdown")
    assert [row[3:] for row in table.rows] == [("1.50 [1.50, 1.50]", "7.25 [7.25, 7.25]"), ("", "")]
    assert "largest slowdown" not in comparison_table([measured("vdg", 0.5)]).columns


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], "no result"),
        ([make_result("edf", SPREAD), make_result("edf", SPREAD)], "'edf' has two results"),
        ([make_result("edf", SPREAD), make_result("fifo", SPREAD, first=1)], "'fifo' played the seeds 1 to 12"),
    ],
)
def test_results_that_cannot_be_compared_are_refused(results, message):
    with pytest.raises(ConfigError, match=message):
        compare(results)


def test_an_interval_is_written_with_its_ends_where_they_are_known():
    known = Interval(mean=0.5, low=0.25, high=0.75, num_samples=20)
    assert format_interval(known, scale=100) == "50.0 [25.0, 75.0]"
    assert format_interval(known, scale=100, signed=True, digits=0) == "+50 [+25, +75]"
    assert format_interval(Interval(mean=0.5, low=np.nan, high=np.nan, num_samples=3)) == "0.5"
    assert format_interval(Interval(mean=np.nan, low=np.nan, high=np.nan, num_samples=0)) == ""
    assert format_interval(None) == ""
    nearly_nothing = Interval(mean=-1e-9, low=-1e-9, high=1e-9, num_samples=20)
    assert format_interval(nearly_nothing) == "0.0 [0.0, 0.0]"


def test_a_table_is_written_for_documents_and_for_terminals():
    table = Table(columns=("name", "value"), rows=(("a|b", "1"), ("c", "23")))
    assert table.markdown() == "| name | value |\n| --- | ---: |\n| a\\|b | 1 |\n| c | 23 |\n"
    assert table.text() == "name  value\na|b       1\nc        23\n"
    with pytest.raises(ConfigError, match="row 0 has 1 cells"):
        Table(columns=("name", "value"), rows=(("a",),))


def test_what_an_agent_sees_and_is_paid_does_not_part_it_from_the_others():
    setting = Setting(environment=ARTEMIS, kwargs={"workload": "gather-heavy", "k": 3, "f": 10})
    same = {"workload": "gather-heavy", "k": 3, "f": 10, "transport": "ideal", "reward": "lagged", "defer": "wait"}
    assert setting.holds(make_result("ppo", SPREAD, kwargs=same))
    assert not setting.holds(make_result("ppo", SPREAD, kwargs=same | {"k": 4}))
    assert setting.title == "gather-heavy, k = 3, f = 10"
    with pytest.raises(ConfigError, match="no argument 'tokens'"):
        setting.holds(make_result("ppo", SPREAD, kwargs={"tokens": 3}))


def test_results_of_no_known_setting_come_last_together():
    kwargs = {"workload": "gather-a1", "k": 7}
    heavy = make_result("edf", SPREAD, kwargs={"workload": "gather-heavy", "k": 3, "f": 10})
    groups = group_results(
        [make_result("edf", SPREAD, kwargs=kwargs), heavy, make_result("ppo", SPREAD, kwargs=kwargs)]
    )
    assert [setting.title for setting, _ in groups] == ["gather-heavy, k = 3, f = 10", "gather-a1, k = 7"]
    assert [len(members) for _, members in groups] == [1, 2]


def test_every_setting_plays_every_policy_and_the_bound(tmp_path, monkeypatch):
    short = Setting(environment=ARTEMIS, kwargs={"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 3})
    monkeypatch.setattr(document_module, "settings", lambda: [short])
    seen = []
    paths = play_settings(tmp_path, episodes=2, seed=5, progress=lambda *call: seen.append(call))
    names = {BOUND_POLICY, *policy_specs(ARTEMIS)}
    assert {result.policy for result in read_results(tmp_path / "results")} == names
    assert len(paths) == len(names)
    assert seen[0] == (0, len(names))
    assert seen[-1] == (len(names), len(names))
    text = write_leaderboard(tmp_path).read_text(encoding="utf-8")
    assert "### gather-heavy, bursts = 3, f = 10, k = 3" in text
    assert all(f"| {name} |" in text for name in names)
    assert "`reset(seed=5 + e)`, 2 episodes" in text


def test_flows_without_deadlines_have_no_bound(tmp_path, monkeypatch):
    short = Setting(environment="flowsched/MERPOrder-v0", kwargs={"workload": "poisson-pareto", "flows": 20})
    monkeypatch.setattr(document_module, "settings", lambda: [short])
    play_settings(tmp_path, episodes=2, seed=5)
    assert {result.policy for result in read_results(tmp_path / "results")} == set(policy_specs(short.environment))
    assert "largest slowdown" in write_leaderboard(tmp_path).read_text(encoding="utf-8")


def test_an_empty_or_missing_folder_is_named(tmp_path):
    with pytest.raises(ConfigError, match="there is no such folder"):
        leaderboard_markdown(tmp_path)
    (tmp_path / "results").mkdir()
    with pytest.raises(ConfigError, match="holds no result"):
        leaderboard_markdown(tmp_path)


def test_the_speed_table_sets_steps_beside_cartpole():
    rate = {"unit": "steps", "min": 900.0, "median": 1000.0, "max": 1100.0}
    rates = {"CartPole-v1, random": rate, "Artemis-v0": rate | {"median": 600.0}, "replay": rate | {"unit": "flows"}}
    rows = speed_table({"rates": rates}).rows
    assert [row[-1] for row in rows] == ["1.00", "0.60", ""]
    assert rows[0][1:5] == ("steps/s", "900", "1,000", "1,100")


def test_the_committed_leaderboard_is_what_its_result_files_give():
    written = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert written == leaderboard_markdown(BENCHMARKS), "run: flowsched leaderboard"


def test_the_committed_comparison_with_the_papers_is_what_its_figures_give():
    text = PAPER_DOCUMENT.read_text(encoding="utf-8")
    assert text == paper_markdown(), "run: make paper"
    assert f"]({PAPER_FIGURE.name})" in text
    assert PAPER_FIGURE.read_bytes().startswith(b"\x89PNG")


def test_the_committed_results_cover_every_policy_in_every_setting_over_the_same_episodes():
    groups = group_results(read_results(BENCHMARKS / "results"))
    compared = {setting.environment for setting in settings()}
    assert compared == {environment.id for system in SYSTEMS for environment in system.environments}
    for setting in settings():
        members = next(members for found, members in groups if found == setting)
        bound = {BOUND_POLICY} if system_of(setting.environment)[1].bounded else set()
        assert bound | set(policy_specs(setting.environment)) <= {result.policy for result in members}
        expected = list(range(FIRST_SEED, FIRST_SEED + NUM_EPISODES))
        assert all(result.seeds == expected for result in members)


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.title)
def test_the_committed_results_are_what_the_environments_give_today(setting):
    _, members = next(group for group in group_results(read_results(BENCHMARKS / "results")) if group[0] == setting)
    kwargs = dict(setting.kwargs)
    last = list(policy_specs(setting.environment))[-1]
    compiled = setting.heuristic_kwargs | {"engine": "compiled"}
    played = {last: evaluate(setting.environment, last, episodes=1, seed=FIRST_SEED, kwargs=compiled)}
    if system_of(setting.environment)[1].bounded:
        played[BOUND_POLICY] = evaluate_bound(setting.environment, episodes=1, seed=FIRST_SEED, kwargs=kwargs)
    for result in members:
        if result.policy in played:
            # Drawing a workload takes logarithms, whose last bit may differ between machines.
            assert result.episodes[0].metrics == pytest.approx(
                played[result.policy].episodes[0].metrics, rel=1e-9, nan_ok=True
            ), "run: flowsched leaderboard --run"
