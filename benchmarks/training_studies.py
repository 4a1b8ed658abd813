"""Measures what trainings reach, and writes the table of ``docs/training-studies.md``.

``python -m benchmarks.training_studies`` fills the page from the file beside this one, ``training_studies.csv``. With
``--measure TEXT`` it first repeats the rows whose command has this text.
"""

import argparse
import csv
import io
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.registry_tables import ROOT, with_part
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.core.tables import Table
from flowsched_gym.evaluation import evaluate

FIGURES: Final = Path(__file__).with_suffix(".csv")
PAGE: Final = ROOT / "docs/training-studies.md"
PART: Final = "trainings"
FIRST_SEED: Final = 930_000
EPISODES: Final = 30
SHORT: Final = (
    *("evaluation.bound=false", "evaluation.episodes=1", "evaluation.interim_episodes=1"),
    *("evaluation.interval=1000000000", "checkpoints.interval=1000000000", "logger=none"),
)
"""Settings that leave little to do but to learn."""
SHORT_NAMES: Final = {
    "policy.width=16 policy.num_blocks=0 policy.standardise=true": "*small*",
    "algorithm.num_envs=64 algorithm.n_steps=64 algorithm.batch_size=1024 algorithm.n_epochs=10 "
    "algorithm.learning_rate=8e-3 algorithm.gamma=0.95 algorithm.gae_lambda=0.98": "*as fast*",
}
"""What the page calls settings of several rows."""
UNITS: Final = {"deadline_hit_ratio": ("deadlines met, %", 100.0), "mean_tct": ("mean TCT, ms", 1000.0)}
"""Metrics as the table has them, where these differ, and what makes them so."""


class Row(NamedTuple):
    """A line of the file: what a command reaches.

    Attributes:
        command: Words of ``flowsched-train``.
        decisions: Decisions of a training.
        cpu_s: Seconds of the processor for the whole command without comparisons, the median of the trainings.
        metric: What is measured.
        reached: Means over the episodes, by training seeds from 0 on.
        rule: A rule of the same episodes.
        by_rule: What it reaches.
    """

    command: str
    decisions: str
    cpu_s: str
    metric: str
    reached: str
    rule: str
    by_rule: str

    @property
    def values(self) -> list[float]:
        """What each training reaches, as the table prints it."""
        return [float(each) for each in self.reached.split()]


def main() -> None:
    """Measures where asked, and writes the page."""
    parser = argparse.ArgumentParser(description="Measures what trainings reach.")
    parser.add_argument("--measure", metavar="TEXT", help="repeats the rows whose command has this text")
    text = parser.parse_args().measure
    rows = read_rows()
    for index, row in enumerate(rows):
        if text is not None and text in row.command:
            rows[index] = measured(row)
            print(*rows[index], sep=" | ", flush=True)
            write_rows(rows)
    write_text(page(), PAGE)


def read_rows() -> list[Row]:
    """Reads the file."""
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return [Row(**line) for line in csv.DictReader(file)]


def write_rows(rows: list[Row]) -> None:
    """Writes the file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([Row._fields, *rows])
    write_text(file.getvalue(), FIGURES)


def measured(row: Row) -> Row:
    """Trains by each seed, and plays the episodes with each agent and the rule."""
    seconds, reached = [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(len(row.values)):
            run = Path(folder) / str(seed)
            words = [*shlex.split(row.command), f"total_timesteps={row.decisions}", f"seed={seed}", *SHORT]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "flowsched_gym.baselines.train", *words, f"hydra.run.dir={run}"]
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            arguments = dict(read_json(run / "run.json")["env"])
            reached.append(played(arguments, f"{run}/model.zip", row.metric))
    by_rule = played(arguments, row.rule, row.metric)
    return row._replace(cpu_s=f"{statistics.median(seconds):.1f}", reached=" ".join(reached), by_rule=by_rule)


def played(arguments: dict[str, Any], policy: str, metric: str) -> str:
    """Returns a policy's mean over the episodes."""
    env_id = arguments["environment_id"].removeprefix("flowsched_gym:")
    kwargs = {name: value for name, value in arguments.items() if name != "environment_id"} | {"engine": "compiled"}
    result = evaluate(env_id, policy, episodes=EPISODES, seed=FIRST_SEED, kwargs=kwargs)
    return f"{UNITS.get(metric, ('', 1.0))[1] * statistics.fmean(result.values(metric)):.2f}"


def page() -> str:
    """Returns the page with its table made anew."""
    cells = []
    for row in read_rows():
        words = f"`{row.command}`"
        for text, name in SHORT_NAMES.items():
            words = words.replace(f" {text}", f"` {name}`")
        median, each = statistics.median(row.values), ", ".join(f"{value:.1f}" for value in row.values)
        what = UNITS.get(row.metric, (row.metric.replace("_", " "), 1.0))[0]
        reached, by_rule = f"**{median:.1f}** ({each})", f"{float(row.by_rule):.1f} `{row.rule}`"
        cells.append((words.replace("``", ""), f"{int(row.decisions):,}", row.cpu_s, what, reached, by_rule))
    columns = ("words", "decisions", "CPU-s", "measure", "reached", "rule")
    table = Table(columns=columns, rows=tuple(cells)).markdown(numbers=False)
    return with_part(PAGE.read_text(encoding="utf-8"), PART, table)


if __name__ == "__main__":
    main()
