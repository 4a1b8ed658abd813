"""Hydra applications with one-line error messages and fitting exit statuses."""

import dataclasses
import logging
import multiprocessing
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Final

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from tqdm import tqdm

from flowsched_gym.baselines.applications.leftovers import (
    begun_folder,
    begun_sweep,
    has_failures,
    raise_fault,
    remove_leftovers,
    write_failure,
)
from flowsched_gym.baselines.applications.tuned_experiment import name_experiment_file
from flowsched_gym.baselines.configuration.hydra_store import SCHEMAS, plain_values, read_config, register_schemas
from flowsched_gym.baselines.configuration.workload_files import own_folders, refuse_hidden_files
from flowsched_gym.core.errors import (
    ConfigError,
    FlowSchedError,
    FlowSchedWarning,
    MissingDependencyError,
    listed,
    one_line,
    similar,
)
from flowsched_gym.core.files import Ended, ended_by_signals, exit_status
from flowsched_gym.machine_code.messages import announced_by

LOGGER: Final = logging.getLogger(__name__)

CONFIGS: Final = "flowsched_gym.configs"
CONFIG_PATH: Final = f"pkg://{CONFIGS}"
BAD_USAGE: Final = 2
LOST_WORKER: Final = 1
GROUP: Final = re.compile(r"^  - (\w+): ", re.MULTILINE)
"""A group of configuration files in a list of defaults."""
LAUNCHERS: Final = frozenset({"ray", "submitit"})
"""Packages that run the jobs of a sweep elsewhere."""

JOBLIB_WORKER: Final = "LokyProcess"
"""What the names of joblib's processes begin with."""
SETTING: Final = "="
QUOTES: Final = "; a rule with options in quotes: \"start='skip-late:base=sjf'\" or \"policies=['sjf:queue=whole']\""
"""Advice on a value that Hydra reads as two."""

_asked: list[int] = []
"""Signals that have asked this process, a worker, to end."""

Job = Callable[[Any, Mapping[str, Any], Path, str], None]
"""Takes the configuration, as its frozen object and as plain values, the output folder and the command line."""
UNKNOWN: Final = re.compile(r"Could not override '(?P<key>[^']+)'")
ADVICE: Final = re.compile(r"\s*(To append to your|Either remove \+|Or add a second).*", re.DOTALL)
SCHEMA: Final = "_schema"
"""End of the names of schemas, which no command line names."""
FILE_SUFFIX: Final = ".yaml"
LAUNCHER_GROUP: Final = "hydra/launcher"
PACKAGES: Final = {"ray": "hydra-ray-launcher", "submitit": "hydra-submitit-launcher"}
"""Packages that bring launchers, by the first word of these."""


def run_application(command: str, config_name: str, job: Job) -> None:
    """Composes the configuration from the command line and runs the job, or each job of a multirun.

    Leaves by ``SystemExit`` with status 2 for bad usage or input, 1 when a sweep lost a worker, 128 + the signal's
    number when asked to end. The name of the command is for the command line that is kept.
    """
    # Numerical libraries that spin on busy cores are several times slower; their threads begin with their first use.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if not sys.stderr.isatty():
        # Ray writes its colours everywhere else as well.
        os.environ |= {"RAY_COLOR_PREFIX": "0", "RAY_DEDUP_LOGS": "0"}
    register_schemas()
    # Of a user's file that has the name of a workload: `refuse_hidden_files` says it in one line.
    warnings.filterwarnings("ignore", r"(?s).*is validated against ConfigStore schema with the same name")
    state = {"begun": False, "failed": False}

    def task(config: DictConfig) -> None:
        state["begun"] = True
        os.chdir(HydraConfig.get().runtime.cwd)  # workers of a cluster begin elsewhere
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())  # where ``module:Class`` is looked for last
        run = _run_job if multiprocessing.parent_process() is None else _run_job_of_worker
        if not run(command, config, job):
            state["failed"] = True

    # Hydra would print its own messages, with advice that does not help here, and leave.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    application = hydra.main(version_base="1.3", config_path=CONFIG_PATH, config_name=config_name)(task)
    status: int | str | None = BAD_USAGE
    ended = True
    try:
        # A progress bar that is there stays below what is told of the compiler.
        with _workers_end_first(), announced_by(partial(tqdm.write, file=sys.stderr)):
            sys.argv[1:] = options_first(sys.argv[1:], _known_keys(config_name))
            name_experiment_file()
            application()
        raise_fault()
        status = BAD_USAGE if state["failed"] or has_failures() else 0
    except KeyboardInterrupt as interrupt:
        print(f"stopped; {_how_to_go_on()}", file=sys.stderr)
        status, ended = exit_status(interrupt), False
    except _lost_worker_errors() as error:
        print(f"{command}: a worker was lost: {str(error).splitlines()[0]}; {_how_to_go_on()}", file=sys.stderr)
        status, ended = LOST_WORKER, False
    except ConfigError as error:
        print(f"{command}: {error}", file=sys.stderr)
    except HydraException as error:
        print(f"{command}: {explain(error, _known_keys(config_name))}", file=sys.stderr)
    except Exception as error:
        fault = _file_fault(error)
        if isinstance(error, ValueError) and _package(error) == "hydra":  # as for options that exclude each other
            print(f"{command}: {error}", file=sys.stderr)
        elif isinstance(error, (OSError, RuntimeError)) and _package(error) in LAUNCHERS:
            print(f"{command}: the launcher could not start: {str(error).splitlines()[0]}", file=sys.stderr)
        elif fault is not None:
            print(f"{command}: {fault}", file=sys.stderr)
        else:
            raise
    except SystemExit as end:
        # Hydra leaves with 1 after it has said what is wrong with the command line.
        status = end.code if state["begun"] else BAD_USAGE
    finally:
        remove_leftovers(ended=ended)
    if status:
        raise SystemExit(status)


def options_first(words: Sequence[str], settings: Collection[str]) -> list[str]:
    """Moves the options of a command line, with their values, before its settings: Hydra takes them there alone.

    Raises:
        ConfigError: There is no such option.
    """
    known = get_args_parser()._option_string_actions
    options: list[str] = []
    overrides: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            overrides.append(word)
            continue
        name, given, _ = word.partition(SETTING)
        action = known.get(name) or next((known[each] for each in known if each.startswith(name)), None)
        if action is None:
            raise ConfigError(_no_option(word, left, settings))
        options.append(word)
        takes_one = action.nargs is None or (action.nargs == "?" and bool(left) and left[0] in (action.choices or ()))
        if takes_one and not given and left:
            options.append(left.pop(0))
    return options + overrides


def explain(error: HydraException, known: Collection[str]) -> str:
    """Writes a fault of a command line in one line that names the key and what is allowed.

    Known are the keys and groups of the configuration, those of its parts with dots. Hydra's own messages advise to add
    an unknown key by a plus sign, which gives a key that nothing reads.
    """
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, option = error.missing_cfg_file.rpartition("/")
        if group == LAUNCHER_GROUP and option.startswith(tuple(PACKAGES)):
            package = PACKAGES[option.partition("_")[0]]
            return str(MissingDependencyError(package, extra="cluster", purpose="run a sweep on a cluster"))
        if option.endswith(FILE_SUFFIX):
            stem = option.removesuffix(FILE_SUFFIX)
            return (
                f"{group} is {option!r}: it must be a name; --config-dir FOLDER {group}={stem} reads "
                f"FOLDER/{group}/{option}"
            )
        options = [name for name in error.options if not name.endswith(SCHEMA)]
        return f"{group or 'the configuration'} is {option!r}: it must be one of {listed(option, options)}"
    if isinstance(error, OverrideParseException):
        advice = QUOTES * (SETTING in error.override.partition(SETTING)[2])
        return f"{error.override!r} is no override key=value: {str(error).splitlines()[0]}{advice}"
    cause = error.__cause__
    unknown = UNKNOWN.search(str(error))
    if unknown:
        last = unknown["key"].rpartition(".")[2]
        namesakes = [name for name in known if name.rpartition(".")[2] == last and name != unknown["key"]]
        if namesakes:
            return f"the configuration has no key {unknown['key']!r}: it is {' or '.join(namesakes)} here"
        key, parent = unknown["key"], getattr(cause, "parent_node", None)
        if isinstance(parent, DictConfig):
            key = str(cause.key) if isinstance(cause, OmegaConfBaseException) else key
            within = parent._get_full_key(None)
            names = [str(name) for name in parent]
            return f"{within or 'the configuration'} has no key {key!r}: it has {listed(key, _visible(names))}"
        return f"the configuration has no key {key!r}: it has {listed(key, _visible(known))}"
    reason = f": {str(cause).splitlines()[0]}" if isinstance(cause, OmegaConfBaseException) and str(cause) else ""
    return " ".join(ADVICE.sub("", str(error)).split()) + reason


def _run_job(command: str, config: DictConfig, job: Job) -> bool:
    """Runs one job and returns whether it succeeded; a job of a multirun leaves its error in its folder."""
    register_schemas()
    runtime = HydraConfig.get()
    folder = Path(runtime.runtime.output_dir)
    own = [word for path in own_folders() for word in ("--config-dir", str(path))]
    line = shlex.join([command, *own, *runtime.overrides.task])
    try:
        if runtime.mode is RunMode.MULTIRUN:
            write_failure(folder, None)
        refuse_hidden_files()
        with _threads_of_files_quiet(), _warnings_told_once(command):
            job(read_config(config), plain_values(config), folder, line)
    except (FlowSchedError, OSError, MemoryError) as error:
        said = f"not enough memory: {error}" if isinstance(error, MemoryError) else str(error)
        if runtime.mode is RunMode.MULTIRUN:
            write_failure(folder, said)  # a disk too full for this as well ends the sweep
        print(f"{command}: {said}", file=sys.stderr)
        return False
    except Exception as error:  # a policy of one's own may raise anything, and the other jobs get their tables
        if runtime.mode is not RunMode.MULTIRUN or _file_fault(error) is not None:
            raise
        traceback.print_exc()
        write_failure(folder, one_line(f"{type(error).__name__}: {error}"))
        return False
    return True


@contextmanager
def _workers_end_first() -> Iterator[None]:
    """Has the workers of joblib leave their checkpoints when this process is asked to end, which ends after them.

    Once more, or without workers, it ends at once, and joblib kills those that are left.
    """
    asked: list[int] = []

    def take(number: int) -> None:
        workers = [each for each in multiprocessing.active_children() if each.name.startswith(JOBLIB_WORKER)]
        if asked or not workers:
            raise Ended(number)
        asked.append(number)
        print("stopping the jobs after their updates; Ctrl-C stops at once", file=sys.stderr)
        for worker in workers:
            worker.terminate()

    try:
        with ended_by_signals(take):
            yield
    finally:
        if asked:  # whatever the launcher makes of jobs that did not come to their ends
            raise Ended(asked[0]) from None


def _run_job_of_worker(command: str, config: DictConfig, job: Job) -> bool:
    """Runs a job in a process of joblib, unless it has been asked to end: then this job is the last."""
    if not _asked:
        signal.signal(signal.SIGTERM, lambda number, _: _asked.append(number))  # between two jobs
        try:
            with ended_by_signals():
                return _run_job(command, config, job)
        except KeyboardInterrupt:
            _asked.append(signal.SIGTERM)
    return True


@contextmanager
def _warnings_told_once(command: str) -> Iterator[None]:
    """Prints each warning of the package once, in one line; an environment is made many times in a training."""
    before, told = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, FlowSchedWarning):
            before(message, category, *place, **more)
        elif str(message) not in told:
            told.add(str(message))
            print(f"{command}: warning: {message}", file=sys.stderr)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def _threads_of_files_quiet() -> Iterator[None]:
    """Leaves what a thread such as TensorBoard's meets in a file to its owner, who gets it too."""
    before = threading.excepthook
    threading.excepthook = lambda fault: None if isinstance(fault.exc_value, OSError) else before(fault)
    try:
        yield
    finally:
        threading.excepthook = before


def _file_fault(error: BaseException | None) -> OSError | None:
    """Finds the error about a file, as on a full disk, that a library has met; it names the run's folder if no file."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__
    if error is not None and error.filename is None and begun_folder() is not None:
        return OSError(error.errno, error.strerror or str(error), str(begun_folder()))
    return error


def _lost_worker_errors() -> tuple[type[BaseException], ...]:
    """Lists what launchers raise when the process of a job is gone; theirs are imported only where they are used."""
    found: list[type[BaseException]] = [BrokenExecutor]
    for module, name in (("ray.exceptions", "RayError"), ("submitit.core.utils", "UncompletedJobError")):
        if module in sys.modules:
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


def _package(error: BaseException) -> str:
    """Names the package that raised an error, such as Ray's where there is no cluster."""
    (*_, (frame, _)) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals["__name__"]).partition(".")[0]


def _how_to_go_on() -> str:
    sweep = begun_sweep()
    if sweep is None:
        return "resume=true continues from the last checkpoint"
    shown = sweep.relative_to(Path.cwd()) if sweep.is_relative_to(Path.cwd()) else sweep
    return f"the same command with sweep_dir={shown} goes on where this one stopped"


def _known_keys(config_name: str) -> list[str]:
    """Lists groups and keys of a command's configuration, those of its parts with dots."""
    primary = resources.files(CONFIGS).joinpath(f"{config_name}.yaml").read_text(encoding="utf-8")
    known = GROUP.findall(primary)
    for column in dataclasses.fields(SCHEMAS[""][f"{config_name}_schema"]):
        known.append(column.name)
        if dataclasses.is_dataclass(column.type):
            known += [f"{column.name}.{part.name}" for part in dataclasses.fields(column.type)]
    return known


def _no_option(word: str, following: Sequence[str], settings: Collection[str]) -> str:
    """Tells that there is no such option, and how the setting is written that may have been meant."""
    name, given, value = word.lstrip("-").partition(SETTING)
    if not given and following and not following[0].startswith("-") and SETTING not in following[0]:
        value = following[0]
    near = similar(name, settings) if name not in settings else ""
    return f"there is no option {word.partition(SETTING)[0]}: settings have no dashes, {name}={value or '...'}{near}"


def _visible(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name != "hydra" and "." not in name})
