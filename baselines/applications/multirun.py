"""What a sweep ends with: a table and a figure by workload, and a file with a row for each job.

All is made from what the jobs left in their folders, whatever launcher ran them.
"""

import csv
import io
import json
import logging
import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.baselines.applications.comparison_report import FIGURE_FILE, RESULTS_FOLDER
from flowsched_gym.baselines.applications.leftovers import FAILURE_FILE, remember_fault
from flowsched_gym.baselines.applications.sweep_scores import PolicyScore, SettingScores, draw_sweep
from flowsched_gym.baselines.training.trainer import RESULT_FILE
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.core.units import time_left
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    bootstrap_interval,
    paired_difference,
    read_result,
)
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import Table

LOGGER: Final = logging.getLogger(__name__)

OVERRIDES_FILE: Final = ".hydra/overrides.yaml"
LEAST_SECONDS: Final = 1.0
"""What a job takes that has not finished before."""
EPISODES_FILE: Final = "results.csv"
EPISODE_COLUMNS: Final = (
    "environment", "workload", "policy", "training_seed", "decisions", "episode_seed", "metric", "value"
)  # fmt: skip
TABLE_NAME: Final = "table"
OF_SETTING: Final = ("workload", "env", "seed")
"""What is swept over and does not set an agent apart from the others in its table."""
OF_COMMAND: Final = ("checkpoints", "launcher", "logger", "overwrite", "progress_bar", "resume", "sweep_dir")
"""What changes no result: a sweep may go on with others than it was begun with."""
NOT_FINISHED: Final = "not finished"
COLUMNS: Final = (
    "job", "algorithm", "workload", "seed", "requested decisions", "decisions", "metric", "mean", "low", "high",
    "best heuristic", "over best heuristic", "bound", "s", "folder", "failure",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The outcome of a job of a sweep: what its result file holds, empty where there is none, or why there is none."""

    folder: Path
    overrides: tuple[str, ...]
    content: Mapping[str, Any]
    failure: str = ""


class SweepTables(Callback):
    """A Hydra callback that prints tables by workload at the end of a sweep, and writes them and a figure.

    Where jobs run one after the other, it tells after each how long the others may take.
    """

    def __init__(self) -> None:
        self._num_jobs = self._num_ended = 0
        self._took: list[float] = []

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Counts the jobs that there will be."""
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        of_file = OmegaConf.select(config, "hydra.sweeper.params") or {}  # as of sweep=seeds
        words = parser.parse_overrides([*(f"{k}={v}" for k, v in of_file.items()), *config.hydra.overrides.task])
        swept = (word.sweep_string_iterator() for word in words if word.is_sweep_override())
        self._num_jobs = math.prod(len(list(values)) for values in swept)

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Notes when a job began."""
        self._begun_at = time.monotonic()

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Tells how long the jobs that are left may take, by those that ran, not those that had finished before."""
        self._num_ended += 1
        took = time.monotonic() - self._begun_at
        self._took += [took] * (took > LEAST_SECONDS)
        if self._took and self._num_ended < self._num_jobs:
            left = time_left(len(self._took) / (len(self._took) + self._num_jobs - self._num_ended), sum(self._took))
            LOGGER.info("job %s of %s has ended, about %s", self._num_ended, self._num_jobs, left)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Collects the results; there is no table where no job came to its end."""
        folder = Path(config.hydra.sweep.dir)
        jobs = read_jobs(folder)
        scores = scores_by_setting(jobs)
        if not scores:
            return
        tables = [(setting.title, setting.table()) for setting in scores]
        failed = [f"{_name(job, jobs)}: {job.failure}" for job in jobs if not job.content]
        for title, table in tables:
            print(f"\n{title}\n{table.text()}", end="")
        print("".join(f"\nno result of {line}" for line in failed), end="\n" * bool(failed))
        markdown = [f"## {title}\n\n{table.markdown()}" for title, table in tables]
        markdown += ["## Jobs without a result\n\n" + "".join(f"- {line}\n" for line in failed)] if failed else []
        try:
            write_text("\n".join(markdown), folder / f"{TABLE_NAME}.md")
            for table, name in ((table_of_jobs(jobs), f"{TABLE_NAME}.csv"), (table_of_episodes(jobs), EPISODES_FILE)):
                text = io.StringIO()
                csv.writer(text).writerows([table.columns, *table.rows])
                write_text(text.getvalue(), folder / name)
            draw_sweep(scores, folder / FIGURE_FILE)
        except OSError as error:  # Hydra would make a warning of it
            remember_fault(error)
            return
        print(
            f"\n{folder} has these tables (table.md), a figure (comparison.png), a row for each job (table.csv) and "
            "one for each episode of each policy (results.csv)."
        )


def read_jobs(folder: Path) -> list[JobOutcome]:
    """Reads what the jobs of a sweep left in the folders below its own, in the order of their names."""
    found = []
    for overrides in sorted(folder.glob(f"*/{OVERRIDES_FILE}")):
        job = overrides.parents[1]
        content, failure = {}, NOT_FINISHED
        if (job / FAILURE_FILE).exists():
            failure = str(read_json(job / FAILURE_FILE)["error"])
        elif (job / RESULT_FILE).exists():
            content, failure = read_json(job / RESULT_FILE), ""
        words = tuple(str(override) for override in OmegaConf.load(overrides))
        found.append(JobOutcome(folder=job, overrides=words, content=content, failure=failure))
    return found


def scores_by_setting(jobs: Sequence[JobOutcome]) -> list[SettingScores]:
    """Compares the agents of each workload, over their training seeds, with the heuristics and the bound.

    Jobs whose environments have the same arguments and which were evaluated alike are compared with each other.
    """
    return [_scores(members, jobs) for members in _settings(jobs)]


def table_of_episodes(jobs: Sequence[JobOutcome]) -> Table:
    """Lays out the metric of each episode, in SI units, a row each: agents by their trainings, rules and bound once."""
    rows = []
    for members in _settings(jobs):
        first, metric = members[0].content, members[0].content["metric"]
        setting = (first["environment"].rpartition(":")[2], _described(members[0], jobs))
        rules = [result for result in _results(members[0]) if result.policy != first["algorithm"]]
        played = [((result.policy, "", ""), result) for result in rules if metric in result.metric_names]
        for job in sorted(members, key=lambda job: (_agent(job, jobs), _order(job))):
            trained = (_agent(job, jobs), str(job.content["seed"]), str(job.content["num_timesteps"]))
            played.append((trained, _result_of(job)))
        rows += [
            (*setting, *player, str(seed), metric, repr(float(value)))
            for player, result in played
            for values in np.atleast_2d(result.values(metric))
            for seed, value in zip(result.seeds, values, strict=True)
        ]
    return Table(columns=EPISODE_COLUMNS, rows=tuple(rows))


def table_of_jobs(jobs: Sequence[JobOutcome]) -> Table:
    """Lays jobs out, one row each, by workload and algorithm; those without a result come last with the reason."""
    done = sorted((job for job in jobs if job.content), key=_order)
    rows = [_row(job, jobs) for job in done]
    blank = ("",) * (len(COLUMNS) - 3)
    rows += [(_name(job, jobs), *blank, job.folder.name, job.failure) for job in jobs if not job.content]
    return Table(columns=COLUMNS, rows=tuple(rows))


def _settings(jobs: Sequence[JobOutcome]) -> list[list[JobOutcome]]:
    """Groups the jobs that have a result by what was played, in the order of their workloads."""
    settings: dict[str, list[JobOutcome]] = {}
    for job in jobs:
        if job.content:
            key = ("environment", "kwargs", "metric", "evaluation")
            settings.setdefault(json.dumps([job.content[name] for name in key], sort_keys=True), []).append(job)
    return sorted(settings.values(), key=lambda members: _workload(members[0]))


def _scores(members: Sequence[JobOutcome], jobs: Sequence[JobOutcome]) -> SettingScores:
    first = members[0].content
    metric = first["metric"]
    agents: dict[str, list[JobOutcome]] = {}
    for job in members:
        agents.setdefault(_agent(job, jobs), []).append(job)
    results = {result.policy: result for result in _results(members[0])}
    values = {
        name: np.atleast_2d(result.values(metric))
        for name, result in results.items()
        if name != first["algorithm"] and (name != BOUND_POLICY or metric in result.metric_names)
    }
    bound = values.pop(BOUND_POLICY, None)
    best = first["best_heuristic"]  # the same for all: they may do and know the same
    learned = {name: np.array([_result_of(job).values(metric) for job in found]) for name, found in agents.items()}
    scores = [
        PolicyScore(
            name=name,
            learned=name in learned,
            runs=len(runs) if name in learned else 0,
            decisions=_decisions(agents[name][0]) if name in learned else "",
            estimate=bootstrap_interval(runs),
            over_best=None if name == best else paired_difference(runs, values[best]),
        )
        for name, runs in (values | learned).items()  # of equals, a heuristic stands first
    ]
    return SettingScores(
        workload=_described(members[0], jobs),
        metric=metric,
        best=best,
        episodes=first["evaluation"]["episodes"],
        scores=tuple(sorted(scores, key=lambda score: -merit(metric, score.estimate.mean))),
        bound=None if bound is None else bootstrap_interval(bound),
    )


def _results(job: JobOutcome) -> Iterator[EvaluationResult]:
    """Reads what the policies of a job played."""
    return map(read_result, sorted((job.folder / RESULTS_FOLDER).iterdir()))


def _result_of(job: JobOutcome) -> EvaluationResult:
    """Returns what the agent of a job played."""
    for result in _results(job):
        if result.policy == job.content["algorithm"]:
            return result
    raise FileNotFoundError(f"{job.folder / RESULTS_FOLDER} has no result of {job.content['algorithm']}")


def _decisions(job: JobOutcome) -> str:
    """Writes the decisions that a job made, and those requested where they differ."""
    made, asked = int(job.content["num_timesteps"]), int(job.content["total_timesteps"])
    return f"{made:,}" + f" ({asked:,} requested)" * (made != asked)


def _name(job: JobOutcome, jobs: Sequence[JobOutcome]) -> str:
    """Names a job by what sets it apart from the others, or by its folder."""
    return " ".join(_own(job, jobs)) or job.folder.name


def _agent(job: JobOutcome, jobs: Sequence[JobOutcome]) -> str:
    """Names the agent of a job: its algorithm, and what sets it apart beside workload and seed."""
    algorithm = str(job.content["algorithm"])
    own = [word for word in _own(job, jobs) if _group(word) not in OF_SETTING and word != f"algorithm={algorithm}"]
    return " ".join([algorithm, *own])


def _described(job: JobOutcome, jobs: Sequence[JobOutcome]) -> str:
    """Names a workload, and what of the environment sets it apart."""
    own = [word for word in _own(job, jobs) if _group(word) in ("env", "workload") and not word.startswith("workload=")]
    return " ".join([_workload(job), *own])


def _own(job: JobOutcome, jobs: Collection[JobOutcome]) -> list[str]:
    """Lists the overrides of a job that others do not have."""
    words = [word for word in job.overrides if _group(word) not in OF_COMMAND]
    return [word for word in words if not all(word in other.overrides for other in jobs)]


def _group(override: str) -> str:
    return override.partition("=")[0].partition(".")[0].lstrip("+")


def _workload(job: JobOutcome) -> str:
    return str(job.content["workload"])


def _order(job: JobOutcome) -> tuple[str, str, int]:
    return (_workload(job), str(job.content["algorithm"]), int(job.content["seed"]))


def _row(job: JobOutcome, jobs: Sequence[JobOutcome]) -> tuple[str, ...]:
    content = job.content
    estimate = content["estimate"]
    numbers = (estimate["mean"], estimate["low"], estimate["high"])
    return (
        _name(job, jobs),
        content["algorithm"],
        _workload(job),
        str(content["seed"]),
        str(content["total_timesteps"]),
        str(content["num_timesteps"]),
        content["metric"],
        *("" if number is None else repr(number) for number in numbers),
        content["best_heuristic"],
        repr(content["over_best_heuristic"]["mean"]),
        "" if content["bound"] is None else repr(content["bound"]),
        f"{content['seconds']:.1f}",
        job.folder.name,
        "",
    )
