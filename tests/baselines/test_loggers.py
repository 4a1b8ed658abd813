"""Reads the curves back from every place where they go."""

import csv
from pathlib import Path
from typing import Any

import wandb
import yaml
from hydra import compose, initialize_config_module
from hydra.core.hydra_config import HydraConfig
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

from flowsched_gym.baselines.configuration.hydra_schemas import LoggerConfig
from flowsched_gym.baselines.configuration.hydra_store import read_config, register_schemas
from flowsched_gym.baselines.training.loggers import CsvCurves, WandbCurves, make_logger
from tests.repository import ROOT

EXCLUDED: Any = {}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_curve_that_begins_late_gets_a_column(tmp_path) -> None:
    curves = CsvCurves(tmp_path / "progress.csv", 0)
    curves.write({"loss": 0.5}, EXCLUDED, step=10)
    curves.write({"loss": 0.25, "ratio": 1.5}, EXCLUDED, step=20)
    curves.write({"ratio": 2.0}, EXCLUDED, step=30)

    assert rows_of(tmp_path / "progress.csv") == [
        {"timesteps": "10", "loss": "0.5", "ratio": ""},
        {"timesteps": "20", "loss": "0.25", "ratio": "1.5"},
        {"timesteps": "30", "loss": "", "ratio": "2.0"},
    ]


def test_what_was_written_after_the_checkpoint_is_taken_back(tmp_path) -> None:
    CsvCurves(tmp_path / "progress.csv", 0).write({"loss": 9.0}, EXCLUDED, step=5)
    before = CsvCurves(tmp_path / "progress.csv", 0)
    for step in (10, 20, 30):
        before.write({"loss": float(step)}, EXCLUDED, step=step)

    resumed = CsvCurves(tmp_path / "progress.csv", 20)
    resumed.write({"loss": 7.0}, EXCLUDED, step=25)

    assert [(row["timesteps"], row["loss"]) for row in rows_of(tmp_path / "progress.csv")] == [
        ("10", "10.0"),
        ("20", "20.0"),
        ("25", "7.0"),
    ]


def test_event_files_hold_the_same_curves_and_hide_what_came_after_the_checkpoint(tmp_path) -> None:
    config = LoggerConfig()
    for first_step, steps in ((0, (10, 20, 30)), (20, (25, 35))):
        logger = make_logger(config, tmp_path, name="run", content={}, first_step=first_step)
        for step in steps:
            logger.record("evaluation/ratio", step / 10)
            logger.dump(step)
        logger.close()

    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("evaluation/ratio")] == [
        (10, 1.0),
        (20, 2.0),
        (25, 2.5),
        (35, 3.5),
    ]
    assert [row["timesteps"] for row in rows_of(tmp_path / "progress.csv")] == ["10", "20", "25", "35"]


def test_a_run_of_weights_and_biases_stays_on_this_machine_and_one_run_when_it_is_resumed(tmp_path) -> None:
    model, sidecar = tmp_path / "model.zip", tmp_path / "model.json"
    for path in (model, sidecar):
        path.write_text("content", encoding="utf-8")
    config = LoggerConfig(csv=False, tensorboard=False, wandb=True, wandb_group="sweep-of-gamma")

    for step, loss in ((1, 0.125), (2, 0.0625)):
        logger = make_logger(config, tmp_path, name="first", content={"algorithm": {"gamma": 0.9}}, first_step=step - 1)
        (curves,) = logger.output_formats
        assert isinstance(curves, WandbCurves)
        logger.record("loss", loss)
        logger.dump(step)
        if step == 2:
            summary = {"final/edf": 0.5, "final/clairvoyant-bound": 0.75, "final/best_heuristic": "least-slack"}
            curves.keep(figures={}, model=model, sidecar=sidecar, summary=summary)
        logger.close()

    before, resumed = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"), key=lambda path: path.stat().st_mtime_ns)
    identity = (tmp_path / "wandb_id.txt").read_text(encoding="utf-8").strip()
    assert before.name == resumed.name == f"run-{identity}.wandb"
    wandb.teardown()  # waits for the process that writes the files
    assert [text for text in (b"0.125", b"gamma", b"sweep-of-gamma") if text not in before.read_bytes()] == []
    expected = (b"0.0625", b"sweep-of-gamma", b"final/clairvoyant-bound", b"least-slack", b"model-" + identity.encode())
    assert [text for text in expected if text not in resumed.read_bytes()] == []


def test_the_runs_of_a_sweep_are_a_group_of_its_name() -> None:
    register_schemas()
    words = ["logger=wandb", "run_name=first", "sweep_dir=multirun/gammas"]
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        single, sweep = (
            compose("train", overrides=[*words, *more], return_hydra_config=True)
            for more in ([], ["hydra.mode=MULTIRUN"])
        )
    groups = []
    for composed in (single, sweep):
        HydraConfig.instance().set_config(composed)
        groups.append(composed.logger.wandb_group)
    HydraConfig.instance().cfg = None
    assert groups == [None, "gammas"]


def test_the_sweep_file_of_weights_and_biases_names_settings_that_there_are(monkeypatch) -> None:
    monkeypatch.setenv("WANDB_RUN_ID", "abc")
    sweep = yaml.safe_load((ROOT / "configs" / "sweep" / "wandb" / "ppo.yaml").read_text(encoding="utf-8"))
    tried = {key: {"value": (each.get("values") or [each["min"]])[0]} for key, each in sweep["parameters"].items()}
    words = [*sweep["command"][1:-1], *create_sweep_command_args({"args": tried})["args_no_hyphens"]]
    register_schemas()
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        config = read_config(compose("train", overrides=words))
    assert (config.run_name, config.algorithm.learning_rate, config.algorithm.gamma) == ("wandb/abc", 1e-4, 0.9)
    assert (sweep["program"], sweep["command"][0], sweep["command"][-1]) == (
        "flowsched-train", "${program}", "${args_no_hyphens}",
    )  # fmt: skip
