"""Compares what is drawn and computed before an episode starts with what was frozen, to the last bit."""

import json

import pytest

from tests.golden.numbers import FILE, numbers

FROZEN = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", FROZEN)
def test_numbers_are_the_frozen_ones_to_the_last_bit(kind: str) -> None:
    found = numbers()[kind]

    assert list(found) == list(FROZEN[kind])
    assert {name for name in found if found[name] != FROZEN[kind][name]} == set()


def test_every_kind_of_numbers_is_frozen() -> None:
    assert list(numbers()) == list(FROZEN)
