"""Ends a multirun with one table over its jobs, made from the result files that they left in their folders."""

import csv
import io
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from flowsched_gym.evaluation import write_json
from flowsched_gym.leaderboard import Table
from flowsched_gym.workload.table_file import replace_when_written

__all__ = ["TableOfJobs", "read_jobs", "table_of_jobs", "write_failure"]

LOGGER: Final = logging.getLogger(__name__)

RESULT_FILE: Final = "result.json"
FAILURE_FILE: Final = "failure.json"
TABLE_NAME: Final = "table"
COLUMNS: Final = (
    "job",
    "algorithm",
    "workload",
    "seed",
    "decisions",
    "metric",
    "learned",
    "best heuristic",
    "times it",
    "bound",
    "s",
)


class TableOfJobs(Callback):
    """Prints the table at the end of a multirun and writes it into its folder, as Markdown and as CSV."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Collects the results, whatever launcher ran the jobs."""
        folder = Path(config.hydra.sweep.dir)
        jobs = read_jobs(folder)
        if not jobs:
            return
        table = table_of_jobs(jobs)
        with replace_when_written(folder / f"{TABLE_NAME}.md") as temporary:
            temporary.write_text(table.markdown(), encoding="utf-8")
        text = io.StringIO()
        csv.writer(text).writerows([table.columns, *table.rows])
        with replace_when_written(folder / f"{TABLE_NAME}.csv") as temporary:
            temporary.write_text(text.getvalue(), encoding="utf-8", newline="")
        print(table.text(), end="")
        print(f"{folder / TABLE_NAME}.md and .csv hold this table.")


def write_failure(folder: Path, message: str) -> None:
    """Leaves in a job's folder why it failed."""
    write_json({"error": message}, folder / FAILURE_FILE)


def read_jobs(folder: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Reads what the jobs below a folder left: their names, and the content of their files."""
    jobs = []
    for path in sorted([*folder.rglob(RESULT_FILE), *folder.rglob(FAILURE_FILE)]):
        if path.name == FAILURE_FILE and (path.parent / RESULT_FILE).exists():
            continue
        content = json.loads(path.read_text(encoding="utf-8"))
        jobs.append((str(path.parent.relative_to(folder)), content))
    return jobs


def table_of_jobs(jobs: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    """Lays jobs out, one row each, best first within a workload; failed ones last with their reason."""
    done = [(name, content) for name, content in jobs if "error" not in content]
    done.sort(key=lambda job: (str(job[1]["kwargs"].get("workload", "")), -job[1]["estimate"]["mean"]))
    rows = [_row(name, content) for name, content in done]
    for name, content in jobs:
        if "error" in content:
            rows.append((name, f"failed: {content['error']}", *[""] * (len(COLUMNS) - 2)))
    return Table(columns=COLUMNS, rows=tuple(rows))


def _row(name: str, content: Mapping[str, Any]) -> tuple[str, ...]:
    """Writes one finished job."""
    ratio = content["ratio_to_best_heuristic"]
    return (
        name,
        content["algorithm"],
        str(content["workload"]),
        str(content["seed"]),
        f"{content['num_timesteps']:,}",
        content["metric"],
        _interval(content["estimate"]),
        content["best_heuristic"],
        _interval(ratio),
        "" if content["bound"] is None else f"{content['bound']:.3f}",
        f"{content['seconds']:.0f}",
    )


def _interval(interval: Mapping[str, float | None]) -> str:
    """Writes an estimate with its interval."""
    if interval["low"] is None:
        return f"{interval['mean']:.3f}"
    return f"{interval['mean']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]"
