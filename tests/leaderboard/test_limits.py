"""Holds policies to their limits, with all that they start, and the judge unharmed by what they send and write."""

import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import make_environment
from flowsched_gym.leaderboard import policy_process
from flowsched_gym.leaderboard.policy_process import LENGTH, MessageError, read_message, write_message
from flowsched_gym.players import make_policy
from tests.cli.conftest import flowsched, tiny  # noqa: F401 - fixtures
from tests.leaderboard.test_forged_files import TINY
from tests.processes import GLANCE, check_refusal, run

POLICY = """
import os, subprocess, sys, time
import numpy as np


class Policy:
    @classmethod
    def for_env(cls, env, *, seed):
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        {acts}
        return np.zeros(np.shape(observation)[:-1], dtype=np.int64), state
"""
ORPHAN = """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open("pid.txt", "w").write(str(os.getpid()))
                {goes_on}
            os._exit(0)
        os.wait()
        while not os.path.exists("pid.txt"):
            time.sleep(0.01)
        {ends}
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux hands orphans to an ancestor")


def scored(flowsched, acts: str, *words: object) -> dict:  # noqa: F811
    Path("mine.py").write_text(POLICY.format(acts=acts))
    outcome = flowsched("score", "mine.py", "--suite", "tiny-v1.json", "--episodes", 1, "--json", *words)
    assert outcome.status == 0
    return json.loads(outcome.out)


@linux
@pytest.mark.parametrize(
    ("goes_on", "ends", "message"),
    [
        ("time.sleep(3000)", "os._exit(7)", "'mine.py' ended its process with exit status 7"),
        ("while True: pass", "time.sleep(3000)", "by signal 24 (it may compute for 1 s and use 4096 MiB)"),
    ],
)
def test_what_a_policy_starts_counts_and_ends_with_it_wherever_it_is(
    flowsched,  # noqa: F811
    tiny,  # noqa: F811
    goes_on,
    ends,
    message,
) -> None:
    found = scored(flowsched, ORPHAN.format(goes_on=goes_on, ends=ends), "--seconds", 1)
    assert message in found["settings"]["short"]["error"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("pid.txt").read_text()), 0)


@pytest.mark.exhaustive
def test_a_policy_that_sleeps_ends_as_the_judge_waits_no_longer_and_no_other_setting_is_played(
    flowsched,  # noqa: F811
    tiny,  # noqa: F811
    monkeypatch,
) -> None:
    monkeypatch.setattr(policy_process, "WALL_MORE", GLANCE)
    settings = dict.fromkeys(("short", "again"), TINY["settings"]["short"])
    Path("tiny-v1.json").write_text(json.dumps({**TINY, "settings": settings}))
    found = scored(flowsched, "time.sleep(3000)", "--seconds", 5)
    assert list(found["settings"]) == ["short"]
    assert "policy 'mine.py' let the judge wait for more than 20.05 s" in found["settings"]["short"]["error"]
    words = ("leaderboard", "run", "--suite", "tiny-v1.json", "--env", "short", "--policy", "mine:Policy")
    check_refusal(flowsched(*words, "--seconds", 3), "policy 'Policy' let the judge wait for more than 12.05 s")


@pytest.mark.parametrize(
    "layout",
    [
        [["<f8", [1_000_000]]],
        [["|i1", [1]]] * 100_000,
        [["|i1", [1]]] * 5,
        [["|i1", [1] * 9]],
        [["|O", [1]]],
        [["<f8", [-1]]],
        [["<f8", [2**62, 2**62]]],
        5,
    ],
)
def test_no_message_makes_the_judge_read_more_than_an_action(layout) -> None:
    head = json.dumps([{}, layout]).encode()
    stream = io.BytesIO(LENGTH.pack(len(head)) + head + bytes(16 << 20))
    with pytest.raises(MessageError):
        read_message(stream)
    assert stream.tell() < 1 << 17
    stream = io.BytesIO()
    write_message(stream, {"action": None}, [np.arange(3)])
    stream.seek(0)
    assert read_message(stream)[1][0].tolist() == [0, 1, 2]


def test_a_policy_that_rewrites_the_cache_changes_no_score(flowsched, tiny) -> None:  # noqa: F811
    honest = scored(flowsched, "pass", "--cache", "kept", "--seed", 100)
    (file,) = Path("kept").iterdir()
    kept = file.read_bytes()
    forges = 'open("kept/{}", "w").write("{{}}"); open("kept/{}", "w").write("{{}}")'
    other = file.name.replace("-short-", "-other-")
    assert scored(flowsched, forges.format(file.name, other), "--cache", "kept", "--seed", 100) == honest
    assert [each.read_bytes() for each in Path("kept").iterdir()] == [kept]
    for text in ("{}", "[]", kept.decode().replace("[", "[NaN, ", 1), kept.decode().replace("]", ", 1]", 1)):
        file.write_text(text)
        words = ("score", "mine.py", "--suite", "tiny-v1.json", "--episodes", 1, "--cache", "kept", "--seed", 100)
        check_refusal(flowsched(*words), f"{file}: random and reference must have 1 finite numbers each")


def test_planners_do_not_play_where_agents_are_not_told_the_sizes_of_flows(flowsched, tiny) -> None:  # noqa: F811
    text = POLICY.format(acts="pass").replace("def predict", "def enter(self, env):\n        pass\n\n    def predict")
    Path("planner.py").write_text(text)
    for env_id, needed in (
        ("flowsched/TAFETasks-v0", "which tell it bytes left; agents of flowsched/TAFETasks-v0 are not told: it needs"),
        ("flowsched/MERPRoute-v0", "it needs observation=forecast"),
        ("flowsched/TAFEThresholds-v0", "no planner plays there"),
    ):
        check_refusal(flowsched("evaluate", env_id, "--policy", "planner:Policy", "--episodes", 1), needed)
    with pytest.raises(ConfigError, match="search plans on copies of the episode, which tell it bytes left"):
        make_policy("search", make_environment("flowsched/TAFETasks-v0", {}))
    make_policy("search", make_environment("flowsched/TAFETasks-v0", {"information": "full"}))


@pytest.mark.exhaustive
def test_a_model_of_few_weights_plays_without_torch(tmp_path: Path) -> None:
    for name in ("torch", "stable_baselines3", "sb3_contrib"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('no {name}', name='{name}')")
    words = [sys.executable, "-m", "flowsched_gym.cli", "evaluate", "flowsched/Artemis-v0", "--episodes=1"]
    path = os.pathsep.join((str(tmp_path), str(Path(__file__).parents[2])))
    outcome = run(
        *words, "--policy=model:artemis-heavy/cmaes", "--explain", "--kwarg=bursts=5", folder=tmp_path, PYTHONPATH=path
    )
    assert "deadline_hit_ratio" in outcome.out
    outcome = run(*words, "--policy=model:artemis-heavy/distilled", status=2, folder=tmp_path, PYTHONPATH=path)
    assert "torch is needed to load this model file: pip install 'flowsched-gym[train]'" in outcome.err
