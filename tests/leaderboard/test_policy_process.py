"""Plays policies in processes of their own: none of them can change, or see, more than it should."""

import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flowsched_gym.evaluation import make_environment, write_result
from flowsched_gym.leaderboard import check_names, load_suite, play
from flowsched_gym.players import find_player
from tests.cli.conftest import flowsched, tiny  # noqa: F401 - fixtures
from tests.leaderboard.test_forged_files import TINY
from tests.processes import check_refusal, end

ARTEMIS = "flowsched/Artemis-v0"
SHORT = TINY["settings"]["short"]["kwargs"]

POLICIES = """
import contextlib, os, subprocess, sys, time
import numpy as np
from flowsched_gym.core.errors import ConfigError


class First:
    def __init__(self, env):
        self.env = env.unwrapped
        self.layout = self.env.layout

    @classmethod
    def for_env(cls, env, *, seed):
        env.reset(seed=0)
        return cls(env)

    def cheat(self):
        pass

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.cheat()
        return np.zeros(np.shape(observation)[:-1], dtype=np.int64), state


class Pure(First):
    pure = True


class CheatsInAllWays(First):
    def cheat(self):
        import flowsched_gym.flows.metrics as summary
        import flowsched_gym.envs.base as base
        size = self.env.workload.size
        size.flags.writeable = True
        size[:] = 1.0
        type(self.env).reset = type(self.env).begin = lambda *_, **__: 1 / 0
        summary.summary = base.summary = lambda *_, **__: 1 / 0
        type(self.env)._metrics = lambda *_: {"deadline_hit_ratio": 1.0}
        self.env._network = self.env._simulation.topology = None
        self.env._source = self.env._simulation.workload = None
        self.cheat = lambda: None


class LooksAhead(First):
    def enter(self, env):
        with open("seen.txt", "a") as file:
            print(env.unwrapped.workload.arrival_time.tolist(), file=file)
        state = env.unwrapped.get_state()
        env.step(0)
        env.unwrapped.set_state(state)
        env.unwrapped.set_state(state.with_future(7))


def cheating(act):
    return type("Cheating", (First,), {"cheat": act})


def answering(value):
    return type("Answering", (First,), {"predict": lambda self, observation, **others: value})


class Unspeakable(Exception):
    def __str__(self):
        sys.exit(3)


def fail(error):
    raise error


def prints(self):
    print("\\x1b[2Jcleared")
    os.system("echo and\\x1b[31m red")


Exits = cheating(lambda self: sys.exit(0))
Raises = cheating(lambda self: fail(KeyError("no\\x1b[2Jsuch")))
Speechless = cheating(lambda self: fail(Unspeakable()))
Refuses = cheating(lambda self: fail(ConfigError("not this")))
Dies = cheating(lambda self: os._exit(3))
IsKilled = cheating(lambda self: os.kill(os.getpid(), 9))
Prints = cheating(prints)
Fraction = answering((1.7, None))
Word = answering(("\\x1b[2J", None))
Large = answering((10**6, None))
Nothing = answering(None)


class Answers(First):
    @classmethod
    def for_env(cls, env, *, seed):
        for number in range(3, 20):
            with contextlib.suppress(OSError):
                os.write(number, b"\\x08\\0\\0\\0[{}, []]")
        return cls(env)


class NotMade(First):
    @classmethod
    def for_env(cls, env, *, seed):
        raise ValueError("not today")


class Sleeps(First):
    def cheat(self):
        child = subprocess.Popen(["sleep", "3000"])
        with open("pid.txt", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        self.last()

    def last(self):
        time.sleep(3000)


class Loops(Sleeps):
    def last(self):
        while True:
            print("and on")
"""


@pytest.fixture
def folder(tiny: Path) -> Path:  # noqa: F811
    (tiny / "theirs.py").write_text(POLICIES)
    return tiny


def run_of(name):
    """Plays a policy in the tiny suite."""
    suite = load_suite("tiny-v1.json")
    setting = suite.settings["short"]
    (player,) = check_names([find_player(f"theirs:{name}", setting.spec)])
    return play(suite, setting, player)


@pytest.mark.parametrize("name", ["CheatsInAllWays", pytest.param("LooksAhead", marks=pytest.mark.exhaustive)])
def test_a_policy_that_cheats_gets_what_it_would_get_without(folder, name):
    honest, cheat = run_of("First"), run_of(name)
    assert repr(cheat.episodes) == repr(honest.episodes)
    if name == "LooksAhead":
        seen = [json.loads(line) for line in (folder / "seen.txt").read_text().splitlines()]
        assert len({tuple(each) for each in seen}) > len(seen) / 2, "other flows to come at each decision"
        env = make_environment(ARTEMIS, SHORT)
        env.reset(seed=0)
        assert env.get_wrapper_attr("workload").arrival_time.tolist() not in seen[: len(seen) // 20]
    assert "theirs" not in sys.modules


def test_a_pure_policy_plays_side_by_side_in_its_process(folder, monkeypatch):
    monkeypatch.setattr("flowsched_gym.evaluation.runner.LITTLE_WORK", 0)
    monkeypatch.setattr("flowsched_gym.evaluation.runner.has_machine_code", lambda *_: True)
    assert repr(run_of("Pure").episodes) == repr(run_of("First").episodes)


def rare(*values):
    """Returns a case whose process is started by exhaustive runs alone."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Exits", "policy 'Exits' called sys.exit(0) (theirs.py:"),
        rare("Raises", r"policy 'Raises' raised KeyError: 'no\x1b[2Jsuch' (theirs.py:"),
        rare("Refuses", "policy 'Refuses': not this"),
        rare("Speechless", "policy 'Speechless' raised Unspeakable: "),
        ("Dies", "policy 'Dies' ended its process with exit status 3"),
        rare("IsKilled", "policy 'IsKilled' ended its process"),
        rare("Fraction", "policy 'Fraction' chose array(1.7): it must be an integer"),
        rare("Word", r"policy 'Word' chose '\x1b[2J': it must be numbers"),
        rare("Large", "policy 'Large' action is 1000000: it must be an integer from 0 to 9"),
        rare("Nothing", "policy 'Nothing' raised TypeError"),
        rare("NotMade", "policy 'NotMade' raised ValueError: not today (theirs.py:"),
        rare("Missing", "policy 'Missing': target is 'theirs:Missing': module theirs has no 'Missing'"),
        rare("Answers", "policy 'Answers' chose None: it must be numbers"),
    ],
)
def test_a_policy_that_misbehaves_is_named_in_one_line(flowsched, folder, name, message):  # noqa: F811
    words = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", f"theirs:{name}")
    check_refusal(flowsched(*words), message)


def test_what_a_policy_prints_is_text_beside_the_output(flowsched, folder):  # noqa: F811
    words = [f"--kwarg={name}={value}" for name, value in SHORT.items()]
    outcome = flowsched("evaluate", ARTEMIS, "--policy", "theirs:Prints", "--episodes", 1, *words, "--json")
    assert json.loads(outcome.out)["policy"] == "theirs:Prints"
    assert r"policy 'theirs:Prints' prints: \x1b[2Jcleared" in outcome.err
    assert "\x1b" not in outcome.err
    assert outcome.err.count("\n") == 21


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("action", "name", "number", "status"),
    [
        rare("run", "Sleeps", signal.SIGTERM, 143),
        ("run", "Sleeps", signal.SIGKILL, -signal.SIGKILL),
        rare("verify", "Sleeps", signal.SIGTERM, 143),
        rare("run", "Loops", signal.SIGINT, 130),
    ],
)
def test_an_end_takes_along_a_policy_even_if_it_never_answers(folder, action, name, number, status):
    words = [sys.executable, "-m", "flowsched_gym.cli", "leaderboard", action, "--suite", "tiny-v1.json"]
    if action == "verify":
        write_result(replace(run_of("First"), policy=name, source=f"theirs:{name}"), "sleeps.json")
        words.append("sleeps.json")
    assert end(*words, "--policy", f"theirs:{name}", number=number, started=folder / "pid.txt") == status
