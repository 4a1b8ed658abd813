"""Runs sweeps as a user does, loses workers, kills and continues them, and reads the tables that they end with."""

import csv
import json
import signal
import sys
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from omegaconf import OmegaConf

from flowsched_gym.baselines.applications.leftovers import write_failure
from flowsched_gym.baselines.applications.multirun import SweepTables, read_jobs, scores_by_setting
from flowsched_gym.baselines.applications.sweep_folders import job_folder
from flowsched_gym.baselines.train import main
from flowsched_gym.evaluation import BOUND_POLICY, evaluate, evaluate_bound, write_result
from tests.baselines.small_training import NETWORK, SMALL
from tests.processes import run

SWEEP: Final = (
    *("-m", *(word for word in SMALL if not word.startswith("run_name")), *NETWORK, "algorithm=a2c"),
    *("vectorization=dummy", "total_timesteps=256", "checkpoints.interval=64", "evaluation.interval=100000"),
    "sweep_dir=sweep",
)
LOSING: Final = """
import os, signal, sys
from flowsched_gym.baselines import train
from flowsched_gym.baselines.applications.application import run_application

def job(config, content, folder, command):
    from flowsched_gym.baselines.training.callbacks import Checkpoints
    save = Checkpoints.save

    def save_and_die(self):
        save(self)
        if os.environ.get("LOSE") == "node":
            parent = os.getppid()
            assert "raylet" in open(f"/proc/{parent}/comm").read()
            os.kill(parent, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    if config.seed == 1 and not (folder / "checkpoints").exists():
        Checkpoints.save = save_and_die
    train.job(config, content, folder, command)

if "launcher=ray" in sys.argv:
    from ray.cluster_utils import Cluster

    # Where a node will be lost, the head computes nothing, as Ray ends without it; otherwise it does all the work.
    nodes = 2 if os.environ.get("LOSE") == "node" else 0
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0 if nodes else 1, "include_dashboard": False})
    for _ in range(nodes):
        cluster.add_node(num_cpus=1)
    sys.argv.append(f"hydra.launcher.ray.init.address={cluster.address}")
run_application("flowsched-train", "train", job)
"""
"""Trains; the job of seed 1 kills its process after its first checkpoint, once; with LOSE=node, Ray's node as well."""
PRIVATE: Final = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


def rows_of(folder: Path) -> list[tuple[str, str]]:
    """Returns seed and failure of each job."""
    with (folder / "sweep" / "table.csv").open(newline="", encoding="utf-8") as file:
        return [(row["seed"], row["failure"]) for row in csv.DictReader(file)]


def log_of(folder: Path, seed: int) -> str:
    (log,) = folder.glob(f"sweep/*-seed{seed}-*/train.log")
    return log.read_text(encoding="utf-8")


@pytest.mark.parametrize("lost", ["worker", pytest.param("node", marks=pytest.mark.exhaustive)])
def test_a_sweep_on_a_cluster_of_ray_that_loses_a_part_ends_complete(lost, tmp_path) -> None:
    words = (*SWEEP, "launcher=ray", "seed=0,1")

    run(sys.executable, "-c", LOSING, *words, folder=tmp_path, LOSE=lost, **PRIVATE)

    assert rows_of(tmp_path) == [("0", ""), ("1", "")]
    assert "resuming from" in log_of(tmp_path, 1)
    assert "resuming from" not in log_of(tmp_path, 0)


def test_a_killed_sweep_goes_on_where_it_stopped_and_runs_nothing_twice(tmp_path, monkeypatch, capsys) -> None:
    run(sys.executable, "-c", LOSING, *SWEEP, "seed=0,1", folder=tmp_path, status=-signal.SIGKILL)
    (finished,) = tmp_path.glob("sweep/*/result.json")
    written = finished.stat().st_mtime_ns
    assert not (tmp_path / "sweep" / "table.csv").exists()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["flowsched-train", "-m", "seed=2,1,0", *SWEEP[1:]])
    main()

    assert rows_of(tmp_path) == [("0", ""), ("1", ""), ("2", "")]
    assert finished.stat().st_mtime_ns == written
    assert "resuming from" in log_of(tmp_path, 1)
    assert len(list(tmp_path.glob("sweep/*/result.json"))) == 3
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines() if line[:4] == "a2c "][-1:] == [
        ["a2c", "3"]
    ]


@pytest.mark.exhaustive  # four processes that import torch
def test_jobs_go_through_the_launcher_of_slurm_and_a_lost_one_is_reported(tmp_path) -> None:
    """Submitit's executor on this machine takes the place of a queue."""
    words = (*SWEEP, "launcher=slurm", "hydra/launcher=submitit_local", "seed=1")

    lost = run(sys.executable, "-c", LOSING, *words, folder=tmp_path, status=1)

    assert "flowsched-train: a worker was lost: " in lost.err
    assert "the same command with sweep_dir=sweep goes on where this one stopped" in lost.err
    assert "Traceback" not in lost.err
    run(sys.executable, "-c", LOSING, *words, folder=tmp_path)
    assert rows_of(tmp_path) == [("1", "")]
    assert "resuming from" in log_of(tmp_path, 1)


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
    content |= {"total_timesteps": 1000, "num_timesteps": 1024, "seconds": 12.3, "metric": "deadline_hit_ratio"}
    content |= {"best_heuristic": "fifo"}
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
