"""Runs sweeps as a user does: on a cluster that loses a worker, through Slurm's launcher, killed and continued."""

import csv
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

from flowsched_gym.baselines.train import main
from tests.baselines.small_training import NETWORK, SMALL
from tests.processes import run

SWEEP: Final = (
    "-m",
    *(word for word in SMALL if not word.startswith("run_name")),
    *NETWORK,
    "algorithm=a2c",
    "vectorization=dummy",
    "total_timesteps=256",
    "checkpoints.interval=64",
    "evaluation.interval=100000",
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
