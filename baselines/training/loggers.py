"""Learning curves: a CSV file, event files of TensorBoard, a run of Weights & Biases.

A run that is taken up again continues its curves from the checkpoint: what was written after it is taken back.
"""

import csv
import io
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any, Final, cast

from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat
from torch.utils.tensorboard import SummaryWriter

from flowsched_gym.baselines.configuration.hydra_schemas import LoggerConfig
from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.core.files import naming_file, write_text
from flowsched_gym.integrations.archive import first_sentence

STEP: Final = "timesteps"
CSV_FILE: Final = "progress.csv"
TENSORBOARD_FOLDER: Final = "tensorboard"
WANDB_ID_FILE: Final = "wandb_id.txt"


class CsvCurves(KVWriter):
    """A CSV file with one row for each time that curves are written, and a column for each curve.

    Of a file that is there, the rows up to the decision ``first_step`` are kept.
    """

    def __init__(self, path: Path, first_step: int) -> None:
        self._path = path
        self._rows: list[dict[str, str]] = []
        self._columns: list[str] = [STEP]
        if first_step and path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                self._columns = list(reader.fieldnames or [STEP])
                self._rows = [row for row in reader if int(row[STEP]) <= first_step]
        self._write_all()

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Adds a row; a curve that is new gets a column."""
        row = {STEP: str(step)}
        row |= {key: repr(float(value)) for key, value in key_values.items() if isinstance(value, Real)}
        self._rows.append(row)
        new = [key for key in sorted(row) if key not in self._columns]
        if new:
            self._columns += new
            self._write_all()
        else:
            with naming_file(self._path), self._path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns, restval="").writerow(row)

    def close(self) -> None:
        """Does nothing: no file stays open."""

    def _write_all(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, self._columns, restval="")
        writer.writeheader()
        writer.writerows(self._rows)
        write_text(text.getvalue(), self._path)


class TensorBoardCurves(TensorBoardOutputFormat):
    """Event files of TensorBoard; what was written after the decision ``first_step`` is hidden."""

    def __init__(self, folder: Path, first_step: int) -> None:
        self._folder = folder
        with naming_file(folder):
            self.writer = SummaryWriter(str(folder), purge_step=first_step + 1 if first_step else None)
        self._is_closed = False

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Logs the numbers."""
        with naming_file(self._folder):
            super().write(key_values, key_excluded, step)

    def close(self) -> None:
        """Writes what is left."""
        with naming_file(self._folder):
            super().close()


class WandbCurves(KVWriter):
    """A run of Weights & Biases, whose id the folder of the training remembers, with the configuration as its content.

    Raises:
        MissingDependencyError: The client is not installed.
        ConfigError: The client begins no run, as without a key or a network where the run is to be online.
    """

    def __init__(self, config: LoggerConfig, folder: Path, name: str, content: Mapping[str, Any]) -> None:
        try:
            import wandb  # noqa: PLC0415 - optional
        except ImportError:
            raise MissingDependencyError("wandb", extra="train", purpose="keep a run of Weights & Biases") from None
        self._wandb: Any = wandb
        remembered = folder / WANDB_ID_FILE
        known = remembered.read_text(encoding="utf-8").strip() if remembered.is_file() else None
        try:
            self._run: Any = wandb.init(
                project=config.wandb_project,
                group=config.wandb_group,
                name=name,
                id=known,
                resume="allow" if known and config.wandb_mode == "online" else None,
                mode=cast("Any", config.wandb_mode),  # checked by the configuration
                dir=str(folder),
                config=dict(content),
                reinit="finish_previous",
                settings=wandb.Settings(console="off"),
            )
        except wandb.Error as error:
            mode, reason = config.wandb_mode, first_sentence(error)
            raise ConfigError(f"logger.wandb_mode is {mode}: Weights & Biases begins no run: {reason}") from error
        write_text(self._run.id + "\n", remembered)

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Logs the numbers."""
        self._run.log({key: value for key, value in key_values.items() if isinstance(value, Real)}, step=step)

    def keep(self, figure: Path, model: Path, sidecar: Path, *, summary: Mapping[str, float | str]) -> None:
        """Logs the figure of the comparison, model and sidecar as an artifact, and the final numbers and names."""
        self._run.log({"comparison": self._wandb.Image(str(figure))})
        self._run.summary.update(dict(summary))
        artifact = self._wandb.Artifact(f"model-{self._run.id}", type="model")
        artifact.add_file(str(model))
        artifact.add_file(str(sidecar))
        self._run.log_artifact(artifact)

    def close(self) -> None:
        """Ends the run."""
        self._run.finish()


def make_logger(
    config: LoggerConfig, folder: Path, *, name: str, content: Mapping[str, Any], first_step: int
) -> Logger:
    """Opens everything that curves of a run go to, from the decision ``first_step`` on; the content is kept with them.

    Raises:
        MissingDependencyError: The client of Weights & Biases is not installed.
    """
    outputs: list[KVWriter] = []
    if config.csv:
        outputs.append(CsvCurves(folder / CSV_FILE, first_step))
    if config.tensorboard:
        outputs.append(TensorBoardCurves(folder / TENSORBOARD_FOLDER, first_step))
    if config.wandb:
        outputs.append(WandbCurves(config, folder, name, content))
    return Logger(str(folder), outputs)
