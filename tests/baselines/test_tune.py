"""Runs studies as a user does: killed and resumed, mistaken, and their best settings trained with."""

import csv
import signal
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from flowsched_gym.baselines.applications import study
from flowsched_gym.baselines.applications.tuned_experiment import experiment_text, problem_overrides
from flowsched_gym.baselines.configuration.study_schema import STUDIES, read_study
from flowsched_gym.baselines.train import main as train_main
from flowsched_gym.baselines.tune import main
from flowsched_gym.core.errors import ConfigError
from tests.baselines.small_training import NETWORK, SMALL
from tests.processes import run

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

def save_and_die(self):
    save(self)
    if os.path.isdir("studies/killed/trials/0001"):
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoints.save = save_and_die
main()
"""
"""Runs a study, and is killed after the first checkpoint of its second trial."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text(SPACE, encoding="utf-8")
    return tmp_path


def tune(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    quiet = ("hydra/job_logging=none", "hydra/hydra_logging=none")
    monkeypatch.setattr(sys, "argv", ["flowsched-tune", *STUDY, *words, *quiet])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def trials_of(name: str) -> list[list[str]]:
    with Path("studies", name, "trials.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_a_killed_study_resumes_and_ends_as_if_it_had_not_been_killed(here, monkeypatch, capsys) -> None:
    assert tune(monkeypatch, "run_name=whole") == 0
    run(sys.executable, "-c", KILLED, *STUDY, "run_name=killed", folder=here, status=-signal.SIGKILL)
    assert [row[1] for row in trials_of("killed")] == ["state", "complete"]
    first, second = (here / "studies" / "killed" / "trials" / name / "seed0" for name in ("0000", "0001"))
    assert [path.name for path in (second / "checkpoints").iterdir()] == ["000000000064.zip"]
    model = first / "model.zip"
    written = model.stat().st_mtime_ns

    assert tune(monkeypatch, "run_name=killed") == 2
    assert "studies/killed holds a study already: resume=true continues it" in capsys.readouterr().err
    assert tune(monkeypatch, "run_name=killed", "total_timesteps=64", "resume=true") == 2
    assert "total_timesteps (192 then, 64 now)" in capsys.readouterr().err
    assert tune(monkeypatch, "run_name=killed", "resume=true") == 0

    assert trials_of("killed") == trials_of("whole")
    assert [row[1] for row in trials_of("killed")] == ["state", "complete", "complete", "complete"]
    assert len({row[3] for row in trials_of("killed")[1:]}) == 3, "each trial has a proposal of its own"
    assert model.stat().st_mtime_ns == written
    out = capsys.readouterr().out
    assert "flowsched-train experiment=studies/killed/experiment/killed.yaml" in out


def test_a_study_whose_trials_tie_names_no_best(here, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study, "_train", lambda *_, **__: 0.5)
    assert tune(monkeypatch, "run_name=tied") == 2
    err = capsys.readouterr().err
    assert "no experiment is written: trials 0, 1, 2 all reached mean_fct 0.5000 on validation episodes" in err
    assert not (here / "studies" / "tied" / "experiment").exists()
    assert [row[1] for row in trials_of("tied")] == ["state", "complete", "complete", "complete"]


def test_the_best_settings_are_an_experiment_that_other_commands_read(here, monkeypatch, capsys) -> None:
    words = problem_overrides(
        ["algorithm=a2c", "workload=gather-heavy", "env.k=3", "seed=4", "study=a2c", "evaluation.episodes=2"]
    )
    choices = {"env": "artemis", "workload": "gather-heavy", "policy": "setwise", "algorithm": "a2c"}
    text = experiment_text(words, {"algorithm.gamma": 0.5}, choices, note="Trial 1.")
    (here / "experiment").mkdir()
    (here / "experiment" / "tuned.yaml").write_text(text, encoding="utf-8")

    monkeypatch.setattr(
        sys, "argv", ["flowsched-train", "experiment=experiment/tuned.yaml", "--cfg", "job", "--resolve"]
    )
    train_main()
    shown = yaml.safe_load(capsys.readouterr().out)

    assert (shown["algorithm"]["name"], shown["algorithm"]["gamma"], shown["env"]["k"]) == ("a2c", 0.5, 3)
    assert (shown["workload"]["name"], shown["seed"]) == ("gather-heavy", 0)
    assert (shown["evaluation"]["seed"], shown["evaluation"]["episodes"]) == (10_000, 20)


def test_a_mistaken_study_leaves_with_status_2_and_no_folder(here, monkeypatch, capsys) -> None:
    Path("bad.yaml").write_text("space: {algorithm.gama: {low: 0.1, high: 0.9}}", encoding="utf-8")
    for word, message in (
        ("study=absent", "study is 'absent': it must be a file ending in .yaml, or one of "),
        ("evaluation.seed=10000", "evaluation.seed is 10000: a study plays validation episodes"),
        ("trials=0", "trials is 0: it must be >= 1"),
        ("study=bad.yaml", "algorithm has no key 'gama'"),
    ):
        assert tune(monkeypatch, word) == 2
        err = capsys.readouterr().err
        assert (message in err, "Traceback" in err) == (True, False), err
        assert not (here / "studies").exists()


def test_a_mistaken_space_is_refused_by_name_and_those_of_the_package_are_read(tmp_path) -> None:
    for content, message in (
        ("space: {a: {low: 1, hihg: 2}}", "space.a has no key 'hihg': it has "),
        ("space: {a: {low: 2, high: 1}}", "space.a.low is 2: it must be below high, 1"),
        ("space: {a: {low: 0, high: 1, log: true}}", "space.a.log is true: low must be above 0"),
        ("space: {a: {low: 0, high: 1, values: [1]}}", "space.a has values and a range"),
        ("space: {a: {low: x, high: 1}}", "space.a.low is 'x': it must be a number"),
        ("space: {}", "space is empty"),
        ("space: {a: {low: 0, high: 1}}\nseeds: [-1]", "seeds has -1"),
    ):
        (tmp_path / "space.yaml").write_text(content, encoding="utf-8")
        with pytest.raises(ConfigError, match=message):
            read_study(str(tmp_path / "space.yaml"))
    assert all(read_study(file.name.removesuffix(".yaml")).space for file in STUDIES.iterdir())
