"""Plays with policies that are not the package's: each acts in a process of its own, and gets observations alone.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, InvalidAction, PolicyError, SpaceMismatchError, one_line
from flowsched_gym.core.files import done_at_last
from flowsched_gym.envs.policies import Policy
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import first_flows, with_future

PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from flowsched_gym.leaderboard.policy_child import main; main()"
)
"""Run with the judge's path and, at its end, the folder where the user is: there lies ``module:Class``."""
LIMITED_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[4:]; from flowsched_gym.leaderboard.policy_child import limit, main; "
    "limit(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]); main()"
)
"""The same with limits of time and memory, and the folder of a policy's file."""
WALL_FACTOR: Final = 20.0
WALL_START: Final = 120.0
"""A policy that sleeps ends after so many seconds for each that it may compute, and these, in which its process starts:
long, since others may use the machine too."""
MOST_LINES: Final = 20
"""Lines of what a policy prints that are shown."""
MOST_LETTERS: Final = 200
"""Letters of such a line, and of what an error says."""

LENGTH: Final = struct.Struct("<I")
MOST_BYTES: Final = 1 << 28
"""Bytes of a message's JSON, and of each of its arrays."""
KINDS: Final = "biuf"
"""Kinds of numbers that an array may hold; others could be pointers."""

Array = npt.NDArray[Any]


class Limits(NamedTuple):
    """What a policy may use.

    Attributes:
        seconds: Time in s that its process may compute, once the package is imported.
        memory: Address space of its process in B.
        folder: Folder of its file.
    """

    seconds: float
    memory: int
    folder: str


@contextlib.contextmanager
def played_apart(
    label: str,
    source: str,
    spec: EnvironmentSpec,
    kwargs: Mapping[str, object],
    *,
    is_model: bool = False,
    trust: bool = False,
    limits: Limits | None = None,
) -> Iterator[Policy]:
    """Makes a policy in a process of its own, which ends with the ``with`` block, however that ends.

    The source is ``module:Class``, or the path of a model (``is_model``), which may bring code where ``trust`` says so;
    the label is for messages, and JSON can hold the arguments of the environment. With limits, a policy that goes
    beyond ends, and Python's and NumPy's global generators and hashes are seeded.

    Raises:
        ConfigError: There is no such policy, or it does not act in this environment.
        PolicyError: The policy fails.
    """
    variables = {"OMP_NUM_THREADS": "1", **os.environ}  # small networks are several times slower on more threads
    program = [PROGRAM]
    if limits is not None:
        variables["PYTHONHASHSEED"] = "0"
        program = [LIMITED_PROGRAM, str(limits.seconds), str(limits.memory), limits.folder]
    process = subprocess.Popen(
        [sys.executable, "-c", *program, *sys.path, os.getcwd()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        start_new_session=True,
    )
    printed = threading.Thread(target=_show_lines, args=(process.stderr, label), daemon=True)
    printed.start()
    talk = _Talk(process, label)
    wall = threading.TIMEOUT_MAX if limits is None else WALL_START + WALL_FACTOR * limits.seconds
    watch = threading.Timer(wall, _kill, args=(process,))
    watch.daemon = True
    if limits is not None:
        watch.start()
    try:
        with done_at_last(partial(_kill, process)):
            request = {"environment": spec.id, "kwargs": dict(kwargs), "source": source}
            promises, _ = talk.ask(request | {"is_model": is_model, "trust": trust})
            yield _PlannerApart(talk, promises) if promises.get("plans") is True else _PolicyApart(talk, promises)
    finally:
        watch.cancel()
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


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], list[Array]]:
    """Reads a message; raises an ``EOFError`` where nobody writes any more."""
    (size,) = LENGTH.unpack(_read(stream, LENGTH.size))
    try:
        content, layout = json.loads(_read(stream, size))
        arrays = []
        for name, shape in layout:
            dtype = np.dtype(str(name))
            if dtype.kind not in KINDS or not all(type(length) is int and length >= 0 for length in shape):
                raise ValueError(name)
            data = _read(stream, math.prod(shape) * dtype.itemsize)
            arrays.append(np.frombuffer(data, dtype=dtype).reshape(shape))
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise MessageError from error
    if not isinstance(content, dict):
        raise MessageError
    return content, arrays


def _read(stream: BinaryIO, size: int) -> bytes:
    if size > MOST_BYTES:
        raise MessageError
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


class _Talk:
    """Questions to the process of a policy, and its answers."""

    def __init__(self, process: "subprocess.Popen[bytes]", label: str) -> None:
        self._process = process
        self.requests, self.answers = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        self._label = label

    def ask(self, content: dict[str, Any], *arrays: Array) -> tuple[dict[str, Any], list[Array]]:
        """Sends a message, and returns the answer; raises what the package refused, or how the policy failed."""
        try:
            write_message(self.requests, content, arrays)
            answer, given = read_message(self.answers)
        except (EOFError, OSError):
            _kill(self._process)
            status = self._process.wait()
            how = f"by signal {-status}" if status < 0 else f"with exit status {status}"
            raise PolicyError(f"policy {self._label!r} ended its process {how}") from None
        except MessageError:
            raise PolicyError(f"policy {self._label!r} sent what is no action") from None
        if "fault" in answer:
            text, known = one_line(str(answer["fault"]), 2 * MOST_LETTERS), answer.get("known")
            if known:
                named = text if text.startswith("policy ") else f"policy {self._label!r}: {text}"
                raise (SpaceMismatchError if known == SpaceMismatchError.__name__ else ConfigError)(named)
            raise PolicyError(f"policy {self._label!r} {text}")
        return answer, given


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
