"""Tells when rules are compiled, where their machine code is kept, and that a rule without it gives the same bits."""

import ast
import importlib
import inspect
import json
import logging
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

from flowsched_gym.machine_code.cache import source_files
from flowsched_gym.machine_code.decorators import engine_function, inlined_part, rule
from tests.envs.episodes import ENVIRONMENTS
from tests.processes import run, run_python

PACKAGE: Final = Path(__file__).parents[2] / "flowsched_gym"

EPISODES: Final = """
import itertools, json
from numba.core import event
from flowsched_gym.machine_code import decorators as compiling
if {time_before} is None:
    compiling.perf_counter = itertools.count(step=1e-5).__next__
else:
    compiling.TIME_BEFORE_COMPILING = {time_before}
with event.install_recorder("numba:compile") as recorder:
    from flowsched_gym.flows.thresholds import thresholds_between
    from flowsched_gym.fluid.rules.sharing import share_links
    from flowsched_gym.registration import find_environment
    from tests.envs.episodes import combinations, fingerprint
    fingerprints = []
    for env_id in {env_ids}:
        cases = list(combinations(find_environment(env_id)))
        fingerprints += [fingerprint(env_id, 5, **case) for case in cases[:: max({stride}, len(cases) // 10)]]
signatures = [len(rule.signatures) for rule in (share_links, thresholds_between)]
print(json.dumps([fingerprints, len(recorder.buffer), signatures]))
"""
"""Plays episodes; prints what came of them, and how much was compiled.

With the usual time before compiling, each call of a rule takes 10 us by the clock, however busy the machine is.
"""

ARTEMIS: Final = "flowsched/Artemis-v0"
PLAIN: Final = float("inf")
AT_ONCE: Final = 0.0
BEFORE: Final = "from flowsched_gym.machine_code import decorators; decorators.TIME_BEFORE_COMPILING = 0.0"


def play(
    time_before: float | None, *env_ids: str, stride: int = 9, **variables: str
) -> tuple[list[str], int, list[int]]:
    """Plays in a fresh process; returns fingerprints, compilations, and signatures of rules of flows and of packets."""
    given = None if time_before is None else f"float({str(time_before)!r})"
    program = EPISODES.format(time_before=given, env_ids=env_ids, stride=stride)
    found = json.loads(run_python(program, **variables))
    return tuple(found)


def files_of(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*.nb*")}


def test_the_first_episodes_wait_for_no_compilation_and_a_process_loads_what_another_has_compiled(tmp_path) -> None:
    first, *uncompiled = play(None, ARTEMIS, stride=30, NUMBA_CACHE_DIR=str(tmp_path))
    assert uncompiled == [0, [0, 0]]
    assert files_of(tmp_path) == {}

    compiled, compilations, signatures = play(AT_ONCE, ARTEMIS, stride=30, NUMBA_CACHE_DIR=str(tmp_path))
    before = files_of(tmp_path)
    assert compilations > 0
    assert signatures[0] > 0
    assert any("share_links" in name for name in before)

    again, compilations, signatures = play(None, ARTEMIS, stride=30, NUMBA_CACHE_DIR=str(tmp_path))
    assert (compilations, signatures[0] > 0) == (0, True)
    assert files_of(tmp_path) == before
    assert first == compiled == again
    assert len(set(first)) == len(first)


def test_every_environment_begins_without_a_compiler_and_goes_on_to_the_same_bits(tmp_path) -> None:
    env_ids = [environment.id for environment in ENVIRONMENTS]
    plain, *uncompiled = play(PLAIN, *env_ids, NUMBA_CACHE_DIR=str(tmp_path))
    compiled, _, signatures = play(AT_ONCE, *env_ids)
    assert uncompiled == [0, [0, 0]]
    assert min(signatures) > 0
    assert plain == compiled


def test_rules_are_compiled_when_they_have_run_long_enough_or_arrays_are_long(tmp_path: Path) -> None:
    program = """
import itertools
import numpy as np
from flowsched_gym.machine_code import decorators as compiling
from flowsched_gym.fluid.rules.transport.senders import wire_volume
compiling.perf_counter = itertools.count(step=0.2).__next__
def call(num_flows):
    wire_volume(np.ones(num_flows), 0.0, 0.0, np.empty(num_flows))
    print(len(wire_volume.signatures))
for num_flows in {}:
    call(num_flows)
"""
    for lengths, signatures in (("(3, 3, 3)", "0 0 1"), ("(10_000, 10_001)", "0 1")):
        found = run_python(program.format(lengths), NUMBA_CACHE_DIR=str(tmp_path / lengths))
        assert " ".join(found.split()) == signatures


def test_a_rule_that_has_no_machine_code_yet_warns_of_no_overflow_either(tmp_path: Path) -> None:
    program = """
import numpy as np
from flowsched_gym.fluid.rules.transport.progress import next_event_time
live, attained, left = np.zeros(1, np.int64), np.zeros(1), np.full(1, 1e300)
slow, never = np.full(1, 1e-300), np.full(1, np.inf)
print(next_event_time(0.0, live, 1, attained, left, slow, never, 5.0), len(next_event_time.signatures))
"""

    assert run_python(program, NUMBA_CACHE_DIR=str(tmp_path)) == "5.0 0"


@inlined_part
def _double(value: float) -> float:
    return 2.0 * value


def test_a_part_of_a_rule_is_a_plain_function_in_python_and_compiled_into_those_that_call_it() -> None:
    @rule
    def quadruple(value: float) -> float:
        return _double(_double(value))

    assert inspect.isfunction(_double)
    assert not inspect.isfunction(quadruple)
    assert _double(1.5) == 3.0
    assert quadruple(1.5) == 6.0


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
    assert any("outer" in name for name in files_of(folder / "cache"))
    return printed


def test_an_edited_rule_is_not_served_from_the_cache_of_a_rule_in_another_file_that_calls_it(tmp_path: Path) -> None:
    outer = (
        "from flowsched_gym.fluid.rules.inner import inner\n@engine_function\ndef outer(x):\n    return 10 * inner(x)"
    )
    inner = [
        {"outer": outer, "inner": f"@engine_function\ndef inner(x):\n    return x + {number}"} for number in (1, 2)
    ]
    assert outcomes(tmp_path, "print(outer(0))", *inner) == ["10", "20"]


def test_machine_code_of_a_release_whose_classes_have_moved_is_compiled_anew(tmp_path: Path) -> None:
    rest = "(NamedTuple):\n    x: int\n@engine_function\ndef outer(pair):\n    return pair.x\n"
    outer = [{"outer": f"class {name}{rest}Pair = {name}"} for name in ("Before", "After")]
    assert outcomes(tmp_path, "print(outer(Pair(7)))", *outer) == ["7", "7"]


def compiled_modules() -> list[str]:
    """Returns the modules of the package that hold compiled functions."""
    return [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in sorted(PACKAGE.rglob("*.py"))
        if re.search(r"^@(\w+_)?(rule|function)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def test_machine_code_is_stale_when_anything_changes_that_it_may_be_made_of() -> None:
    def file_of(name: str) -> Path:
        return Path(importlib.import_module(name).__file__ or "")

    for module in compiled_modules():
        files = set(source_files(file_of(module)))
        assert file_of(module) in files
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


def test_a_full_disk_stops_no_rule(tmp_path, monkeypatch, caplog) -> None:
    def refuse(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(IndexDataCacheFile, "_save_data", refuse)

    @engine_function
    def double(values: np.ndarray) -> None:
        for place in range(len(values)):
            values[place] *= 2.0

    values = np.ones(2)
    with caplog.at_level(logging.WARNING):
        double(values)

    assert values.tolist() == [2.0, 2.0]
    assert "No space left on device" in caplog.text


def test_an_environment_can_be_debugged_with_numba_switched_off() -> None:
    program = """
from flowsched_gym.registration import find_environment
from tests.envs.episodes import make, play
steps = play(make(find_environment("flowsched/Artemis-v0")), seed=5)
print([(step.action, step.observation.tolist(), step.reward, float(step.info["time"])) for step in steps])
"""

    assert run_python(program, NUMBA_DISABLE_JIT="1") == run_python(program)
