"""Holds ``flowsched score`` to its line of JSON, for policies that work and for those that fail, loop or eat memory."""

import json
from pathlib import Path

import pytest

from tests.leaderboard.test_forged_files import TINY

RULE = """\
class Rule:
    def __init__(self, layout):
        self.layout = layout

    @classmethod
    def for_env(cls, env, *, seed):
        {made}
        return cls(env.unwrapped.layout)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        {acts}
        return self.layout.slot_column(observation, "remaining").argmin(), state
"""


def score(flowsched, folder: Path, made: str = "pass", acts: str = "pass", *words: object) -> dict:
    (folder / "rule.py").write_text(RULE.format(made=made, acts=acts))
    return told(flowsched("score", "rule.py", "--suite", "tiny-v1.json", "--cache", "kept", "--json", *words))


def told(outcome) -> dict:
    assert outcome.status == 0
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out)


def test_a_policy_has_a_score_beside_random_and_the_best_rule(flowsched, tiny: Path) -> None:
    first = score(flowsched, tiny, "pass", "return 0, state", "--seed", 100)
    assert first["seeds"] == first["settings"]["short"]["seeds"] == [100, 109]
    assert first["settings"]["short"]["error"] is None
    assert first["settings"]["short"]["score"] == first["score"]
    (kept,) = (tiny / "kept").iterdir()
    means = {name: sum(values) / 10 for name, values in json.loads(kept.read_text()).items() if name != "policy"}
    scale = means["reference"] - means["random"]
    assert first["score"] == pytest.approx((first["settings"]["short"]["mean"] - means["random"]) / scale)
    assert score(flowsched, tiny, "pass", "return 0, state", "--seed", 100) == first


@pytest.mark.exhaustive
def test_the_seeds_are_drawn_unless_they_are_named_and_told_afterwards(flowsched, tiny: Path) -> None:
    # So many bursts that the reference and random play never have one mean, whatever is drawn.
    short = TINY["settings"]["short"]
    settings = dict.fromkeys(("short", "again"), short | {"kwargs": short["kwargs"] | {"bursts": 30}})
    (tiny / "tiny-v1.json").write_text(json.dumps(TINY | {"settings": settings}))
    drawn = []
    for _ in range(2):
        answer = score(flowsched, tiny, "pass", "return 0, state", "--episodes", 3)
        drawn += [each["seeds"] for each in answer["settings"].values()]
        assert answer["seeds"] is None, "what a policy sees in one setting may be hidden in another"
    assert not (tiny / "kept").exists(), "drawn seeds never come again"
    assert len({first for first, _ in drawn}) == 4
    assert all(last == first + 2 and first > 2000 for first, last in drawn), "one in 10**15 would be of the suite"
    first, last = drawn[0]
    words = ("score", "rule.py", "--suite", "tiny-v1.json", "--env", "short", "--episodes", 3)
    assert f"(seeds {first} to {last})" in flowsched(*words, "--seed", first).out


@pytest.mark.exhaustive
def test_what_fails_in_the_file_is_text_and_the_command_goes_on(flowsched, tiny: Path) -> None:
    cases = (
        ("pass", "raise KeyError('slots')", "raised KeyError: 'slots'"),
        ("import os; os._exit(3)", "pass", "ended its process with exit status 3"),
        ("while True: pass", "pass", "by signal 24 (it may compute for 1 s and use 4096 MiB)"),
        ("x = bytearray(1 << 40)", "pass", "raised MemoryError"),
        ("pass", "return 10**6, state", "action is 1000000"),
    )
    for made, acts, message in cases:
        answer = score(flowsched, tiny, made, acts, "--seconds", 1, "--episodes", 1)
        assert answer["score"] is None
        assert message in answer["settings"]["short"]["error"]
    (tiny / "rule.py").write_text("def predict(:")
    answer = told(flowsched("score", "rule.py", "--suite", "tiny-v1.json", "--json"))
    assert "rule.py is not Python" in answer["settings"]["short"]["error"]


def test_a_cache_that_cannot_be_written_costs_one_line_and_not_the_score(flowsched, tiny: Path) -> None:
    suite = json.loads((tiny / "tiny-v1.json").read_text())
    short = suite["settings"]["short"]
    suite["settings"]["shorter"] = {**short, "kwargs": {**short["kwargs"], "bursts": 2}}
    (tiny / "tiny-v1.json").write_text(json.dumps(suite))
    (tiny / "rule.py").write_text(RULE.format(made="pass", acts="return 0, state"))
    (tiny / "full").write_text("a file, where a folder would be")

    outcome = flowsched(
        "score", "rule.py", "--suite", "tiny-v1.json", "--cache", "full", "--json", "--episodes", 1, "--seed", 100
    )

    assert told(outcome)["settings"].keys() == {"short", "shorter"}
    assert outcome.err == "flowsched: warning: --cache full is not written: File exists\n"


def test_bad_usage_is_status_2(flowsched, tiny: Path) -> None:
    (tiny / "rule.py").write_text("")
    for words, message in (
        (("--episodes", 0), "must be an integer >= 1"),
        (("--seed", 5), "--seed 5 gives seeds of"),
        (("--kwarg", "load=0.1"), "--kwarg load would change the setting: allowed are observation, "),
    ):
        outcome = flowsched("score", "rule.py", "--suite", "tiny-v1.json", *words)
        assert (outcome.status, outcome.out, message in outcome.err) == (2, "", True), outcome.err
