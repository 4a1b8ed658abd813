"""Events at absolute times, their order within an instant, and results that are the same in another process."""

import hashlib
import re
from pathlib import Path

import pytest
from simpy.events import ProcessGenerator

import flowsched_gym
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.simpy_environment import LAST_ROW
from flowsched_gym.fluid import EventKind
from flowsched_gym.fluid.simpy import NetworkEnvironment
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import draw_flows, make_workload
from tests.processes import run_python
from tests.simulate import VARIANTS, simulate


def test_the_past_is_refused() -> None:
    env = NetworkEnvironment()
    env.at(2.0, EventKind.ARRIVAL)
    env.run()
    with pytest.raises(SimulationError, match=r"event START at 1\.5 s is in the past: it is 2\.0 s"):
        env.at(1.5, EventKind.START)


def test_a_process_goes_on_at_exactly_the_time_of_its_event() -> None:
    # With a relative delay the second event would be at 0.2 + (0.9 - 0.2), which is not 0.9.
    assert 0.2 + (0.9 - 0.2) != 0.9

    def process(env: NetworkEnvironment) -> ProcessGenerator:
        yield env.at(0.2, EventKind.ARRIVAL)
        yield env.at(0.9, EventKind.ARRIVAL)
        return env.now

    env = NetworkEnvironment()
    assert env.run(env.process(process(env))) == 0.9


def test_events_of_one_instant_happen_by_kind_then_by_row_and_what_follows_at_once_before_all_others() -> None:
    env = NetworkEnvironment()
    seen: list[tuple[EventKind, int]] = []
    followed: list[int] = []

    def happen(kind: EventKind, row: int) -> ProcessGenerator:
        yield env.at(1.0, kind, row)
        seen.append((kind, row))
        yield env.event().succeed()
        followed.append(len(seen))

    scheduled = [(kind, row) for row in (LAST_ROW, 7, 0) for kind in reversed(EventKind)]
    for kind, row in scheduled:
        env.process(happen(kind, row))
    env.run()

    assert seen == sorted(scheduled)
    assert followed == list(range(1, len(seen) + 1))


def test_simpy_is_used_by_its_public_interface_but_for_the_one_method() -> None:
    package = Path(flowsched_gym.__file__).parent
    paths = [path for path in package.rglob("*.py") if "simpy" in str(path.relative_to(package))]
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths}
    assert len(sources) > 5
    private = re.compile(r"\b(?:event|env|simpy)\._\w+|self\._(?:queue|eid|now|ok|value)\b")
    found = {name: private.findall(text) for name, text in sources.items() if private.search(text)}
    assert list(found) == ["simpy_environment.py"]
    assert not private.search(sources["simpy_environment.py"].partition("    def at")[0])


PROGRAM = "from tests.fluid.simpy.test_environment import fingerprint; print(fingerprint())"


def fingerprint() -> str:
    """Digests the completion times of all disciplines on one workload."""
    workload = draw_flows(make_workload("gather-multi"), num_flows=200, seed=11)
    digest = hashlib.sha256()
    for variant in VARIANTS:
        digest.update(simulate(workload, variant, big_switch(num_hosts=workload.num_hosts)).completion_time.tobytes())
    return digest.hexdigest()


def test_results_are_the_same_in_another_process() -> None:
    assert run_python(PROGRAM, PYTHONHASHSEED="1") == fingerprint()
