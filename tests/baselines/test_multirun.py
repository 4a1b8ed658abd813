"""Holds the table over the jobs of a multirun to what the jobs left."""

import csv
import json
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from flowsched_gym.baselines.applications.leftovers import write_failure
from flowsched_gym.baselines.applications.multirun import TableOfJobs, read_jobs, table_of_jobs


def leave(folder: Path, number: int, overrides: list[str], **changes: Any) -> Path:
    """Leaves what a job leaves."""
    job = folder / str(number)
    (job / ".hydra").mkdir(parents=True)
    (job / ".hydra" / "overrides.yaml").write_text(json.dumps(overrides), encoding="utf-8")
    estimate = {"mean": 0.6 + number / 100, "low": 0.5, "high": 0.7}
    content = {"workload": "gather-a1", "algorithm": "ppo", "seed": 0, "num_timesteps": 1000, "seconds": 12.3}
    content |= {"metric": "deadline_hit_ratio", "estimate": estimate, "best_heuristic": "edf", "bound": 0.9}
    content |= {"ratio_to_best_heuristic": {"mean": 1.25, "low": None, "high": None}}
    (job / "result.json").write_text(json.dumps(content | changes), encoding="utf-8")
    return job


def test_the_best_job_of_each_workload_comes_first(tmp_path) -> None:
    for number, workload in enumerate(["gather-a2", "gather-a1", "gather-a2", "gather-a1"]):
        leave(tmp_path, number, [f"workload={workload}", f"seed={number}"], workload=workload)
    order = [row[0].split()[0] for row in table_of_jobs(read_jobs(tmp_path)).rows]
    assert order == ["3", "1", "2", "0"]


def test_the_best_job_is_the_one_with_the_smallest_time_where_times_are_compared(tmp_path) -> None:
    for number in range(3):
        leave(tmp_path, number, [f"seed={number}"], metric="mean_fct")
    assert [row[0].split()[0] for row in table_of_jobs(read_jobs(tmp_path)).rows] == ["0", "1", "2"]


def test_a_row_tells_estimate_interval_and_ratio(tmp_path) -> None:
    leave(tmp_path, 4, ["seed=1"])
    (row,) = table_of_jobs(read_jobs(tmp_path)).rows
    text = "ppo gather-a1 0 1,000 deadline_hit_ratio 0.640_[0.500,_0.700] edf 1.250 0.900 12"
    assert row[1:] == tuple(word.replace("_[", " [").replace(",_", ", ") for word in text.split())


def test_a_failed_job_comes_last_with_its_reason(tmp_path) -> None:
    failed = leave(tmp_path, 0, ["algorithm.gamma=2"])
    (failed / "result.json").unlink()
    write_failure(failed, "gamma is 2")
    leave(tmp_path, 1, ["algorithm.gamma=0.9"])

    rows = table_of_jobs(read_jobs(tmp_path)).rows

    assert [row[0] for row in rows] == ["1 algorithm.gamma=0.9", "0 algorithm.gamma=2"]
    assert rows[-1][1] == "failed: gamma is 2"


def test_the_table_is_printed_and_written_as_markdown_and_csv(tmp_path, capsys) -> None:
    leave(tmp_path, 0, ["seed=1"])

    TableOfJobs().on_multirun_end(OmegaConf.create({"hydra": {"sweep": {"dir": str(tmp_path)}}}))

    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        header, row = csv.reader(file)
    assert (header[0], row[0]) == ("job", "0 seed=1")
    assert (tmp_path / "table.md").read_text(encoding="utf-8").startswith("| job |")
    assert "0 seed=1" in capsys.readouterr().out
