"""Makes policies act; those that are not the package's in processes of their own, which get observations alone.

The judge, here, and the process (`flowsched_gym.leaderboard.policy_child`) send each other messages of JSON and arrays,
so that reading one runs no code. What the process sends is checked like any other input; what it prints goes to
standard error, line by line, as text that no terminal interprets.
"""

import contextlib
import json
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, Final, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, InvalidAction, PolicyError, SpaceMismatchError, one_line
from flowsched_gym.core.files import done_at_last
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import make_environment
from flowsched_gym.players import Player
from flowsched_gym.registration import check_planner
from flowsched_gym.workload import first_flows, with_future

PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[3:]; from flowsched_gym.leaderboard.policy_child import main; "
    "main(float(sys.argv[1]), float(sys.argv[2]))"
)
"""Run with limits of time and memory, the judge's path and, at its end, the folder where the user is: there lies
``module:Class``."""
WALL_START: Final = 120.0
"""Seconds in which a process with limits must start, before the policy has the word."""
WALL_FACTOR: Final = 4.0
WALL_MORE: Final = 10.0
"""The judge waits for all answers so many seconds for each that a policy may compute, and these: others may use the
machine too, but a policy that sleeps must end."""
SECONDS_TO_END: Final = 5.0
"""In which a process ends what it has started, before it is killed."""
MOST_LINES: Final = 20
"""Lines of what a policy prints that are shown."""
MOST_LETTERS: Final = 200
"""Letters of such a line, and of what an error says."""

SECONDS_BETWEEN_LOOKS: Final = 0.2
BYTES_PER_MEBIBYTE: Final = 2**20

LENGTH: Final = struct.Struct("<I")
MOST_BYTES: Final = 1 << 16
"""Bytes of a message's JSON, and of the arrays of an answer beside as many as an observation has."""
MOST_ARRAYS: Final = 4
MOST_AXES: Final = 8
KINDS: Final = "biuf"
"""Kinds of numbers that an array may hold; others could be pointers."""

Array = npt.NDArray[Any]


class Limits(NamedTuple):
    """What a policy may use.

    Attributes:
        seconds: Time in s that its processes may compute, once the package is imported.
        memory: Memory of its processes, and address space of each, in B.
    """

    seconds: float
    memory: float

    @classmethod
    def of(cls, seconds: float, memory_mb: int) -> Self:
        """Makes them of what a command line gives."""
        return cls(seconds, memory_mb * BYTES_PER_MEBIBYTE)

    @property
    def wall(self) -> float:
        """Time in s that the judge waits for its answers."""
        return WALL_MORE + WALL_FACTOR * self.seconds


NO_LIMITS: Final = Limits(math.inf, math.inf)


@contextlib.contextmanager
def acting(
    player: Player, kwargs: Mapping[str, object], *, seed: int = 0, trust: bool = False, limits: Limits = NO_LIMITS
) -> Iterator[Policy]:
    """Makes a policy: the package's own here, any other in a process that ends with the ``with`` block.

    JSON can hold the arguments of the environment; the seed is that of rules that draw; a model may bring code where
    ``trust`` says so. With limits, a policy that goes beyond ends, with all that it has started, and Python's and
    NumPy's global generators and hashes are seeded.

    Raises:
        ConfigError: There is no such policy, or it does not act in this environment.
        PolicyError: The policy fails.
    """
    if player.is_heuristic:
        with contextlib.closing(make_environment(player.spec, kwargs)) as env:
            policy = player.make(env, seed=seed)
        yield policy
        return
    label, source = player.name, player.target or str(player.model)
    variables = {"OMP_NUM_THREADS": "1", **os.environ}  # small networks are several times slower on more threads
    if limits != NO_LIMITS:
        variables["PYTHONHASHSEED"] = "0"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, limits), *sys.path, os.getcwd()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        start_new_session=True,
    )
    printed = threading.Thread(target=_show_lines, args=(process.stderr, label), daemon=True)
    printed.start()
    talk = _Talk(process, label, limits)
    try:
        with done_at_last(partial(_kill, process)):
            if limits != NO_LIMITS:
                threading.Thread(target=talk.watch, daemon=True).start()
            talk.begin()
            request = {"environment": player.spec.id, "kwargs": dict(kwargs), "source": source, "trust": trust}
            promises, _ = talk.ask(request)
            if plans := promises.get("plans") is True:
                check_planner(f"policy {label!r}", player.spec, kwargs)
            yield _PlannerApart(talk, promises) if plans else _PolicyApart(talk, promises)
    finally:
        process.wait()
        printed.join(timeout=1.0)  # a process that the policy started may keep its output open
        for stream in (talk.requests, talk.answers):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class MessageError(Exception):
    """What came is no message."""


def write_message(stream: BinaryIO, content: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
    """Writes a message; raises an ``OSError`` where nobody reads."""
    layout = [[each.dtype.str, each.shape] for each in arrays]
    head = json.dumps([content, layout]).encode()
    stream.write(b"".join((LENGTH.pack(len(head)), head, *(each.tobytes() for each in arrays))))
    stream.flush()


def read_message(stream: BinaryIO, *, most: int = MOST_BYTES) -> tuple[dict[str, Any], list[Array]]:
    """Reads a message whose arrays have so many bytes at most; an ``EOFError`` where nobody writes any more."""
    (size,) = LENGTH.unpack(_read(stream, LENGTH.size, MOST_BYTES))
    try:
        content, layout = json.loads(_read(stream, size, MOST_BYTES))
        arrays: list[Array] = []
        for name, shape in layout:
            dtype = np.dtype(str(name))
            if len(arrays) == MOST_ARRAYS or len(shape) > MOST_AXES or dtype.kind not in KINDS:
                raise ValueError(name)
            if not all(type(length) is int and length >= 0 for length in shape):
                raise ValueError(name)
            data = _read(stream, math.prod(shape) * dtype.itemsize, most - sum(each.nbytes for each in arrays))
            arrays.append(np.frombuffer(data, dtype=dtype).reshape(shape))
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise MessageError from error
    if not isinstance(content, dict):
        raise MessageError
    return content, arrays


def _read(stream: BinaryIO, size: int, most: int) -> bytes:
    if size > most:
        raise MessageError
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


class _Talk:
    """Questions to the process of a policy, and its answers."""

    def __init__(self, process: "subprocess.Popen[bytes]", label: str, limits: Limits) -> None:
        self._process = process
        self.requests, self.answers = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        self._label, self._limits = label, limits
        self._wall, self._waited, self._since = WALL_START, 0.0, math.inf
        self._late = False

    def watch(self) -> None:
        """Ends the process as soon as the judge has waited for too long."""
        while self._process.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            if self._waited + max(0.0, time.monotonic() - self._since) > self._wall:
                self._late = True
                _kill(self._process)

    def begin(self) -> None:
        """Waits until the process has started; from then on, the policy's time counts."""
        self._exchange(None)
        self._wall, self._waited = self._limits.wall, 0.0

    def ask(self, content: dict[str, Any], *arrays: Array) -> tuple[dict[str, Any], list[Array]]:
        """Sends a message, and returns the answer; raises what the package refused, or how the policy failed."""
        answer, given = self._exchange(content, *arrays)
        if "fault" in answer:
            text, known = one_line(str(answer["fault"]), 2 * MOST_LETTERS), answer.get("known")
            if known:
                named = text if text.startswith("policy ") else f"policy {self._label!r}: {text}"
                raise (SpaceMismatchError if known == SpaceMismatchError.__name__ else ConfigError)(named)
            raise PolicyError(f"policy {self._label!r} {text}")
        return answer, given

    def _exchange(self, content: dict[str, Any] | None, *arrays: Array) -> tuple[dict[str, Any], list[Array]]:
        """Sends a message, if there is one, and reads the answer, which is hardly larger than the first array."""
        self._since = time.monotonic()
        try:
            if content is not None:
                write_message(self.requests, content, arrays)
            return read_message(self.answers, most=MOST_BYTES + sum(each.nbytes for each in arrays[:1]))
        except (EOFError, OSError):
            raise PolicyError(f"policy {self._label!r} {self._end()}") from None
        except MessageError:
            raise PolicyError(f"policy {self._label!r} sent what is no action") from None
        finally:
            self._waited, self._since = self._waited + time.monotonic() - self._since, math.inf

    def _end(self) -> str:
        """Tells how a process ended that answers no more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_END)
        _kill(self._process)
        if self._late:
            return f"let the judge wait for more than {self._wall:g} s"
        status, (seconds, memory) = self._process.wait(), self._limits
        if status >= 0:
            return f"ended its process with exit status {status}"
        may = f" (it may compute for {seconds:g} s and use {memory / BYTES_PER_MEBIBYTE:g} MiB)"
        return f"ended its process by signal {-status}{may if self._limits != NO_LIMITS else ''}"


class _PolicyApart:
    """A policy in a process of its own; see ``Policy``."""

    def __init__(self, talk: _Talk, promises: Mapping[str, object]) -> None:
        self._talk = talk
        self.pure = promises.get("pure") is True
        # Whoever plays reads from its arguments whether a policy takes masks.
        self.predict = self._predict_masked if promises.get("masks") is True else self._predict

    def _predict(
        self, observation: Array, state: Any = None, episode_start: Array | None = None, deterministic: bool = False
    ) -> tuple[Array, Any]:
        return self._predict_masked(observation, state, episode_start, deterministic)

    def _predict_masked(
        self,
        observation: Array,
        state: Any = None,
        episode_start: Array | None = None,
        deterministic: bool = False,
        action_masks: Array | None = None,
    ) -> tuple[Array, Any]:
        """Asks for actions; a policy's memory stays in its process."""
        request = {
            "batch": episode_start is None,
            "start": episode_start is not None and bool(episode_start[0]),
            "deterministic": deterministic,
            "masks": action_masks is not None,
        }
        seen = [observation] if action_masks is None else [observation, action_masks]
        more, looks = self._looks()
        answer, given = self._talk.ask(request | more, *seen, *looks)
        if not given:
            raise InvalidAction(f"policy chose {one_line(str(answer.get('action')), MOST_LETTERS)}: it must be numbers")
        return given[0], None

    def _looks(self) -> tuple[dict[str, Any], list[Array]]:
        """Lists what the policy sees besides."""
        return {}, []


class _PlannerApart(_PolicyApart):
    """A planner in a process of its own: it looks at the past of an episode, with flows to come that are drawn anew."""

    def enter(self, env: Any) -> None:
        """Tells in which environment the next actions are taken; see ``Planner``."""
        self._env = env.unwrapped

    def _looks(self) -> tuple[dict[str, Any], list[Array]]:
        flows, now = self._env.workload, float(self._env.simulation.now)
        nothing = replace(first_flows(flows, 0), link_changes=None)
        past = np.frombuffer(pickle.dumps(with_future(flows, nothing, now)), dtype=np.uint8)
        return {"now": now}, [past, np.array(self._env.get_state().decisions)]


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process, and what it has started."""
    if sys.platform == "linux" and process.poll() is None:
        process.terminate()  # it ends all that the policy has started, wherever that is
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left of its group
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _show_lines(stream: BinaryIO, label: str) -> None:
    """Prints what a policy prints, the first lines of it, until its process ends."""
    with stream:
        for count, line in enumerate(iter(lambda: stream.readline(8 * MOST_LETTERS), b""), start=1):
            if count <= MOST_LINES:
                text = one_line(line.decode(errors="replace").rstrip(), MOST_LETTERS)
                sys.stderr.write(f"policy {label!r} prints: {text}\n")
            elif count == MOST_LINES + 1:
                sys.stderr.write(f"policy {label!r} prints more, which is not shown\n")
