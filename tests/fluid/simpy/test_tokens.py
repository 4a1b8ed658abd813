"""Tells what happens with tokens as stories: small flow sets, worked by hand, and the complete log of what happened.

Links carry 1 B/s and take 0.25 s each, so a path of two links takes half a second.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid import Discipline, EventKind
from flowsched_gym.fluid.disciplines import Mlfq, Ps
from flowsched_gym.fluid.simpy import Destination, Simulation
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import Workload
from tests.simulate import grant_oldest, make_flows

LAST_BYTE_SENT, BYTE_THRESHOLD, DELIVERY = tuple(EventKind)[:3]
ARRIVAL, DECISION = EventKind.ARRIVAL, EventKind.DECISION


def begin(workload: Workload, *, tokens: int, discipline: Discipline | None = None) -> Simulation:
    """Runs to the first decision."""
    switch = big_switch(num_hosts=10, capacity=1.0, delay=0.25)
    simulation = Simulation(workload, switch, discipline or Ps(), num_tokens=tokens, keep_log=True)
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
    assert simulation.log is not None

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
    assert simulation.asking is not None
    assert simulation.asking.num_waiting == 2
    assert simulation.asking.expected == 0
    assert simulation.grant(1) == 2
    assert simulation.asking is None


def test_a_postponed_request_stands_behind_all_others() -> None:
    simulation = begin(make_flows([0.0] * 3, [1.0] * 3, source=[1, 2, 3]), tokens=1)
    assert simulation.postpone(0) == 0
    simulation.run()
    grant_oldest(simulation)

    assert simulation.log is not None
    assert [row for _, kind, row in simulation.log if kind is DECISION] == [1, 2, 0]
    assert simulation.now == 0.5 + 3 * 2.0  # the link idles for a round trip between two flows


def test_requests_may_be_postponed_as_often_as_one_likes() -> None:
    simulation = begin(make_flows([0.0, 0.0, 1.0], [1.0] * 3, source=[1, 2, 3]), tokens=1)
    for turn in range(1001):
        assert simulation.postpone(0) == turn % 2
        simulation.run()
    assert simulation.now == 0.5
    grant_oldest(simulation)

    assert simulation.log is not None
    assert [row for _, kind, row in simulation.log if kind is DECISION] == [1, 0, 2]


def test_a_slot_in_which_no_request_waits_is_refused_and_nothing_happens() -> None:
    simulation = begin(make_flows([0.0, 0.0], [1.0] * 2, source=[1, 2]), tokens=1)
    for slot in (-1, 2, 99):
        for decide in (simulation.grant, simulation.postpone):
            with pytest.raises(SimulationError, match=rf"slot is {slot}: requests wait in the slots 0 to 1"):
                decide(slot)
    assert simulation.grant(1) == 1
    for nothing in (lambda: simulation.grant(0), lambda: simulation.postpone(0), simulation.wait):
        with pytest.raises(SimulationError, match="no destination waits for a decision"):
            nothing()


def test_a_destination_that_waits_is_asked_again_when_a_request_arrives() -> None:
    simulation = begin(make_flows([0.0, 2.0], [1.0, 1.0], source=[1, 2]), tokens=1)
    simulation.wait()
    simulation.run()

    assert simulation.now == 2.5
    assert simulation.grant(1) == 1  # the younger, which came while the destination waited
    grant_oldest(simulation)
    assert simulation.records().completion_time.tolist() == [6.5, 4.5]


def test_a_destination_that_waits_is_asked_again_when_a_token_returns() -> None:
    simulation = begin(make_flows([0.0, 0.0], [1.0, 1.0], source=[1, 2]), tokens=2)
    simulation.grant(0)
    simulation.run()
    assert simulation.now == 0.5
    simulation.wait()
    simulation.run()

    assert simulation.now == 2.5
    assert simulation.asking is not None
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


@given(commands=st.lists(st.tuples(st.sampled_from(["enqueue", "grant", "postpone", "return"]), st.integers(0, 5))))
def test_a_destination_behaves_like_a_plain_list(commands: list[tuple[str, int]]) -> None:
    env, changes = NetworkEnvironment(), []
    times = [0.0] * len(commands)
    destination = Destination(env, 0, 2, len(commands), times, on_change=lambda: changes.append(env.now))
    queue: list[int] = []
    active: list[int] = []
    postponed: set[int] = set()
    arrived = 0
    for command, choice in commands:
        num_changes, freed = len(changes), command == "return" and bool(active)
        if command == "enqueue":
            destination.request(arrived)
            queue.append(arrived)
            arrived += 1
        elif command == "return" and active:
            row = active.pop(choice % len(active))
            destination.release(row)
        elif queue and command == "grant" and len(active) < 2:
            slot = choice % len(queue)
            active.append(queue.pop(slot))
            assert destination.grant(slot) == active[-1]
        elif queue and command == "postpone" and queue[choice % len(queue)] not in postponed:
            slot = choice % len(queue)
            queue.append(queue.pop(slot))
            postponed.add(queue[-1])
            assert destination.postpone(slot) == queue[-1]

        assert len(changes) - num_changes == (command == "enqueue" or freed)
        assert destination.requests[destination.head : destination.tail].tolist() == queue
        assert destination.num_waiting == len(queue)
        assert destination.active[: destination.num_active].tolist() == active
        assert destination.tokens == 2 - len(active)
        assert destination.expected == len(commands) - arrived
        assert destination.asks == (len(active) < 2 and bool(queue))
        assert destination.can_wait == (bool(active) or arrived < len(commands))
