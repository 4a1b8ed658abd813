"""Damages files of machine code, takes the folder away, switches machine code off; holds sums to NumPy's bits."""

import logging
import math
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation.player import has_vector
from flowsched_gym.machine_code.cache import _CacheFiles
from flowsched_gym.machine_code.decorators import compiled_for, engine_function
from flowsched_gym.machine_code.numerics import pairwise_sum
from flowsched_gym.registration import find_environment

Damage = Callable[[Path], object]


def triple(value: float) -> float:
    return 3.0 * value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    return tmp_path


def called_anew() -> tuple[float, int]:
    compiled: Any = engine_function(triple)
    return compiled(2.0), sum(compiled.stats.cache_hits.values())


def flip(path: Path) -> None:
    """Changes a bit in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        flip,
    ],
    ids=["empty", "half", "one bit"],
)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_machine_code_is_compiled_anew_and_replaced(folder, caplog, suffix, damage) -> None:
    assert called_anew() == (6.0, 0)
    assert called_anew() == (6.0, 1)
    (path,) = folder.rglob(f"*{suffix}")
    damage(path)

    with caplog.at_level(logging.WARNING):
        assert called_anew() == (6.0, 0)

    assert path.name in caplog.text
    assert called_anew() == (6.0, 1)


def test_an_index_whose_machine_code_a_kill_left_unwritten_serves_nothing_older(folder: Path) -> None:
    """Stands for a kill between the two files: the index is of this version, the machine code of the one before."""
    older: Any = engine_function(triple)
    older._cache._cache_file._version += " of a release before"
    older(2.0)
    (code,) = folder.rglob("*.nbc")
    before = code.read_bytes()
    assert called_anew() == (6.0, 0)
    code.write_bytes(before)

    assert called_anew() == (6.0, 0)


def first_of(record: Any) -> float:
    return record[0]


def calls_of(record: Any) -> tuple[float, int]:
    compiled: Any = engine_function(first_of)
    return compiled(record), sum(compiled.stats.cache_hits.values())


def test_machine_code_for_a_record_of_another_project_hides_none_and_is_found_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "project.py").write_text("from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float\n")
    assert calls_of((1.0,)) == (1.0, 0)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        assert calls_of(import_module("project").Mine(2.0)) == (2.0, 0)
        assert calls_of(import_module("project").Mine(2.0)) == (2.0, 1)
    del sys.modules["project"]

    assert calls_of((1.0,)) == (1.0, 1)
    assert calls_of((1, 2)) == (1, 0)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert calls_of(import_module("project").Mine(2.0)) == (2.0, 1)
    assert caplog.records == []


def test_machine_code_for_a_record_of_a_notebook_serves_its_process(folder: Path) -> None:
    names: dict[str, Any] = {}
    exec("from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float\n", names)
    assert calls_of(names["Mine"](2.0)) == calls_of(names["Mine"](2.0)) == (2.0, 0)
    assert not list(folder.rglob("*.nbc"))


def test_of_two_processes_that_keep_machine_code_at_once_neither_gets_that_of_the_other(tmp_path, monkeypatch) -> None:
    first, second = (_CacheFiles(str(tmp_path), "rule", "stamp") for _ in range(2))
    first.save("for integers", "machine code for integers")
    index = first._entries()
    with monkeypatch.context() as patch:
        patch.setattr(second, "_entries", dict)  # it has looked before the first had written
        second.save("for floats", "machine code for floats")
    first._save_index(index)  # and the first wrote its index only now

    assert first.load("for integers") == "machine code for integers"


def test_a_folder_that_cannot_be_written_to_is_named_and_the_source_tree_stays_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A file stands where the folder would be; unlike permissions, it stops every user."""
    place = tmp_path / "cache"
    place.touch()
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(place))
    source_tree = Path(__file__).parent / "__pycache__"

    with caplog.at_level(logging.WARNING):
        assert called_anew() == (6.0, 0)

    assert [record.getMessage() for record in caplog.records] == [
        f"NUMBA_CACHE_DIR is {str(place)!r}, which cannot be written to: machine code serves this process alone"
    ]
    assert list(source_tree.glob("*triple*.nb*")) == []


def test_with_machine_code_switched_off_vectors_and_the_compiled_engine_say_that_they_cannot(monkeypatch) -> None:
    monkeypatch.setattr("numba.core.config.DISABLE_JIT", 1)
    flows = {"flow_id": [0], "source": [0], "destination": [1], "size_bytes": [1e5], "arrival_s": [0.0]}

    with pytest.raises(ConfigError, match="NUMBA_DISABLE_JIT is set: vector environments and engine 'compiled'"):
        gym.make_vec("flowsched/Artemis-v0", num_envs=2)
    with pytest.raises(ConfigError, match=r"NUMBA_DISABLE_JIT is set: .* unset it"):
        replay(flows, discipline="fifo", engine="compiled")
    assert not has_vector(find_environment("flowsched/Artemis-v0"))


@pytest.mark.parametrize("add", [pairwise_sum, compiled_for(pairwise_sum, np.zeros(1), 0, 1)], ids=["rule", "compiled"])
def test_sums_of_a_part_have_the_bits_of_numpys(add: Callable[..., float]) -> None:
    for count in (*range(0, 2_000, 1 if add is not pairwise_sum else 97), 127, 128, 129, 257, 4_097, 20_001):
        values = np.random.default_rng(count).lognormal(sigma=4.0, size=count)
        expected = float(values.sum())
        assert add(np.concatenate([[np.nan] * 3, values, [np.nan]]), 3, 3 + count) == expected
        assert expected == pytest.approx(math.fsum(values.tolist()), rel=1e-14)
