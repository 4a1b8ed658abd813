"""Judges agents of small suites of the second schema: who stands apart, who is better, and why agents lose."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.leaderboard import losses_table, readme
from flowsched_gym import leaderboard
from flowsched_gym.evaluation import SuiteReference
from flowsched_gym.leaderboard import claims as judging
from flowsched_gym.leaderboard import comparison
from flowsched_gym.leaderboard.claims import _written_p
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import Ability, Action, Information
from tests.leaderboard.test_leaderboard import ARTEMIS, SPREAD, make_result

TOLD = (Information.SIZES, Information.DEADLINES, Information.AGES, Information.LOAD)
GRANT = leaderboard.Setting(
    name="small",
    spec=find_environment(ARTEMIS),
    kwargs={},
    metric="deadline_hit_ratio",
    tier="headline",
    ability=Ability((Action.GRANT,), TOLD),
    reference="search",
)
POSTPONE = replace(GRANT, ability=Ability((Action.GRANT, Action.POSTPONE), TOLD))
TRAININGS = (-0.01, -0.005, 0.0, 0.005, 0.01)
RULES = {"random": -0.1, "fifo": 0.0, "edf": 0.05, "search": 0.15}


def trained(name, gain, **kwargs):
    """Builds an agent of five trainings that differ a little."""
    return make_result(name, *(SPREAD + gain + each for each in TRAININGS), kwargs=kwargs, learned=True)


def judged(setting, *agents, rules=RULES):
    """Compares agents and rules, given by their gains, in a setting; returns it and its claims by agent."""
    results = [*(make_result(name, SPREAD + gain) for name, gain in rules.items()), *agents]
    (compared,) = leaderboard.compare_settings([(setting, results)])
    return compared, {each.row.policy: each for each in leaderboard.claims_of([compared])}


def test_what_has_more_than_the_setting_allows_stands_apart_below_and_claims_nothing():
    rules = RULES | {"paced": 0.4, "postpone-late": 0.3, "clairvoyant-bound": 0.5}
    free, kept = trained("free", 0.45, defer="to-back"), trained("kept", 0.1)
    compared, claims = judged(GRANT, free, kept, rules=rules)

    names = [row.policy for row in compared.rows]
    assert names == [
        *("clairvoyant-bound", "search", "kept", "edf", "fifo", "random"),
        *("free", "paced", "postpone-late"),
    ]
    assert [row.policy for row in compared.rows if row.apart] == ["free", "paced", "postpone-late"]
    assert list(claims) == ["kept"]
    assert (claims["kept"].row.reference, compared.best_rule.policy) == ("edf", "edf")
    page = leaderboard.tables_markdown([compared])
    assert page.index("| kept (learned") < page.index("With more actions or information:") < page.index("| paced |")
    assert "Tier: headline. Actions: grant. Information: sizes, deadlines, ages, load. Score 1: search." in page


def test_an_agent_is_compared_with_the_best_rule_of_the_setting_though_it_does_less_itself():
    rules = RULES | {"postpone-late": 0.3}
    _, claims = judged(POSTPONE, trained("able", 0.35, defer="to-back"), trained("grants", 0.1), rules=rules)
    assert [(each.row.reference, each.verdict) for each in claims.values()] == [
        ("postpone-late", "**better**"),
        ("postpone-late", "worse"),
    ]
    assert [each.counted for each in claims.values()] == [True, False], "it has fewer actions than the setting allows"


def test_no_agent_is_better_where_no_rule_takes_its_actions():
    _, claims = judged(POSTPONE, trained("able", 0.35, defer="to-back"), trained("grants", 0.1))
    assert (claims["able"].row.reference, claims["able"].verdict) == ("edf", judging.NO_RULE)
    assert claims["grants"].verdict == "**better**"


def test_search_that_knows_the_future_or_sizes_that_agents_are_not_told_stands_apart():
    spec = find_environment("flowsched/TAFETasks-v0")
    attained = Ability((Action.ORDER,), (Information.AGES, Information.BYTES_SENT))
    result = replace(make_result("search", SPREAD), environment=spec.id)
    assert not (attained + comparison.OF_SEARCH).covers(comparison.ability_of(result))
    whole = attained + Ability(information=(Information.BYTES_LEFT,)) + comparison.OF_SEARCH
    assert whole.covers(comparison.ability_of(result))
    assert not whole.covers(comparison.ability_of(replace(result, source="search:clairvoyant=true")))


def test_scores_are_of_the_settings_reference_and_a_collapsed_training_is_shown():
    gains = (0.15, 0.15, 0.15, 0.15, -0.35)
    broken = replace(make_result("ppo", *(SPREAD + gain for gain in gains), learned=True), backed=True)
    compared, claims = judged(GRANT, broken)
    scores = {row.policy: row.score for row in compared.rows}
    assert scores == pytest.approx({"search": 1.0, "edf": 0.6, "fifo": 0.4, "random": 0.0, "ppo": 0.6})
    (row,) = leaderboard.learned_table(list(claims.values())).rows
    assert (row[1], row[3], row[7], row[11]) == (
        "headline",
        "2 distinct of 5, 4 equal to search, 1 collapsed",
        "0.60",
        "with models",
    )
    score = leaderboard.score_of(list(claims.values()))
    assert score is not None
    assert score.mean == pytest.approx(1.0)
    assert score.low < 0.7, "the interval tells of it, the middle half does not"
    line = leaderboard.score_line([compared], list(claims.values()))
    assert line.startswith("Score of the learned agents: **1.00 [")
    assert "in 1 of 1 headline settings" in line
    assert f"<!-- score -->{line}<!-- /score -->" in readme(line)


def test_a_share_of_the_room_goes_from_the_best_rule_to_search_and_a_rule_entered_as_an_agent_wins_nothing():
    half, copy = trained("half", 0.1), make_result("copy", SPREAD + 0.05, learned=True)
    compared, claims = judged(GRANT, half, copy)
    best, room = judging.room_of(compared)
    assert (best.policy, compared.best_rule.policy) == ("search", "edf")
    search, rule = (compared.row(name).estimate.mean for name in ("search", "edf"))
    assert room == pytest.approx(search - rule)
    expected = (claims["half"].row.estimate.mean - rule) / (search - rule)
    assert claims["half"].share == pytest.approx(expected)
    assert claims["copy"].share == pytest.approx(0.0)
    share = leaderboard.share_of(list(claims.values()))
    assert share.mean == pytest.approx(expected / 2, abs=0.3)
    line = leaderboard.share_line([compared], list(claims.values()))
    assert line.startswith("In 1 of 1 headline settings, search is at least 2 % better than the best rule. ")
    assert f"`half` **{expected:.2f} [" in line
    assert "`copy` **0.00 [" in line
    assert line.endswith(f" from 0.00 in {GRANT.name} to {expected:.2f} in {GRANT.name}.")
    (first, second) = leaderboard.learned_table(list(claims.values())).rows
    assert {first[9], second[9]} == {f"{expected:.2f}", "0.00"}


def test_there_is_no_share_where_search_finds_no_more_than_a_rule():
    compared, claims = judged(GRANT, trained("ppo", 0.1), rules=RULES | {"edf": 0.3})
    assert claims["ppo"].share is None
    assert leaderboard.share_of(list(claims.values())) is None
    line = leaderboard.share_line([compared], list(claims.values()))
    assert line == "Search finds no more than the best rule in the 1 headline settings, or was not measured."


def test_equal_trainings_that_no_models_back_are_counted_once_and_copies_of_a_rule_or_an_agent_are_named():
    runs = [SPREAD + gain for gain in (0.0, 0.0, 0.0, 0.2)]
    own = replace(make_result("mine", SPREAD - 0.1), source="my_agent:Mine")
    _, claims = judged(GRANT, make_result("ppo", *runs, learned=True), make_result("a2c", runs[3], learned=True), own)
    compared = claims["ppo"].compared
    rows = {each.policy: each for each in compared.rows}
    assert rows["ppo"].estimate.mean == pytest.approx((SPREAD + 0.1).mean()), "two of four"
    assert len(claims["ppo"].scores) == 2
    assert rows["ppo"].notes == [
        "learned",
        "2 distinct of 4 seeds",
        "3 equal to fifo",
        "1 equal to a2c",
        "actions only",
    ]
    assert rows["a2c"].copies == {"ppo": 1}
    assert (rows["mine"].notes, rows["edf"].notes, rows["fifo"].notes) == (["equal to random"], [], [])
    (_, row) = leaderboard.learned_table(list(claims.values())).rows
    assert row[3] == "2 distinct of 4, 3 equal to fifo, 1 equal to a2c, 1 collapsed"


def test_a_p_value_is_not_rounded_to_the_level_that_it_is_below():
    values = (0.0496, 0.05, 0.0504, 0.2, 0.0001)
    assert list(map(_written_p, values)) == ["p = 0.0496", "p = 0.05", "p = 0.0504", "p = 0.2", "p < 0.001"]


def test_a_difference_that_is_told_keeps_its_sign_however_small():
    near = make_result("near", *(SPREAD + 0.05 + each for each in (1.8e-5, 1.9e-5, 2e-5, 2.1e-5, 2.2e-5)), learned=True)
    _, claims = judged(GRANT, near)
    (row,) = leaderboard.learned_table(list(claims.values())).rows
    assert row[6] == "+0.002 [+0.002, +0.002]"
    assert row[10].startswith("**better**")


def test_only_headline_settings_are_counted_and_shift_apart():
    agent = trained("ppo", 0.1)
    compared, claims = zip(
        *(judged(replace(GRANT, tier=tier), agent) for tier in ("calibration", "shift")), strict=True
    )
    every = [each for found in claims for each in found.values()]
    assert leaderboard.score_of(every) is None
    assert leaderboard.score_line(compared, every) == "No learned agent counts in the 0 headline settings."
    assert leaderboard.score_of(every, "shift").mean == pytest.approx(0.8)


def test_p_values_are_adjusted_for_all_claims_of_a_table():
    close = make_result("close", *(SPREAD + 0.05 + 0.035 + 3 * each for each in TRAININGS), learned=True)
    _, alone = judged(GRANT, close)
    _, several = judged(GRANT, close, *(trained(f"bad-{number}", 0.05) for number in range(9)))
    assert several["close"].p_value == pytest.approx(10 * alone["close"].p_value)
    assert (alone["close"].verdict, several["close"].verdict) == ("**better**", "no significant difference")


@pytest.mark.parametrize(
    ("gains", "reference", "reason"),
    [
        ({"edf": 0.008, "search": 0.013}, "search", "no room"),
        ({"edf": 0.008, "search": 0.1}, "search", "not found"),
        ({"edf": 0.05, "search": 0.055}, "search", "not found"),
        ({"edf": 0.008, "clairvoyant-bound": 0.2}, "clairvoyant-bound", "no information"),
        ({"edf": 0.008, "search": 0.1, "clairvoyant-bound": 0.2}, "clairvoyant-bound", "not found"),
        ({"edf": 0.008}, "search", "not measured"),
    ],
)
def test_why_an_agent_loses_is_told_from_the_room_that_the_reference_shows(gains, reference, reason):
    setting, rules = replace(GRANT, reference=reference), {"random": -0.1} | gains
    agent = make_result("ppo", *(SPREAD + each / 10 for each in TRAININGS), learned=True)
    _, claims = judged(setting, agent, rules=rules)
    (row,) = losses_table(list(claims.values())).rows
    assert (row[1], row[3], row[-1]) == ("ppo", f"{100 * gains['edf']:.1f} %", reason)
    assert row[-1] in judging.REASONS
    small = judged(replace(setting, ability=POSTPONE.ability), agent, rules=rules)
    assert losses_table(list(small[1].values())).rows == (), "it does not use what the setting allows"


def test_a_tier_that_is_not_that_of_the_measured_room_and_a_bad_reference_are_told():
    near = {"random": -0.01, "edf": 0.005, "search": 0.02}

    def misfit(rules, **changes):
        return leaderboard.tier_misfit(judged(replace(GRANT, **changes), rules=rules)[0])

    assert misfit(RULES) is None
    assert misfit(near, tier="calibration") is None
    assert "of tier headline, but search is 1.5 % better than the best rule, less than 2 %" in misfit(near)
    told = misfit(RULES, tier="calibration")
    assert "of tier calibration, but search is 10.0 % better than the best rule, at least" in told
    assert misfit(RULES | {"lifo": -0.2}, reference="lifo") == "small: its reference lifo is not better than random"
    assert misfit({"random": 0.0}) is None, "nothing to compare it with"
    assert misfit(near, tier="", ability=None, reference="") is None
    (untold,) = leaderboard.compare_settings(
        [(replace(GRANT, tier="", ability=None), judged(GRANT, rules=near)[0].results)]
    )
    assert judging.tier_of(untold) == "calibration"
    # Relative to the mean where the measure is no share of deadlines.
    slow = [make_result(name, SPREAD, fct=fct) for name, fct in (("search", 0.1), ("edf", 0.1015))]
    (compared,) = leaderboard.compare_settings([(replace(GRANT, metric="mean_fct"), slow)])
    assert judging.room_of(compared)[1] == pytest.approx(0.0015 / 0.1015)


def test_search_that_sees_more_than_agents_do_measures_the_room_where_no_other_has_played():
    results = [make_result(name, SPREAD + gain) for name, gain in RULES.items() if name != "search"]
    results += [make_result("search", SPREAD + 0.15, kwargs={"defer": "to-back"}), trained("ppo", 0.1)]
    (compared,) = leaderboard.compare_settings([(GRANT, results)])
    claims = leaderboard.claims_of([compared])
    assert compared.best_search.apart
    assert claims[0].share == pytest.approx(0.5)
    assert leaderboard.share_line([compared], claims).endswith("In 1 of them search sees more than agents do.")
    assert leaderboard.learned_table(claims).rows[0][8].endswith(", told more")


def test_a_reference_that_no_row_has_gives_no_scores():
    compared, claims = judged(replace(GRANT, reference="static"), trained("ppo", 0.1))
    assert all(row.score is None for row in compared.rows)
    assert (claims["ppo"].counted, len(claims["ppo"].scores)) == (False, 0)
    assert leaderboard.learned_table(list(claims.values())).rows[0][7] == ""


def test_a_reference_that_was_searched_for_as_agents_are_has_a_row_and_is_not_counted():
    found = make_result("static", SPREAD + 0.2, learned=True)
    compared, claims = judged(replace(GRANT, reference="static"), trained("ppo", 0.05), found)
    assert (compared.row("static").score, list(claims)) == (pytest.approx(1.0), ["static", "ppo"])
    assert [each.counted for each in claims.values()] == [False, True]
    rows = leaderboard.learned_table(list(claims.values())).rows
    assert [row[2] for row in rows] == ["static (the reference)", "ppo"]
    assert leaderboard.score_of(list(claims.values())).mean == pytest.approx(0.5)


def test_a_setting_weighs_once_however_many_agents_and_trainings_it_has():
    few, many = trained("few", 0.15), make_result("many", *([SPREAD - 0.1] * 15), learned=True)
    _, first = judged(GRANT, few)
    _, second = judged(GRANT, many, trained("more", -0.1))
    every = [*first.values(), *second.values()]
    assert leaderboard.score_of(every).mean == pytest.approx(0.5, abs=0.02)


def test_a_result_belongs_to_the_setting_that_it_names_where_two_differ_in_what_agents_may_do():
    settings = [replace(GRANT, name="one"), replace(POSTPONE, name="two")]
    named = [SuiteReference(suite="small-v1", digest="", setting=name) for name in ("two", "one", "gone")]
    results = [replace(make_result("edf", SPREAD), reference=each) for each in named]
    groups = leaderboard.group_results(results, settings)
    assert [(setting.name, members) for setting, members in groups] == [
        ("one", [results[1], results[2]]),
        ("two", [results[0]]),
    ]


def test_episodes_without_a_value_have_no_part_in_scores():
    values = np.where(np.arange(12) == 3, np.nan, SPREAD + 0.15)
    compared, _ = judged(GRANT, rules=RULES | {"edf": 0.0})
    holes = make_result("ppo", values, learned=True)
    (compared,) = leaderboard.compare_settings([(GRANT, [*compared.results, holes])])
    assert compared.row("ppo").score == pytest.approx(1.0)
