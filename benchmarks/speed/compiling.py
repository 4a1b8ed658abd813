"""Measures how long the engine is compiled for: CPU time from an empty cache, for each environment and some replays.

``python -m benchmarks.speed.compiling`` prints the table; ``--write`` keeps the figures in ``compiling.json`` and fills
the table of ``README.md`` here. Each first use is one in a process of its own, without the imports.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.speed.page import publish
from benchmarks.speed.run import describe_machine
from flowsched_gym.registration import SYSTEMS

FIGURES: Final = Path(__file__).with_name("compiling.json")

TIMED: Final = """
import resource
import gymnasium, flowsched_gym
flows = dict(flow_id=[0, 1], source=[0, 1], destination=[3, 3], size_bytes=[1e5, 2e5], arrival_s=[0.0, 0.001])
before = resource.getrusage(resource.RUSAGE_SELF)
{use}
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
"""
VECTOR: Final = "gymnasium.make_vec({id!r}, num_envs=2).reset(seed=0)"
REPLAY: Final = 'flowsched_gym.replay(flows, discipline="{}", topology="{}", parameters={}, engine="compiled")'
REPLAYS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("fifo", "one-link", {}),
    ("srpt", "fat-tree", {}),
    ("ps", "fat-tree", {}),
    ("merp", "fat-tree", {}),
    ("mlfq", "big-switch", {"thresholds": [1e5]}),
)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the figures, and fill the table of the page")
    options = parser.parse_args()
    ids = [environment.id for system in SYSTEMS for environment in system.environments]
    uses = {f"`make_vec({id!r})` and `reset`": VECTOR.format(id=id) for id in ids}
    uses |= {
        f"replay of `{name}` on `{topology}`": REPLAY.format(name, topology, given) for name, topology, given in REPLAYS
    }
    figures: dict[str, Any] = {
        "command": "python -m benchmarks.speed.compiling" + (" --write" if options.write else ""),
        "machine": describe_machine(),
        "seconds": {name: seconds(use) for name, use in uses.items()},
    }
    publish(figures, FIGURES, table, write=options.write)


def seconds(use: str) -> float:
    """Returns the CPU time of a first use in s."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "NUMBA_CACHE_DIR": folder, "FLOWSCHED_QUIET": "1"}
        program = TIMED.format(use=use)
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, text=True, check=True
        )
    return float(done.stdout)


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    machine = ", ".join(f"{name} {version}" for name, version in figures["machine"].items())
    lines = [f"CPU seconds of the first use, without cached machine code, {machine}.", ""]
    lines += ["| first use | s |", "| --- | ---: |"]
    lines += [f"| {name} | {value:.1f} |" for name, value in figures["seconds"].items()]
    return "\n".join([*lines, "", f"Command: `{figures['command']}`", ""])


if __name__ == "__main__":
    main()
