"""JSON, YAML, and files written whole or not at all: under a temporary name first, so that nobody reads half of one.

Whatever goes wrong on the way, an error, an interrupt or a request to end (SIGTERM, SIGHUP), the file stays what it was
and nothing else is left. An error names the file, which a full disk does not do by itself.
"""

import errno
import json
import logging
import os
import secrets
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from os import PathLike
from pathlib import Path
from types import FrameType, ModuleType
from typing import IO, Any, Final, NoReturn

from flowsched_gym.core.errors import ConfigError, FlowSchedError, MissingDependencyError, shown
from flowsched_gym.core.packed import pack, packed_file, place_of, read_bytes, unpacked

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LOGGER: Final = logging.getLogger(__name__)
Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

LONGEST_NAME: Final = 32
"""Characters of a file's name that its temporary name shows; file systems allow 255 bytes in all."""
ENDINGS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end; Windows has fewer."""
SIGNALLED: Final = 128
"""Exit status of a process that a signal has ended, less the number of the signal, as shells count."""

MOST_LEVELS: Final = 100
MOST_VALUES: Final = 250_000
"""Levels of a YAML document at most, and values and brackets: so many take half a minute to read."""

_cleanings: list[Callable[[], None]] = []
"""What this process does before it ends."""


class Ended(KeyboardInterrupt):
    """Ctrl-C or another request to end, which everything takes as it takes Ctrl-C.

    Attributes:
        number: Number of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.number = number


def exit_status(interrupt: KeyboardInterrupt) -> int:
    """Returns the status with which a program ends after a request to end: 130 after Ctrl-C."""
    return SIGNALLED + (interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT)


def _raise_ended(number: int) -> None:
    raise Ended(number)


@contextmanager
def ended_by_signals(take: Callable[[int], None] = _raise_ended) -> Iterator[None]:
    """Handles SIGTERM and SIGHUP as Ctrl-C: by ``take``, which gets the number and by default raises `Ended`.

    Only the main thread can. Signals that are ignored stay so, such as hang-ups under ``nohup``. After the first one
    Ctrl-C alone counts: when a session ends, several programs send signals.
    """
    asked: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if asked and number != signal.SIGINT:
            return
        asked.append(number)
        for descriptor in (1, 2):  # a terminal that has hung up: whoever writes to it would fail
            with suppress(OSError):
                if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        take(number)

    here = threading.current_thread() is threading.main_thread()
    wanted = [number for number in ENDINGS if here and signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in ([signal.SIGINT] * here + wanted)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_path(name: str, path: str | PathLike[str], error: type[FlowSchedError] = ConfigError) -> Path:
    """Makes a path, and refuses what no file can be called, by an ``error`` that names the argument."""
    if not isinstance(path, (str, PathLike)):
        raise error(f"{name} is {shown(path)}: it must be a path")
    text = os.fsdecode(path)
    if "\0" in text:
        raise error(f"{name} is {shown(text)}: it must not contain a NUL character")
    return Path(text)


@contextmanager
def open_to_read(
    path: str | PathLike[str], content: str, needed: str, error: type[FlowSchedError] = ConfigError
) -> Iterator[Path]:
    """Makes a path, and turns what goes wrong when its file is read into an ``error`` that names it.

    The message says what the ``content`` of the file is, and what is ``needed`` there.
    """
    path = check_path(f"path of the {content}", path, error)
    if path.is_dir():
        raise error(f"{path} is a folder: {needed} is needed")
    try:
        yield path
    except FileNotFoundError:
        raise error(f"{path} does not exist: {needed} is needed") from None
    except UnicodeDecodeError as fault:
        raise error(f"{path} is not UTF-8 text: {fault.reason}") from None
    except OSError as fault:
        raise error(f"{path} cannot be read: {fault.strerror or fault}") from None


def check_target(path: str | PathLike[str]) -> Path:
    """Finds out whether a file could be written, before time is spent on its content; returns it, with links followed.

    Raises:
        OSError: The folder does not exist or is read-only, or the path is a folder.
    """
    path = check_path("path", path)
    if _is_device_or_pipe(path):
        return path
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: a file name is needed")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {target.parent} is read-only for this user")
    return target


@contextmanager
def replace_when_written(path: str | PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path in the same folder, which replaces the file when all went well.

    A device or pipe, such as ``/dev/stdout``, stays what it is: it is written to as it stands.

    Raises:
        OSError: The folder does not exist or cannot be written to, the path is a folder, or the disk is full.
    """
    target = check_target(path)
    if _is_device_or_pipe(target):
        with naming_file(path):
            yield target
        return
    # Hidden, with the file's extension, by which writers choose the format.
    temporary = target.with_name(f".{target.name[:LONGEST_NAME]}.{secrets.token_hex(8)}.tmp{target.suffix}")
    with naming_file(path, temporary), done_at_last(partial(temporary.unlink, missing_ok=True)):
        yield temporary
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())  # a computer that loses power between both may keep the name and not the content
        temporary.replace(target)


def lock_alone(file: IO[Any], wait: Callable[[], None]) -> None:
    """Locks an open file until it is closed, and calls ``wait`` before it waits for another process that has it.

    Where a file system has no locks, as some networks have it, nothing is locked, of which a warning tells once.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        wait()
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        _tell_of_no_locks(f"{error.strerror or error}")


@cache
def _tell_of_no_locks(reason: str) -> None:
    LOGGER.warning("the file system has no locks (%s): two processes at once may do the same work twice", reason)


def write_text(text: str, path: str | PathLike[str]) -> None:
    """Writes a text file as `write_bytes` does."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: str | PathLike[str]) -> None:
    """Writes a file, into a packed folder where the path leads there; missing folders are made."""
    place = place_of(check_path("path", path))
    if place is not None:
        folder, name = place
        write_packed({**unpacked(folder), name: content}, folder)
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replace_when_written(path) as temporary:
        temporary.write_bytes(content)


def write_packed(files: Mapping[str, bytes], folder: str | PathLike[str]) -> None:
    """Writes files, by their names in a folder, as the packed folder; missing folders above it are made."""
    file = packed_file(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replace_when_written(file) as temporary:
        pack(files, temporary, Path(folder).name)


def read_json(path: str | PathLike[str]) -> Any:
    """Reads a JSON document, which may lie in a packed folder.

    Raises:
        ConfigError: It is none, or nested too deeply, or holds what JSON does not have, such as NaN.
    """
    content = read_bytes(path)
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise ConfigError(f"{path}: this JSON is nested too deeply") from None
    except ValueError as error:  # among them text that is not UTF-8, and numbers of thousands of digits
        raise ConfigError(f"{path}: this is not JSON: {error}") from None


def read_yaml(path: Path, *, extra: str) -> Any:
    """Reads a YAML document, in which ``${...}`` is text; the extra is one that brings OmegaConf.

    Raises:
        ConfigError: It is none, or ``check_yaml`` refuses it.
        MissingDependencyError: OmegaConf is not installed.
    """
    try:
        from omegaconf import OmegaConf  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("omegaconf", extra=extra, purpose="read YAML files") from None
    with path.open(encoding="utf-8") as file:
        try:
            check_yaml(file.read())
            file.seek(0)
            return OmegaConf.to_container(OmegaConf.load(file), resolve=False)
        except FlowSchedError as error:
            raise ConfigError(f"{path}: {error}") from None
        except Exception as error:  # noqa: BLE001 - PyYAML raises KeyError, IndexError and more for values such as !!bool x
            raise ConfigError(f"{path}: this is not YAML: {error}") from None


def check_yaml(text: str) -> None:
    """Refuses, before anything is made of it, YAML of a few lines that stands for billions of values, or is too deep.

    Raises:
        ConfigError: It has an alias, too many values, or too many levels.
        yaml.YAMLError: It is none.
    """
    import yaml  # noqa: PLC0415 - optional

    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(f"line {event.start_mark.line + 1} has an alias, *{event.anchor}: write out its value")
        if depth > MOST_LEVELS or count > MOST_VALUES:
            raise ConfigError(f"this YAML must have at most {MOST_LEVELS} levels and {MOST_VALUES} values and brackets")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def naming_file(path: str | PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Adds the name of a file to errors of the operating system, which name a temporary file, or none on a full disk.

    Errors about any other file, but the temporary file or folder that is written in its place, stay what they are.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and (temporary is None or not Path(error.filename).is_relative_to(temporary)):
            raise
        reason = error.strerror or str(error) or type(error).__name__
        raise type(error)(error.errno or errno.EIO, reason, os.fspath(path)) from error


@contextmanager
def done_at_last(clean: Callable[[], None]) -> Iterator[None]:
    """Cleans up at the end of a ``with`` block, also where the process is asked to end and would just do so."""
    # Python lets the main thread alone handle signals. A handler that is there already is ours, or knows what it does.
    here = threading.current_thread() is threading.main_thread()
    handled = [number for number in ENDINGS if here and signal.getsignal(number) is signal.SIG_DFL]
    _cleanings.append(clean)
    for number in handled:
        signal.signal(number, _end)
    try:
        yield
    finally:
        clean()
        _cleanings.remove(clean)
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    for clean in tuple(_cleanings):
        clean()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _is_device_or_pipe(path: str | PathLike[str]) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
