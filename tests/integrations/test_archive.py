"""Archives give back what was put in them, and refuse what they cannot hold by its name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from flowsched_gym.integrations.archive import read_archive, write_archive

RECORD = np.dtype([("size", "<f8"), ("host", "<i4"), ("met", "?")], align=True)


def records(*shape: int) -> Any:
    """Makes records that all differ."""
    made = np.zeros(shape, RECORD)
    made["host"] = np.arange(made.size).reshape(shape)
    return made


def read_back(value: object, path: Path) -> Any:
    write_archive(path, {"format": "test", "value": value})
    return read_archive(path, "value", "test")["value"]


@pytest.mark.parametrize(
    "value",
    [
        records(4),
        records(4, 6)[::2, ::3],
        records(0, 2),
        records()[...],
        np.array([(1, (2.0, 3.0)), (4, (5.0, 6.0))], [("one", "i8"), ("pair", "f8", (2,))]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6)[::-2],
        np.array(True),
    ],
    ids=["records", "strided", "none", "one", "of arrays", "columns first", "backwards", "one value"],
)
def test_arrays_keep_their_values_types_and_shapes(value: Any, tmp_path: Path) -> None:
    read = read_back(value, tmp_path / "archive")
    assert (read.dtype, read.shape) == (value.dtype, value.shape)
    np.testing.assert_array_equal(read, value)


def test_keys_may_be_what_keys_of_mappings_are_names_alike_and_tensors_come_back_as_tensors(tmp_path: Path) -> None:
    value = {(1, "a"): 2.5, np.int64(4): [b"x"], "$array": None, 7: (True, {})}
    assert read_back(value, tmp_path / "archive") == value
    found = read_back({"a.b": np.zeros(2), "a": {"b": torch.arange(6)[::2]}}, tmp_path / "archive")
    assert found["a.b"].tolist() == [0.0, 0.0]
    assert torch.equal(found["a"]["b"], torch.arange(0, 6, 2))


def test_what_an_archive_cannot_hold_is_refused_by_its_place(tmp_path: Path) -> None:
    arrays = np.array([None]), np.array(["text"]), np.zeros(2, [("inner", RECORD)])
    for value in (*arrays, np.complex128(2), {frozenset([1]): 2}, object()):
        with pytest.raises(TypeError, match=r"^outer\.inner"):
            write_archive(tmp_path / "archive", {"format": "test", "outer": {"inner": value}})
    assert list(tmp_path.iterdir()) == []
