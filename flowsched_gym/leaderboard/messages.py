"""Messages between a judge and the process of a policy: JSON and arrays, so that reading one runs no code."""

import json
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

LENGTH: Final = struct.Struct("<I")
MOST_BYTES: Final = 1 << 28
"""Bytes of a message's JSON, and of each of its arrays."""
KINDS: Final = "biuf"
"""Kinds of numbers that an array may hold; others could be pointers."""


class MessageError(Exception):
    """What came is no message."""


def write_message(stream: BinaryIO, content: dict[str, Any], arrays: Sequence[npt.NDArray[Any]] = ()) -> None:
    """Writes a message.

    Raises:
        OSError: Nobody reads.
    """
    layout = [[each.dtype.str, each.shape] for each in arrays]
    head = json.dumps([content, layout]).encode()
    stream.write(b"".join((LENGTH.pack(len(head)), head, *(each.tobytes() for each in arrays))))
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
    """Reads a message.

    Raises:
        EOFError: Nobody writes any more.
        MessageError: What came is no message.
    """
    (size,) = LENGTH.unpack(_read(stream, LENGTH.size))
    try:
        content, layout = json.loads(_read(stream, size))
        arrays = []
        for name, shape in layout:
            dtype = np.dtype(str(name))
            if dtype.kind not in KINDS or not all(type(length) is int and length >= 0 for length in shape):
                raise ValueError(name)
            count = 1
            for length in shape:
                count *= length
            arrays.append(np.frombuffer(_read(stream, count * dtype.itemsize), dtype=dtype).reshape(shape))
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise MessageError from error
    if not isinstance(content, dict):
        raise MessageError
    return content, arrays


def _read(stream: BinaryIO, size: int) -> bytes:
    if size > MOST_BYTES:
        raise MessageError
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
