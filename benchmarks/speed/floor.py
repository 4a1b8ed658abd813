"""Measures the least that a step of Artemis can cost: a C program that can do nothing else, beside our environment.

``python -m benchmarks.speed.floor`` compiles ``floor.c`` (with ``cc``), checks that it plays what the environment
plays, and prints the table; ``--write`` keeps the figures in ``floor.json`` and fills the table of ``README.md`` here.
All times are CPU seconds of one thread.
"""

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt

from benchmarks.speed.page import machine_of, run_benchmark
from benchmarks.speed.run import ARTEMIS, rates_of
from benchmarks.speed.vector import CHOICES, DECISIONS, PAPER, REPETITIONS, environment_case

SOURCE: Final = Path(__file__).with_name("floor.c")
FIGURES: Final = Path(__file__).with_name("floor.json")
NUM_ENVS: Final = (64, 1024)
CHECKED: Final = 4
"""Environments whose episode the program and the reference engine play alike."""
NUM_COLUMNS: Final = 39


class Shared(ctypes.Structure):
    """What the networks of the program share, as in ``floor.c``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("drawn", "completion", "grant", "order")),
        ("num_flows", ctypes.c_int64),
        ("delay", ctypes.c_double),
        ("capacity", ctypes.c_double),
    )


class Floor:
    """Plays the first episode of environments with the seeds 0, 1, ..., over and over.

    Attributes:
        observation: What they show, (num_envs, NUM_COLUMNS).
        mask: Which actions do what they say, (num_envs, slots).
        reward: Deadlines met, (num_envs,).
        over: Whether an episode has ended, (num_envs,).
    """

    def __init__(self, library: ctypes.CDLL, num_envs: int) -> None:
        """Reads the flows, and begins."""
        env: Any = gymnasium.make(ARTEMIS, **PAPER).unwrapped
        drawn = []
        for seed in range(num_envs):
            env.reset(seed=seed)
            flows = env.workload
            drawn.append(np.stack([flows.arrival_time, flows.size, flows.deadline_span], axis=1))
        num_flows = len(drawn[0])
        self._drawn = np.stack(drawn)
        self._times = np.zeros((2, num_envs, num_flows))
        self._order = np.zeros((num_envs, num_flows), dtype=np.int32)
        self._networks = np.zeros(num_envs * library.size_of_network(), dtype=np.uint8)
        self._shared = Shared(
            *(_address(array) for array in (self._drawn, *self._times, self._order)),
            num_flows=num_flows,
            delay=2 * env.config.link_delay_us * 1e-6,
            capacity=env.rules.line_rate,
        )
        self.observation = np.zeros((num_envs, NUM_COLUMNS), dtype=np.float32)
        self.mask = np.zeros((num_envs, PAPER["f"]), dtype=np.bool_)
        self.reward = np.zeros(num_envs)
        self.over = np.zeros(num_envs, dtype=np.bool_)
        self._others = (
            np.zeros(num_envs),
            np.zeros(num_envs, dtype=np.int64),
            np.zeros(num_envs * num_flows, dtype=np.int32),
        )
        self._step = library.step
        self._first = (ctypes.byref(self._shared), _address(self._networks), ctypes.c_size_t(num_envs))
        shown = (_address(self.observation), _address(self.mask))
        self._last = (*shown, *(_address(array) for array in (self.reward, *self._others, self.over)))
        if not library.begin_all(*self._first, *shown):
            raise RuntimeError("an episode has more flows at once than the program has rows")

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        """Grants in each environment.

        Raises:
            RuntimeError: An episode has more flows at once than the program has rows.
        """
        if not self._step(*self._first, _address(actions), *self._last):
            raise RuntimeError("an episode has more flows at once than the program has rows")


def _address(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    """Returns where an array begins."""
    return ctypes.c_void_p(array.ctypes.data)


def main() -> None:
    """Compiles, checks, measures, prints, and writes where asked."""
    run_benchmark("Measures the least that a step of Artemis can cost.", measured, FIGURES, table)


def measured(share: int) -> dict[str, Any]:
    """Checks the program, and measures it and the environment."""
    library, cases = load(), {}
    for number in NUM_ENVS:
        cases[f"floor {number}"] = floor_case(Floor(library, number), DECISIONS // share)
        cases[f"artemis {number}"] = environment_case(ARTEMIS, number, DECISIONS // share, PAPER)
    return {"checked_decisions": check(library), "rates": rates_of(cases, REPETITIONS)}


def load() -> ctypes.CDLL:
    """Compiles the program for this machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "floor.so"
        command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(path), str(SOURCE), "-lm"]
        subprocess.run(command, check=True)
        library = ctypes.CDLL(str(path))
    library.size_of_network.restype = ctypes.c_size_t
    return library


def check(library: ctypes.CDLL) -> int:
    """Plays whole episodes on the program and on the reference engine; returns the number of decisions.

    Raises:
        RuntimeError: They differ by more than rounding.
    """
    floor = Floor(library, CHECKED)
    envs = [gymnasium.make(ARTEMIS, **PAPER) for _ in range(CHECKED)]
    shown = np.stack([env.reset(seed=seed)[0] for seed, env in enumerate(envs)])
    rng = np.random.default_rng(0)
    decisions = 0
    while not floor.over.any():
        if not np.allclose(floor.observation, shown, rtol=0.0, atol=1e-6):
            raise RuntimeError(f"after {decisions} decisions the program shows {floor.observation}, we show {shown}")
        actions = (rng.random(CHECKED) * floor.mask.sum(axis=1)).astype(np.int64)
        floor.step(actions)
        steps = [env.step(int(action)) for env, action in zip(envs, actions, strict=True)]
        rewards, over = [step[1] for step in steps], [step[2] for step in steps]
        if rewards != floor.reward.tolist() or over != floor.over.tolist():
            raise RuntimeError(f"after {decisions} decisions the program pays {floor.reward}, we pay {rewards}")
        shown = np.stack([step[0] for step in steps])
        decisions += CHECKED
    return decisions


def floor_case(floor: Floor, decisions: int) -> Any:
    """Returns what plays so many decisions on the program."""
    num_envs = len(floor.reward)
    uniform = np.random.default_rng(0).random((CHOICES, num_envs))

    def play() -> tuple[int, float]:
        steps = max(decisions // num_envs, CHOICES)
        seconds = 0.0
        for step in range(steps):
            actions = (uniform[step % CHOICES] * floor.mask.sum(axis=1)).astype(np.int64)
            begin = time.thread_time()
            floor.step(actions)
            seconds += time.thread_time() - begin
        return steps * num_envs, seconds

    return play


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    lines = [
        f"ns of CPU time per decision on one core, {machine_of(figures)}; median (minimum to maximum) of",
        f"{REPETITIONS} interleaved repetitions.",
        "",
        "| environments | C program | Artemis |",
        "| ---: | ---: | ---: |",
    ]
    for number in NUM_ENVS:
        cells = []
        for name in ("floor", "artemis"):
            rate = figures["rates"][f"{name} {number}"]
            cells.append(f"{1e9 / rate['median']:,.0f} ({1e9 / rate['max']:,.0f} to {1e9 / rate['min']:,.0f})")
        lines.append(f"| {number:,} | {cells[0]} | {cells[1]} |")
    lines += [
        "",
        f"Observations, rewards and episode ends matched in {figures['checked_decisions']:,} decisions.",
        "",
        f"Command: `{figures['command']}`",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
