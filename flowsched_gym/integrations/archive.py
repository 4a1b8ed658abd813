"""Files of numbers, texts and arrays, for models and checkpoints: reading one runs no code, whatever it holds.

An archive is a zip file, not compressed, of ``content.json`` and ``arrays.safetensors``. Arrays stand in the JSON by
their names; what JSON does not have, such as tuples, is an object with one key that begins with ``$``. A seal, the
digest of both, tells an archive that was altered.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors.numpy import load, save

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.core.packed import read_bytes

CONTENT: Final = "content.json"
ARRAYS: Final = "arrays.safetensors"
SEAL: Final = "seal"
NUMBERS: Final = "biuf"
"""Kinds of NumPy types that an archive holds: truth values, integers and floats."""
MOST_MEMBERS: Final = 10
"""Names of members that a message lists."""


def write_archive(path: str | PathLike[str], content: Mapping[str, Any]) -> None:
    """Writes an archive, whole or not at all; missing folders are made.

    It may hold numbers, texts, bytes, arrays and tensors, and tuples, lists and mappings of these; anything else raises
    a ``TypeError``.
    """
    arrays: dict[str, Any] = {}
    tree = {name: _encoded(value, name, arrays) for name, value in content.items()}
    data = save(arrays)
    tree[SEAL] = _seal(tree, data)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replace_when_written(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        # The moment of writing would make equal archives differ.
        for name, member in ((CONTENT, json.dumps(tree).encode()), (ARRAYS, data)):
            archive.writestr(zipfile.ZipInfo(name), member)


def is_archive(path: str | PathLike[str]) -> bool:
    """Returns whether a file is an archive, rather than another zip file or none."""
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            return CONTENT in archive.namelist()
    except Exception:  # noqa: BLE001 - a damaged zip file may raise anything
        return False


def read_archive(path: str | PathLike[str], what: str, form: str) -> dict[str, Any]:
    """Reads an archive of some ``form``; ``what`` it is, such as ``model``, is for messages.

    Raises:
        ConfigError: It is no such archive, or damaged, or altered.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            members = archive.infolist()
            names = sorted(member.filename for member in members)
            if names != sorted((CONTENT, ARRAYS)):
                listed = ", ".join(names[:MOST_MEMBERS])
                raise ConfigError(f"{what} {path} holds {listed}: allowed are {CONTENT} and {ARRAYS}, once each")
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise ConfigError(f"{what} {path} is compressed: it must be written by flowsched-gym")
            tree, data = json.loads(archive.read(CONTENT)), archive.read(ARRAYS)
        if not isinstance(tree, dict) or tree.get("format") != form:
            raise ConfigError(f"{what} {path} has another format: it must be {form!r}")
        if tree.pop(SEAL, None) != _seal(tree, data):
            raise ConfigError(f"{what} {path} was altered: its content does not fit its seal")
        arrays = load(data)
        return {name: _decoded(value, arrays) for name, value in tree.items()}
    except ConfigError:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise ConfigError(f"{what} {path} cannot be read: {first_sentence(error)}") from error


def first_sentence(error: Exception) -> str:
    """Returns the beginning of an error's message, without the advice that may follow it."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0]


def _seal(tree: Mapping[str, Any], data: bytes) -> str:
    return hashlib.blake2b(json.dumps(tree, sort_keys=True).encode() + data, digest_size=16).hexdigest()


def _encoded(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if hasattr(value, "detach"):  # a tensor, where torch is installed
        return {"$tensor": _added(value.detach().cpu().numpy(), name, arrays)}
    if isinstance(value, np.generic):
        return {"$scalar": _added(np.asarray(value), name, arrays)}
    if isinstance(value, np.ndarray):
        if not value.dtype.names:
            return {"$array": _added(value, name, arrays)}
        key = _added(np.frombuffer(value.tobytes(), np.uint8), name, arrays)
        return {"$records": [key, list(value.shape), _layout(value.dtype, name)]}
    if isinstance(value, tuple):
        return {"$tuple": [_encoded(each, f"{name}.{index}", arrays) for index, each in enumerate(value)]}
    if isinstance(value, list):
        return [_encoded(each, f"{name}.{index}", arrays) for index, each in enumerate(value)]
    if isinstance(value, Mapping):
        values = {key: _encoded(each, f"{name}.{key}", arrays) for key, each in value.items()}
        if all(isinstance(key, str) and not key.startswith("$") for key in values):
            return values
        return {"$pairs": [[_encoded(key, f"{name}.key", arrays), each] for key, each in values.items()]}
    raise TypeError(f"{name} is a {type(value).__name__}: an archive holds numbers, texts, arrays, and groups of these")


def _added(array: Any, name: str, arrays: dict[str, Any]) -> str:
    """Adds an array, in the order of C, under a name, or a longer one where that is taken."""
    if array.dtype.kind not in NUMBERS or array.dtype.itemsize > 8:
        raise TypeError(f"{name} is an array of {array.dtype}: an archive holds arrays of numbers and truth values")
    while name in arrays:
        name += "'"
    arrays[name] = np.array(array, order="C")
    return name


def _layout(dtype: Any, name: str) -> dict[str, Any]:
    """Describes records: names, types and offsets of their fields, and their size."""
    fields = [dtype.fields[field] for field in dtype.names]
    if any(field[0].base.kind not in NUMBERS for field in fields):
        raise TypeError(f"{name} is an array of {dtype}: an archive holds records of numbers and truth values")
    return {
        "names": list(dtype.names),
        "formats": [[field[0].base.str, list(field[0].shape)] for field in fields],
        "offsets": [field[1] for field in fields],
        "itemsize": dtype.itemsize,
        "aligned": dtype.isalignedstruct,
    }


def _decoded(value: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    first: tuple[str, Any] = next(iter(value.items()), ("", None))
    tag, content = first
    if not tag.startswith("$"):
        return {key: _decoded(each, arrays) for key, each in value.items()}
    if tag == "$bytes":
        return bytes.fromhex(content)
    if tag == "$tensor":
        return _tensor(arrays[content].copy())
    if tag == "$scalar":
        return arrays[content][()]
    if tag == "$array":
        return arrays[content].copy()
    if tag == "$records":
        key, shape, layout = content
        formats = [(name, tuple(field_shape)) for name, field_shape in layout["formats"]]
        records: Any = {**layout, "formats": formats}
        return arrays[key].copy().view(np.dtype(records)).reshape(shape)
    if tag == "$tuple":
        return tuple(_decoded(each, arrays) for each in content)
    if tag == "$pairs":
        return {_decoded(key, arrays): _decoded(each, arrays) for key, each in content}
    raise ValueError(f"{tag} is not known")


def _tensor(array: Any) -> Any:
    """Makes a tensor of an array; where torch is not installed, the array is one."""
    try:
        import torch  # noqa: PLC0415 - optional
    except ImportError:
        return array
    return torch.from_numpy(array)
