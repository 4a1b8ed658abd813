"""Holds infos whose values are made when they are first read to what a dict does."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.infos import LazyInfos, merge_infos
from tests.processes import run_python

PLAIN = {"time": 0.5, "late": (1, 2), "later": {"mean": 3.0}}


def deferred() -> tuple[LazyInfos, list[str]]:
    """Returns infos of which two values are deferred, and a list that tells which have been made."""
    made: list[str] = []

    def maker(key: str) -> Callable[[], Any]:
        return lambda: made.append(key) or PLAIN[key]  # type: ignore[func-returns-value]

    return LazyInfos({"time": 0.5}, {key: maker(key) for key in ("late", "later")}), made


def test_infos_hold_pythons_own_numbers_without_machine_code_too() -> None:
    run_python(
        """
import numpy as np
from tests.envs.episodes import ENVIRONMENTS, action_at, core, make

def check(name, value):
    assert not isinstance(value, np.generic), (name, value)
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ():
        check(f"{name} {key}", each)

for spec in ENVIRONMENTS:
    env = core(make(spec, max_decisions=20))
    check(spec.id, env.reset(seed=0)[1])
    over = False
    while not over:
        _, reward, over, truncated, info = env.step(action_at(env.action_space, 1))
        over = over or truncated
        check(spec.id, {"reward": reward, "over": over} | info)
""",
        NUMBA_DISABLE_JIT="1",
    )


READINGS: dict[str, Callable[[LazyInfos], Any]] = {
    "dict": dict,
    "double star": lambda infos: {**infos},
    "made anew of its type, as Gymnasium's wrappers do": lambda infos: dict(type(infos)(**infos)),
    "items": lambda infos: dict(infos.items()),
    "values": lambda infos: dict(zip(infos, infos.values(), strict=True)),
    "get": lambda infos: {key: infos.get(key) for key in infos},
    "copy": lambda infos: infos.copy(),
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda infos: pickle.loads(pickle.dumps(infos)),
    "or": lambda infos: infos | {},
    "or, from the right": lambda infos: {} | infos,
    "reversed": lambda infos: {key: infos[key] for key in reversed(infos)},
    "json": lambda infos: {**json.loads(json.dumps(infos)), "late": infos["late"]},
    "repr": lambda infos: eval(repr(infos)),
    "pop": lambda infos: {key: infos.pop(key) for key in tuple(infos)},
    "popitem": lambda infos: dict(infos.popitem() for _ in range(3)),
    "setdefault": lambda infos: {key: infos.setdefault(key, 0) for key in PLAIN},
}


def test_every_way_of_reading_gives_the_values() -> None:
    for reading, read in READINGS.items():
        found = read(deferred()[0])
        assert (found, type(found)) == (PLAIN, dict), reading
    assert deferred()[0] == PLAIN
    assert deferred()[0] == deferred()[0]
    assert deferred()[0] != {**PLAIN, "late": ()}


def test_a_value_is_made_when_it_is_first_read_and_once() -> None:
    infos, made = deferred()
    assert (list(infos), len(infos), "later" in infos) == (["time", "late", "later"], 3, True)
    assert (infos["time"], infos.get("absent", 7)) == (0.5, 7)
    assert made == []
    for _ in range(2):
        assert infos["later"] is infos.get("later") is PLAIN["later"]
        assert made == ["later"]
    for _ in range(2):
        dict(infos)
        assert made == ["later", "late"]


def test_a_value_that_is_written_or_taken_out_is_not_made_any_more() -> None:
    for write, expected in (
        (lambda infos: infos.__setitem__("late", 5), {"late": 5}),
        (lambda infos: infos.update({"late": 5}), {"late": 5}),
        (lambda infos: infos.update(late=5), {"late": 5}),
        (lambda infos: infos.__ior__({"late": 5}), {"late": 5}),
        (lambda infos: infos.__delitem__("late"), {}),
    ):
        infos, made = deferred()
        write(infos)  # type: ignore[no-untyped-call]
        assert dict(infos) == {"time": 0.5, "later": PLAIN["later"], **expected}
        assert made == ["later"]
    with pytest.raises(KeyError):
        infos.pop("late")
    assert infos.pop("late", 3) == 3
    infos.clear()
    assert infos == {}


def test_infos_are_merged_as_gymnasium_merges_them() -> None:
    merged = merge_infos({2: {"mean": 1.5, "count": 3}, 0: {"mean": 2.5, "count": 4}}, 3)
    assert list(merged) == ["mean", "_mean", "count", "_count"]
    assert merged["mean"].tolist() == [2.5, 0.0, 1.5]
    assert merged["count"].dtype == np.array([0]).dtype
    assert merged["_count"].tolist() == [True, False, True]
