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


class Makers:
    """Makes the values that are deferred, and counts how often."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def maker(self, key: str) -> Callable[[], Any]:
        """Returns the maker of a value."""
        return lambda: self.made.append(key) or PLAIN[key]  # type: ignore[func-returns-value]

    def infos(self) -> LazyInfos:
        return LazyInfos({"time": 0.5}, {key: self.maker(key) for key in ("late", "later")})


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
    "keywords": lambda infos: dict(**infos),
    "items": lambda infos: dict(infos.items()),
    "values": lambda infos: dict(zip(infos, infos.values(), strict=True)),
    "keys": lambda infos: {key: infos[key] for key in infos.keys()},  # noqa: SIM118  # keys() is what is read
    "iteration": lambda infos: {key: infos[key] for key in infos},
    "get": lambda infos: {key: infos.get(key) for key in infos},
    "copy": lambda infos: infos.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda infos: pickle.loads(pickle.dumps(infos)),
    "or": lambda infos: infos | {},
    "or, from the right": lambda infos: {} | infos,
    "update of a dict": lambda infos: {"late": 0} | dict(infos),
    "into a dict": lambda infos: _updated({"late": 0}, infos),
    "reversed": lambda infos: {key: infos[key] for key in reversed(infos)},
    "json": lambda infos: {**json.loads(json.dumps(infos)), "late": infos["late"]},
    "repr": lambda infos: eval(repr(infos)),
    "pop": lambda infos: {key: infos.pop(key) for key in tuple(infos)},
    "popitem": lambda infos: dict(infos.popitem() for _ in range(3)),
    "setdefault": lambda infos: {key: infos.setdefault(key, 0) for key in PLAIN},
}


def _updated(values: dict[str, Any], infos: LazyInfos) -> dict[str, Any]:
    values.update(infos)
    return values


def test_every_way_of_reading_gives_the_values() -> None:
    for reading, read in READINGS.items():
        found = read(Makers().infos())
        assert (found, type(found)) == (PLAIN, dict), reading


def test_a_value_is_made_when_it_is_first_read_and_once() -> None:
    makers = Makers()
    infos = makers.infos()
    assert list(infos) == ["time", "late", "later"]
    assert len(infos) == 3
    assert "later" in infos
    assert infos["time"] == 0.5
    assert infos.get("absent", 7) == 7
    assert makers.made == []
    for _ in range(2):
        assert infos["later"] is PLAIN["later"]
        assert infos.get("later") is PLAIN["later"]
        assert makers.made == ["later"]
    dict(infos)
    assert makers.made == ["later", "late"]
    dict(infos)
    assert makers.made == ["later", "late"]


def test_infos_equal_dicts_and_other_infos_of_the_same_values() -> None:
    def infos() -> LazyInfos:
        return Makers().infos()

    assert infos() == PLAIN
    assert infos() == infos()
    assert not infos() != infos()  # noqa: SIM202  # != is what is asked
    assert not infos() != PLAIN  # noqa: SIM202  # as above
    assert infos() != {**PLAIN, "late": ()}
    assert {**PLAIN, "late": ()} != infos()  # noqa: SIM300  # the order is what is asked
    assert infos() != 3


def test_a_value_that_is_written_is_not_made_any_more() -> None:
    for write in (
        lambda infos: infos.__setitem__("late", 5),
        lambda infos: infos.update({"late": 5}),
        lambda infos: infos.update(late=5),
        lambda infos: infos.__ior__({"late": 5}),
    ):
        makers = Makers()
        infos = makers.infos()
        write(infos)  # type: ignore[no-untyped-call]
        assert dict(infos) == {**PLAIN, "late": 5}
        assert makers.made == ["later"]


def test_values_can_be_taken_out() -> None:
    makers = Makers()
    infos = makers.infos()
    del infos["late"]
    assert dict(infos) == {"time": 0.5, "later": PLAIN["later"]}
    with pytest.raises(KeyError):
        infos["late"]
    with pytest.raises(KeyError):
        infos.pop("late")
    assert infos.pop("late", 3) == 3
    infos.clear()
    assert infos == {}
    assert makers.made == ["later"]


def test_infos_are_merged_as_gymnasium_merges_them() -> None:
    merged = merge_infos({2: {"mean": 1.5, "count": 3}, 0: {"mean": 2.5, "count": 4}}, 3)
    assert list(merged) == ["mean", "_mean", "count", "_count"]
    assert merged["mean"].tolist() == [2.5, 0.0, 1.5]
    assert merged["count"].dtype == np.array([0]).dtype
    assert merged["_count"].tolist() == [True, False, True]
