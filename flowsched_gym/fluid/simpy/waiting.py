"""What flows wait for before they send: other flows."""

from simpy import Event

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid.stages import NOBODY, Stages, barrier_opens, stops_waiting, waits_at_barrier
from flowsched_gym.fluid.state import EventKind


class Turns:
    """Hands out the events at which flows go on to their next stage, all of one instant in the order of their rows."""

    def __init__(self, env: NetworkEnvironment, stages: Stages) -> None:
        self._env = env
        self._stages = stages
        self._waiting: dict[int, Event] = {}

    def to_begin(self, row: int) -> Event:
        """Takes in a flow that arrives; its event happens when all flows that it comes after have finished."""
        event = self._waiting[row] = Event(self._env)
        self._count_down(row)
        return event

    def finish(self, row: int) -> None:
        """Lets the flows that come after this one begin, if they wait for no other."""
        stages = self._stages
        for index in range(stages.first_follower[row], stages.first_follower[row + 1]):
            self._count_down(int(stages.followers[index]))

    def to_send(self, row: int) -> Event:
        """Takes in a flow whose CPU work is done; its event happens when its barrier opens."""
        event = self._waiting[row] = Event(self._env)
        if barrier_opens(row, 0, self._stages):
            member = int(self._stages.group[row])
            while member != NOBODY:
                if waits_at_barrier(row, member, self._stages):
                    self._start(member)
                member = int(self._stages.next_in_group[member])
        return event

    def _count_down(self, row: int) -> None:
        if stops_waiting(row, self._stages):
            self._start(row)

    def _start(self, row: int) -> None:
        self._env.at(self._env.now, EventKind.START, row, self._waiting.pop(row))
