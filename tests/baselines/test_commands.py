"""Runs the commands as a user does: in processes of their own, killed, mistyped, and several jobs at once."""

import csv
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import torch
from joblib.externals.loky import get_reusable_executor

from flowsched_gym.baselines.applications.options import options_first
from flowsched_gym.baselines.evaluate import main as evaluate_main
from flowsched_gym.baselines.run_heuristics import main as heuristics_main
from flowsched_gym.baselines.train import main as train_main
from flowsched_gym.evaluation import read_result
from tests.baselines.small_training import SMALL, weights_of
from tests.processes import run

TRAIN: Final = (sys.executable, "-m", "flowsched_gym.baselines.train")
FEW: Final = (*(override for override in SMALL if not override.startswith("run_name")),)
PPO: Final = ("algorithm.batch_size=32", "algorithm.n_epochs=2")
KILLED: Final = """
import os, signal
from flowsched_gym.baselines.training.callbacks import Checkpoints
from flowsched_gym.baselines.train import main

save = Checkpoints.save

def save_or_die(self):
    if os.path.isdir("runs/killed/checkpoints"):
        os.kill(os.getpid(), signal.SIGKILL)
    save(self)

Checkpoints.save = save_or_die
main()
"""
"""Trains, and is killed when it is about to write its second checkpoint."""


def call(name: str, command: Callable[[], None], *words: str) -> int:
    """Runs a command in this process, without its log; returns its status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [name, *words, "hydra/job_logging=none", "hydra/hydra_logging=none"])
        try:
            command()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_killed_training_resumes_and_ends_as_if_it_had_not_been_killed(here) -> None:
    words = (*FEW, *PPO, "total_timesteps=256", "evaluation.interval=100000", "checkpoints.interval=64")
    assert call("flowsched-train", train_main, *words, "run_name=whole") == 0
    run(sys.executable, "-c", KILLED, *words, "run_name=killed", folder=here, status=-signal.SIGKILL)
    assert [path.stem.isdigit() for path in (here / "runs" / "killed" / "checkpoints").iterdir()] == [True]

    assert call("flowsched-train", train_main, *words, "run_name=killed", "resume=true") == 0

    whole, killed = (weights_of(here / "runs" / name / "model.zip") for name in ("whole", "killed"))
    assert [name for name in whole if not torch.equal(whole[name], killed[name])] == []


@pytest.fixture(scope="module")
def workers() -> Iterator[None]:
    """Keeps the processes of ``launcher=joblib``, which take seconds to import what they need, for the next sweep."""
    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.fixture
def _log_as_before() -> Iterator[None]:
    """Takes the log of a command, which goes to the standard error of one test, away again."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.mark.usefixtures("workers", "_log_as_before")
@pytest.mark.parametrize("launcher", ["joblib", pytest.param("local", marks=pytest.mark.exhaustive)])
def test_a_sweep_over_workloads_ends_with_a_table_of_each(launcher, here, monkeypatch, capfd) -> None:
    words = ("-m", "workload=gather-a1,gather-a2", f"launcher={launcher}", *FEW, *PPO)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "argv", ["flowsched-train", *words, "sweep_dir=sweep", "progress_bar=true"])

    train_main()

    out, err = capfd.readouterr()
    assert " step 256: deadline_hit_ratio " in out + err, "what the jobs print is read here"
    assert "Traceback" not in err
    assert "\x1b" not in out + err
    with (here / "sweep" / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["workload"], row["failure"]) for row in rows] == [("gather-a1", ""), ("gather-a2", "")]
    assert "gather-a1: deadlines met, %" in out
    assert "gather-a2: deadlines met, %" in out


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("words", [("env.k=0,-1", "launcher=joblib"), ("algorithm.gamma=7,8",)])
def test_a_multirun_of_wrong_values_leaves_no_folder_either(words, here) -> None:
    assert call("flowsched-train", train_main, "-m", *words) == 2
    assert list(here.iterdir()) == []


def test_bad_usage_leaves_with_status_2_and_no_traceback(here, capsys) -> None:
    for words, message in (
        ("algorithm.gama=0.9", "algorithm has no key 'gama': it has "),
        ("algorithm=dqn", "algorithm is 'dqn': it must be one of a2c, "),
        ("env.k=many", "env.k"),
        ("run_name=../../..", "run_name is '../../..': it must be the name of a folder inside runs/"),
        ("algorithm.gamma=7", "flowsched-train: algorithm.gamma is 7.0: it must be in [0, 1]"),
        ("env.k=0", "flowsched-train: k is 0: it must be an integer >= 1"),
        ("experiment=absent.yaml", "experiment is 'absent.yaml': there is no such file"),
        ("total_timesteps=4096", "total_timesteps is 4,096: ppo first updates its weights after 8,192 decisions"),
        ("episodes=3", "the configuration has no key 'episodes': it is evaluation.episodes here"),
        ("--workload gater-a1", "there is no option --workload: settings have no dashes, workload=gater-a1"),
        ("workload=gater-a1", "(did you mean 'gather-a1'?)"),
        ("workload=mine.yaml", "--config-dir FOLDER workload=mine reads FOLDER/workload/mine.yaml"),
        ("start=edf algorithm=cmaes", "start is 'edf': cmaes begins without a rule"),
        ("env=merp_order --config-dir absent seed=1", "absent' not found"),
        ("workload.load=0.5 workload.burst_rate=3", "burst_rate and load are both given"),
    ):
        status = call("flowsched-train", train_main, *words.split())
        err = capsys.readouterr().err
        assert (status, message in err, "Traceback" in err) == (2, True, False), (words, err)
        assert list(here.iterdir()) == [], "a wrong value leaves no folder"


def test_a_multirun_where_there_is_no_slurm_leaves_with_one_line_and_no_folder(here, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "")
    assert call("flowsched-train", train_main, "-m", "launcher=slurm", "seed=0,1") == 2
    assert capsys.readouterr().err.startswith("flowsched-train: the launcher could not start: ")
    assert list(here.iterdir()) == []


def test_a_wrong_value_leaves_what_was_there_before(here) -> None:
    (here / "runs" / "first").mkdir(parents=True)
    (here / "runs" / "first" / "model.zip").touch()
    (here / "runs" / "begun").mkdir()
    (here / "runs" / "begun" / "run.json").write_text("{}", encoding="utf-8")
    (here / "runs" / "other").mkdir()

    for name in ("first", "second", "begun"):
        assert call("flowsched-train", train_main, "env.k=0", f"run_name={name}") == 2

    assert (here / "runs" / "first" / "model.zip").exists()
    assert (here / "runs" / "begun" / "run.json").exists()
    assert sorted(path.name for path in (here / "runs").iterdir()) == ["begun", "first", "other"]


def test_heuristics_and_models_are_compared_on_the_same_episodes(here, capsys) -> None:
    small = ("workload.bursts=3", "episodes=2", "seed=5", "progress_bar=false", "hydra.run.dir=out")

    status = call("flowsched-heuristics", heuristics_main, *small, "policies=[edf,fifo]")

    assert status == 0
    assert {"edf", "fifo", "clairvoyant-bound"} <= set(capsys.readouterr().out.split())
    results = [read_result(path) for path in (here / "out" / "results").iterdir()]
    assert {tuple(result.seeds) for result in results} == {(5, 6)}
    assert {result.policy for result in results} == {"edf", "fifo", "clairvoyant-bound"}
    assert results[0].made.command is not None
    assert results[0].made.command.startswith("flowsched-heuristics workload.bursts=3")


def test_an_evaluation_that_cannot_be_is_one_line_on_standard_error(here, capsys) -> None:
    for words, message in (
        (("model=[absent.zip]",), "there is no such file"),
        (("model=[model.txt]",), "a model file ends in .zip"),
        ((), "model is empty"),
        (("model=[absent.zip]", "policies=[best]"), "policies has 'best'"),
    ):
        status = call("flowsched-evaluate", evaluate_main, *words)
        err = capsys.readouterr().err
        assert (status, len(err.strip().splitlines()), message in err) == (2, 1, True), err
        assert list(here.iterdir()) == []


IMPORTED: Final = """
import sys
from flowsched_gym.baselines import entry
status = getattr(entry, sys.argv.pop(1))()
heavy = {"torch", "numba", "matplotlib", "hydra", "omegaconf", "simpy", "stable_baselines3", "wandb", "rich"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""
"""Runs a command; prints which of the packages that take long to import it has imported."""


@pytest.mark.parametrize("command", ["train", "tune", "heuristics"])
def test_help_names_the_choices_and_imports_nothing_heavy(command: str, tmp_path: Path) -> None:
    outcome = run(sys.executable, "-c", IMPORTED, command, "-h", folder=tmp_path)

    assert outcome.err == "[]\n"
    assert outcome.out.startswith(f"usage: flowsched-{command} [-m] [NAME=VALUE ...]")
    for choice in ("env         artemis", "merp_route", "workload    by env, artemis-thesis", "gather-heavy"):
        assert choice in outcome.out
    assert ("algorithm   by env, a2c" in outcome.out) == (command != "heuristics")
    assert list(tmp_path.iterdir()) == []


def test_options_may_stand_anywhere_among_settings() -> None:
    words = ["k=3", "--config-dir", "x", "seed=1", "-m", "--info=defaults", "f=2", "--info", "config", "--cfg", "job"]
    options = ["--config-dir", "x", "-m", "--info=defaults", "--info", "config", "--cfg", "job"]
    assert options_first(words, ()) == [*options, "k=3", "seed=1", "f=2"]


@pytest.mark.exhaustive
def test_where_output_is_no_terminal_there_are_no_escape_codes(tmp_path: Path) -> None:
    words = (*FEW, *PPO, "logger=wandb", "progress_bar=true")
    _, out, err = run(*TRAIN, *words, folder=tmp_path, WANDB_SILENT="false", TERM="xterm-256color")
    assert "The model is" in out
    assert "\x1b" not in out + err
