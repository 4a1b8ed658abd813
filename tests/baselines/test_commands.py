"""Runs the commands as a user does: in processes of their own, killed, mistyped, and several jobs at once."""

import json
import logging
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import torch
import yaml
from joblib.externals.loky import get_reusable_executor

from flowsched_gym.baselines.applications import study
from flowsched_gym.baselines.applications.application import options_first
from flowsched_gym.baselines.applications.tuned_experiment import experiment_text, problem_overrides
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.configuration.study_schema import STUDIES, read_study
from flowsched_gym.baselines.evaluate import main as evaluate_main
from flowsched_gym.baselines.train import main as train_main
from flowsched_gym.baselines.tune import main
from flowsched_gym.core.errors import ConfigError, FlowSchedWarning
from flowsched_gym.evaluation import read_result
from flowsched_gym.workload.source import warn_if_unstable
from tests.baselines.small_training import NETWORK, SMALL, weights_of
from tests.processes import call, heavy_imports, rows_of, run

TRAIN: Final = (sys.executable, "-m", "flowsched_gym.baselines.train")
FEW: Final = (*(override for override in SMALL if not override.startswith("run_name")),)
PPO: Final = ("algorithm.batch_size=32", "algorithm.n_epochs=2")
SPACE: Final = """
space:
  algorithm.learning_rate: {low: 1.0e-4, high: 1.0e-2, log: true}
  algorithm.n_steps: {values: [8, 16]}
startup_trials: 1
"""
STUDY: Final = (
    *(word for word in SMALL if not word.startswith(("run_name", "evaluation", "logger"))),
    *NETWORK,
    *("algorithm=a2c", "workload=gather-heavy", "vectorization=dummy", "evaluation.episodes=2"),
    *("evaluation.interim_episodes=1", "evaluation.metric=mean_fct", "total_timesteps=192"),
    *("checkpoints.interval=64", "trials=3", "study=space.yaml"),
)
KILLED: Final = """
import os, signal
from flowsched_gym.baselines.training.callbacks import Checkpoints
from flowsched_gym.baselines.tune import main

save = Checkpoints.save

def save_or_die(self):
    if os.path.isdir("studies/killed/trials/0001/seed0/checkpoints"):
        os.kill(os.getpid(), signal.SIGKILL)
    save(self)

Checkpoints.save = save_or_die
main()
"""
"""Runs a study, and is killed when it is about to write the second checkpoint of its second trial."""


def train(*words: str) -> int:
    return call("flowsched-train", train_main, *words)


def tune(*words: str) -> int:
    Path("space.yaml").write_text(SPACE, encoding="utf-8")
    return call("flowsched-tune", main, *STUDY, *words)


def trials_of(name: str) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in rows_of(Path("studies", name, "trials.csv"))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


@pytest.mark.exhaustive
@pytest.mark.usefixtures("workers", "_log_as_before")
@pytest.mark.parametrize("launcher", ["joblib", "local"])
def test_a_sweep_over_workloads_ends_with_a_table_of_each(launcher, here, monkeypatch, capfd) -> None:
    words = ("-m", "workload=gather-a1,gather-a2", f"launcher={launcher}", *FEW, *PPO)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "argv", ["flowsched-train", *words, "sweep_dir=sweep", "progress_bar=true"])

    train_main()

    out, err = capfd.readouterr()
    assert " step 256: deadlines met, % " in out + err, "what the jobs print is read here"
    assert "Traceback" not in err
    assert "\x1b" not in out + err
    rows = rows_of(here / "sweep" / "table.csv")
    assert [(row["workload"], row["failure"]) for row in rows] == [("gather-a1", ""), ("gather-a2", "")]
    assert "gather-a1: deadlines met, %" in out
    assert "gather-a2: deadlines met, %" in out


@pytest.mark.usefixtures("workers")
def test_a_multirun_of_wrong_values_or_without_slurm_leaves_no_folder(here, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "")
    for words in (("env.k=0,-1", "launcher=joblib"), ("algorithm.gamma=7,8",), ("seed=0,1", "launcher=slurm")):
        assert train("-m", *words) == 2
        assert list(here.iterdir()) == []
    assert capsys.readouterr().err.splitlines()[-1].startswith("flowsched-train: the launcher could not start: ")


def test_a_job_that_raises_whatever_it_may_is_a_failure_and_the_others_go_on(here, monkeypatch, capsys) -> None:
    def job(config: TrainConfig, content: object, folder: Path, command: str) -> None:
        (folder / f"seed{config.seed}").touch()
        for _ in range(2):
            warn_if_unstable(1.5)
        if config.seed != 2:
            raise (RuntimeError("of a policy\nof one's own"), MemoryError("3 PiB"))[config.seed]

    monkeypatch.setattr("flowsched_gym.baselines.train.job", job)
    with warnings.catch_warnings():
        warnings.simplefilter("always", FlowSchedWarning)
        assert train("-m", "seed=0,1,2", "sweep_dir=sweep") == 2
    failures = {json.loads(path.read_text())["error"]: path.parent for path in here.glob("sweep/*/failure.json")}
    (raised, folder), (memory, other) = sorted(failures.items())
    assert (raised, memory) == (r"RuntimeError: of a policy\nof one's own", "not enough memory: 3 PiB")
    assert (folder / "seed0").exists()
    assert (other / "seed1").exists()
    assert len([*here.glob("sweep/*/seed2")]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.count("flowsched-train: warning: load is 1.5: from 1 on it is unstable") == 3
    assert "UnstableLoadWarning" not in err


def check_refusals(capsys, command: Callable[..., int], *rows: tuple[str, str]) -> None:
    """Holds a command to status 2, a message and no folder, for each line of words."""
    for words, message in rows:
        before = set(Path().iterdir())
        status = command(*words.split())
        err = capsys.readouterr().err
        assert (status, message in err, "Traceback" in err) == (2, True, False), (words, err)
        assert set(Path().iterdir()) == before, words


def test_bad_usage_leaves_with_status_2_no_traceback_and_no_folder(here, capsys) -> None:
    check_refusals(
        *(capsys, train),
        ("algorithm.gama=0.9", "algorithm has no key 'gama': it has "),
        ("algorithm=dqn", "algorithm is 'dqn': it must be one of a2c, "),
        ("env.k=many", "env.k"),
        ("run_name=../../..", "run_name is '../../..': it must be the name of a folder inside runs/"),
        ("algorithm.gamma=7", "flowsched-train: algorithm.gamma is 7.0: it must be in [0, 1]"),
        ("env.k=0", "flowsched-train: k is 0: it must be an integer >= 1"),
        ("experiment=absent.yaml", "experiment is 'absent.yaml': there is no such file"),
        (
            "env=qcluster algorithm=sac algorithm.learning_starts=9999 total_timesteps=4096",
            "total_timesteps is 4,096: ",
        ),
        ("episodes=3", "the configuration has no key 'episodes': it is evaluation.episodes here"),
        ("-m --cfg job", "flowsched-train: Only one of --run, --multirun, --cfg, "),
        ("--workload gater-a1", "there is no option --workload: settings have no dashes, workload=gater-a1"),
        ("workload=gater-a1", "(did you mean 'gather-a1'?)"),
        ("workload=mine.yaml", "--config-dir FOLDER workload=mine reads FOLDER/workload/mine.yaml"),
        ("start=skip-late:base=sjf", "a rule with options in quotes: \"start='skip-late:base=sjf'\""),
        ("algorithm.name=edf", "algorithm.name is 'edf': it must be none of random, fifo, "),
        ("start=edf algorithm=distil", "start is 'edf': distil begins with its base"),
        ("start=edf algorithm=cmaes", "start is 'edf': cmaes goes on from the weights of a model"),
        ("env=merp_order --config-dir absent seed=1", "absent' not found"),
        ("workload.load=0.5 workload.burst_rate=3", "burst_rate and load are both given"),
    )
    check_refusals(
        *(capsys, lambda *words: call("flowsched-evaluate", evaluate_main, *words)),
        ("model=[absent.zip]", "there is no such file"),
        ("model=[model.txt]", "policy is 'model.txt'"),
        ("model=[absent.zip] policies=[best]", "policy is 'best': flowsched/Artemis-v0 has"),
    )
    Path("space.yaml").touch()
    Path("bad.yaml").write_text("space: {algorithm.gama: {low: 0.1, high: 0.9}}", encoding="utf-8")
    check_refusals(
        *(capsys, tune),
        ("study=absent", "study is 'absent': it must be a file ending in .yaml, or one of "),
        ("evaluation.seed=10000", "evaluation.seed is 10000: a study plays validation episodes"),
        ("trials=0", "trials is 0: it must be >= 1"),
        ("study=bad.yaml", "algorithm has no key 'gama'"),
    )


def test_an_experiment_of_ones_own_chooses_its_launcher_and_is_shorter_than_a_rollout(here) -> None:
    (here / "mine" / "experiment").mkdir(parents=True)
    text = "# @package _global_\ndefaults:\n  - override /launcher: joblib\ntotal_timesteps: 4096\n"
    (here / "mine" / "experiment" / "short.yaml").write_text(text, encoding="utf-8")
    words = [word for word in FEW if not word.startswith(("total_timesteps", "algorithm."))]
    assert train("--config-dir", "mine", "experiment=short", "run_name=short", *words) == 0
    assert json.loads((here / "runs" / "short" / "model.json").read_text(encoding="utf-8"))["num_timesteps"] == 4096


def test_a_wrong_value_leaves_what_was_there_before(here) -> None:
    kept = {here / "runs" / name for name in ("first", "first/model.zip", "begun", "begun/run.json", "other")}
    for path in sorted(kept):
        path.touch() if path.suffix else path.mkdir(parents=True)

    for name in ("first", "second", "begun"):
        assert train("env.k=0", f"run_name={name}") == 2

    assert {path for path in (here / "runs").rglob("*") if ".hydra" not in path.parts} == kept


def test_heuristics_and_models_are_compared_on_the_same_episodes(here, monkeypatch, capsys) -> None:
    small = ("workload.bursts=3", "episodes=2", "seed=5", "progress_bar=false")
    (here / "beside.py").write_text("class Oldest:\n    def predict(self, *_, **__):\n        return 0, None\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    named = ("policies=[edf,fifo,beside:Oldest]", "hydra.run.dir=out")

    assert call("flowsched-evaluate", evaluate_main, *small, *named) == 0

    assert {"edf", "fifo", "clairvoyant-bound"} <= set(capsys.readouterr().out.split())
    results = [read_result(path) for path in (here / "out" / "results").iterdir()]
    assert {tuple(result.seeds) for result in results} == {(5, 6)}
    assert {result.policy for result in results} == {"edf", "fifo", "clairvoyant-bound", "beside:Oldest"}
    assert results[0].made.command.startswith("flowsched-evaluate workload.bursts=3")

    agent = ("model=[model:artemis-heavy/cmaes]", "workload=gather-heavy", "env.k=3", "env.f=10", "bound=false")
    assert call("flowsched-evaluate", evaluate_main, *small, *agent, "policies=[edf]", "hydra.run.dir=both") == 0

    played = {each.policy: tuple(each.seeds) for each in map(read_result, (here / "both" / "results").iterdir())}
    assert len(played) == 2
    assert set(played.values()) == {played["edf"]} == {(5, 6)}


@pytest.mark.parametrize("command", ["train", "tune", "evaluate"])
def test_help_names_the_choices_and_imports_nothing_heavy(command: str, tmp_path: Path) -> None:
    outcome = heavy_imports(f"flowsched_gym.baselines.entry:{command}", "-h", folder=tmp_path)

    assert outcome.err == "[]\n"
    assert outcome.out.startswith(f"usage: flowsched-{command} [-m] [NAME=VALUE ...]")
    for choice in ("env         artemis", "merp_route", "workload    by env, artemis-applications", "gather-heavy"):
        assert choice in outcome.out
    assert ("algorithm   by env, a2c" in outcome.out) == (command != "evaluate")
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


@pytest.mark.exhaustive
def test_a_killed_study_resumes_and_ends_as_if_it_had_not_been_killed(here, capsys) -> None:
    assert tune("run_name=whole") == 0
    run(sys.executable, "-c", KILLED, *STUDY, "run_name=killed", folder=here, status=-signal.SIGKILL)
    assert [row[1] for row in trials_of("killed")] == ["complete"]
    first, second = (here / "studies" / "killed" / "trials" / name / "seed0" for name in ("0000", "0001"))
    assert [path.name for path in (second / "checkpoints").iterdir()] == ["000000000064.zip"]
    model = first / "model.zip"
    written = model.stat().st_mtime_ns

    assert tune("run_name=killed") == 2
    assert "studies/killed holds a study already: resume=true continues it" in capsys.readouterr().err
    assert tune("run_name=killed", "total_timesteps=64", "resume=true") == 2
    assert "total_timesteps (192 then, 64 now)" in capsys.readouterr().err
    assert tune("run_name=killed", "resume=true") == 0

    assert trials_of("killed") == trials_of("whole")
    assert [row[1] for row in trials_of("killed")] == ["complete"] * 3
    assert len({row[3] for row in trials_of("killed")}) == 3, "each trial has a proposal of its own"
    assert model.stat().st_mtime_ns == written
    found, expected = weights_of(second / "model.zip"), weights_of(Path("studies/whole/trials/0001/seed0/model.zip"))
    assert [name for name in expected if not torch.equal(found[name], expected[name])] == []
    out = capsys.readouterr().out
    assert "flowsched-train experiment=studies/killed/experiment/killed.yaml" in out


def test_a_study_whose_trials_tie_names_no_best(here, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study, "_train", lambda *_, **__: 0.5)
    assert tune("run_name=tied") == 2
    err = capsys.readouterr().err
    assert "no experiment is written: trials 0, 1, 2 all reached mean FCT, ms 500.0 on validation episodes" in err
    assert not (here / "studies" / "tied" / "experiment").exists()
    assert [row[1] for row in trials_of("tied")] == ["complete"] * 3


def test_the_best_settings_are_an_experiment_that_other_commands_read(here, capsys) -> None:
    words = problem_overrides(
        ["algorithm=a2c", "workload=gather-heavy", "env.k=3", "seed=4", "study=a2c", "evaluation.episodes=2"]
    )
    choices = {"env": "artemis", "workload": "gather-heavy", "policy": "setwise", "algorithm": "a2c"}
    text = experiment_text(words, {"algorithm.gamma": 0.5}, choices, note="Trial 1.")
    (here / "experiment").mkdir()
    (here / "experiment" / "tuned.yaml").write_text(text, encoding="utf-8")
    assert train("experiment=experiment/tuned.yaml", "--cfg", "job", "--resolve") == 0
    shown = yaml.safe_load(capsys.readouterr().out)

    assert (shown["algorithm"]["name"], shown["algorithm"]["gamma"], shown["env"]["k"]) == ("a2c", 0.5, 3)
    assert (shown["workload"]["name"], shown["seed"]) == ("gather-heavy", 0)
    assert (shown["evaluation"]["seed"], shown["evaluation"]["episodes"]) == (10_000, 20)


def test_a_mistaken_space_is_refused_by_name_and_those_of_the_package_are_read(tmp_path) -> None:
    for content, message in (
        ("space: {a: {low: 1, hihg: 2}}", "space.a has no key 'hihg': it has "),
        ("space: {a: {low: 2, high: 1}}", r"space.a: `low <= high` must hold, but got \(low=2, high=1\)"),
        ("space: {a: {low: 0, high: 1, log: true}}", "space.a: `low >= 1` must hold for `log=True`"),
        ("space: {a: {low: 0, high: 1, values: [1]}}", "it must have low and high, or values alone"),
        ("space: {a: {low: x, high: 1}}", "space.a.low is 'x': it must be a finite number"),
        ("space: {a: {low: .nan, high: 1}}", "space.a.low is nan: it must be a finite number"),
        ("space: {a: {values: [[1]]}}", "space.a.values is .*: it must have numbers and names"),
        ("space: {a: {step: 1}}", "it must have low and high, or values alone"),
        ("space: {}", "space is empty"),
        ("space: {a: {low: 0, high: 1}}\nseeds: [-1]", "seeds has -1"),
    ):
        (tmp_path / "space.yaml").write_text(content, encoding="utf-8")
        with pytest.raises(ConfigError, match=message):
            read_study(str(tmp_path / "space.yaml"))
    assert all(read_study(file.name.removesuffix(".yaml")).space for file in STUDIES.iterdir())


def test_a_database_of_a_study_that_cannot_be_written_is_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"study\.db cannot be written: unable to open database file"):
        study._storage(tmp_path / "missing").__enter__()
