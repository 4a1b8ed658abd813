"""Reads the curves back from every place where they go, and the lines that tell of progress."""

from typing import Any

import pytest
import wandb
import yaml
from hydra.core.hydra_config import HydraConfig
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

from flowsched_gym.baselines.configuration.hydra_schemas import LoggerConfig
from flowsched_gym.baselines.configuration.hydra_store import read_config
from flowsched_gym.baselines.training.loggers import CsvCurves, WandbCurves, make_logger
from flowsched_gym.baselines.training.progress import ProgressLines, progress_bar
from flowsched_gym.core.errors import ConfigError
from tests.baselines.small_training import compose_words
from tests.processes import rows_of
from tests.repository import ROOT

EXCLUDED: Any = {}


def test_a_curve_that_begins_late_gets_a_column_and_what_came_after_the_checkpoint_is_taken_back(tmp_path) -> None:
    CsvCurves(tmp_path / "progress.csv", 0).write({"loss": 9.0}, EXCLUDED, step=5)
    curves = CsvCurves(tmp_path / "progress.csv", 0)
    for step, values in ((10, {"loss": 0.5}), (20, {"loss": 0.25, "ratio": 1.5}), (30, {"ratio": 2.0})):
        curves.write(values, EXCLUDED, step=step)
    rows = [("10", "0.5", ""), ("20", "0.25", "1.5"), ("30", "", "2.0")]
    assert [tuple(row.values()) for row in rows_of(tmp_path / "progress.csv")] == rows

    CsvCurves(tmp_path / "progress.csv", 20).write({"loss": 7.0}, EXCLUDED, step=25)
    kept = [tuple(row.values())[:2] for row in rows_of(tmp_path / "progress.csv")]
    assert kept == [("10", "0.5"), ("20", "0.25"), ("25", "7.0")]


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
    found = [(event.step, event.value) for event in events.Scalars("evaluation/ratio")]
    assert found == [(step, step / 10) for step in (10, 20, 25, 35)]
    assert [row["timesteps"] for row in rows_of(tmp_path / "progress.csv")] == ["10", "20", "25", "35"]


def test_a_run_of_weights_and_biases_stays_on_this_machine_and_one_run_when_it_is_resumed(tmp_path) -> None:
    figure, *files = (tmp_path / name for name in ("comparison.png", "model.zip", "model.json"))
    Image.new("RGB", (8, 8)).save(figure)
    for path in files:
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
            curves.keep(figure, *files, summary=summary)
        logger.close()

    before, resumed = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"), key=lambda path: path.stat().st_mtime_ns)
    identity = (tmp_path / "wandb_id.txt").read_text(encoding="utf-8").strip()
    assert before.name == resumed.name == f"run-{identity}.wandb"
    wandb.teardown()  # waits for the process that writes the files
    assert [text for text in (b"0.125", b"gamma", b"sweep-of-gamma") if text not in before.read_bytes()] == []
    expected = (b"0.0625", b"sweep-of-gamma", b"final/clairvoyant-bound", b"least-slack", b"model-" + identity.encode())
    assert [text for text in expected if text not in resumed.read_bytes()] == []


def test_a_run_that_cannot_begin_is_one_clear_line(tmp_path, monkeypatch) -> None:
    def refuse(**_: object) -> None:
        raise wandb.errors.UsageError("No API key configured. Use `wandb login` to log in.")

    monkeypatch.setattr(wandb, "init", refuse)
    config = LoggerConfig(csv=False, tensorboard=False, wandb=True, wandb_mode="online")
    with pytest.raises(ConfigError, match=r"^logger\.wandb_mode is online: .* no run: No API key configured$"):
        make_logger(config, tmp_path, name="first", content={}, first_step=0)


def test_the_runs_of_a_sweep_are_a_group_of_its_name() -> None:
    words = ("logger=wandb", "run_name=first", "sweep_dir=multirun/gammas")
    groups = []
    for more in ((), ("hydra.mode=MULTIRUN",)):
        composed = compose_words("train", *words, *more, return_hydra_config=True)
        HydraConfig.instance().set_config(composed)
        groups.append(composed.logger.wandb_group)
    HydraConfig.instance().cfg = None
    assert groups == [None, "gammas"]


def test_the_sweep_file_of_weights_and_biases_names_settings_that_there_are(monkeypatch) -> None:
    monkeypatch.setenv("WANDB_RUN_ID", "abc")
    sweep = yaml.safe_load((ROOT / "configs" / "sweep" / "wandb" / "ppo.yaml").read_text(encoding="utf-8"))
    tried = {key: {"value": (each.get("values") or [each["min"]])[0]} for key, each in sweep["parameters"].items()}
    words = [*sweep["command"][1:-1], *create_sweep_command_args({"args": tried})["args_no_hyphens"]]
    config = read_config(compose_words("train", *words))
    assert (config.run_name, config.algorithm.learning_rate, config.algorithm.gamma) == ("wandb/abc", 1e-4, 0.9)
    (first, *_, last), program = sweep["command"], sweep["program"]
    assert (program, first, last) == ("flowsched-train", "${program}", "${args_no_hyphens}")


def test_without_a_terminal_a_line_tells_after_seconds_and_now_and_then_how_long_it_takes(monkeypatch) -> None:
    now = [100.0]
    lines: list[str] = []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    bar = progress_bar(total=1000, unit="decisions", shown=True, initial=200, say=lines.append)
    assert isinstance(bar, ProgressLines)
    bar.set_description_str("990 requested")
    bar.set_postfix_str("mean_fct 0.1")
    for _ in range(8):
        now[0] += 10.0
        bar.update(100)
    bar.close()
    assert lines == [
        "300 of 1,000 decisions, 990 requested: 30%, 10.0 a second, 1:10 left; mean_fct 0.1",
        "600 of 1,000 decisions, 990 requested: 60%, 10.0 a second, 0:40 left; mean_fct 0.1",
        "900 of 1,000 decisions, 990 requested: 90%, 10.0 a second, 0:10 left; mean_fct 0.1",
    ]
