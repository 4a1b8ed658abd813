"""A hook that cannot be compiled is told by its name, file and line, and by what Numba says is wrong, in one line."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import NumbaError

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.machine_code.decorators import chosen_by_type, engine_function, inlined_part


def of_record(name: str, record: Any) -> Any:
    return record.hook


@chosen_by_type(of_record, index=0)
def hook(record: tuple, values: np.ndarray) -> float:
    """Returns a number."""
    raise NotImplementedError


@engine_function
def engine(record: tuple, values: np.ndarray) -> float:
    return hook(record, values) + 1.0


@inlined_part
def part_of_it(values):
    return values.length


def calls_a_faulty_part(record, values):
    return part_of_it(values)


def has_no_such_attribute(record, values):
    return values.length


def calls_a_plain_function(record, values):
    return run(record)


def makes_an_array(record, values):
    return np.zeros(3)[0]


def takes_too_little(record):
    return 1.0


def opens_a_file(record, values):
    with open("file") as file:
        return len(file.read())


def returns_a_text(record, values):
    return "never"


def run(function: Callable[..., object]) -> float:
    """Runs an engine with a hook, as it finds those of a user's own class."""
    record = type(f"Record of {function.__name__}", (NamedTuple("Record", [("kept", int)]),), {"hook": function})
    return engine(record(1), np.ones(2))


@pytest.mark.parametrize(
    ("function", "at", "reason"),
    [
        (has_no_such_attribute, 1, r"Unknown attribute 'length' of type array\(float64, 1d, C\)"),
        (calls_a_faulty_part, -3, r"Unknown attribute 'length' of type array\(float64, 1d, C\)"),
        (calls_a_plain_function, 1, "Untyped global name 'run'"),
        (makes_an_array, 1, r"No implementation of function .*zeros.*\(hooks make no arrays or lists\)"),
        (takes_too_little, 0, "Signature mismatch: 2 argument types given, but function takes 1 argument"),
        (opens_a_file, 0, "The 'with .* construct is not supported"),
        (returns_a_text, 0, r"it returns .*never.*, and must return float"),
    ],
)
def test_a_hook_that_cannot_be_compiled_is_named(function: Callable[..., object], at: int, reason: str) -> None:
    line = function.__code__.co_firstlineno + at
    for _ in range(2):  # Numba looks for the hook once
        with pytest.raises(
            ConfigError, match=rf"^{function.__name__} cannot be compiled: {__file__}, line {line}: {reason}"
        ) as error:
            run(function)
        assert error.value.__cause__ is not None


def test_a_fault_of_an_engine_itself_is_told_alike() -> None:
    @engine_function
    def faulty(values):
        return values.length

    with pytest.raises(ConfigError, match=r"faulty cannot be compiled: .*test_faults.py, line \d+: Unknown attri") as e:
        faulty(np.ones(2))
    assert isinstance(e.value.__cause__, NumbaError)
