"""Tells how values on the command line are read."""

import argparse
import re

import pytest

from flowsched_gym.cli.arguments import key_values, parse_value, positive_integer, positive_number, seed
from flowsched_gym.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-2.5e-3", -2.5e-3),
        ("true", True),
        ("None", None),
        ("none", "none"),
        ("fifo", "fifo"),
        ("[1e5, 1e6]", [1e5, 1e6]),
        ("1e5,1e6", [1e5, 1e6]),
        ("a,b", "a,b"),
        ('{"kind": "exponential", "mean": 5}', {"kind": "exponential", "mean": 5}),
        ("[1,", "[1,"),
        ("NaN", "NaN"),
    ],
)
def test_values_are_json_where_they_can_be_and_text_otherwise(text: str, value: object) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["a"], "--param is 'a': it must be key=value"),
        (["=5"], "--param is '=5': it must be key=value"),
        (["a-b=5"], "--param is 'a-b=5': it must be key=value"),
        (["a=5", "a=6"], "--param gives a twice"),
    ],
)
def test_keys_and_values_are_parted_at_the_first_equals_sign_and_other_forms_are_refused(entries, message) -> None:
    assert key_values("--param", ["a=1", "file=x=y"]) == {"a": 1, "file": "x=y"}
    with pytest.raises(ConfigError, match=re.escape(message)):
        key_values("--param", entries)


@pytest.mark.parametrize(
    ("read", "texts", "message"),
    [
        (positive_integer, ["0", "-1", "1.5", "many", "", "1e3"], "it must be an integer >= 1"),
        (positive_number, ["0", "-1", "nan", "inf", "many", ""], "it must be a finite number > 0"),
        (seed, ["-1"], "it must be an integer >= 0"),
    ],
)
def test_numbers_out_of_range_are_refused(read, texts: list[str], message: str) -> None:
    for text in texts:
        with pytest.raises(argparse.ArgumentTypeError, match=message):
            read(text)
    assert seed("0") == 0


def test_json_that_is_nested_too_deeply_names_the_argument() -> None:
    with pytest.raises(ConfigError, match=r"--kwarg workload is '\[\[\[.*'\.\.\.: it is nested too deeply"):
        key_values("--kwarg", [f"workload={'[' * 100_000}"])
