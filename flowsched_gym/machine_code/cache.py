"""Machine code on disk: kept for as long as no source changes, sealed, and compiled by one process alone.

Numba caches machine code beside the source, and takes it as stale when that one file changes. But a rule is compiled
into the functions that call it, in other files: an edited rule would go on to be served from their caches. So the stamp
of every cached function is a digest of its source and of all that this imports, and what that imports. Each file of the
cache ends with a digest of its content, so that one that a power loss has cut short is compiled anew.
"""

import ast
import hashlib
import inspect
import logging
import os
import pickle
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserWideCacheLocator
from numba.core.serialize import dumps
from numba.core.types import BaseNamedTuple, BaseTuple

from flowsched_gym.core.files import lock_alone
from flowsched_gym.machine_code.messages import WAITING, tell

PACKAGE: Final = Path(__file__).parents[1]
LOGGER: Final = logging.getLogger(__name__)

DIGEST_SIZE: Final = 16
"""Bytes of the digest at the end of each file of the cache."""
BODY: Final = re.compile(rb"^(?:@|def |class |async )", re.MULTILINE)
"""Where the first function or class of a module begins: what it imports stands above."""


def _imported(source: bytes, *, ours: bool) -> Iterator[str]:
    """Returns the names of modules that a source imports, and those that a name that it imports may stand for."""
    body = BODY.search(source) if ours else None  # in a tenth of the time
    try:
        tree = ast.parse(source[: body.start()] if body else source)
    except SyntaxError:  # a line of the docstring begins as a function does
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


@cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Digests a source, and lists the sources of this package that it imports."""
    source = path.read_bytes()
    ours = path.is_relative_to(PACKAGE)
    try:
        modules = [name.split(".") for name in _imported(source, ours=ours)]
    except (SyntaxError, ValueError):  # what stands beside a user's own system need not be Python of today
        modules = []
    folders = [PACKAGE.parent.joinpath(*module) for module in modules if module[0] == PACKAGE.name]
    candidates = [file for folder in folders for file in (folder.with_suffix(".py"), folder / "__init__.py")]
    imported = [candidate for candidate in candidates if candidate.is_file()]
    if not ours:
        # A user's own system: whatever stands beside it may be a part of it.
        imported += path.parent.glob("*.py")
    return hashlib.sha256(source).digest(), tuple(imported)


@cache
def source_files(path: Path) -> tuple[Path, ...]:
    """Returns the sources that compiled code in a file of this package may be made of, that file included."""
    found, new = {path}, [path]
    while new:
        fresh = {imported for each in new for imported in _read(each)[1]} - found
        found |= fresh
        new = list(fresh)
    return tuple(sorted(found))


@cache
def _stamp(path: Path) -> str:
    return hashlib.sha256(b"".join(sorted(_read(source)[0] for source in source_files(path)))).hexdigest()


class _CacheFiles(IndexDataCacheFile):
    """The index and the machine code of one rule, each file sealed by a digest.

    Each entry of the index is packed by itself, so that one for a record of another project hides no other.
    """

    def save(self, key: object, data: object) -> None:
        """Saves machine code.

        Numba numbers the files, so that two processes that begin at once may give one number to code for different
        types, and the index of the one then leads to the code of the other. Here each has a name of its own.
        """
        name = f"{self._code_name(key)}.nbc"
        self._save_data(name, data)  # type: ignore[no-untyped-call]  # Numba's
        self._save_index(self._entries() | {name: dumps(key)})  # type: ignore[no-untyped-call]  # Numba's

    def _code_name(self, key: object) -> str:
        digest = hashlib.blake2b(repr(key).encode(), digest_size=DIGEST_SIZE).hexdigest()
        return f"{self._index_name.removesuffix('.nbi')}.{digest}"

    def _load_index(self) -> dict[Any, str]:
        """Reads the index: what there is machine code for, and the file that has it."""
        known = {}
        for name, packed in self._entries().items():
            with suppress(ImportError, AttributeError):
                known[pickle.loads(packed)] = name
        return known

    def _entries(self) -> dict[str, bytes]:
        """Reads the index as it is; one that is damaged is empty, and overwritten when the rule has been compiled."""
        try:
            entries: dict[str, bytes] = super()._load_index()  # type: ignore[no-untyped-call]  # Numba has no types
        except Exception as error:  # noqa: BLE001 - a damaged pickle may raise anything
            LOGGER.warning("machine code is compiled anew: %s cannot be read: %r", self._index_path, error)
            return {}
        # An index of another version is empty, whether sealed or not.
        return entries if not entries or self._is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)  # type: ignore[no-untyped-call]  # Numba's
        if not self._is_whole(path):
            raise OSError(f"{path} is damaged")
        return super()._load_data(name)  # type: ignore[no-untyped-call]  # Numba's

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BinaryIO]:
        """Seals what is written. Unpickling stops before the digest."""
        content = BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + self._seal(content.getvalue()))

    def _is_whole(self, path: str) -> bool:
        content = Path(path).read_bytes()
        whole = content[-DIGEST_SIZE:] == self._seal(content[:-DIGEST_SIZE])
        if not whole:
            LOGGER.warning("machine code is compiled anew: %s is damaged", path)
        return whole

    def _seal(self, content: bytes) -> bytes:
        """Digests a content and the version, so that no index is served with the machine code of another version."""
        return hashlib.blake2b(self._version.encode() + content, digest_size=DIGEST_SIZE).digest()


class _TemporaryFolder(UserWideCacheLocator):
    """A folder of this user alone among temporary files; machine code of others is never loaded."""

    def get_cache_path(self) -> str:
        """Returns the folder of a source, in that of the user."""
        name = self.get_suitable_cache_subpath(self._py_file)  # type: ignore[no-untyped-call]  # Numba's
        return str(_user_folder() / name)

    def ensure_cache_path(self) -> None:
        """Makes the folders, or raises ``OSError``."""
        _user_folder().mkdir(mode=stat.S_IRWXU, exist_ok=True)
        found = _user_folder().lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionError(f"{_user_folder()} is not this user's alone")
        super().ensure_cache_path()  # type: ignore[no-untyped-call]  # Numba's


class _CachePlace(CompileResultCacheImpl):
    """Where machine code is kept: where the user says; without a word beside the source, at home, or elsewhere."""

    def __init__(self, function: Callable[..., object]) -> None:
        if _given_folder():
            # The first is the user's folder; the names of these classes differ between versions of Numba.
            self._locator_classes = self._locator_classes[:1]
        elif hasattr(os, "getuid"):  # on Windows folders have no owner that could be checked
            self._locator_classes = [*self._locator_classes, _TemporaryFolder]
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's


class MachineCode(FunctionCache):
    """Machine code of a rule on disk, kept for as long as no source changes."""

    _impl_class = _CachePlace

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's
        self._source = Path(function.__code__.co_filename)
        found, stamp = self._cache_file, _stamp(self._source)
        # Elsewhere Numba looks at the time of the change.
        own = stamp if function.__module__.startswith(PACKAGE.name) else found._source_stamp
        self._cache_file: _CacheFiles = _CacheFiles(self.cache_path, self._impl.filename_base, own)  # type: ignore[no-untyped-call]  # Numba's
        # The version is compared before the rest of a file is read, which may name classes that are gone.
        self._cache_file._version = f"{found._version} {stamp}"

    def _index_key(self, signature: Any, codegen: object) -> tuple[object, ...]:
        """Adds the sources of records to what machine code is known by, since a record's type chooses functions."""
        known = source_files(self._source)
        sources = {Path(inspect.getfile(record)) for record in records_of(signature)}
        stamps = [_stamp(path) for path in sorted(sources) if path not in known]
        return (*super()._index_key(signature, codegen), *stamps)  # type: ignore[no-untyped-call]  # Numba's

    def signatures(self) -> list[Any]:
        """Lists the types of arguments for which there is machine code on disk."""
        return [key[0] for key in self._cache_file._load_index()]

    @contextmanager
    def locked(self, signature: Any, codegen: object) -> Iterator[None]:
        """Waits, where there is no machine code for these types yet, until no other process compiles it."""
        if not _can_be_kept(signature):
            yield
            return
        key = self._index_key(signature, codegen)
        if key in self._cache_file._load_index():
            yield
            return
        path = Path(self.cache_path, f"{self._cache_file._code_name(key)}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("w")
        except OSError:  # nor can machine code be kept there, of which ``save_overload`` tells
            yield
            return
        with file:
            lock_alone(file, partial(tell, WAITING))
            try:
                yield
            finally:
                # Who waits for this file finds machine code on disk, and so does who makes another.
                path.unlink(missing_ok=True)

    def load_overload(self, signature: Any, target_context: object) -> Any:
        """Reads machine code; ``None`` where there is none."""
        if not _can_be_kept(signature):
            return None
        return super().load_overload(signature, target_context)  # type: ignore[no-untyped-call]  # Numba's

    def save_overload(self, signature: Any, data: object) -> None:
        """Writes machine code; where the disk is full or the folder gone, it serves this process alone."""
        if not _can_be_kept(signature):
            return
        try:
            super().save_overload(signature, data)  # type: ignore[no-untyped-call]  # Numba's
        except OSError as error:
            LOGGER.warning("machine code is not kept in %s: %s", self.cache_path, error)


def records_of(types: Iterable[Any]) -> Iterator[type]:
    """Finds the NamedTuples among types, and within them."""
    for each in types:
        if isinstance(each, BaseTuple):
            yield from records_of(cast(Any, each))
            if isinstance(each, BaseNamedTuple):
                yield cast(Any, each).instance_class


def _can_be_kept(types: Iterable[Any]) -> bool:
    """Returns whether another process finds the records among types: those of a notebook or script it does not."""
    return all(
        record.__module__ != "__main__"
        and "<locals>" not in record.__qualname__
        and getattr(sys.modules.get(record.__module__), "__file__", None) is not None
        for record in records_of(types)
    )


def _given_folder() -> str:
    return str(cast(Any, config).CACHE_DIR)


def _user_folder() -> Path:
    return Path(tempfile.gettempdir(), f"flowsched-gym-{os.getuid()}")


@cache
def _tell_of_unwritable(folder: str) -> None:
    place = f"NUMBA_CACHE_DIR is {folder!r}, which" if folder else "NUMBA_CACHE_DIR names no folder, and the usual ones"
    LOGGER.warning("%s cannot be written to: machine code serves this process alone", place)


def machine_code_of(function: Callable[..., object]) -> MachineCode | None:
    """Finds where the machine code of a rule is kept; ``None``, with a warning, where no folder can be written to."""
    try:
        return MachineCode(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        if os.path.exists(function.__code__.co_filename):
            _tell_of_unwritable(_given_folder())
        return None


def compiled_alone(dispatcher: Any, signature: Any) -> AbstractContextManager[None]:
    """Lets one process compile a rule for these types of arguments, while others wait for what it keeps on disk."""
    machine_code = dispatcher._cache
    if not isinstance(machine_code, MachineCode):
        return nullcontext()
    return machine_code.locked(signature, dispatcher.targetctx.codegen())
