"""Reads the curves back from every place where they go."""

import csv
from pathlib import Path
from typing import Any

import wandb
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from flowsched_gym.baselines.configuration.hydra_schemas import LoggerConfig
from flowsched_gym.baselines.training.loggers import CsvCurves, WandbCurves, make_logger

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


def test_a_run_of_weights_and_biases_stays_on_this_machine(tmp_path) -> None:
    model, sidecar = tmp_path / "model.zip", tmp_path / "model.json"
    for path in (model, sidecar):
        path.write_text("content", encoding="utf-8")
    config = LoggerConfig(csv=False, tensorboard=False, wandb=True)

    logger = make_logger(config, tmp_path, name="first", content={"algorithm": {"gamma": 0.9}}, first_step=0)
    (curves,) = logger.output_formats
    assert isinstance(curves, WandbCurves)
    logger.record("loss", 0.125)
    logger.dump(1)
    curves.keep(figures={}, model=model, sidecar=sidecar, summary={"final/ratio": 1.5})
    logger.close()

    (stored,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    identity = (tmp_path / "wandb_id.txt").read_text(encoding="utf-8").strip()
    assert identity in stored.name
    expected = (b"loss", b"0.125", b"gamma", b"final/ratio", b"model-" + identity.encode())
    wandb.teardown()  # waits for the process that writes the file
    assert [text for text in expected if text not in stored.read_bytes()] == []
