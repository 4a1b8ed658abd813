"""Makes every test process single-threaded, patient, without a display and without a network, before any import.

What tests read of standard error does not depend on what is compiled yet: no line tells of it.
"""

import os

# Libraries read these when they are first imported; a value that the caller set stays.
for _name, _value in {
    "FLOWSCHED_QUIET": "1",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    # Seconds for its own process to start and to answer, which a busy machine exceeds by default.
    "WANDB__SERVICE_WAIT": "3000",
    "WANDB_INIT_TIMEOUT": "3000",
}.items():
    os.environ.setdefault(_name, _value)

import shutil  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.processes import run  # noqa: E402
from tests.repository import FOLDERS, ROOT  # noqa: E402

# An example that is slow tells of the machine, not of the package.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="module")
def event_logs() -> Iterator[None]:
    """Lets all environments of a module, single and native, keep the events of their episodes."""
    from tests.envs.vectors import keep_event_logs

    with pytest.MonkeyPatch.context() as monkeypatch:
        keep_event_logs(monkeypatch)
        yield


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a wheel built from a copy of the tree, so that the tree itself stays as it is."""
    copy, target = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(copy))
    return next(target.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder in which the wheel is installed, its commands in ``bin``."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(wheel))
    return folder
