"""Checks what a sweep ends with: tables by workload, a figure, and a row for each job."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from flowsched_gym.baselines.applications.leftovers import write_failure
from flowsched_gym.baselines.applications.multirun import SweepTables, read_jobs, scores_by_setting
from flowsched_gym.baselines.applications.sweep_folders import job_folder
from flowsched_gym.evaluation import BOUND_POLICY, evaluate, evaluate_bound, write_result

ENVIRONMENT = "flowsched/Artemis-v0"
KWARGS = {"workload": "gather-heavy", "bursts": 12, "k": 3, "f": 10}
EPISODES = 10


def leave(folder: Path, seed: int, policy: str) -> Path:
    """Leaves what a job leaves whose agent does what a heuristic does."""
    job = folder / f"job{seed}"
    (job / ".hydra").mkdir(parents=True)
    (job / ".hydra" / "overrides.yaml").write_text(json.dumps(["algorithm=ppo", f"seed={seed}"]), encoding="utf-8")
    for name, label in ((policy, "ppo"), ("edf", "edf"), ("fifo", "fifo")):
        result = evaluate(ENVIRONMENT, name, episodes=EPISODES, seed=0, kwargs=KWARGS, label=label)
        write_result(result, job / "results" / f"{label}.json")
        if label == "ppo":
            mean = float(result.values("deadline_hit_ratio").mean())
    bound = evaluate_bound(ENVIRONMENT, episodes=EPISODES, seed=0, kwargs=KWARGS)
    write_result(bound, job / "results" / "bound.json")
    content = {"workload": "gather-a1", "environment": ENVIRONMENT, "kwargs": KWARGS, "algorithm": "ppo", "seed": seed}
    content |= {
        "total_timesteps": 1000,
        "num_timesteps": 1024,
        "seconds": 12.3,
        "metric": "deadline_hit_ratio",
        "best_heuristic": "fifo",
    }
    content |= {"evaluation": {"episodes": EPISODES}, "bound": 0.9, "over_best_heuristic": {"mean": 0.1}}
    content |= {"estimate": {"mean": mean, "low": None, "high": None}}
    (job / "result.json").write_text(json.dumps(content), encoding="utf-8")
    return job


def test_agents_are_averaged_over_their_training_seeds_beside_heuristics_and_bound(tmp_path, capsys) -> None:
    for seed, policy in enumerate(["sjf", "lifo"]):
        leave(tmp_path, seed, policy)
    (tmp_path / "job2" / ".hydra").mkdir(parents=True)
    (tmp_path / "job2" / ".hydra" / "overrides.yaml").write_text('["algorithm=ppo", "seed=2"]', encoding="utf-8")
    write_failure(tmp_path / "job2", "the disk is full")
    (tmp_path / "job3" / ".hydra").mkdir(parents=True)
    (tmp_path / "job3" / ".hydra" / "overrides.yaml").write_text('["algorithm=ppo", "seed=3"]', encoding="utf-8")

    SweepTables().on_multirun_end(OmegaConf.create({"hydra": {"sweep": {"dir": str(tmp_path)}}}))

    (setting,) = scores_by_setting(read_jobs(tmp_path))
    scores = {score.name: score for score in setting.scores}
    assert (set(scores), scores["ppo"].runs, setting.best) == ({"ppo", "edf", "fifo"}, 2, "fifo")
    means = [
        evaluate(ENVIRONMENT, policy, episodes=EPISODES, seed=0, kwargs=KWARGS).values("deadline_hit_ratio").mean()
        for policy in ("sjf", "lifo", "fifo")
    ]
    assert scores["ppo"].estimate.mean == pytest.approx(np.mean(means[:2]))
    assert scores["ppo"].over_best.mean == pytest.approx(np.mean(means[:2]) - means[2])
    assert scores["ppo"].estimate.low < scores["ppo"].estimate.mean < scores["ppo"].estimate.high
    assert setting.bound.mean > scores["edf"].estimate.mean

    out, markdown = capsys.readouterr().out, (tmp_path / "table.md").read_text(encoding="utf-8")
    row = next(line.split() for line in out.splitlines() if line.startswith("ppo"))
    assert row[:6] == ["ppo", "2", "1,024", "(1,000", "asked", "for)"]
    assert row[6] == f"{100 * np.mean(means[:2]):.1f}"
    for text in ("gather-a1: deadlines met, %", BOUND_POLICY, "seed=2: the disk is full", "seed=3: not finished"):
        assert text in out
        assert text in markdown
    assert (tmp_path / "comparison.png").stat().st_size > 0
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["job"], row["failure"]) for row in rows] == [
        ("seed=0", ""), ("seed=1", ""), ("seed=2", "the disk is full"), ("seed=3", "not finished"),
    ]  # fmt: skip
    assert (rows[0]["requested decisions"], rows[0]["decisions"]) == ("1000", "1024")
    assert float(rows[0]["mean"]) == pytest.approx(means[0])


def test_the_folder_of_a_job_depends_on_its_settings_and_on_nothing_else() -> None:
    first = job_folder("a/b", {"seed": 0, "env": {"k": 3, "f": 4}})
    assert first == job_folder("a/b", {"env": {"f": 4, "k": 3}, "seed": 0})
    assert first != job_folder("a/b", {"seed": 1, "env": {"k": 3, "f": 4}})
    assert first.startswith("a-b-")
    assert "/" not in first
