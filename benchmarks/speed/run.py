"""Measures speed and memory, Artemis beside CartPole-v1 in the same run: ``make bench``.

Repetitions of all cases are interleaved: a machine that gets slower or faster meanwhile does so for all of them.
``--write`` keeps the figures in ``benchmarks/speed/results.json``, from which the leaderboard's speed table is made.
"""

import argparse
import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import numba
import numpy as np
import simpy

import flowsched_gym
from flowsched_gym.core.units import BYTES_PER_MEGABYTE
from flowsched_gym.evaluation import write_json
from flowsched_gym.players import make_policy
from flowsched_gym.workload import draw_flows, make_workload

ARTEMIS: Final = "flowsched/Artemis-v0"
RESULTS: Final = Path(__file__).with_name("results.json")
REPETITIONS: Final = 9
STEPS: Final = 20_000
MEMORY_DECISIONS: Final = 1_000_000
REPLAY_FLOWS: Final = 50_000
DRAWS: Final = 200
QUICK_SHARE: Final = 10
"""What ``--quick`` divides all amounts by."""
CHECKPOINTS: Final = 10

Case = Callable[[], tuple[int, float]]
"""Does a measured piece of work; returns how much of what, and in how many seconds."""


def main() -> None:
    """Measures, prints, and writes where asked."""
    parser = argparse.ArgumentParser(description="Measures speed and memory.")
    parser.add_argument("--quick", action="store_true", help=f"a {QUICK_SHARE}th of the work: a look, not a result")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name}")
    options = parser.parse_args()
    share = QUICK_SHARE if options.quick else 1
    rates = measure(cases(share), REPETITIONS)
    half = rates["CartPole-v1, random"]["median"]
    print(f"{'per second':<44}{'min':>12}{'median':>12}{'max':>12}{'CartPole':>10}")
    for name, rate in rates.items():
        beside = f"{rate['median'] / half:9.2f}x" if rate["unit"] == "steps" else ""
        print(f"{name:<44}{rate['min']:>12,.0f}{rate['median']:>12,.0f}{rate['max']:>12,.0f}{beside:>10}")
    memory = measure_memory(MEMORY_DECISIONS // share)
    print(
        f"memory over {memory['decisions']:,} decisions: {memory['first_mb']:.1f} MB after the first tenth, "
        f"{memory['last_mb']:.1f} MB at the end, {memory['growth_mb']:+.1f} MB"
    )
    if options.write:
        write_json(
            {
                "command": "python benchmarks/speed/run.py" + (" --quick" if options.quick else "") + " --write",
                "package_version": flowsched_gym.__version__,
                "machine": describe_machine(),
                "repetitions": REPETITIONS,
                "rates": rates,
                "memory": memory,
            },
            RESULTS,
        )
        print(f"written to {RESULTS}")


def cases(share: int) -> dict[str, tuple[str, Case]]:
    """Lists the cases by name, each with what it counts."""
    steps = STEPS // share
    cartpole = gymnasium.make("CartPole-v1")
    artemis = gymnasium.make(ARTEMIS, workload="gather-a1", k=10, f=5)
    edf = make_policy("edf", artemis, seed=0)
    gather = make_workload("gather-a1")
    flows = draw_flows(make_workload("poisson-exponential"), num_flows=REPLAY_FLOWS // share, seed=0)

    def replay_case(discipline: str) -> Case:
        return lambda: timed(flows.num_flows, lambda: flowsched_gym.replay(flows, discipline=discipline))

    def draw_all() -> None:
        for seed in range(DRAWS // share):
            gather.draw(seed)

    return {
        "CartPole-v1, random": ("steps", lambda: play(cartpole, random_action(cartpole), steps)),
        "Artemis-v0, random": ("steps", lambda: play(artemis, random_action(artemis), steps)),
        "CartPole-v1, alternating": ("steps", lambda: play(cartpole, alternating(), steps)),
        "Artemis-v0, FIFO (slot 0)": ("steps", lambda: play(artemis, lambda _: 0, steps)),
        "Artemis-v0, EDF with its predict": (
            "steps",
            lambda: play(artemis, lambda observation: int(edf.predict(observation)[0]), steps),
        ),
        "replay, processor sharing": ("flows", replay_case("ps")),
        "replay, SRPT": ("flows", replay_case("srpt")),
        "draws of gather-a1 (1000 flows)": ("draws", lambda: timed(DRAWS // share, draw_all)),
    }


def measure(work: dict[str, tuple[str, Case]], repetitions: int) -> dict[str, dict[str, Any]]:
    """Returns the rates of all cases, and their units."""
    rates = rates_of({name: case for name, (_, case) in work.items()}, repetitions)
    return {name: {"unit": unit, **rates[name]} for name, (unit, _) in work.items()}


def rates_of(work: Mapping[str, Case], repetitions: int) -> dict[str, dict[str, float]]:
    """Runs all cases once unmeasured, then in turn; returns the smallest, median and largest rate of each per s."""
    found: dict[str, list[float]] = {name: [] for name in work}
    for repetition in range(repetitions + 1):
        for name, case in work.items():
            say(f"repetition {repetition} of {repetitions}: {name}")
            gc.collect()
            amount, seconds = case()
            if repetition:
                found[name].append(amount / seconds)
    say("")
    return {
        name: {"min": min(rates), "median": statistics.median(rates), "max": max(rates)}
        for name, rates in found.items()
    }


def measure_memory(decisions: int) -> dict[str, Any]:
    """Plays on and on with random actions and looks at the resident memory after each tenth."""
    env = gymnasium.make(ARTEMIS, workload="gather-a1", k=10, f=5)
    seen = []
    for tenth in range(CHECKPOINTS):
        say(f"memory: {tenth * decisions // CHECKPOINTS:,} of {decisions:,} decisions")
        play(env, random_action(env), decisions // CHECKPOINTS)
        gc.collect()
        seen.append(resident_megabytes())
    say("")
    return {
        "decisions": decisions,
        "first_mb": seen[0],
        "last_mb": seen[-1],
        "growth_mb": seen[-1] - seen[0],
        "after_each_tenth_mb": seen,
    }


def play(env: gymnasium.Env[Any, Any], choose: Callable[[Any], Any], steps: int) -> tuple[int, float]:
    """Takes so many steps, through as many episodes as that needs."""
    observation, _ = env.reset(seed=0)
    begin = time.perf_counter()
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(choose(observation))
        if terminated or truncated:
            observation, _ = env.reset()
    return steps, time.perf_counter() - begin


def random_action(env: gymnasium.Env[Any, Any]) -> Callable[[Any], Any]:
    """Returns a choice by the action space's own generator."""
    env.action_space.seed(0)
    return lambda _: env.action_space.sample()


def alternating() -> Callable[[Any], int]:
    """Returns a choice that goes left and right in turn, at almost no cost."""
    state = [0]

    def choose(_: Any) -> int:
        state[0] = 1 - state[0]
        return state[0]

    return choose


def timed(amount: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> tuple[int, float]:
    """Measures one call."""
    begin = clock()
    work()
    return amount, clock() - begin


def resident_megabytes() -> float:
    """Returns the resident memory of this process in MB (10^6 B); its peak where the system does not tell."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / BYTES_PER_MEGABYTE
    import resource  # noqa: PLC0415 - not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / BYTES_PER_MEGABYTE


def describe_machine() -> dict[str, str]:
    """Says what the figures were measured with."""
    return {
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "gymnasium": gymnasium.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "simpy": simpy.__version__,
    }


def say(text: str) -> None:
    """Shows progress on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text:<78}", end="\r" if not text else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
