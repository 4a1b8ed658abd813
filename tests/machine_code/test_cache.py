"""Damages, ages and takes away files of machine code, and switches it off: no rule is served what is wrong."""

import ast
import importlib
import logging
import re
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, Final

import gymnasium as gym
import pytest
from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import ended_by_signals
from flowsched_gym.evaluation.engines import has_vector
from flowsched_gym.machine_code.cache import _CacheFiles, _CachePlace, _tell_of_unwritable, source_files
from flowsched_gym.machine_code.decorators import engine_function
from flowsched_gym.registration import find_environment
from tests.processes import run, run_python

PACKAGE: Final = Path(__file__).parents[2] / "flowsched_gym"
BEFORE: Final = "from flowsched_gym.machine_code import decorators; decorators.TIME_BEFORE_COMPILING = 0.0"


def triple(value: float) -> float:
    return 3.0 * value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    return tmp_path


def first_of(record: Any) -> float:
    return record[0]


def called_anew(function: Callable[[Any], float] = triple, argument: object = 2.0) -> tuple[float, int]:
    """Calls a function as a process does that begins; returns its result, and how often machine code was on disk."""
    compiled: Any = engine_function(function)
    return compiled(argument), sum(compiled.stats.cache_hits.values())


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


def test_machine_code_for_a_record_of_another_project_hides_none_and_is_found_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "project.py").write_text("from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float\n")
    assert called_anew(first_of, (1.0,)) == (1.0, 0)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        assert called_anew(first_of, importlib.import_module("project").Mine(2.0)) == (2.0, 0)
        assert called_anew(first_of, importlib.import_module("project").Mine(2.0)) == (2.0, 1)
    del sys.modules["project"]
    assert called_anew(first_of, (1.0,)) == (1.0, 1)
    assert called_anew(first_of, (1, 2)) == (1, 0)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert called_anew(first_of, importlib.import_module("project").Mine(2.0)) == (2.0, 1)
    assert caplog.records == []


def test_machine_code_for_a_record_of_a_notebook_serves_its_process(folder: Path) -> None:
    names: dict[str, Any] = {}
    exec("from typing import NamedTuple\nclass Mine(NamedTuple):\n    x: float\n", names)
    assert called_anew(first_of, names["Mine"](2.0)) == called_anew(first_of, names["Mine"](2.0)) == (2.0, 0)
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


def test_without_a_folder_machine_code_is_kept_among_temporary_files_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_CachePlace, "_locator_classes", [UserProvidedCacheLocator])  # none of the usual places
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _tell_of_unwritable.cache_clear()
    assert [called_anew(), called_anew()] == [(6.0, 0), (6.0, 1)]
    (own,) = tmp_path.iterdir()
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o770)  # others could write there what this process would load
    with caplog.at_level(logging.WARNING):
        assert [called_anew(), called_anew()] == [(6.0, 0), (6.0, 0)]
    assert [each.getMessage() for each in caplog.records] == [
        "NUMBA_CACHE_DIR names no folder, and the usual ones cannot be written to: machine code serves this process "
        "alone"
    ]


@pytest.mark.parametrize(
    ("number", "request_to_end", "handled"),
    [
        *((number, signal.SIGINT, nullcontext) for number in range(1, 9)),
        *((2, each, ended_by_signals) for each in (signal.SIGINT, signal.SIGTERM)),  # as commands handle them
    ],
)
def test_an_interrupt_while_machine_code_is_handed_over_is_not_lost_and_the_next_call_compiles(
    folder, number, request_to_end, handled
) -> None:
    """The interrupt comes while LLVM has called Python back, where an exception is swallowed."""
    calls, outcomes, compiled = [], [], engine_function(triple)

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in ("_object_compiled_hook", "_raw_object_cache_notify"):
            calls.append(event)
            if len(calls) == number:
                signal.raise_signal(request_to_end)

    for _ in range(2):
        sys.setprofile(watch)
        try:
            with handled():
                outcomes.append(compiled(2.0))
        except KeyboardInterrupt:
            outcomes.append("interrupted")
        finally:
            sys.setprofile(None)
    assert outcomes == ["interrupted" if len(calls) >= number else 6.0, 6.0]
    assert called_anew() == (6.0, 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_with_machine_code_switched_off_vectors_and_the_compiled_engine_say_that_they_cannot(monkeypatch) -> None:
    monkeypatch.setattr("numba.core.config.DISABLE_JIT", 1)
    flows = {"flow_id": [0], "source": [0], "destination": [1], "size_bytes": [1e5], "arrival_s": [0.0]}
    with pytest.raises(ConfigError, match="NUMBA_DISABLE_JIT is set: vector environments and engine 'compiled'"):
        gym.make_vec("flowsched/Artemis-v0", num_envs=2)
    with pytest.raises(ConfigError, match=r"NUMBA_DISABLE_JIT is set: .* unset it"):
        replay(flows, discipline="fifo", engine="compiled")
    assert not has_vector(find_environment("flowsched/Artemis-v0"))


@pytest.mark.exhaustive
def test_an_environment_can_be_debugged_with_numba_switched_off() -> None:
    program = """
from flowsched_gym.registration import find_environment
from tests.envs.episodes import make, play
steps = play(make(find_environment("flowsched/Artemis-v0")), seed=5)
print([(step.action, step.observation.tolist(), step.reward, float(step.info["time"])) for step in steps])
"""
    assert run_python(program, NUMBA_DISABLE_JIT="1") == run_python(program)


def outcomes(folder: Path, program: str, *versions: dict[str, str]) -> list[str]:
    """Runs a program with one version after the other of modules beside the rules; returns what it prints."""
    installed, printed = folder / "flowsched_gym", []
    shutil.copytree(PACKAGE, installed, ignore=shutil.ignore_patterns("__pycache__"))
    variables = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    for sources in versions:
        for name, source in sources.items():
            head = "from typing import NamedTuple\nfrom flowsched_gym.machine_code.decorators import engine_function\n"
            (installed / "fluid" / "rules" / f"{name}.py").write_text(f"{head}{source}\n")
        printed.append(run_python(f"{BEFORE}; from flowsched_gym.fluid.rules.outer import *; {program}", **variables))
    assert any("outer" in path.name for path in (folder / "cache").rglob("*.nb*"))
    return printed


def test_an_edited_rule_is_not_served_from_the_cache_of_a_rule_in_another_file_that_calls_it(tmp_path: Path) -> None:
    outer = (
        "from flowsched_gym.fluid.rules.inner import inner\n@engine_function\ndef outer(x):\n    return 10 * inner(x)"
    )
    inner = [
        {"outer": outer, "inner": f"@engine_function\ndef inner(x):\n    return x + {number}"} for number in (1, 2)
    ]
    assert outcomes(tmp_path, "print(outer(0))", *inner) == ["10", "20"]


@pytest.mark.exhaustive
def test_machine_code_of_a_release_whose_classes_have_moved_is_compiled_anew(tmp_path: Path) -> None:
    rest = "(NamedTuple):\n    x: int\n@engine_function\ndef outer(pair):\n    return pair.x\n"
    outer = [{"outer": f"class {name}{rest}Pair = {name}"} for name in ("Before", "After")]
    assert outcomes(tmp_path, "print(outer(Pair(7)))", *outer) == ["7", "7"]


def test_machine_code_is_stale_when_anything_changes_that_it_may_be_made_of() -> None:
    def file_of(name: str) -> Path:
        return Path(importlib.import_module(name).__file__ or "")

    for module in sorted(PACKAGE.rglob("*.py")):
        if not re.search(r"^@(\w+_)?(rule|function)$", module.read_text(encoding="utf-8"), re.MULTILINE):
            continue
        files = set(source_files(module))
        assert module in files
        for node in (node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("flowsched_gym"):
                assert file_of(node.module) in files, module
            assert not (isinstance(node, ast.Import) and any(each.name.startswith("flowsched") for each in node.names))


@pytest.mark.parametrize(
    "text",
    [
        "import flowsched_gym.core.units as units",
        "from flowsched_gym.core import (  # all (of them)\n    units,\n)",
        "class Late:\n    def units():\n        from flowsched_gym.core.units import gbps_to_capacity",
    ],
)
def test_all_forms_of_imports_count_in_a_users_own_file_and_what_stands_beside_it_need_not_be_python(
    text: str, tmp_path: Path
) -> None:
    own, beside = tmp_path / "own.py", tmp_path / "template.py"
    own.write_text(text)
    beside.write_text("def {{ name }}():")
    assert {own, beside, PACKAGE / "core" / "units.py"} <= set(source_files(own))


def test_without_a_folder_to_write_to_rules_are_compiled_in_each_process(tmp_path: Path) -> None:
    """Files stand where folders would be made; unlike permissions, they stop every user."""
    installed = tmp_path / "installed" / "flowsched_gym"
    shutil.copytree(PACKAGE, installed, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [installed, *(path for path in installed.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    (home := tmp_path / "home").touch()
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(home))
    program = """
import numpy as np
from flowsched_gym.machine_code import decorators as compiling
from flowsched_gym.fluid.rules.transport.senders import wire_volume
compiling.TIME_BEFORE_COMPILING = 0.0
volume = np.empty(1)
wire_volume(np.ones(1), 0.0, 0.0, volume)
print(volume[0], len(wire_volume.signatures), compiling.__file__)
"""
    variables = {"NUMBA_CACHE_DIR": "", "PYTHONPATH": str(installed.parent), "PYTHONSAFEPATH": "1"}
    result, signatures, file = run_python(program, **variables, **nowhere).split()

    assert (result, signatures) == ("1.0", "1")
    assert Path(file).is_relative_to(installed)
    assert list(tmp_path.rglob("*.nb*")) == []


def test_two_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    """The rule takes a second to compile; each process waits until the other is there too."""
    lines = "".join(f"        x = math.sin(x) if x > {i} else x * math.exp(-x / {i + 1}.0)\n" for i in range(100))
    begin = (
        "import math\nfrom flowsched_gym.machine_code.decorators import engine_function\n"
        "@engine_function\ndef slow(x):\n    for _ in range(9):\n"
    )
    (tmp_path / "racing.py").write_text(f"{begin}{lines}    return x\n")
    program = """
import os, sys
from pathlib import Path
from numba.core import event
sys.path.insert(0, os.getcwd())
from racing import slow
here, other = Path(sys.argv[1]), Path(sys.argv[2])
here.touch()
while not other.exists():
    pass
with event.install_recorder("numba:compile") as recorder:
    slow(1.0)
print(len(recorder.buffer) // 2)
"""

    def compilations(names: tuple[str, str]) -> int:
        code = str(tmp_path / "code")
        return int(run(sys.executable, "-c", program, *names, folder=tmp_path, NUMBA_CACHE_DIR=code).out)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(compilations, (("first", "second"), ("second", "first"))))

    assert sorted(found) == [0, 1]
    assert list(tmp_path.rglob("*.lock")) == []


def test_a_full_disk_stops_no_rule(folder, monkeypatch, caplog) -> None:
    def refuse(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", refuse)
    with caplog.at_level(logging.WARNING):
        assert called_anew() == (6.0, 0)
    assert "No space left on device" in caplog.text
