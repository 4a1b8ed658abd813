"""Runs sweeps as a user does, loses workers, kills and continues them, and reads the tables that they end with."""

import csv
import errno
import json
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import numpy as np
import pytest
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from benchmarks import agents
from flowsched_gym.baselines.applications import comparison
from flowsched_gym.baselines.applications.comparison import Comparison, KeptResults, play_all
from flowsched_gym.baselines.applications.comparison_report import write_comparison
from flowsched_gym.baselines.applications.leftovers import write_failure
from flowsched_gym.baselines.applications.multirun import SweepTables, read_jobs, scores_by_setting
from flowsched_gym.baselines.configuration.environment_defaults import IDENTITY, RESOLVERS, job_folder
from flowsched_gym.baselines.train import main
from flowsched_gym.baselines.training.trainer import DECISIVE
from flowsched_gym.core.packed import files_in, read_bytes
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    ModelFile,
    Run,
    evaluate,
    evaluate_bound,
    write_result,
)
from flowsched_gym.players import find_player
from tests.baselines.small_training import NETWORK, SMALL
from tests.processes import call, end, rows_of, run
from tests.repository import ROOT

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


ENDLESS: Final = """
import os, time
from pathlib import Path
from flowsched_gym.baselines.applications.application import run_application

def job(config, content, folder, command):
    (folder / "begun").touch()
    with Path("pid.txt").open("a") as file:
        file.write(f"{os.getpid()} ")
    try:
        time.sleep(3000)
    finally:
        (folder / "ended").touch()

run_application("flowsched-train", "train", job)
"""
"""Runs jobs that do not end, and that tell that they were asked to."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.exhaustive)])
def test_a_sweep_that_is_asked_to_end_ends_its_workers_and_lets_them_clean_up(number, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("-m", "launcher=joblib", "hydra.launcher.n_jobs=2", "seed=0,1,2", "sweep_dir=sweep")
    status = end(sys.executable, "-c", ENDLESS, *words, number=number, started=tmp_path / "pid.txt")
    assert status == 128 + number
    assert [len(list(tmp_path.glob(f"sweep/*/{name}"))) for name in ("begun", "ended")] == [2, 2]


@pytest.mark.parametrize("mode", [(), ("-m", "seed=0,1", "sweep_dir=sweep")])
def test_a_disk_that_is_full_from_the_start_is_one_line_and_leaves_nothing(mode, tmp_path, monkeypatch, capsys) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hydra.core.utils._save_config", fill)
    assert call("flowsched-train", main, *mode, "run_name=first") == 2
    named = tmp_path / ("sweep" if mode else "runs/first")
    assert capsys.readouterr().err == f"flowsched-train: [Errno 28] No space left on device: '{named}'\n"
    assert list(tmp_path.iterdir()) == []


def failures_of(folder: Path) -> list[tuple[str, str]]:
    """Returns seed and failure of each job."""
    return [(row["seed"], row["failure"]) for row in rows_of(folder / "sweep" / "table.csv")]


def log_of(folder: Path, seed: int) -> str:
    log = sorted(folder.glob(f"sweep/*-seed{seed}-*/train.log"))[0]
    return log.read_text(encoding="utf-8")


@pytest.mark.exhaustive
@pytest.mark.parametrize("lost", ["worker", pytest.param("node", marks=pytest.mark.exhaustive)])
def test_a_sweep_on_a_cluster_of_ray_that_loses_a_part_ends_complete(lost, tmp_path) -> None:
    words = (*SWEEP, "launcher=ray", "seed=0,1")

    run(sys.executable, "-c", LOSING, *words, folder=tmp_path, LOSE=lost, **PRIVATE)

    assert failures_of(tmp_path) == [("0", ""), ("1", "")]
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

    assert failures_of(tmp_path) == [("0", ""), ("1", ""), ("2", "")]
    assert finished.stat().st_mtime_ns == written
    assert "resuming from" in log_of(tmp_path, 1)
    assert len(list(tmp_path.glob("sweep/*/result.json"))) == 3
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("a2c ")]
    assert lines[-1][:2] == ["a2c", "3"]


@pytest.mark.exhaustive
def test_the_agents_of_the_suite_are_one_sweep_that_can_be_interrupted_and_leaves_models(tmp_path, monkeypatch) -> None:
    """The sweep loses its process at the second of four trainings, and what keeps the models goes on with it."""
    small = (
        *("algorithm.num_envs=40", "workload.bursts=4", "total_timesteps=3000", "checkpoints.interval=1000"),
        *("evaluation.interval=1500", "evaluation.interim_episodes=1", "evaluation.episodes=1"),
        *("evaluation.baselines=[edf]", "progress_bar=false"),
    )
    both = "agent=artemis-heavy-postpone-cmaes,artemis-uniform-postpone-cmaes"
    words = ("-m", both, "seed=range(2)", "sweep_dir=sweep", *small)
    run(sys.executable, "-c", LOSING, *words, folder=tmp_path, status=-signal.SIGKILL)
    (finished,) = tmp_path.glob("sweep/*/result.json")
    written = finished.stat().st_mtime_ns

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(agents, "MODELS", tmp_path / "models")

    def train_here(command, check):
        """Trains in this process: to import all anew would take longer."""
        assert check
        assert command[0].exists()
        monkeypatch.setattr(sys, "argv", [command[0].name, *command[1:]])
        main()

    monkeypatch.setattr(agents, "subprocess", SimpleNamespace(run=train_here))
    only = "--only artemis-heavy-postpone --only artemis-uniform-postpone --seeds 2 --folder sweep"
    monkeypatch.setattr(sys, "argv", ["agents", *only.split(), *small])
    agents.main()

    assert finished.stat().st_mtime_ns == written
    assert "resuming from" in log_of(tmp_path, 1)
    for setting in ("artemis-heavy-postpone", "artemis-uniform-postpone"):
        kept = tmp_path / "models" / setting / "cmaes"
        assert [path.name for path in files_in(kept, ".zip")] == ["seed0.zip", "seed1.zip"]
        rows = list(csv.DictReader(read_bytes(kept / "curve.csv").decode().splitlines()))
        assert {row["seed"] for row in rows} == {"0", "1"}
        assert {row["metric"] for row in rows} == {METRIC}


@pytest.mark.exhaustive  # four processes that import torch
def test_jobs_go_through_the_launcher_of_slurm_and_a_lost_one_is_reported(tmp_path) -> None:
    """Submitit's executor on this machine takes the place of a queue."""
    words = (*SWEEP, "launcher=slurm", "hydra/launcher=submitit_local", "seed=1")

    lost = run(sys.executable, "-c", LOSING, *words, folder=tmp_path, status=1)

    assert "flowsched-train: a worker was lost: " in lost.err
    assert "the same command with sweep_dir=sweep goes on where this one stopped" in lost.err
    assert "Traceback" not in lost.err
    run(sys.executable, "-c", LOSING, *words, folder=tmp_path)
    assert failures_of(tmp_path) == [("1", "")]
    assert "resuming from" in log_of(tmp_path, 1)


ENVIRONMENT = "flowsched/Artemis-v0"
METRIC = "deadline_hit_ratio"
KWARGS = {"workload": "gather-heavy", "bursts": 12, "k": 3, "f": 10}
HOW = {"episodes": 10, "seed": 0, "kwargs": KWARGS}


def begin(folder: Path, seed: int) -> Path:
    """Leaves what a job leaves that has begun, the second one by a command that showed no bar."""
    job = folder / f"job{seed}"
    (job / ".hydra").mkdir(parents=True)
    words = ["algorithm=ppo", f"seed={seed}", *["progress_bar=false"] * (seed == 1)]
    (job / ".hydra" / "overrides.yaml").write_text(json.dumps(words), encoding="utf-8")
    return job


def leave(folder: Path, seed: int, policy: str) -> None:
    """Leaves what a job leaves whose agent does what a heuristic does."""
    job = begin(folder, seed)
    rules = {"ppo": policy, "edf": "edf", "fifo": "fifo"}
    results = {label: evaluate(ENVIRONMENT, name, label=label, **HOW) for label, name in rules.items()}
    results["bound"] = evaluate_bound(ENVIRONMENT, **HOW)
    for label, result in results.items():
        write_result(result, job / "results" / f"{label}.json")
    mean = float(results["ppo"].values(METRIC).mean())
    content = {"workload": "gather-a1", "environment": ENVIRONMENT, "kwargs": KWARGS, "algorithm": "ppo", "seed": seed}
    content |= {"total_timesteps": 1000, "num_timesteps": 1024, "seconds": 12.3, "metric": METRIC}
    content |= {"best_heuristic": "fifo", "estimate": {"mean": mean, "low": None, "high": None}}
    content |= {"evaluation": {"episodes": 10}, "bound": 0.9, "over_best_heuristic": {"mean": 0.1}}
    (job / "result.json").write_text(json.dumps(content), encoding="utf-8")


def test_agents_are_averaged_over_their_training_seeds_beside_heuristics_and_bound(tmp_path, capsys) -> None:
    for seed, policy in enumerate(["sjf", "lifo"]):
        leave(tmp_path, seed, policy)
    write_failure(begin(tmp_path, 2), "the disk is full")
    begin(tmp_path, 3)

    SweepTables().on_multirun_end(OmegaConf.create({"hydra": {"sweep": {"dir": str(tmp_path)}}}))

    (setting,) = scores_by_setting(read_jobs(tmp_path))
    scores = {score.name: score for score in setting.scores}
    assert (set(scores), scores["ppo"].runs, setting.best) == ({"ppo", "edf", "fifo"}, 2, "fifo")
    means = [evaluate(ENVIRONMENT, policy, **HOW).values(METRIC).mean() for policy in ("sjf", "lifo", "fifo")]
    assert scores["ppo"].estimate.mean == pytest.approx(np.mean(means[:2]))
    assert scores["ppo"].over_best.mean == pytest.approx(np.mean(means[:2]) - means[2])
    assert scores["ppo"].estimate.low < scores["ppo"].estimate.mean < scores["ppo"].estimate.high
    assert setting.bound.mean > scores["edf"].estimate.mean

    out, markdown = capsys.readouterr().out, (tmp_path / "table.md").read_text(encoding="utf-8")
    row = next(line.split() for line in out.splitlines() if line.startswith("ppo"))
    assert row[:5] == ["ppo", "2", "1,024", "(1,000", "requested)"]
    assert row[5] == f"{100 * np.mean(means[:2]):.1f}"
    for text in ("gather-a1: deadlines met, %", BOUND_POLICY, "seed=2: the disk is full", "seed=3: not finished"):
        assert text in out
        assert text in markdown
    assert (tmp_path / "comparison.png").stat().st_size > 0
    rows = rows_of(tmp_path / "table.csv")
    assert [row["job"] for row in rows] == ["seed=0", "seed=1", "seed=2", "seed=3"]
    assert [row["failure"] for row in rows] == ["", "", "the disk is full", "not finished"]
    assert (rows[0]["requested decisions"], rows[0]["decisions"]) == ("1000", "1024")
    assert float(rows[0]["mean"]) == pytest.approx(means[0])

    rows = rows_of(tmp_path / "results.csv")
    assert list(rows[0]) == re.findall(r"^\| `(\w+)` \|", read_schema(), re.MULTILINE)
    found = {(row["policy"], row["training_seed"], int(row["episode_seed"])): float(row["value"]) for row in rows}
    assert len(found) == len(rows)
    assert {row["metric"] for row in rows} == {METRIC}
    for seed, policy in enumerate(["sjf", "lifo"]):
        result = evaluate(ENVIRONMENT, policy, **HOW)
        assert [found["ppo", str(seed), each] for each in result.seeds] == list(result.values(METRIC))
    assert {seed for policy, seed, _ in found if policy != "ppo"} == {""}
    assert {policy for policy, *_ in found} == {"ppo", "edf", "fifo", BOUND_POLICY}


def read_schema() -> str:
    text = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    return text.partition("## Results of a sweep")[2].partition("\n## ")[0]


def test_a_sweep_tells_after_each_job_how_long_the_others_may_take(tmp_path, monkeypatch, caplog) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    words = {"overrides": {"task": ["agent=glob(*)", "env.k=3"]}, "sweeper": {"params": {"seed": "range(0,2)"}}}
    config = OmegaConf.create({"hydra": words})
    callback, loader = SweepTables(), SimpleNamespace(get_group_options=lambda *_, **__: ["one", "two"])
    monkeypatch.setattr(GlobalHydra.instance(), "hydra", SimpleNamespace(config_loader=loader))
    callback.on_multirun_start(config)
    with caplog.at_level("INFO"):
        for seconds in (0.1, 30.0, 50.0, 40.0):  # the first one had finished before
            callback.on_job_start(config)
            now[0] += seconds
            callback.on_job_end(config, job_return=None)
    assert caplog.messages == ["job 2 of 4 has ended, about 1:00 left", "job 3 of 4 has ended, about 0:40 left"]


def test_the_folder_of_a_job_depends_on_its_settings_and_on_nothing_else() -> None:
    first = job_folder("a/b", {"seed": 0, "env": {"k": 3, "f": 4}})
    assert first == job_folder("a/b", {"env": {"f": 4, "k": 3}, "seed": 0})
    assert first != job_folder("a/b", {"seed": 1, "env": {"k": 3, "f": 4}})
    assert first.startswith("a-b-")
    assert "/" not in first
    settings = dict.fromkeys((*IDENTITY, *DECISIVE)) | {"run_name": "a"}
    named = {RESOLVERS["job_folder"](_root_=OmegaConf.create(settings | {name: "other"})) for name in settings}
    assert len(named) == len(settings), "each setting that decides the weights sets a job apart"


RULE = "edf, the best rule with its actions and information"
ARGUMENTS = {"workload": "gather-heavy", "bursts": 2}


@pytest.fixture(scope="module")
def edf() -> EvaluationResult:
    return evaluate(ENVIRONMENT, "edf", episodes=10, seed=0, kwargs=ARGUMENTS)


def named(result: EvaluationResult, policy: str, add: float = 0.0, spread: float = 0.0) -> EvaluationResult:
    """Returns a result under another name, its metric raised by the same in each episode, or by more and less."""
    changes = add + spread * np.tile([1.0, -1.0], 5)
    episodes = tuple(
        replace(episode, metrics=episode.metrics | {METRIC: episode.metrics[METRIC] + float(change)})
        for episode, change in zip(result.runs[0].episodes, changes, strict=True)
    )
    run = Run(model=ModelFile(name="model.zip", digest=""), episodes=episodes)
    return replace(result, policy=policy, source=None, runs=(run,))


def test_a_difference_counts_where_its_interval_leaves_zero_out_and_a_tie_stands_behind_the_rule(edf, tmp_path) -> None:
    fct = {policy: (np.ones(3),) * 10 for policy in ("ppo", "edf")}
    for add, spread, first, sentence in (
        (0.01, 0.0, "ppo", f"ppo is better than {RULE}: deadlines met, % +1.0 [+1.0, +1.0]"),
        (-0.01, 0.0, "edf", f"ppo is worse than {RULE}: deadlines met, % -1.0 [-1.0, -1.0]"),
        (0.001, 0.1, "ppo", f"no significant difference between ppo and {RULE}: deadlines met, % +0.1 ["),
        (0.0, 0.0, "edf", f"no significant difference between ppo and {RULE}: equal in every episode"),
    ):
        found = Comparison(results=(named(edf, "ppo", add, spread), edf), fct=fct, learned=("ppo",))
        lines = write_comparison(found, tmp_path, metric=METRIC, title="both")[0].splitlines()
        assert lines[1].split()[0] == first
        assert lines[-1].startswith(sentence)
        assert lines[-1] in (tmp_path / "comparison.md").read_text(encoding="utf-8")


def play(folder, **changes):
    asked = {"kwargs": ARGUMENTS, "episodes": 2, "seed": 5} | changes
    players = [find_player(name, ENVIRONMENT) for name in ("edf", "random")]
    return play_all(ENVIRONMENT, asked.pop("kwargs"), players, bound=True, kept=folder, **asked)


def figures(found):
    return [(result.policy, result.seeds, result.values(METRIC).tolist()) for result in found.results]


def test_what_was_played_is_not_played_again_unless_it_cannot_be_read(tmp_path, monkeypatch) -> None:
    first = play(tmp_path)
    played: list[str] = []
    with monkeypatch.context() as patch:
        for name in ("evaluate", "evaluate_bound"):
            patch.setattr(comparison, name, lambda *_, label="bound", **__: played.append(label))
        again = play(tmp_path)

    assert played == []
    assert figures(again) == figures(first)
    assert all((again.fct[name][1] == first.fct[name][1]).all() for name in ("edf", "random"))
    for path in tmp_path.rglob("result.json"):
        path.write_text("{", encoding="utf-8")
    assert figures(play(tmp_path)) == figures(first)


def test_other_arguments_episodes_seeds_sources_and_files_are_played(tmp_path, monkeypatch) -> None:
    play(tmp_path)
    kept = len(list(tmp_path.iterdir()))
    for number, changes in enumerate(({"seed": 6}, {"episodes": 1}, {"kwargs": ARGUMENTS | {"k": 2}}), 2):
        play(tmp_path, **changes)
        assert len(list(tmp_path.iterdir())) == number * kept
    monkeypatch.setattr(comparison, "_sources", lambda: "changed")
    play(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5 * kept
    play(tmp_path, kwargs={"workload": {"base": "gather-heavy", "bursts": 2}})
    assert len(list(tmp_path.iterdir())) == 5 * kept
    shelf, place = KeptResults(tmp_path), ("flowsched/MERPOrder-v0", {"topology": "net.yaml"}, "edf")
    shelf.keep((evaluate(ENVIRONMENT, "edf", episodes=1, seed=0, kwargs=ARGUMENTS), ()), *place, seed=0)
    assert shelf.find(*place, episodes=1, seed=0) is None, "its file may have changed"
