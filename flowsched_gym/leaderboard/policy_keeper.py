"""Keeps a policy, and all that it starts, within its limits, and ends all of it together.

A policy may start processes that leave its group and outlive it. Linux hands those to the nearest ancestor that asks
for them: here a process between the judge and the policy, which runs no code of the policy's. It adds up the computing
time and the memory of all processes below it. It ends them when they go beyond a limit, when the policy ends, when the
judge asks for it (SIGTERM), and when the judge has gone.
"""

import contextlib
import ctypes
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

SECONDS_BETWEEN_LOOKS: Final = 0.2
SECONDS_BETWEEN_KILLS: Final = 0.01
MOST_PROCESSES: Final = 64
"""Processes that a policy with limits may have at a time."""
SET_CHILD_SUBREAPER: Final = 36
"""Number of the request to be handed the orphans among one's descendants (Linux, ``sys/prctl.h``)."""
PARENT, FIRST_TIME, MEMORY = 1, 11, 21
"""Fields of ``/proc/PID/stat`` after the name; the times of a process and of children that it waited for are four."""


class Use(NamedTuple):
    """What a process uses: computing time in s, that of children it has waited for included, and memory in B."""

    seconds: float
    memory: int


def keep(seconds: float, memory: float) -> None:
    """Splits this process in two: one goes on, and the other keeps it within limits and ends as it does.

    Where the system is not Linux, nothing happens.
    """
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415 - Unix has it

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    judge, heeded = os.getppid(), {signal.SIGTERM, signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
    policy = os.fork()
    if policy == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return
    for stream in range(3):  # the policy's alone: where it ends, they end
        os.close(stream)
    code, next_look, asked = None, 0.0, False
    while code is None and not asked and os.getppid() == judge:
        found = signal.sigtimedwait(heeded, SECONDS_BETWEEN_LOOKS)
        asked = found is not None and found.si_signo == signal.SIGTERM
        code = _reap(policy)
        if code is None and time.monotonic() >= next_look:
            ended, uses = resource.getrusage(resource.RUSAGE_CHILDREN), _descendants().values()
            if ended.ru_utime + ended.ru_stime + sum(use.seconds for use in uses) > seconds:
                code = -signal.SIGXCPU
            elif sum(use.memory for use in uses) > memory or (seconds < math.inf and len(uses) > MOST_PROCESSES):
                code = -signal.SIGKILL
            next_look = time.monotonic() + SECONDS_BETWEEN_LOOKS
    while pids := _descendants():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reap(policy)
        time.sleep(SECONDS_BETWEEN_KILLS)
    _end_as(code or 0)


def _reap(policy: int) -> int | None:
    """Takes note of processes that have ended; returns the exit code of the policy if it is among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == policy:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def _descendants() -> dict[int, Use]:
    """Returns what every process below this one uses, by its number."""
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    children: dict[int, list[tuple[int, Use]]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
            spent = sum(map(int, fields[FIRST_TIME : FIRST_TIME + 4])) / ticks
            use = Use(spent, page * int(fields[MEMORY]))
            children.setdefault(int(fields[PARENT]), []).append((int(name), use))
    found = dict(children.get(os.getpid(), ()))
    for pid in (below := list(found)):
        found.update(children.get(pid, ()))
        below.extend(child for child, _ in children.get(pid, ()))
    return found


def _end_as(code: int) -> NoReturn:
    """Ends this process with an exit code, or by a signal, its negative."""
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL cannot be handled
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)
