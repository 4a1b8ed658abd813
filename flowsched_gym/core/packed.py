"""Folders packed into one file: ``NAME.tar.xz`` stands for the folder ``NAME`` that would lie beside it.

Paths of files stay what they are: ``models/cmaes/seed0.zip`` is read from ``models/cmaes.tar.xz``, and ``tar -xf``
makes the folder. Where there is a folder, it is read, and not the packed one.
"""

import errno
import io
import lzma
import os
import tarfile
from collections.abc import Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flowsched_gym.core.errors import ConfigError

SUFFIX: Final = ".tar.xz"
PRESET: Final = lzma.PRESET_DEFAULT | lzma.PRESET_EXTREME
"""Twice the time to write, up to a quarter less of long lists of actions; to read takes no more memory."""
MOST_BYTES: Final = 1 << 28
"""Bytes of the files of a packed folder, so that a small file cannot fill the memory."""
KEPT: Final = 4
"""Folders whose files stay in memory."""


def packed_file(folder: str | PathLike[str]) -> Path:
    """Returns the file that stands for a folder."""
    return Path(f"{Path(folder)}{SUFFIX}")


def folder_of(path: str | PathLike[str]) -> Path:
    """Returns the folder that a file stands for; other paths are returned as they are."""
    return Path(os.fspath(path).removesuffix(SUFFIX))


def place_of(path: str | PathLike[str]) -> tuple[Path, str] | None:
    """Returns the packed folder that a path leads into, and the name of the file there; ``None`` if there is none."""
    path = Path(path)
    for folder in path.parents:
        if folder.is_dir():
            break
        if packed_file(folder).is_file():
            return folder, path.relative_to(folder).as_posix()
    return None


def unpacked(folder: str | PathLike[str]) -> Mapping[str, bytes]:
    """Reads the files of a packed folder, by their names in it.

    Raises:
        ConfigError: The file is no packed folder, is damaged, or is too large.
        OSError: The file cannot be read.
    """
    file = packed_file(folder)
    status = file.stat()
    return _unpacked(file, status.st_mtime_ns, status.st_size)


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Reads a file, which may lie in a packed folder; raises as `unpacked`."""
    place = place_of(path)
    if place is None:
        return Path(path).read_bytes()
    folder, name = place
    if name not in unpacked(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return unpacked(folder)[name]


def is_file(path: str | PathLike[str]) -> bool:
    """Returns whether there is a file, which may lie in a packed folder."""
    place = place_of(path)
    return Path(path).is_file() if place is None else place[1] in unpacked(place[0])


def is_folder(path: str | PathLike[str]) -> bool:
    """Returns whether there is a folder, packed or not."""
    return os.path.isdir(path) or os.path.isfile(packed_file(path))


def folders_in(folder: str | PathLike[str]) -> list[Path]:
    """Lists the folders in a folder, packed or not, in the order of their names."""
    return sorted({folder_of(path) for path in Path(folder).glob("*") if path.is_dir() or path.name.endswith(SUFFIX)})


def files_in(folder: str | PathLike[str], suffix: str) -> list[Path]:
    """Lists the files of a folder, packed or not, whose names have a suffix, in the order of their names."""
    folder = Path(folder)
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else list(unpacked(folder))
    return [folder / name for name in sorted(names) if name.endswith(suffix) and "/" not in name]


def pack(files: Mapping[str, bytes], file: Path, folder: str) -> None:
    """Writes files, by their names in a folder, into a file that stands for it; equal files give equal bytes."""
    with lzma.open(file, "wb", preset=PRESET) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@lru_cache(KEPT)
def _unpacked(file: Path, changed: int, size: int) -> Mapping[str, bytes]:
    """Reads a packed folder, anew where its file has changed."""
    try:
        with lzma.open(file) as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigError(f"{file} holds more than {MOST_BYTES} B: a packed folder must be smaller")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            members = [(member.name, member.offset_data, member.size) for member in archive if member.isreg()]
    except MemoryError:
        raise ConfigError(f"{file} takes too much memory to unpack: it was not packed by flowsched-gym") from None
    except (EOFError, ValueError, lzma.LZMAError, tarfile.TarError) as error:
        raise ConfigError(f"{file} is no folder that was packed by flowsched-gym, or damaged: {error}") from None
    return MappingProxyType({name.partition("/")[2]: content[at : at + size] for name, at, size in members})
