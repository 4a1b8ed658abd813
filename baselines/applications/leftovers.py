"""Removal of the folders of runs that came to nothing, such as one with a wrong value.

Hydra makes the folder before the job can look at its values.
"""

import shutil
from pathlib import Path
from typing import Any, Final

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.evaluation import write_json

FAILURE_FILE: Final = "failure.json"

BOOKKEEPING: Final = frozenset({"multirun.yaml", "run.json", ".lock", FAILURE_FILE, "train.log", "evaluate.log"})
"""Files that record what was requested, without any result; Hydra's own folders have more of them."""
HYDRA_FOLDER: Final = ".hydra"

_begun: list[Path] = []
"""Folders of the runs of this process that have not ended yet."""
_sweeps: list[Path] = []
"""Those of sweeps among them."""
_faults: list[OSError] = []
"""What has kept Hydra's callbacks from writing their files."""


class RunsBegun(Callback):
    """A Hydra callback that registers the folder of a run, or of a multirun, before Hydra makes it."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Registers the folder of a run, unless there is a run in it: an earlier one, or that of another process."""
        hydra: Any = HydraConfig.instance()
        before, hydra.cfg = hydra.cfg, config  # the name asks what was chosen
        folder = OmegaConf.select(config, "hydra.run.dir", throw_on_resolution_failure=False)
        hydra.cfg = before
        if folder is not None and not Path(folder, "run.json").exists():
            remember_folder(Path(folder))

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Registers the folder of the jobs' folders, unless its name cannot be known before the jobs."""
        folder = OmegaConf.select(config, "hydra.sweep.dir", throw_on_resolution_failure=False)
        if folder is not None:
            remember_folder(Path(folder))
            _sweeps.append(Path(folder).resolve())


def remember_folder(folder: Path) -> None:
    """Registers the folder of a run, to be removed if the run comes to nothing."""
    _begun.append(folder.resolve())


def remember_fault(error: OSError) -> None:
    """Registers what has kept a callback of Hydra from writing a file."""
    _faults.append(error)


def raise_fault() -> None:
    """Raises what a callback of Hydra could not."""
    if _faults:
        raise _faults.pop()


def begun_folder() -> Path | None:
    """Returns the folder of the run, or of the sweep, that this process has begun."""
    return _begun[-1] if _begun else None


def begun_sweep() -> Path | None:
    """Returns the folder of the sweep that this process runs; ``None`` where it runs a single job."""
    return _sweeps[-1] if _sweeps else None


def write_failure(folder: Path, message: str | None) -> None:
    """Writes why a job failed into its folder; None removes what an earlier try has left."""
    if message is None:
        (folder / FAILURE_FILE).unlink(missing_ok=True)
    else:
        write_json({"error": message}, folder / FAILURE_FILE)


def has_failures() -> bool:
    """Returns whether a job below the registered folders has failed, in whatever process it ran."""
    return any(True for folder in _begun for _ in folder.rglob(FAILURE_FILE))


def remove_leftovers(*, ended: bool) -> None:
    """Forgets the folders that were begun, and, unless somebody stopped the run, removes those in which all went wrong.

    Folders above them that are empty then are removed as well, up to the working folder.
    """
    here = Path.cwd()
    for folder in _begun if ended else ():
        if here.is_relative_to(folder) or not folder.is_dir() or not _is_bare(folder):
            continue
        shutil.rmtree(folder)
        for parent in folder.parents:
            if parent == here or not parent.is_relative_to(here) or any(parent.iterdir()):
                break
            parent.rmdir()
    _begun.clear()
    _sweeps.clear()


def _is_bare(folder: Path) -> bool:
    """Returns whether a folder has nothing but records of what was requested."""
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return all(path.name in BOOKKEEPING or path.parent.name == HYDRA_FOLDER for path in files)
