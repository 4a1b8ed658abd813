"""Holds the tuning of rules to finding numbers that are better, by episodes that no test or validation has."""

import sys

import pytest

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED
from flowsched_gym.evaluation import tuning
from flowsched_gym.evaluation.tuning import tune_rule
from tests.evaluation.test_evaluate import ARTEMIS

SETTING = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 30}


@pytest.mark.exhaustive
def test_numbers_that_hurt_are_replaced_by_better_ones_the_same_for_the_same_seed() -> None:
    told: list[tuple[int, int]] = []
    wrong = "skip-late:base=feasible-first,margin_ms=20"
    found = tune_rule(ARTEMIS, wrong, kwargs=SETTING, trials=12, episodes=6, progress=lambda *of: told.append(of))
    assert found.policy.startswith("skip-late:base=feasible-first,margin_ms=")
    assert found.metric == "deadline_hit_ratio"
    assert found.value > found.given
    assert told[-1][0] == told[-1][1] >= 12
    assert tune_rule(ARTEMIS, wrong, kwargs=SETTING, trials=12, episodes=6) == found


def test_a_rule_that_is_not_bettered_is_kept_as_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SIGMA", 1e-9)  # all candidates are the rule itself
    found = tune_rule(ARTEMIS, "in-time:slot_ms=1", kwargs=SETTING, trials=4, episodes=2)
    assert found.policy == "in-time:slot_ms=1"
    assert found.value == found.given


def test_only_training_seeds_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def evaluate(*_: object, seed: list[int], **__: object) -> None:
        played.extend(seed)
        raise StopIteration

    monkeypatch.setattr(tuning, "evaluate", evaluate)
    with pytest.raises(StopIteration):
        tune_rule(ARTEMIS, "in-time", trials=4, episodes=3)
    assert len(set(played)) == 3
    assert min(played) >= FIRST_TRAINING_SEED


def test_what_has_no_numbers_is_refused_and_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for policy, message in (
        ("edf", r"policy is 'edf': it has no numbers to tune; flowsched/Artemis-v0 has .*skip-late"),
        ("random", "it has no numbers to tune"),
        ("nobody", "policy is 'nobody': flowsched/Artemis-v0 has random"),
    ):
        with pytest.raises(ConfigError, match=message):
            tune_rule(ARTEMIS, policy)
    with pytest.raises(ConfigError, match="trials is 0: it must be an integer >= 1"):
        tune_rule(ARTEMIS, "in-time", trials=0)
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(MissingDependencyError, match="cma"):
        tune_rule(ARTEMIS, "in-time")
