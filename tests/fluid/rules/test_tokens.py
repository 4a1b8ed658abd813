"""Holds the queue of token requests to its order, and a destination to its counts."""

from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid.simpy import Destination


def waiting(destination: Destination) -> list[int]:
    rows: list[int] = destination.requests[destination.head : destination.tail].tolist()
    return rows


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
        assert waiting(destination) == queue
        assert destination.num_waiting == len(queue)
        assert destination.active[: destination.num_active].tolist() == active
        assert destination.tokens == 2 - len(active)
        assert destination.expected == len(commands) - arrived
        assert destination.asks == (len(active) < 2 and bool(queue))
        assert destination.can_wait == (bool(active) or arrived < len(commands))
