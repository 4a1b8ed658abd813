"""Compares what is drawn and computed before an episode starts with what was frozen, to the last bit."""

import json

from tests.golden.numbers import FILE, numbers

FROZEN = json.loads(FILE.read_text(encoding="utf-8"))


def test_numbers_are_the_frozen_ones_to_the_last_bit() -> None:
    found = numbers()
    assert list(found) == list(FROZEN)
    for kind, expected in FROZEN.items():
        assert list(found[kind]) == list(expected)
        assert {name for name in expected if found[kind][name] != expected[name]} == set()
