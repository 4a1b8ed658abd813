"""Disciplines from outside the package run on both engines, to the same bits, and their machine code is kept."""

from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from numba.core.errors import NumbaError

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.envs import NetworkSetup
from flowsched_gym.fluid import Discipline
from flowsched_gym.fluid.disciplines import Mlfq, Ps, Sjf
from flowsched_gym.packets.schedulers import Scheduler
from flowsched_gym.workload import draw_flows as draw
from flowsched_gym.workload import make_workload
from tests.envs.vectors import Pair
from tests.fluid.in_turns import InTurns, Turns
from tests.processes import run_python
from tests.repository import ROOT
from tests.simulate import make_flows
from tests.systems.serial import serial

WORKLOAD = draw(make_workload("gather-heavy"), num_flows=300, seed=5)


class LargestFirst(Discipline):
    """The largest flow first, preemptively; it keeps nothing."""

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        for row in active[:count]:
            controls.priority[row] = -int(state.size[row])


class Misspelt(Discipline):
    """Reads what flows do not have."""

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        controls.priority[active[0]] = state.length[0]


def replay(discipline: Discipline, engine: str, **options):
    return flowsched_gym.replay(WORKLOAD, discipline=discipline, topology="big-switch", engine=engine, **options)


@pytest.mark.parametrize(
    "discipline",
    [
        pytest.param(LargestFirst(), marks=pytest.mark.exhaustive, id="nothing kept"),
        pytest.param(InTurns(1e-4), id="a record kept"),
    ],
)
def test_both_engines_give_the_same_bits(discipline: Discipline) -> None:
    simpy, compiled = (replay(discipline, engine).completion_time for engine in ("simpy", "compiled"))
    assert simpy.tobytes() == compiled.tobytes()
    assert (
        simpy.tobytes()
        != flowsched_gym.replay(WORKLOAD, discipline="ps", topology="big-switch").completion_time.tobytes()
    )


def test_its_hooks_do_what_they_say() -> None:
    two = make_flows([0.0, 1.0], [4.0, 6.0])
    served = flowsched_gym.replay(two, discipline=LargestFirst(), capacity=1.0).completion_time
    assert served.tolist() == [10.0, 7.0]
    # Sizes 3 and 4 are of the groups 0 and 1. The groups 2, 1, 0 and 2 go first in turns 1 to 4: 4 before 3 in turn 2.
    turns = flowsched_gym.replay(make_flows([0.0, 0.0], [3.0, 4.0]), discipline=InTurns(1.0), capacity=1.0)
    assert turns.completion_time.tolist() == [4.0, 7.0]


@pytest.mark.exhaustive
def test_an_environment_plays_it_on_both_engines_and_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy system, on a network of a discipline that the package does not know."""
    own = {"new_discipline": partial(InTurns, 1e-4), "num_tokens": 3}
    monkeypatch.setattr(serial, "NetworkSetup", lambda **given: NetworkSetup(**given | own))
    gym.register("tests/InTurns-v0", entry_point=serial.SerialEnv, vector_entry_point=serial.SerialVectorEnv)
    for arguments in ({}, {"engine": "compiled"}):
        pair = Pair(gym.spec("tests/InTurns-v0"), num_envs=2, **arguments)
        pair.reset(seed=3)
        assert pair.play(num_steps=1_100, seed=0) > 0


def test_a_discipline_that_changes_a_hook_of_another_does_not_change_the_other() -> None:
    class Flat(Sjf):
        """Keeps what the other keeps, and leaves all flows equal."""

        control = staticmethod(Discipline.control)

    assert Flat.record_type is not Sjf.record_type
    assert issubclass(Flat.record_type, Sjf.record_type)
    flat, sjf = (replay(each, "simpy").completion_time.tobytes() for each in (Flat(), Sjf()))
    ps = flowsched_gym.replay(WORKLOAD, discipline="ps", topology="big-switch").completion_time.tobytes()
    assert flat == ps != sjf


class Weighted(Ps):
    """Gives larger flows more."""

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        for row in active[:count]:
            controls.weight[row] = state.size[row]


def test_a_discipline_with_hooks_of_its_own_does_not_inherit_how_another_one_shares() -> None:
    class Inverted(Mlfq):
        """Serves the larger flow first, by priorities that no queue has."""

        control = staticmethod(LargestFirst.control)

    class Named(Weighted):
        """Tells itself how it shares."""

        control = staticmethod(Discipline.control)
        num_priorities = 1
        shares_equally = True

    for own, priorities, equal in ((Weighted(), 0, False), (Inverted([1e5]), 0, False), (Named(), 1, True)):
        assert (own.num_priorities, own.shares_equally) == (priorities, equal)
    assert Mlfq([1e5]).num_priorities == 2


@pytest.mark.exhaustive
def test_weights_on_top_of_processor_sharing_count_on_both_engines() -> None:
    simpy, compiled = (replay(Weighted(), engine).completion_time.tobytes() for engine in ("simpy", "compiled"))
    assert simpy == compiled != replay(Ps(), "simpy").completion_time.tobytes()


class TooMany(Discipline):
    """Sets priority 2 of two, 0 and 1."""

    num_priorities = 2

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        for row in active[:count]:
            controls.priority[row] = 2


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_a_priority_outside_of_those_that_a_discipline_names_is_refused(engine: str) -> None:
    with pytest.raises(SimulationError, match="TooMany has set priority 2: with num_priorities 2 it must be 0 to 1;"):
        replay(TooMany(), engine)


@pytest.mark.exhaustive
def test_a_hook_that_cannot_be_compiled_is_named_with_its_line_and_what_is_wrong(monkeypatch) -> None:
    colour = "\x1b[1m"  # as on a terminal
    monkeypatch.setattr(NumbaError, "__str__", lambda fault: "\n".join(colour + line for line in fault.msg.split("\n")))
    line = Misspelt.control.__code__.co_firstlineno + 2
    told = (
        rf"^Misspelt.control cannot be compiled: {__file__}, line {line}: Unknown attribute 'length' of type FlowState"
    )
    with pytest.raises(ConfigError, match=told) as error:
        replay(Misspelt(), "compiled")
    assert isinstance(error.value.__cause__, NumbaError)


def test_parameters_belong_to_a_name() -> None:
    with pytest.raises(ConfigError, match="parameters has 'alpha': a discipline that is made already takes none"):
        replay(LargestFirst(), "simpy", parameters={"alpha": 1})


def test_contributing_shows_all_of_it() -> None:
    code = (ROOT / "tests/fluid/in_turns.py").read_text("utf-8").split('"""\n\n', 1)[1]
    assert f"```python\n{code}```" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


REPLAY = """
import flowsched_gym
from numba.core import event

class Compiled(event.Listener):
    names = set()
    def on_start(self, signal):
        self.names.add(signal.data["dispatcher"].py_func.__name__)
    def on_end(self, signal):
        pass

event.register("numba:compile", Compiled())
flows = {"flow_id": [0, 1], "source": [0, 1], "destination": [2, 2], "size_bytes": [1e5, 2e5], "arrival_s": [0.0, 0.0]}
def replay(discipline, **parameters):
    options = {"capacity": 1e5, "engine": "compiled", "parameters": parameters or None}
    return flowsched_gym.replay(flows, discipline=discipline, **options).completion_time
"""
OWN = REPLAY + "from own import Own\nprint(*replay(Own()), 'run_many' in Compiled.names)"
SOURCE = """
from flowsched_gym.fluid import Discipline

class Own(Discipline):
    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        for row in active[:count]:
            controls.priority[row] = {sign}int(state.size[row])
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'fifo'", {"order_by", "share_links"}),
        ("'mlfq', thresholds=[1e5]", {"level_by_attained", "share_incrementally"}),
    ],
)
def test_a_discipline_compiles_itself_and_its_way_to_share(arguments: str, expected: set[str], tmp_path: Path) -> None:
    """Replays from an empty cache: of disciplines, ways to choose paths and ways to share links, one is compiled."""
    program = f"{REPLAY}replay({arguments})\nprint(*Compiled.names)"
    names = run_python(program, NUMBA_CACHE_DIR=str(tmp_path), FLOWSCHED_QUIET="1").split()
    of_disciplines = {"order_by", "order_by_finite", "order_without_preemption", "level_by_attained", "weigh_queues"}
    others = {"serve_by_virtual_deadline", "choose_least_congested", "choose_by_expansion", "_least_loaded"}
    assert (of_disciplines | others | {"share_links", "share_incrementally"}).intersection(names) == expected


@pytest.mark.exhaustive
def test_machine_code_is_kept_until_the_file_of_the_discipline_changes(tmp_path: Path) -> None:
    def run(sign: str) -> list[str]:
        (tmp_path / "own.py").write_text(SOURCE.format(sign=sign), "utf-8")
        options = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
        return run_python(OWN, FLOWSCHED_QUIET="1", **options).split()

    assert run("-") == ["3.0", "2.0", "True"]
    assert run("-") == ["3.0", "2.0", "False"]
    # A process that cannot import it finds the other machine code.
    (tmp_path / "own.py").unlink()
    rules = OWN.replace("from own import Own", "from flowsched_gym.fluid.disciplines import Ps as Own")
    options = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "FLOWSCHED_QUIET": "1"}
    assert [run_python(rules, **options).split()[2] for _ in range(2)] == ["True", "False"]
    assert run("-") == ["3.0", "2.0", "False"]
    assert run("") == ["1.0", "3.0", "True"]


class Standing(Discipline):
    """Asks to be reviewed so many s before the end of its second that time never gets there.

    If these are infinitely many, it writes where no flow is: it errs in two ways, to be compiled once.
    """

    record_type = Turns

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead

    def new_record(self, num_flows, network, num_networks):
        return Turns(self.ahead, np.zeros(num_networks), np.zeros(num_networks))

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        if record.length == np.inf:
            controls.priority[active[0] + 100_000] = 1

    @staticmethod
    def review_time(now, n, active, count, state, controls, record):
        return now + record.length if now > 0.0 else 0.5


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_a_review_that_is_not_later_than_now_is_refused_with_its_time(engine: str) -> None:
    for ahead, time in ((0.0, 0.5), (-0.25, 0.25), (np.nan, np.nan)):
        message = rf"Standing\.review_time returned {time} when it was 0\.5 s: it must be a time in s later than that"
        with pytest.raises(SimulationError, match=message):
            flowsched_gym.replay(make_flows([0.0], [4.0]), discipline=Standing(ahead), capacity=1.0, engine=engine)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_hook_that_writes_beyond_the_end_of_an_array_is_stopped(engine: str) -> None:
    with pytest.raises(IndexError):
        flowsched_gym.replay(make_flows([0.0], [4.0]), discipline=Standing(np.inf), capacity=1.0, engine=engine)


def test_a_record_that_does_not_fit_its_type_is_refused() -> None:
    for wrong, what in ({"length": 1.0}, "{'length': 1.0}"), (dict, "<class 'dict'>"), (None, "missing"):
        with pytest.raises(ConfigError, match=rf"Own\.record_type is {what}: it must be a NamedTuple"):
            type("Own", (Discipline,), {"record_type": wrong})
    with pytest.raises(ConfigError, match=r"Own has 'lengths' among what is kept: .* end \(did you mean 'length"):
        type("Own", (Discipline,), {"record_type": Turns, "kept": ("lengths",)})
    for attributes, fields in ({"record_type": Turns}, "length, number, end"), ({}, "none"):
        own = type("Own", (Discipline,), {**attributes, "new_record": lambda *_: (1.0,)})
        with pytest.raises(ConfigError, match=rf"Own\.new_record returns 1 values: .*, which has {fields}"):
            replay(own(), "simpy")


def test_a_hook_that_is_misspelt_or_no_static_method_is_refused_where_it_is_written() -> None:
    for base, right, wrong in ((Discipline, "control", "controls"), (Scheduler, "arrive", "arrives")):
        with pytest.raises(ConfigError, match=rf"Own has a static method '{wrong}'.*did you mean '{right}'"):
            type("Own", (base,), {wrong: staticmethod(print)})
        with pytest.raises(ConfigError, match=rf"Own\.{right} is no static method"):
            type("Own", (base,), {right: print})
