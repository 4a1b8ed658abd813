"""Tells what happens with tokens as stories: small flow sets, worked by hand, and the complete log of what happened.

Links carry 1 B/s and take 0.25 s each, so a path of two links takes half a second. Events happen at absolute times, in
a fixed order within an instant, and alike in another process.
"""

import hashlib
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from simpy.events import ProcessGenerator

import flowsched_gym
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.simpy_environment import LAST_ROW
from flowsched_gym.fluid import Discipline, EventKind
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Mlfq, Ps
from flowsched_gym.fluid.simpy import NetworkEnvironment, Simulation
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import Workload, draw_flows, make_workload
from tests.processes import run_python
from tests.simulate import VARIANTS, grant_oldest, make_flows, network_of, simulate

LAST_BYTE_SENT, BYTE_THRESHOLD, DELIVERY = tuple(EventKind)[:3]
ARRIVAL, DECISION = EventKind.ARRIVAL, EventKind.DECISION

SWITCH = big_switch(num_hosts=10, capacity=1.0, delay=0.25)


def begin(workload: Workload, *, tokens: int, discipline: Discipline | None = None) -> Simulation:
    """Runs to the first decision."""
    simulation = Simulation(workload, SWITCH, discipline or Ps(), num_tokens=tokens, keep_log=True)
    simulation.run()
    return simulation


def test_a_token_costs_a_round_trip_and_the_last_byte_a_path_more() -> None:
    simulation = begin(make_flows([1.0], [2.0]), tokens=1)
    grant_oldest(simulation)

    assert simulation.log == [
        (1.5, ARRIVAL, 0),  # the request has crossed two links
        (1.5, DECISION, 0),
        (4.0, LAST_BYTE_SENT, 0),  # the token was there at 2.0, two bytes take two seconds
        (4.5, DELIVERY, 0),  # the last byte has crossed two links
    ]
    records = simulation.records()
    assert records.grant_time.tolist() == [1.5]
    assert records.completion_time.tolist() == [4.5]
    assert records.slowdown.tolist() == [1.0]


def test_one_token_serves_two_flows_one_after_the_other() -> None:
    simulation = begin(make_flows([0.0, 0.0], [2.0, 3.0], source=[1, 2]), tokens=1)
    grant_oldest(simulation)

    assert simulation.log == [
        (0.5, ARRIVAL, 0),
        (0.5, ARRIVAL, 1),
        (0.5, DECISION, 0),
        (3.0, LAST_BYTE_SENT, 0),
        (3.5, DELIVERY, 0),
        (3.5, DECISION, 1),
        (7.0, LAST_BYTE_SENT, 1),  # token at 4.0, three bytes
        (7.5, DELIVERY, 1),
    ]


def test_two_flows_of_one_source_share_its_link_and_leave_the_rest_to_a_third() -> None:
    workload = make_flows([0.0] * 3, [1.0, 1.0, 2.0], source=[5, 5, 6], destination=[0, 1, 1])
    simulation = begin(workload, tokens=2)
    grant_oldest(simulation)
    # Hosts 5 sends half to each; host 1's link leaves the other half to the flow of host 6 until the halves are done.
    assert simulation.records().completion_time.tolist() == [3.5, 3.5, 4.5]


def test_events_of_one_instant_happen_in_the_order_of_their_kinds() -> None:
    # Five destinations, so that the flows do not meet; rows run against the order of the kinds.
    workload = make_flows([4.5, 0.0, 1.0, 0.0], [1.0, 3.5, 9.0, 4.0], source=[1, 3, 5, 7], destination=[0, 2, 4, 6])
    simulation = begin(workload, tokens=1, discipline=Mlfq(thresholds=[3.0]))
    grant_oldest(simulation)

    assert [event[1:] for event in simulation.log if event[0] == 5.0] == [
        (LAST_BYTE_SENT, 3),  # sent from 1.0 on, four bytes
        (BYTE_THRESHOLD, 2),  # sends from 2.0 on, three bytes are the threshold
        (DELIVERY, 1),  # sent 3.5 bytes until 4.5
        (ARRIVAL, 0),  # asked at 4.5
        (DECISION, 0),
    ]


def test_destinations_that_can_decide_at_one_instant_are_asked_in_the_order_of_hosts() -> None:
    workload = make_flows([0.0] * 5, [1.0] * 5, source=[5, 6, 7, 8, 9], destination=[3, 1, 3, 1, 3])
    simulation = begin(workload, tokens=2)
    granted = []
    while simulation.asking is not None and simulation.now == 0.5:
        granted.append((simulation.asking.host, simulation.grant(0)))
        simulation.run()

    assert granted == [(1, 1), (1, 3), (3, 0), (3, 2)]


def test_a_decision_sees_everything_that_happens_at_its_instant() -> None:
    # The token of flow 0 returns at 3.5, when the request of flow 2 arrives: both are seen, flow 1 is the older.
    simulation = begin(make_flows([0.0, 0.0, 3.0], [2.0, 1.0, 1.0], source=[1, 2, 3]), tokens=1)
    simulation.grant(0)
    simulation.run()

    assert simulation.now == 3.5
    assert simulation.asking.num_waiting == 2
    assert simulation.asking.expected == 0
    assert simulation.grant(1) == 2
    assert simulation.asking is None


def test_a_postponed_request_stands_behind_all_others() -> None:
    simulation = begin(make_flows([0.0] * 3, [1.0] * 3, source=[1, 2, 3]), tokens=1)
    assert simulation.postpone(0) == 0
    simulation.run()
    grant_oldest(simulation)

    assert [row for _, kind, row in simulation.log if kind is DECISION] == [1, 2, 0]
    assert simulation.now == 0.5 + 3 * 2.0  # the link idles for a round trip between two flows


def test_requests_may_be_postponed_as_often_as_one_likes() -> None:
    simulation = begin(make_flows([0.0, 0.0, 0.0, 1.0], [1.0] * 4, source=[1, 2, 3, 4]), tokens=1)
    queue = [0, 1, 2]
    for turn in range(1001):
        queue.append(queue.pop(turn % 3))
        assert simulation.postpone(turn % 3) == queue[-1]
        simulation.run()
    assert simulation.now == 0.5
    grant_oldest(simulation)

    assert [row for _, kind, row in simulation.log if kind is DECISION] == [*queue, 3]


@pytest.mark.exhaustive
def test_a_slot_in_which_no_request_waits_is_refused_and_nothing_happens_on_both_engines() -> None:
    workload = make_flows([0.0, 0.0], [1.0] * 2, source=[1, 2])
    batch = BatchSimulation(1, 2, SWITCH, Ps(), num_tokens=1)
    batch.load(0, workload)
    for engine in (Simulation(workload, SWITCH, Ps(), num_tokens=1), network_of(batch, 0)):
        refused = partial(engine.grant, 0), partial(engine.postpone, 0), engine.wait
        for decide in refused:
            with pytest.raises(SimulationError, match="no destination waits for a decision"):
                decide()
        engine.run()
        for slot in (-1, 2, 99):
            for choose in (engine.grant, engine.postpone):
                with pytest.raises(SimulationError, match=rf"slot is {slot}: requests wait in the slots 0 to 1"):
                    choose(slot)
        assert engine.grant(1) == 1
        for decide in refused:
            with pytest.raises(SimulationError, match="no destination waits for a decision"):
                decide()


def test_a_destination_that_waits_is_asked_again_when_a_request_arrives() -> None:
    simulation = begin(make_flows([0.0, 2.0], [1.0, 1.0], source=[1, 2]), tokens=1)
    assert simulation.asking.can_wait
    simulation.wait()
    simulation.run()

    assert simulation.now == 2.5
    assert not simulation.asking.can_wait
    assert simulation.grant(1) == 1  # the younger, which came while the destination waited
    grant_oldest(simulation)
    assert simulation.records().completion_time.tolist() == [6.5, 4.5]


def test_a_destination_that_waits_is_asked_again_when_a_token_returns() -> None:
    simulation = begin(make_flows([0.0, 0.0], [1.0, 1.0], source=[1, 2]), tokens=2)
    simulation.grant(0)
    simulation.run()
    assert simulation.now == 0.5
    assert simulation.asking.can_wait
    simulation.wait()
    simulation.run()

    assert simulation.now == 2.5
    assert simulation.asking.tokens == 2


def test_records_of_a_run_that_stops_tell_what_has_happened_so_far() -> None:
    simulation = begin(make_flows([0.0, 0.0], [1.0, 1.0], source=[1, 2]), tokens=1)
    simulation.grant(0)
    simulation.run()
    records = simulation.records()

    assert simulation.now == 2.5
    assert records.completion_time.tolist()[0] == 2.5
    assert np.isnan(records.completion_time[1])
    assert np.isnan(records.grant_time[1])
    assert records.deadline_met.tolist() == [True, False]
    assert not simulation.finished


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


def fingerprint() -> str:
    """Digests the completion times of all disciplines on one workload."""
    workload = draw_flows(make_workload("gather-multi"), num_flows=200, seed=11)
    digest = hashlib.sha256()
    for variant in VARIANTS:
        digest.update(simulate(workload, variant, big_switch(num_hosts=workload.num_hosts)).completion_time.tobytes())
    return digest.hexdigest()


def test_results_are_the_same_in_another_process() -> None:
    program = f"from {__name__} import fingerprint; print(fingerprint())"
    assert run_python(program, PYTHONHASHSEED="1") == fingerprint()
