"""One table over the jobs of a multirun, made from the result files in their folders."""

import csv
import io
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.baselines.applications.leftovers import FAILURE_FILE
from flowsched_gym.files import read_json, write_text
from flowsched_gym.leaderboard import Table
from flowsched_gym.metrics import merit

__all__ = ["JobOutcome", "TableOfJobs", "read_jobs", "table_of_jobs"]

LOGGER: Final = logging.getLogger(__name__)

RESULT_FILE: Final = "result.json"
OVERRIDES_FILE: Final = ".hydra/overrides.yaml"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The result of a job of a multirun.

    Attributes:
        folder: Its folder below that of the multirun: its number.
        overrides: What was changed on its command line.
        content: Content of its result file, or of the file that says why there is none.
    """

    folder: str
    overrides: tuple[str, ...]
    content: Mapping[str, Any]


class TableOfJobs(Callback):
    """A Hydra callback that prints a table at the end of a multirun and writes it as Markdown and as CSV."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Collects the results, whatever launcher ran the jobs; there is no table where none came to its end."""
        folder = Path(config.hydra.sweep.dir)
        jobs = read_jobs(folder)
        if all("error" in job.content for job in jobs):
            return
        table = table_of_jobs(jobs)
        write_text(table.markdown(), folder / f"{TABLE_NAME}.md")
        text = io.StringIO()
        csv.writer(text).writerows([table.columns, *table.rows])
        write_text(text.getvalue(), folder / f"{TABLE_NAME}.csv")
        print(table.text(), end="")
        print(f"{folder / TABLE_NAME}.md and .csv hold this table.")


def read_jobs(folder: Path) -> list[JobOutcome]:
    """Reads what the jobs of a multirun left in the folders below its own."""
    found = []
    for overrides in sorted(folder.glob(f"*/{OVERRIDES_FILE}"), key=lambda path: _number(path.parents[1].name)):
        job = overrides.parents[1]
        path = next((job / name for name in (RESULT_FILE, FAILURE_FILE) if (job / name).exists()), None)
        if path is not None:
            content = read_json(path)
            found.append(JobOutcome(folder=job.name, overrides=_read_overrides(overrides), content=content))
    return found


def table_of_jobs(jobs: Sequence[JobOutcome]) -> Table:
    """Lays jobs out, one row each, best first within a workload; failed ones last with their reason."""
    shared = set.intersection(*(set(job.overrides) for job in jobs)) if len(jobs) > 1 else set()
    done = [job for job in jobs if "error" not in job.content]
    done.sort(
        key=lambda job: (str(job.content["workload"]), -merit(job.content["metric"], job.content["estimate"]["mean"]))
    )
    rows = [_row(job, shared) for job in done]
    for job in jobs:
        if "error" in job.content:
            rows.append((_name(job, shared), f"failed: {job.content['error']}", *[""] * (len(COLUMNS) - 2)))
    return Table(columns=COLUMNS, rows=tuple(rows))


def _read_overrides(path: Path) -> tuple[str, ...]:
    overrides = OmegaConf.load(path)
    return tuple(str(override) for override in overrides)


def _number(name: str) -> tuple[int, str]:
    return (int(name) if name.isdigit() else -1, name)


def _name(job: JobOutcome, shared: Collection[str]) -> str:
    """Names a job by its folder and by what sets it apart."""
    return " ".join([job.folder, *(override for override in job.overrides if override not in shared)])


def _row(job: JobOutcome, shared: Collection[str]) -> tuple[str, ...]:
    content = job.content
    ratio = content["ratio_to_best_heuristic"]
    return (
        _name(job, shared),
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
    if interval["low"] is None:
        return f"{interval['mean']:.3f}"
    return f"{interval['mean']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]"
