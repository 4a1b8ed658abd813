"""Tells when rules are compiled and what a user is told of it, and how a hook that cannot be compiled is named.

One line is told when something is compiled, none when it is on disk; a rule without machine code gives the same bits.
"""

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary
from numba.core.errors import NumbaError

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.machine_code import messages
from flowsched_gym.machine_code.decorators import chosen_by_type, engine_function, inlined_part, rule
from tests.envs.episodes import ENVIRONMENTS
from tests.processes import run, run_python

EPISODES: Final = """
import itertools, json
from numba.core import event
from flowsched_gym.machine_code import decorators as compiling
{setting}
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
"""Plays episodes; prints what came of them, and how much was compiled."""

ARTEMIS: Final = "flowsched/Artemis-v0"
USUAL: Final = "compiling.perf_counter = itertools.count(step=1e-5).__next__"
"""The time before compiling stays; each call of a rule takes 10 us by the clock, however busy the machine is."""
PLAIN, AT_ONCE = (f"compiling.TIME_BEFORE_COMPILING = float('{time}')" for time in ("inf", "0"))


def play(setting: str, *env_ids: str, stride: int = 9, **variables: str) -> list[Any]:
    """Plays in a fresh process; returns fingerprints, compilations, and signatures of rules of flows and of packets."""
    program = EPISODES.format(setting=setting, env_ids=env_ids, stride=stride)
    return json.loads(run_python(program, **variables))


def files_of(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*.nb*")}


@pytest.mark.exhaustive
def test_the_first_episodes_wait_for_no_compilation_and_a_process_loads_what_another_has_compiled(tmp_path) -> None:
    first, *uncompiled = play(USUAL, ARTEMIS, stride=50, NUMBA_CACHE_DIR=str(tmp_path))
    assert uncompiled == [0, [0, 0]]
    assert files_of(tmp_path) == {}
    compiled, compilations, signatures = play(AT_ONCE, ARTEMIS, stride=50, NUMBA_CACHE_DIR=str(tmp_path))
    before = files_of(tmp_path)
    assert compilations > 0
    assert signatures[0] > 0
    assert any("share_links" in name for name in before)
    again, compilations, signatures = play(USUAL, ARTEMIS, stride=50, NUMBA_CACHE_DIR=str(tmp_path))
    assert (compilations, signatures[0] > 0) == (0, True)
    assert files_of(tmp_path) == before
    assert first == compiled == again
    assert len(set(first)) == len(first)


@pytest.mark.parametrize(
    "env_ids",
    [
        pytest.param(("flowsched/MERPOrder-v0", "flowsched/QCluster-v0"), id="one of flows and one of packets"),
        # What they call event by event, each rule by itself, takes half a minute to compile.
        pytest.param(tuple(each.id for each in ENVIRONMENTS), marks=pytest.mark.exhaustive, id="all"),
    ],
)
def test_environments_begin_without_a_compiler_and_go_on_to_the_same_bits(env_ids: tuple[str, ...], tmp_path) -> None:
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


def test_a_part_is_linked_into_the_code_that_calls_it_and_made_ready_for_nobody_else(monkeypatch) -> None:
    ready = []
    make_ready = JITCodeLibrary._finalize_specific

    def note(library: JITCodeLibrary) -> None:
        ready.append(library.name)
        make_ready(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", note)

    @inlined_part
    def divided(value: float, by: int) -> float:
        if by == 0:
            raise ValueError("by must not be 0")
        return _double(value) / by

    @engine_function
    def twice(value: float, by: int) -> float:
        return divided(divided(value, by), by)

    assert twice(3.0, 4) == divided(divided(3.0, 4), 4) == 0.75
    with pytest.raises(ValueError, match=r"^by must not be 0$"):
        twice(3.0, 0)
    assert [name for name in ready if "twice" in name]
    assert not [name for name in ready if "divided" in name or "_double" in name]


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
    return run_with(record)


def makes_an_array(record, values):
    return np.zeros(3)[0]


def takes_too_little(record):
    return 1.0


def opens_a_file(record, values):
    with open("file") as file:
        return len(file.read())


def returns_a_text(record, values):
    return "never"


def lacks_an_argument(record, values):
    return takes_both(first_argument=values[0])


@inlined_part
def takes_both(first_argument, second_argument):
    return first_argument + second_argument


def run_with(function: Callable[..., object]) -> float:
    """Runs an engine with a hook, as it finds those of a user's own class."""
    record = type(f"Record of {function.__name__}", (NamedTuple("Record", [("kept", int)]),), {"hook": function})
    return engine(record(1), np.ones(2))


@pytest.mark.parametrize(
    ("function", "at", "reason"),
    [
        (has_no_such_attribute, 1, r"Unknown attribute 'length' of type array\(float64, 1d, C\)"),
        (calls_a_faulty_part, -3, r"Unknown attribute 'length' of type array\(float64, 1d, C\)"),
        (calls_a_plain_function, 1, "Untyped global name 'run_with'"),
        (makes_an_array, 1, r"No implementation of function .*zeros.*\(hooks make no arrays or lists\)"),
        (takes_too_little, 0, "Signature mismatch: 2 argument types given, but function takes 1 argument"),
        (opens_a_file, 0, "The 'with .* construct is not supported"),
        (lacks_an_argument, 1, "missing a required argument: 'second_argument': No implementation of"),
        (returns_a_text, 0, r"it returns .*never.*, and must return float"),
    ],
)
def test_a_hook_that_cannot_be_compiled_is_named(function: Callable[..., object], at: int, reason: str) -> None:
    line = function.__code__.co_firstlineno + at
    for _ in range(2):  # Numba looks for the hook once
        with pytest.raises(
            ConfigError, match=rf"^{function.__name__} cannot be compiled: {__file__}, line {line}: {reason}"
        ) as error:
            run_with(function)
        assert error.value.__cause__ is not None


def test_a_fault_of_an_engine_itself_is_told_alike() -> None:
    @engine_function
    def faulty(values):
        return values.length

    with pytest.raises(ConfigError, match=r"faulty cannot be compiled: .*line \d+: Unknown attribute") as e:
        faulty(np.ones(2))
    assert isinstance(e.value.__cause__, NumbaError)


PROGRAM = """
import numpy as np
from flowsched_gym.fluid.compiled.events import _insert_timer
timers = np.zeros(2, dtype=[("time", np.float64), ("kind", np.int64), ("row", np.int64)])
_insert_timer(timers, 0, 0, 1.5, 1, 0)
"""
"""Calls the smallest part of the engine."""


def errors_of(folder: Path, **variables: str) -> list[str]:
    """Runs the program in a fresh process; returns the lines on standard error."""
    variables = {"FLOWSCHED_QUIET": "", "NUMBA_CACHE_DIR": str(folder)} | variables
    outcome = run(sys.executable, "-W", "error", "-c", PROGRAM, **variables)
    assert outcome.out == ""
    return outcome.err.splitlines()


def test_the_first_process_on_a_machine_is_told_once_and_the_next_ones_are_not(tmp_path: Path) -> None:
    (line,) = errors_of(tmp_path / "told")
    assert line.startswith("flowsched: compiling the engine")
    assert errors_of(tmp_path / "told") == errors_of(tmp_path / "quiet", FLOWSCHED_QUIET="1") == []


def dispatcher(module: str, *, lazily_compiled: bool) -> SimpleNamespace:
    function = type("function", (), {"__module__": f"{module}.any"})
    return SimpleNamespace(py_func=function, lazily_compiled=lazily_compiled)


RULE, OTHER_RULE = (dispatcher("flowsched_gym", lazily_compiled=True) for _ in range(2))
LOAD, RUN, STEP = (dispatcher("flowsched_gym", lazily_compiled=False) for _ in range(3))
OF_A_USER = dispatcher("my_own_package", lazily_compiled=False)


def test_each_engine_is_one_line_and_rules_are_one_after_a_second_together(monkeypatch: pytest.MonkeyPatch) -> None:
    listener, lines, now = messages._Announcer(), [], [0.0]
    monkeypatch.delenv(messages.QUIET_VARIABLE)
    monkeypatch.setattr(messages, "_writers", [lines.append])
    monkeypatch.setattr(messages.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]

    def compiles(*dispatchers: SimpleNamespace) -> None:
        """Signals as Numba does that functions take 0.6 s, the later ones for the sake of the first."""
        signals = [SimpleNamespace(data={"dispatcher": each}) for each in dispatchers]
        for signal in signals:
            listener.on_start(signal)
        now[0] += 0.6
        for signal in reversed(signals):
            listener.on_end(signal)

    compiles(OF_A_USER)
    compiles(RULE)
    compiles(OTHER_RULE, RULE)
    assert lines == []
    for _ in range(3):
        compiles(RULE)
    (line,) = lines
    assert "rules" in line

    for _ in range(2):  # the second is for another discipline
        compiles(LOAD)
        compiles(RUN, RULE, OTHER_RULE)
        compiles(STEP, RUN)
    assert ["the engine of vector environments" in line for line in lines] == [False, True, True]


def test_a_process_without_standard_error_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(messages.QUIET_VARIABLE)
    monkeypatch.setattr(sys, "stderr", None)
    messages.tell("nothing")
