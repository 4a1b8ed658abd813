"""Damages files at random: by bytes, by lines, and by values of JSON; the same damage for the same number."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**63, 10**400, 1e308, -1e308, 1e-320, 0.5, float("nan"), float("inf")),
    *("", "x", "\x00", "\x1b[31m", "\u202e", "a\nb", "<b>", "[a](http://b)", "../..", "x" * 10_000, "\ud800"),
    *([], {}, [[]], {"": None}, [1, "a"], {"class": "os.system"}, {"$array": "x"}, {"$tuple": 3}),
)
"""What takes the place of a value."""


def share(all_of_them: int, few: int) -> range:
    return range(all_of_them if os.environ.get("FLOWSCHED_FAULTS") == "full" else few)


def damaged_bytes(content: bytes, number: int) -> bytes:
    """Changes, cuts, repeats or adds bytes."""
    draw = np.random.default_rng(number)
    data = bytearray(content)
    place = int(draw.integers(len(data)))
    match int(draw.integers(6)):
        case 0:
            data[place] ^= 1 << int(draw.integers(8))
        case 1:
            del data[place:]
        case 2:
            del data[place : place + int(draw.integers(1, 100))]
        case 3:
            data[place:place] = draw.bytes(int(draw.integers(1, 20)))
        case 4:
            data[place:place] = data[place : place + int(draw.integers(1, 1000))]
        case _:
            for spot in draw.integers(len(data), size=10).tolist():
                data[spot] = int(draw.integers(256))
    return bytes(data)


def damaged_json(content: str, number: int) -> str:
    """Changes, removes, renames or adds a value somewhere in a document."""
    draw = np.random.default_rng(number)
    tree = json.loads(content)
    places = list(_places(tree))
    holder, key = places[int(draw.integers(len(places)))]
    value = VALUES[int(draw.integers(len(VALUES)))]
    match int(draw.integers(5)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(value)[:50]] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.insert(key, value)
        case 2:
            holder["more"] = value
        case 3:
            holder[key] = [holder[key]]
        case _:
            holder[key] = value
    return json.dumps(tree)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Lists all places of a document, as holders and keys."""
    keys: Callable[[Any], Any] = lambda each: each if isinstance(each, dict) else range(len(each))  # noqa: E731 - short
    for key in keys(tree):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _places(tree[key])
