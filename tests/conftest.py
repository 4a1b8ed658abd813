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
os.environ.pop("COLUMNS", None)  # pytest-xdist tells its processes the width of its terminal; tables would be folded

import gc  # noqa: E402
import logging  # noqa: E402
import random  # noqa: E402
import secrets  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, Final  # noqa: E402

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.processes import run  # noqa: E402
from tests.repository import FOLDERS, ROOT  # noqa: E402

# Libraries and the compiler make many objects that stay: to look through them again and again took a tenth of the time.
gc.freeze()
gc.set_threshold(50_000, 50, 100)

# An example that is slow tells of the machine, not of the package.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

OURS: Final = ("COLUMNS", "FLOWSCHED", "HOME", "NUMBA", "OMP", "PATH", "PYTHON")
"""How variables begin that the package and its commands read; libraries set others when they are imported."""
PLACES: Final = pytest.StashKey[dict[Path, int]]()
"""Where the files of this part stand in the order."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", type=int, help="seed of the order of the files (default: another one in each run)")
    parser.addoption("--part", default="1/1", help="K/N: of N parts of that order, the files of part K")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell that starts the tests in the background says so
        signal.signal(signal.SIGINT, signal.default_int_handler)
    handed = getattr(config, "workerinput", {})  # to the processes of pytest-xdist
    if config.option.order is None:
        config.option.order = handed.get("order", secrets.randbelow(10**6))
    # Shuffled, so that no test comes to need what another file has left behind.
    files = sorted(ROOT.joinpath("tests").rglob("test_*.py"))
    random.Random(config.option.order).shuffle(files)
    part, parts = (int(number) for number in config.option.part.split("/"))
    config.stash[PLACES] = {path: place for place, path in enumerate(files) if place % parts == part - 1}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["order"] = node.config.option.order


def pytest_report_header(config: pytest.Config) -> str:
    return f"order of the files: --order={config.option.order} --part={config.option.part}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves files of other parts alone, so that what they import and compile takes no memory."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and collection_path not in config.stash[PLACES] else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: config.stash[PLACES][item.path])


@pytest.fixture(autouse=True)
def _leaves_nothing_behind() -> Iterator[None]:
    """Restores the log, which Hydra configures, and fails a test that changes other parts of this process."""
    before, handlers, level = _state(), list(logging.root.handlers), logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    after = _state()
    pairs = {name: (before.get(name), after.get(name)) for name in before | after}
    changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    assert not changed, f"the test leaves behind, before and after: {changed}"


def _state() -> dict[str, object]:
    return {
        "folder": os.getcwd(),
        "handlers of signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        **{f"${name}": value for name, value in os.environ.items() if name.startswith(OURS)},
    }


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
