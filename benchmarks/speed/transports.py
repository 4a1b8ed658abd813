"""Measures transports on Artemis: decisions per CPU second with packets that can be lost, beside ``tcp`` without.

``python -m benchmarks.speed.transports`` prints a table; ``--write`` keeps the figures in ``transports.json`` and fills
the table of ``README.md`` here. All times are CPU seconds of one thread; drawing new episodes is part of them. The
oldest request is served first.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

from benchmarks.speed.page import machine_of, run_benchmark
from benchmarks.speed.run import ARTEMIS, say
from flowsched_gym.fluid import TRANSPORTS, TransportName

FIGURES: Final = Path(__file__).with_name("transports.json")
ARGUMENTS: Final[Mapping[str, Any]] = {"workload": "gather-a1", "k": 10, "f": 5}
BASELINE: Final = TransportName.TCP
MEASURED: Final = (BASELINE, *(name for name, transport in TRANSPORTS.items() if transport.losses is not None))
NUM_ENVS: Final = 1024
STEPS: Final = 1000
"""Steps of one repetition of the compiled engine, as many as an episode has."""
DECISIONS: Final = 5000
"""Decisions of one repetition of the SimPy engine."""
REPETITIONS: Final = 5


def main() -> None:
    """Measures, prints, and writes where asked."""
    run_benchmark("Measures transports on Artemis.", measure, FIGURES, table)


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    rates = figures["rates"]
    lines = [
        f"Decisions per CPU second on one core, {machine_of(figures)}; the best of",
        f"{figures['repetitions']} interleaved repetitions. `{ARGUMENTS['workload']}`, k = {ARGUMENTS['k']}, "
        f"f = {ARGUMENTS['f']}, FIFO.",
        "",
        f"| transport | compiled, {NUM_ENVS:,} environments | over `{BASELINE}` | SimPy | over `{BASELINE}` |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, rate in rates.items():
        cells = (f"{rate[engine]:,.0f} | {rate[engine] / rates[BASELINE][engine]:.2f}" for engine in rate)
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Command: `{figures['command']}`", ""])


def measure(share: int) -> dict[str, Any]:
    """Measures the transports in turns, once unmeasured; keeps the best rates on each engine, compiled and SimPy."""
    vectors = {name: gymnasium.make_vec(ARTEMIS, num_envs=NUM_ENVS, transport=name, **ARGUMENTS) for name in MEASURED}
    singles = {name: gymnasium.make(ARTEMIS, transport=name, **ARGUMENTS) for name in MEASURED}
    for envs in vectors.values():
        envs.reset(seed=0)
    rates = {str(name): {"compiled": 0.0, "simpy": 0.0} for name in MEASURED}
    for repetition in range(REPETITIONS + 1):
        for name in MEASURED:
            say(f"repetition {repetition} of {REPETITIONS}: {name}")
            found = {
                "compiled": play_many(vectors[name], STEPS // share),
                "simpy": play(singles[name], DECISIONS // share),
            }
            if repetition > 0:  # the first one compiles
                rates[name] = {engine: max(rate, found[engine]) for engine, rate in rates[name].items()}
    say("")
    return {"repetitions": REPETITIONS, "rates": rates}


def play_many(envs: gymnasium.vector.VectorEnv[Any, Any, Any], steps: int) -> float:
    """Goes on for so many steps of all environments; returns decisions per CPU second."""
    actions = np.zeros(envs.num_envs, dtype=np.int64)
    begin = time.process_time()
    for _ in range(steps):
        envs.step(actions)
    return steps * envs.num_envs / (time.process_time() - begin)


def play(env: gymnasium.Env[Any, Any], decisions: int) -> float:
    """Takes so many decisions from a first episode on; returns decisions per CPU second."""
    env.reset(seed=0)
    begin = time.process_time()
    for _ in range(decisions):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            env.reset()
    return decisions / (time.process_time() - begin)


if __name__ == "__main__":
    main()
