"""Measures how soon PPO reaches the best heuristic's level, on the compiled engine and on SimPy, by the wall clock.

``python -m benchmarks.speed.training`` runs ``flowsched-train experiment=fast`` as a user would, from the start of the
process to the comparison on unseen episodes, on either engine in turn. Both learn from the same episodes, so that they
end with the same agent, which is checked: only the time differs. ``--write`` keeps the figures in ``training.json`` and
fills the table of ``README.md`` here.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import flowsched_gym
from benchmarks.speed.page import machine_of, publish
from benchmarks.speed.run import describe_machine, say
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import paired_ratio, read_result

FIGURES: Final = Path(__file__).with_name("training.json")
ENGINES: Final[Mapping[str, str]] = {"native": "compiled", "dummy": "SimPy"}
"""Engines by the value of ``vectorization``."""
HEURISTIC: Final = "feasible-first"
AGENT: Final = "ppo"
METRIC: Final = "deadline_hit_ratio"
COMPARISON: Final = re.compile(rf"step ([\d,]+): .*?([\d.]+) x {HEURISTIC}")
TINY: Final = ("total_timesteps=8192", "evaluation.episodes=1", "evaluation.interim_episodes=1")
"""Of a command that is not measured, so that the machine has compiled everything once."""


class Run(NamedTuple):
    """A training: seconds of the wall clock and the processor, and when it reached the heuristic's level, if it did.

    Attributes:
        ratio: Times the heuristic's metric on the unseen episodes at the end: mean, low, high.
        values: Metric of each of these episodes.
    """

    wall_s: float
    cpu_s: float
    reached_s: float | None
    reached_at: int | None
    decisions: int
    ratio: tuple[float, float, float]
    values: tuple[float, ...]


def main() -> None:
    """Measures, prints, and writes where asked."""
    parser = argparse.ArgumentParser(description="Measures how soon PPO reaches the best heuristic's level.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default: 0 1 2)")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {FIGURES.name} and fill in")
    options = parser.parse_args()
    runs = measure(options.seeds)
    figures = {
        "command": f"python -m benchmarks.speed.training --seeds {' '.join(map(str, options.seeds))} --write",
        "package_version": flowsched_gym.__version__,
        "machine": {**describe_machine(), "cores": os.cpu_count()},
        "seeds": options.seeds,
        "runs": {engine: [run._asdict() for run in found] for engine, found in runs.items()},
    }
    publish(figures, FIGURES, table, write=options.write)


def measure(seeds: Sequence[int], overrides: Sequence[str] = ()) -> dict[str, list[Run]]:
    """Trains from each seed on each engine; overrides are changes of the configuration, for a look.

    Raises:
        RuntimeError: A command failed, or the engines have not trained the same agent.
    """
    runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES}
    for engine in ENGINES:
        say(f"warming up: {ENGINES[engine]}")
        train(engine, 0, [*overrides, *TINY])
    for seed in seeds:
        for engine in ENGINES:
            say(f"seed {seed}: {ENGINES[engine]}")
            runs[engine].append(train(engine, seed, overrides))
        native, dummy = (runs[engine][-1] for engine in ENGINES)
        if native.values != dummy.values:
            raise RuntimeError(f"seed {seed}: the engines trained different agents, {native.values} and {dummy.values}")
    say("")
    return runs


def train(engine: str, seed: int, overrides: Sequence[str]) -> Run:
    """Runs the command once and reads what it leaves.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "flowsched_gym.baselines.train", "experiment=fast", f"vectorization={engine}"]
        command += [f"seed={seed}", "run_name=measured", f"hydra.run.dir={folder}", "progress_bar=false", *overrides]
        cpu_before, begin = _cpu_of_children(), time.perf_counter()
        reached: tuple[float, int] | None = None
        lines = []
        surroundings = {**os.environ, "OMP_NUM_THREADS": "1"}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, text=True, env=surroundings, **pipes) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                found = COMPARISON.search(line)
                if found and reached is None and float(found[2]) >= 1.0:
                    reached = time.perf_counter() - begin, int(found[1].replace(",", ""))
        wall_s = time.perf_counter() - begin
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{''.join(lines)}")
        results = {result.policy: result for result in map(read_result, (Path(folder) / "results").iterdir())}
        summary = read_json(Path(folder) / "result.json")
    ratio = paired_ratio(results[AGENT].values(METRIC), results[HEURISTIC].values(METRIC))
    return Run(
        wall_s=wall_s,
        cpu_s=_cpu_of_children() - cpu_before,
        reached_s=reached[0] if reached else None,
        reached_at=reached[1] if reached else None,
        decisions=summary["num_timesteps"],
        ratio=(ratio.mean, ratio.low, ratio.high),
        values=tuple(results[AGENT].values(METRIC).tolist()),
    )


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    lines = [
        f"Seconds on {machine_of(figures)}; both engines train the same agent.",
        "",
        "| seed | engine | whole command, s | its CPU time, s | time to level, s | decisions to level "
        f"| final, relative to {HEURISTIC} |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for place, seed in enumerate(figures["seeds"]):
        for engine, name in ENGINES.items():
            run = figures["runs"][engine][place]
            until = ["not reached", ""]
            if run["reached_s"] is not None:
                until = [f"{run['reached_s']:.1f}", f"{run['reached_at']:,}"]
            mean, low, high = run["ratio"]
            cells = [str(seed), name, f"{run['wall_s']:.1f}", f"{run['cpu_s']:.1f}", *until]
            lines.append("| " + " | ".join([*cells, f"{mean:.3f} [{low:.3f}, {high:.3f}]"]) + " |")
    medians = [
        f"{statistics.median(run['wall_s'] for run in figures['runs'][engine]):.1f} s on {name}"
        for engine, name in ENGINES.items()
    ]
    lines += [
        "",
        f"Median of the whole command: {' and '.join(medians)}.",
        "",
        f"Command: `{figures['command']}`",
        "",
    ]
    return "\n".join(lines)


def _cpu_of_children() -> float:
    """Returns the processor time of processes that have ended, in s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
