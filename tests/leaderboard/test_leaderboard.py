"""Holds the tables to the results that they are made of, and the committed documents to today's code."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image

from benchmarks import papers_tier, score_pictures
from benchmarks.leaderboard import README, RESULTS, SUITE, comparison, pages, readme
from benchmarks.packets.from_fluid import SETTINGS as PLAYED_OVER_PACKETS
from benchmarks.paper.run import DOCUMENT as PAPER_DOCUMENT
from benchmarks.paper.run import FIGURE as PAPER_FIGURE
from benchmarks.paper.run import paper_markdown
from benchmarks.rules import tuned_rules
from flowsched_gym import evaluation, leaderboard
from flowsched_gym.baselines.applications.comparison_report import verdicts
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import files_in, folders_in
from flowsched_gym.core.tables import escaped
from flowsched_gym.evaluation import BOUND_POLICY, EpisodeResult, EvaluationResult, Interval, ModelFile, Run
from flowsched_gym.leaderboard.claims import room_of
from flowsched_gym.leaderboard.comparison import RANDOM
from flowsched_gym.leaderboard.play import model_digest
from flowsched_gym.leaderboard.published import published_content, published_path
from flowsched_gym.leaderboard.suite import HEADLINE, PAPERS
from flowsched_gym.players import find_player
from flowsched_gym.registration import ENVIRONMENTS, agent_ability, find_environment, widest_ability
from tests.repository import ROOT

ARTEMIS = "flowsched/Artemis-v0"
BENCHMARKS = ROOT / "benchmarks"
ACTION = {"num_decisions": 1, "actions": np.zeros(1, dtype=np.uint8)}
SPREAD = np.linspace(0.3, 0.7, 12)
ROOM_WON_SINCE = {"tafe-tasks-alibaba", "tafe-tasks-alibaba-light", "tafe-tasks-mixed"}
"""Headline settings in which a rule that was found after the suite wins what search wins; a suite keeps its tiers."""


def make_result(policy, *trainings, kwargs=None, fct=0.01, first=0, learned=False):
    """Builds a result from the deadlines met in its episodes, a list for each training."""
    names = ("deadline_hit_ratio", "mean_fct", "p99_fct") if policy != BOUND_POLICY else ("deadline_hit_ratio",)
    model = ModelFile(name="seed0.zip", digest="", seed=0) if learned else None
    runs = []
    for ratios in trainings:
        episodes = []
        for seed, ratio in enumerate(ratios, start=first):
            metrics = dict(zip(names, (ratio, fct, 2 * fct), strict=False))
            episodes.append(EpisodeResult(seed=seed, reward=0.0, metrics=metrics, **ACTION))
        runs.append(Run(model=model, episodes=tuple(episodes)))
    return EvaluationResult(environment=ARTEMIS, kwargs=kwargs or {}, policy=policy, runs=tuple(runs))


def learned_rows(results):
    groups = leaderboard.group_results(results, list(SUITE.settings.values()))
    return leaderboard.learned_table(leaderboard.claims_of(leaderboard.compare_settings(groups))).rows


def test_policies_are_compared_with_the_best_rule_and_the_bound_episode_by_episode():
    results = [make_result(name, SPREAD + gain) for name, gain in (("edf", 0.0), ("fifo", 0.1), (BOUND_POLICY, 0.4))]
    rows = leaderboard.compare([*results, make_result("ppo", SPREAD + 0.2, SPREAD + 0.3, learned=True)])
    assert [(row.policy, row.num_runs) for row in rows] == [(BOUND_POLICY, 1), ("ppo", 2), ("fifo", 1), ("edf", 1)]
    bound, ppo, fifo, edf = rows
    assert ppo.estimate.mean == pytest.approx(0.75)
    assert (ppo.difference.mean, ppo.improvement.mean) == pytest.approx((0.15, 1.0))
    assert ppo.difference.low < 0.1 < 0.2 < ppo.difference.high, "trainings are drawn too, and two of them tell little"
    assert (ppo.to_bound.mean, edf.to_bound.mean) == pytest.approx((0.15, 0.4))
    assert (edf.difference.low, edf.difference.high, edf.improvement.mean) == pytest.approx((-0.1, -0.1, 0.0))
    assert (fifo.difference, fifo.improvement) == (None, None), "the reference"
    assert (bound.to_bound, bound.difference, dict(bound.others)) == (None, None, {})
    assert list(ppo.others) == ["mean_fct", "p99_fct"]
    same = leaderboard.compare([make_result("edf", SPREAD), make_result("fifo", SPREAD)], reference="edf")
    assert same[1].improvement.mean == 0.5


def test_a_table_names_actions_information_and_references_and_marks_what_is_learned():
    ppo = make_result("ppo", SPREAD - 0.1, SPREAD - 0.1, learned=True)
    table = leaderboard.comparison_table([make_result("edf", SPREAD), ppo])
    assert table.columns[:8] == (
        *("policy", "actions", "information", "deadlines met, %", "middle half"),
        *("reference", "minus reference, points", "better than reference, %"),
    )
    assert [(*row[:3], row[5]) for row in table.rows] == [
        ("edf", "grant", "deadlines, ages", ""),
        ("ppo (learned, 1 distinct of 2 seeds, actions only)", "grant", "sizes, deadlines, ages, load", "edf"),
    ]


def test_a_reference_has_no_other_actions_and_no_other_information():
    met = {"lifo": 0.0, "feasible-first": 0.1, "paced:base=lifo,active=6": 0.3, "postpone-late": 0.2, "search": 0.4}
    agents = {"paper": {"observation": "paper"}, "grants": {}}
    agents |= {"waits": {"defer": "wait"}, "postpones": {"defer": "to-back"}}
    results = [make_result(name, SPREAD + gain) for name, gain in met.items()]
    results += [make_result(name, SPREAD, kwargs=kwargs, learned=True) for name, kwargs in agents.items()]
    rows = {row.policy: row for row in leaderboard.compare(results)}

    assert {name: row.reference for name, row in rows.items()} == {
        **{"paper": "lifo", "grants": "feasible-first", "waits": "paced:base=lifo,active=6"},
        **{"postpones": "postpone-late", "search": "feasible-first", "lifo": None},
        **{"feasible-first": "lifo", "paced:base=lifo,active=6": "lifo", "postpone-late": "feasible-first"},
    }
    for row in rows.values():
        assert row.reference is None or row.ability.covers(rows[row.reference].ability)
    assert rows["paced:base=lifo,active=6"].ability == (("grant", "wait"), ("load",))
    # An agent that nothing can fairly be compared with is not called better.
    alone = [make_result("paced", SPREAD), make_result("grants", SPREAD + 0.1, learned=True)]
    assert learned_rows(alone)[0][-5:] == ("", "", "", "no rule has its actions", "actions only")


@pytest.mark.parametrize(
    ("env_id", "policy", "kwargs", "information"),
    [
        ("flowsched/TAFETasks-v0", "stf", {}, ("bytes left",)),
        ("flowsched/TAFETasks-v0", None, {}, ("ages", "bytes sent")),
        ("flowsched/TAFETasks-v0", None, {"information": "full"}, ("ages", "bytes sent", "bytes left")),
        ("flowsched/AuTOThresholds-v0", "qlas", {}, ("traffic",)),
        ("flowsched/AuTOThresholds-v0", None, {}, ("finished flows", "queues", "traffic")),
        ("flowsched/QCluster-v0", "adaptive", {}, ("queues",)),
        ("flowsched/MERPRoute-v0", "memr", {}, ("sizes", "link loads")),
    ],
)
def test_what_rules_use_and_trained_agents_know(env_id, policy, kwargs, information):
    spec = find_environment(env_id)
    found = agent_ability(spec, kwargs, trained=True) if policy is None else find_player(policy, spec).ability
    assert found.information == information


def test_no_rule_does_or_uses_what_no_agent_could():
    for spec in ENVIRONMENTS.values():
        most = widest_ability(spec, trained=True)
        for name in spec.heuristics:
            ability = find_player(name, spec).ability
            assert ability.actions, f"{spec.id}, {name}"
            assert most.covers(ability), f"{spec.id}, {name}"


def test_learned_agents_stand_beside_the_best_rule_with_what_can_be_said():
    of = partial(make_result, kwargs={"workload": "gather-heavy", "k": 3, "f": 10})
    heuristics = [of("edf", SPREAD), of("fifo", SPREAD - 0.1)]
    agents = [
        replace(of("good", SPREAD + 0.14, SPREAD + 0.15, SPREAD + 0.15, SPREAD + 0.16, learned=True), backed=True),
        of("even", SPREAD[::-1], learned=True),
    ]
    rows = learned_rows(heuristics + agents)
    assert [(row[0], row[2], row[3], row[5].split()[0], row[10].split(",")[0]) for row in rows] == [
        ("artemis-heavy", "good", "3 distinct of 4", "edf", "**better**"),
        ("artemis-heavy", "even", "1", "edf", "no significant difference"),
    ]
    assert learned_rows(heuristics) == ()


def test_where_a_smaller_value_is_better_the_smallest_comes_first():
    nothing = [np.nan] * 12
    results = [make_result("slow", nothing, fct=0.2), make_result("fast", nothing, fct=0.1)]
    table = leaderboard.comparison_table(results, metric="mean_fct")
    assert [row[0] for row in table.rows] == ["fast", "slow"]
    assert table.rows[0][3] == "100.0 [100.0, 100.0]"
    assert table.rows[1][6] == "+100.0 [+100.0, +100.0]"
    assert table.rows[1][7] == "0.0 [0.0, 0.0]"


def test_results_that_cannot_be_compared_are_refused(tmp_path):
    edf = make_result("edf", SPREAD)
    for results, reference, message in (
        ([], None, "no result"),
        ([edf, edf], None, "'edf' has two results"),
        ([edf, make_result("fifo", SPREAD, first=1)], None, "'fifo' played the seeds 1 to 12"),
        ([edf], "sjf", "reference is 'sjf': there are results of edf"),
    ):
        with pytest.raises(ConfigError, match=message):
            leaderboard.compare(results, reference=reference)
    with pytest.raises(ConfigError, match="there is no such folder"):
        pages(tmp_path)
    (tmp_path / RESULTS).mkdir(parents=True)
    with pytest.raises(ConfigError, match="holds no result"):
        pages(tmp_path)


def test_a_table_is_written_for_documents_and_for_terminals_and_intervals_with_the_ends_that_are_known():
    table = leaderboard.Table(columns=("name", "value"), rows=(("a|b", "1"), ("c", "23")))
    assert table.markdown() == "| name | value |\n| --- | ---: |\n| a\\|b | 1 |\n| c | 23 |\n"
    assert table.text() == "name  value\na|b       1\nc        23\n"
    with pytest.raises(ConfigError, match="row 0 has 1 cells"):
        leaderboard.Table(columns=("name", "value"), rows=(("a",),))
    for mean, low, high, options, text in (
        (0.5, 0.25, 0.75, {"scale": 100}, "50.0 [25.0, 75.0]"),
        (0.5, 0.25, 0.75, {"scale": 100, "signed": True, "digits": 0}, "+50 [+25, +75]"),
        (0.5, np.nan, np.nan, {}, "0.5"),
        (np.nan, np.nan, np.nan, {}, ""),
        (-1.25, -2.25, -0.04, {"signed": True}, "-1.25 [-2.25, -0.04]"),
        (-2e-6, -0.7, 0.0, {"signed": True}, "-2e-06 [-0.7000, 0.0000]"),
        (-1e-14, -1e-14, 1e-14, {"signed": True}, "0.0 [0.0, 0.0]"),
        (0.0, 0.0, 0.0, {"signed": True}, "0.0 [0.0, 0.0]"),
        (0.9996, 0.99, 1.0, {"scale": 100}, "99.96 [99.00, 100.00]"),
        (0.0123, 0.01, 0.02, {}, "0.012 [0.010, 0.020]"),
    ):
        assert leaderboard.format_interval(Interval(mean=mean, low=low, high=high, num_samples=20), **options) == text
    assert leaderboard.format_interval(None) == ""


def test_no_zero_stands_beside_a_verdict_or_a_probability():
    steps = np.array([2.0, 3.0] * 6)
    for gain, sign, word in ((-1e-4, "-", "worse"), (1e-4, "+", "better"), (-1e-7, "-", "worse")):
        agent = make_result("ppo", SPREAD + gain * steps, learned=True)
        rows = leaderboard.compare([make_result("edf", SPREAD), agent])
        (sentence,) = verdicts(rows, "deadline_hit_ratio")
        assert f"is {word} than edf" in sentence
        numbers = sentence.rpartition("% ")[2].replace("[", "").replace("]", "").split()
        assert [number[0] for number in numbers] == [sign] * 3, numbers
        assert all(float(number.strip(",")) for number in numbers), numbers
        table = leaderboard.comparison_table([make_result("edf", SPREAD), agent])
        assert sentence.rpartition("% ")[2] in next(row for row in table.rows if row[0].startswith("ppo"))


def test_what_an_agent_sees_and_is_rewarded_for_does_not_part_it_from_the_others():
    setting = SUITE.settings["artemis-heavy"]
    same = {"workload": "gather-heavy", "k": 3, "f": 10, "transport": "ideal", "reward": "lagged", "defer": "wait"}
    assert setting.holds(make_result("ppo", SPREAD, kwargs=same))
    assert not setting.holds(make_result("ppo", SPREAD, kwargs=same | {"k": 4}))
    assert setting.title == "gather-heavy, k = 3, f = 10"
    with pytest.raises(ConfigError, match="no argument 'tokens'"):
        setting.holds(make_result("ppo", SPREAD, kwargs={"tokens": 3}))


def test_learned_agents_and_a_plain_heuristic_have_curves_then_the_best_of_the_others():
    order = ["sjf", "lifo", "ppo", "ssdf", "lsdf", "random", "fifo", "a2c", "edf"]
    assert leaderboard.curves_of(order, ["a2c", "ppo"]) == ["sjf", "lifo", "ppo", "ssdf", "a2c", "edf"]
    agents = [f"ppo-{number}" for number in range(8)]
    assert leaderboard.curves_of([*agents, "edf", "sjf"], agents) == [*agents[:5], "edf"]


def test_results_of_no_known_setting_come_last_together():
    other = {"workload": "gather-a1", "k": 7}
    of = {"edf": other, "fifo": {"workload": "gather-heavy", "k": 3, "f": 10}, "ppo": other}
    results = [make_result(name, SPREAD, kwargs=kwargs) for name, kwargs in of.items()]
    groups = leaderboard.group_results(results, list(SUITE.settings.values()))
    found = [(setting.title, len(members)) for setting, members in groups]
    assert found == [("gather-heavy, k = 3, f = 10", 1), ("gather-a1, k = 7", 2)]


def test_markdown_shows_a_text_as_it_is(tmp_path):
    for text, shown in (
        ("<img src=x>", r"\<img src=x\>"),
        ("[a](http://b)", r"\[a\](http\://b)"),
        ("[1](http://b)", r"[1\](http\://b)"),
        ("a | b", r"a \| b"),
        ("`x` *y* _z_", r"\`x\` \*y\* \_z\_"),
        ("63.5 [61.0, 66.1]", "63.5 [61.0, 66.1]"),
        ("gather-heavy, burst_rate = 3.5", "gather-heavy, burst_rate = 3.5"),
    ):
        assert escaped(text) == shown
    made = evaluation.Provenance(command="flowsched `x` <b>", versions={"flowsched-gym": "0.1.0"})
    result = replace(make_result("edf", [0.5, 0.5], kwargs={"workload": "<b>[x](http://y)"}), made=made)
    evaluation.write_result(result, tmp_path / RESULTS / "edf.json")
    page = pages(tmp_path)[tmp_path / "tables" / "artemis.md"]
    assert r"### \<b\>\[x\](http\://y)" in page
    assert "- `` flowsched `x` <b> ``, flowsched-gym 0.1.0" in page


def test_figures_of_speed_that_are_none_are_one_clear_error(tmp_path):
    evaluation.write_result(make_result("edf", [0.5, 0.5]), tmp_path / RESULTS / "edf.json")
    content = json.loads((BENCHMARKS / "speed" / "results.json").read_text(encoding="utf-8"))
    (tmp_path / "speed").mkdir()
    for change in ({"memory": 3}, {"rates": []}, {"rates": {"a": {"median": "x"}}}, {"command": 5}):
        (tmp_path / "speed" / "results.json").write_text(json.dumps(content | change))
        with pytest.raises(ConfigError, match=r"speed/results\.json: this is not what benchmarks/speed/run\.py writes"):
            pages(tmp_path)


@pytest.fixture(scope="module")
def committed():
    return leaderboard.read_results(BENCHMARKS / RESULTS, papers_tier.kept_digests())


@pytest.fixture(scope="module")
def judged(committed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.leaderboard.read_results", lambda *_: committed)
        return comparison(BENCHMARKS / RESULTS)


def test_the_committed_leaderboard_is_what_its_result_files_give_on_a_short_first_page(committed, judged):
    found = pages(BENCHMARKS, judged)
    for path, text in found.items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is stale: python -m benchmarks.leaderboard"
    assert set((BENCHMARKS / "tables").iterdir()) == found.keys() - {BENCHMARKS / "README.md"}
    prose = [line for line in found[BENCHMARKS / "README.md"].splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) < 600
    papers = leaderboard.read_results(BENCHMARKS / papers_tier.RESULTS, papers_tier.kept_digests())
    for suite, results in ((SUITE, committed), (papers_tier.SUITE, papers)):
        assert read_json(published_path(suite.name)) == published_content(results, suite), "the same"


def test_the_score_in_the_readme_and_the_pictures_are_those_of_the_result_files(judged):
    compared, claims = judged
    current, papers = README.read_text(encoding="utf-8"), papers_tier.comparison(BENCHMARKS / papers_tier.RESULTS)
    assert current == papers_tier.readme(readme(leaderboard.share_line(compared, claims)), papers), "the same"
    assert current != readme("another score")
    assert current != papers_tier.readme(current, papers[1:])
    for name in ("scores.png", "profile.png"):
        with Image.open(BENCHMARKS / name) as picture:
            assert picture.info["Description"] == score_pictures.description(compared, claims), "the same"


def test_agents_play_over_packets_beside_the_best_rule_of_their_setting(judged):
    best = {each.setting.name: each.best_rule.policy for each in judged[0] if each.best_rule}
    played = {name: {*rules, *tuned_rules(name)} for name, rules in PLAYED_OVER_PACKETS.items()}
    assert [name for name, rules in played.items() if best[name] not in rules] == []


def test_tiers_are_those_of_the_measured_rooms(judged):
    rooms = {each.setting.name: room_of(each) for each in judged[0] if each.setting.tier == HEADLINE}
    assert [name for name, room in rooms.items() if room is None] == []
    misfits = [each for each in judged[0] if leaderboard.tier_misfit(each)]
    assert {each.setting.name for each in misfits} == ROOM_WON_SINCE
    assert {each.best_rule.policy.partition(":")[0] for each in misfits} == {"johnson-ratio"}


def test_trained_agents_were_played_by_the_models_that_are_kept(committed):
    agents = [agent for setting in folders_in(BENCHMARKS / "models") for agent in folders_in(setting)]
    kept = {model_digest(path) for agent in agents for path in files_in(agent, ".zip")}
    played = {run.model.digest: result.source for result in committed for run in result.runs if run.model}
    assert {source for digest, source in played.items() if digest not in kept} == set()
    assert len(played) >= 10 * 28


def test_the_published_results_give_the_tables_of_the_whole_result_files(committed):
    def heavy(results):
        return [result for result in results if result.reference.setting == "artemis-heavy"]

    whole = leaderboard.comparison_table(heavy(committed))
    published = leaderboard.published_results(SUITE)
    assert leaderboard.comparison_table(heavy(published)) == whole
    measures = {name: setting.metric for name, setting in SUITE.settings.items()}
    assert all(measures[each.reference.setting] in each.metric_names for each in published if each.reference)


def test_the_committed_comparison_with_the_papers_is_what_its_figures_give():
    text = PAPER_DOCUMENT.read_text(encoding="utf-8")
    assert text == paper_markdown(), "run: make paper"
    assert f"]({PAPER_FIGURE.name})" in text
    assert PAPER_FIGURE.read_bytes().startswith(b"\x89PNG")


@pytest.mark.exhaustive
def test_every_environment_of_a_release_has_a_setting():
    assert {setting.spec.id for setting in SUITE.settings.values()} == set(ENVIRONMENTS)


def test_the_committed_results_cover_every_policy_in_every_setting_over_the_same_episodes(committed):
    for setting in SUITE.settings.values():
        members = [result for result in committed if result.reference.setting == setting.name]
        # Rules with numbers play where they were tuned.
        expected = {each.name for each in setting.spec.policies if not each.ranges}
        expected |= {BOUND_POLICY} if setting.spec.bounded else set()
        assert expected <= {result.policy for result in members}
        assert all(setting.holds(result) and result.seeds == list(SUITE.test) for result in members)


@pytest.mark.parametrize("setting", SUITE.settings.values(), ids=lambda setting: setting.name)
def test_the_committed_results_are_what_the_environments_give_today(committed, setting: leaderboard.Setting):
    first = SUITE.test[0]
    last = [each.name for each in setting.spec.policies if not each.ranges][-1]
    compiled = setting.arguments(find_player(last, setting.spec)) | {"engine": "compiled"}
    played = {last: evaluation.evaluate(setting.spec, last, episodes=1, seed=first, kwargs=compiled)}
    if setting.spec.bounded:
        played[BOUND_POLICY] = evaluation.evaluate_bound(setting.spec, episodes=1, seed=first, kwargs=setting.kwargs)
    for result in committed:
        if result.reference.setting == setting.name and result.policy in played:
            assert repr(result.episodes[0]) == repr(played[result.policy].episodes[0]), "run: flowsched leaderboard run"


def test_the_tier_of_papers_has_each_setting_its_own_agent_its_comparators_and_results_of_all_in_few_bytes():
    suite = papers_tier.SUITE
    assert papers_tier.ROLES.keys() == suite.settings.keys()
    assert {each.tier for each in suite.settings.values()} == {PAPERS}
    compared = papers_tier.comparison(BENCHMARKS / papers_tier.RESULTS)
    assert [each.setting for each in compared] == list(suite.settings.values())
    for each in compared:
        roles = papers_tier.ROLES[each.setting.name]
        assert each.setting.reference in roles.others
        assert {RANDOM, roles.own, *roles.others, roles.ours} - {""} <= {row.policy for row in each.rows}
        assert leaderboard.tier_misfit(each) is None
    groups = leaderboard.group_results(leaderboard.published_results(suite), list(suite.settings.values()))
    assert [(setting, len(members)) for setting, members in groups] == [
        (each.setting, len(each.results)) for each in compared
    ]


def test_a_rule_that_ranks_all_requests_played_in_the_setting_of_those_that_see_few():
    setting = papers_tier.SUITE.settings["artemis-variant-1"]
    seen = make_result("edf", SPREAD, kwargs=dict(setting.kwargs))
    assert setting.holds(seen)
    whole = replace(seen, policy="edf:queue=whole", source="edf:queue=whole", kwargs={**seen.kwargs, "f": 10_000})
    assert setting.holds(whole)
    assert not setting.holds(replace(whole, source="edf"))
    assert not setting.holds(replace(whole, kwargs={**whole.kwargs, "k": 3}))
