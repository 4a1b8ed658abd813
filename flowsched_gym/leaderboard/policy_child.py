"""The process of a policy: makes the policy, and answers observations with its actions until nobody asks any more.

It has an environment of its own, with the arguments of the judge's. Whatever the policy does to it, or to this process,
changes nothing where the episodes are played.
"""

import math
import os
import pickle
import random
import secrets
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

import flowsched_gym
from flowsched_gym.core.errors import FlowSchedError, one_line, shown
from flowsched_gym.envs.policies import Planner, is_pure
from flowsched_gym.evaluation.actions import as_array
from flowsched_gym.evaluation.engines import make_environment, with_faster_engine
from flowsched_gym.evaluation.rollout import takes_masks
from flowsched_gym.leaderboard.policy_keeper import keep
from flowsched_gym.leaderboard.policy_process import KINDS, MOST_LETTERS, read_message, write_message
from flowsched_gym.players import find_player
from flowsched_gym.registration import find_environment
from flowsched_gym.workload import Workload, WorkloadSource, with_future

POLICY_SEED: Final = 0
"""Seed of policies that draw: that of the episodes is the judge's."""
BRANCHED_SEED: Final = 0
"""Seed of the episode that a planner looks at."""
SECONDS_BETWEEN_LOOKS: Final = 1.0
"""Time between looks whether the judge is still there."""


class _Source:
    """A source that draws a given episode for one seed, so that a planner can branch from it."""

    def __init__(self, source: WorkloadSource) -> None:
        self._source = source
        self.episode: Workload | None = None

    def draw(self, seed: int) -> Workload:
        """Draws an episode."""
        return self.episode if seed == BRANCHED_SEED and self.episode is not None else self._source.draw(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class _Answering:
    """A policy that answers, made as the judge's first message asks."""

    def __init__(self, request: dict[str, Any]) -> None:
        spec, kwargs, source = find_environment(request["environment"]), request["kwargs"], request["source"]
        self._env = make_environment(spec, kwargs)
        player = find_player(source, self._env)
        self.policy: Any = player.make(self._env, seed=POLICY_SEED, trust=request["trust"])
        plans = isinstance(self.policy, Planner)
        self.promises = {"pure": is_pure(self.policy), "masks": takes_masks(self.policy), "plans": plans}
        self._state: Any = None
        if plans:
            self._env = make_environment(spec, with_faster_engine(spec, kwargs))
            self._env.reset(seed=BRANCHED_SEED)
            self._base = cast(Any, self._env.unwrapped)
            self._base._source = self._source = _Source(self._base._source)

    def answer(self, request: dict[str, Any], arrays: list[npt.NDArray[Any]]) -> object:
        """Returns the action for an observation, or for a batch of them."""
        observation, *others = arrays
        arguments: dict[str, Any] = {"deterministic": request["deterministic"]}
        if request["masks"]:
            arguments["action_masks"] = others.pop(0).astype(np.bool_)
        if not request["batch"]:
            if request["start"]:
                self._state = None
            arguments |= {"state": self._state, "episode_start": np.array([request["start"]])}
        if others:  # the episode up to now, to which a planner goes back; the flows to come are drawn anew
            past, actions = pickle.loads(others[0].tobytes()), list(others[1])
            future = self._source._source.draw(1 + secrets.randbits(62))
            self._source.episode = with_future(past, future, request["now"])
            self._base._repeat(self._source.episode, BRANCHED_SEED, actions)
            self.policy.enter(self._env)
        action, self._state = self.policy.predict(observation.copy(), **arguments)
        return action


def limit(seconds: float, memory: float) -> None:
    """Limits this process to some seconds of computing from now on, and to memory in B, and seeds what draws.

    Where the system knows no limits (Windows), the judge's clock is one.
    """
    random.seed(POLICY_SEED)
    np.random.seed(POLICY_SEED)  # noqa: NPY002 - the generator that a policy may use
    try:
        import resource  # noqa: PLC0415 - Unix has it
    except ImportError:
        return
    end = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))  # SIGXCPU, and SIGKILL where that is ignored
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))


def main(seconds: float, memory: float) -> None:
    """Answers until the judge has gone, within limits unless they are infinite."""
    sys.stdout.flush()
    keep(seconds, memory)
    if seconds < math.inf:
        limit(seconds, memory)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # where anybody else prints
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the judge ends this process
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answering: _Answering | None = None
    write_message(answers, {})  # what follows is the policy's time
    while True:
        try:
            request, arrays = read_message(requests, most=sys.maxsize)
        except EOFError:
            break
        try:
            if answering is None:
                answering = _Answering(request)
                write_message(answers, answering.promises)
            else:
                action = answering.answer(request, arrays)
                values = as_array(action)
                if values.dtype.kind in KINDS:
                    write_message(answers, {"action": None}, [values])
                else:  # what is no array of numbers, as a text that a message can show
                    write_message(answers, {"action": shown(action)})
        except BaseException as error:  # noqa: BLE001 - whatever it is, the judge is told
            write_message(answers, _fault(error))
    os._exit(0)  # no handler or thread of the policy keeps this process


def _end_with(judge: int) -> None:
    """Ends this process, and what it has started, soon after the judge's."""
    while os.getppid() == judge:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _fault(error: BaseException) -> dict[str, object]:
    kind = type(error).__name__
    if isinstance(error, SystemExit):
        return {"fault": f"called sys.exit({shown(error.code)}){_place(error)}"}
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception of the policy's own may do anything
        text = ""
    if isinstance(error, FlowSchedError):
        return {"fault": text, "known": kind}
    return {"fault": f"raised {kind}: {one_line(text, 2 * MOST_LETTERS)}{_place(error)}"}


def _place(error: BaseException) -> str:
    """Returns the last line outside of installed packages at which an error passed."""
    inner = (str(Path(flowsched_gym.__file__).parent), os.path.dirname(os.__file__))
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<")]
    outside = [each for each in frames if not each.filename.startswith(inner)] or frames
    return f" ({Path(outside[-1].filename).name}:{outside[-1].lineno})" if outside else ""
