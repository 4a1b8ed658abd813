"""The program on ns-3: compiled into the cache once, talked to over pipes, and told the cables of a topology."""

import hashlib
import os
import shlex
import shutil
import subprocess
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, SimulationError
from flowsched_gym.machine_code.messages import HINT, ONCE, tell
from flowsched_gym.topology import Topology
from flowsched_gym.topology.ends import UNUSED, ends_of_links, there_and_back

SOURCE: Final = Path(__file__).with_name("network.cc")
MODULES: Final = ("internet", "point-to-point", "traffic-control", "bridge", "network", "stats", "core")
BITS: Final = 8
LONGEST: Final = 200
"""Characters of what a compiler says that are repeated."""


def build() -> Path:
    """Compiles the program into the user's cache, where it is not there yet; returns its path.

    ``CXX`` names another compiler than ``g++``; ``CXXFLAGS`` and ``LDFLAGS`` are passed on to it.

    Raises:
        MissingDependencyError: There is no compiler, or it finds no ns-3.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flowsched-gym"
    program = folder / f"ns3-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}"
    if program.exists():
        return program
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise _missing(f"there is no {compiler}")
    tell(f"flowsched: compiling the program of engine='ns3': some seconds, {ONCE} ({HINT})")
    folder.mkdir(parents=True, exist_ok=True)
    new = program.with_name(f"{program.name}.{os.getpid()}")
    flags = [shlex.split(os.environ.get(name, "")) for name in ("CXXFLAGS", "LDFLAGS")]
    libraries = [f"-lns3-{module}" for module in MODULES]
    command = [compiler, "-O2", "-std=c++17", *flags[0], str(SOURCE), "-o", str(new), *flags[1], *libraries]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise _missing(f"{compiler} says {said[:LONGEST]!r}")
        new.rename(program)
    finally:
        new.unlink(missing_ok=True)
    return program


def _missing(why: str) -> MissingDependencyError:
    how = f"on Debian, apt install libns3-dev g++ ({why})"
    return MissingDependencyError("ns-3.37 or later, with a C++ compiler,", purpose="play on engine 'ns3'", how=how)


class Run(NamedTuple):
    """What has happened when the program stops.

    Attributes:
        now: Time in ns.
        ended: Rows of the flows whose last bytes have been received since the last stop.
        received: Bytes that the receivers of other flows have, by their rows.
    """

    now: int
    ended: list[int]
    received: dict[int, int]


class Program:
    """Hosts, switches and links in ns-3, and flows that begin when they are told to; times are in ns.

    Args:
        options: Options of the program by their names; ``network.cc`` lists them, and what the lines of its input are.
        cables: A line for each cable.
        flows: Source, destination and bytes of each flow.
    """

    def __init__(
        self, options: Mapping[str, object], cables: Sequence[Sequence[object]], flows: Sequence[tuple[int, int, int]]
    ) -> None:
        given = {**options, "cables": len(cables), "flows": len(flows)}
        self._process = subprocess.Popen(
            [build(), *(f"--{name}={value}" for name, value in given.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._end = weakref.finalize(self, _end, self._process)
        self._write(" ".join(map(str, each)) for each in (*cables, *flows))

    def start(self, row: int, time: int, there: Sequence[int], back: Sequence[int]) -> None:
        """Opens the connection of a flow at a time, on the links of a path, and of the way back."""
        self._write([f"s {row} {time} {len(there)} {' '.join(map(str, there))} {len(back)} {' '.join(map(str, back))}"])

    def run(self, until: int) -> Run:
        """Runs to a time, or to the end of the first instant in which a flow's last byte is received."""
        self._write([f"r {until}"])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SimulationError(f"ns-3 has ended with status {self._process.wait()}: the episode cannot go on")
        now, num_ended, num_underway, *rows = map(int, line.split())
        underway = rows[num_ended : num_ended + 2 * num_underway]
        return Run(now, rows[:num_ended], dict(zip(underway[::2], underway[1::2], strict=True)))

    def close(self) -> None:
        """Ends the program."""
        self._end()

    def _write(self, lines: Iterable[str]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.writelines(f"{line}\n" for line in lines)
        except BrokenPipeError:
            return  # `run` tells


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


class Cables:
    """Cables of two links each, one there and one back, between nodes; hosts come first, and have one cable each.

    Links that no path takes are left out.

    Raises:
        ConfigError: Links have none back, or one of another delay; or a host has several.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        tail, head = ends_of_links(topology)
        used = np.flatnonzero(tail != UNUSED).tolist()
        pairs, alone = there_and_back((tail[link], head[link]) for link in used)
        self._pairs = [(used[there], used[back]) for there, back in pairs]
        name, names = topology.name, topology.link_names
        if alone:
            raise ConfigError(
                f"topology {name} has the link {names[used[alone[0]]]!r} with none back: in ns-3, cables have both"
            )
        for there, back in self._pairs:
            if topology.delay[there] != topology.delay[back]:
                raise ConfigError(
                    f"topology {name}: {names[there]!r} and {names[back]!r} are a cable and differ in delay"
                )
        ends_of_hosts = np.bincount(tail[tail != UNUSED], minlength=topology.num_hosts)[: topology.num_hosts]
        if (ends_of_hosts > 1).any():
            raise ConfigError(
                f"topology {name}: host {int(ends_of_hosts.argmax())} has several cables: in ns-3, one each"
            )
        self._tail, self._head = tail, head
        self._number = np.full(topology.num_links, UNUSED)
        for cable, (there, back) in enumerate(self._pairs):
            self._number[there], self._number[back] = 2 * cable, 2 * cable + 1

    def lines(self, room: IntArray, mark: IntArray) -> list[list[object]]:
        """Lists the cables as ``network.cc`` reads them, with what may wait at the port of each link, (num_links,)."""
        capacity, delay = BITS * self._topology.capacity, self._topology.delay
        return [
            [self._tail[there], self._head[there], delay[there]]
            + [value for link in (there, back) for value in (capacity[link], room[link], mark[link])]
            for there, back in self._pairs
        ]

    def links_of(self, path: int) -> Sequence[int]:
        """Lists the links of a path by the numbers that they have in ns-3."""
        start = self._topology.path_start
        numbers: list[int] = self._number[self._topology.path_links[start[path] : start[path + 1]]].tolist()
        return numbers
