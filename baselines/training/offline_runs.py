"""Reads what Weights & Biases kept of a run that was logged offline.

Such a run is one file, ``wandb/offline-run-*/run-*.wandb`` in the folder of a training: a log in the format of LevelDB
(blocks of 32 KiB, records that may be cut at their ends) whose records are W&B's protocol buffers. W&B itself reads it
only to send it to a server.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final, Protocol

from flowsched_gym.core.errors import ConfigError, MissingDependencyError

FILE_HEADER: Final = 7
BLOCK: Final = 32_768
RECORD_HEADER: Final = 7
"""Bytes of the checksum (4), the length (2) and the kind (1) of a record."""
LAST_PARTS: Final = (1, 4)
"""Kinds of a whole record and of the last part of one."""


class _Item(Protocol):
    key: str
    nested_key: Iterable[str]
    value_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineRun:
    """A run of Weights & Biases, as it was written to disk.

    Attributes:
        name: Its name.
        group: Group of runs that it belongs to; empty where there is none.
        config: Settings, by name.
        history: What was logged, a mapping for each step, with the step as ``_step``.
        summary: The last or final value of each measure; names of nested values are joined by ``/``.
    """

    name: str
    group: str
    config: dict[str, object]
    history: list[dict[str, object]]
    summary: dict[str, object]


def read_offline_run(folder: str | PathLike[str]) -> OfflineRun:
    """Reads the newest offline run in ``wandb`` below the folder of a training.

    Raises:
        ConfigError: There is no offline run.
        MissingDependencyError: W&B is not installed.
    """
    try:
        from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]  # noqa: PLC0415 - optional, and made at its import
    except ImportError:
        raise MissingDependencyError("wandb", extra="train", purpose="read runs of Weights & Biases") from None
    files = sorted(Path(folder).glob("wandb/offline-run-*/run-*.wandb"))
    if not files:
        raise ConfigError(f"{folder} has no offline run of W&B: train with logger=wandb")
    name, group = "", ""
    config: dict[str, object] = {}
    history: list[dict[str, object]] = []
    summary: dict[str, object] = {}
    for content in _contents(files[-1].read_bytes()):
        record = Record.FromString(content)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            name, group = record.run.display_name, record.run.run_group
            config |= _values(record.run.config.update)
        elif kind == "history":
            history.append(_values(record.history.item))
        elif kind == "summary":
            summary |= _values(record.summary.update)
    return OfflineRun(name=name, group=group, config=config, history=history, summary=summary)


def _contents(data: bytes) -> Iterator[bytes]:
    """Yields the contents of the records; one that is cut off at the end of the file is left out."""
    position, parts = FILE_HEADER, b""
    while position + RECORD_HEADER <= len(data):
        room = BLOCK - position % BLOCK
        if room < RECORD_HEADER:  # the rest of a block that has no room for a header is empty
            position += room
            continue
        length, kind = int.from_bytes(data[position + 4 : position + 6], "little"), data[position + 6]
        position += RECORD_HEADER
        parts += data[position : position + length]
        position += length
        if kind in LAST_PARTS and position <= len(data):
            yield parts
            parts = b""


def _values(items: Iterable[_Item]) -> dict[str, object]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
