"""Finds the most deadlines that a scheduler of tokens can meet on a few flows, by trying all that it can do.

A scheduler may grant any request that waits, or wait for the next request or token, each time that it is asked. All
such choices are tried in copies of the episode, deepest first, by branch and bound: a branch ends where no more
deadlines could be met than in the best schedule so far. What is tried is the environment itself, with its tokens, its
transport and its shares of links, so the result is the optimum.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.envs.copies import EpisodeCopies
from flowsched_gym.flows.records import latest_completion

MOST_TRIED: Final = 12
"""Flows of an episode up to which all schedules are tried."""
NUM_COPIES: Final = 8_192
SHARE: Final = 8
"""Copies of the episode, and the part of the free ones, one in so many, that goes on together."""
MOST_STEPS: Final = 200_000
"""Choices that are tried before the search is given up; a count, so that results do not depend on speed."""
NOBODY: Final = -1
CLOCK_TOLERANCE: Final = 1e-9
"""Relative rounding of the time of the latest grant, so that no flow passes for lost that is not."""


class _States(NamedTuple):
    """Episodes on their way, one row for each.

    Attributes:
        copy: Number of the copy, (num_states,) int64.
        met: Flows that have finished in time so far, (num_states,) int64.
        late: Flows that have finished too late, (num_states,) int64.
        granted: Which flows were granted, (num_states, num_flows) bool.
        lost: Which flows were granted when they could not be in time any more, (num_states, num_flows) bool.
        last: Index of the flow that was granted last in this instant, -1 if none was, (num_states,) int64.
    """

    copy: IntArray
    met: IntArray
    late: IntArray
    granted: BoolArray
    lost: BoolArray
    last: IntArray

    def pick(self, rows: Any) -> "_States":
        """Returns some of them."""
        return _States(*(column[rows] for column in self))


def most_deadlines(env: DecisionEnv[Any], holding: FloatArray, *, upper: int) -> int | None:
    """Returns the most deadlines that can be met in an episode; ``None`` if there is too much to try.

    Args:
        env: Artemis with as many slots as flows, ``defer="wait"`` and ``reward="on_completion"``, after a reset.
        holding: Time in s that each flow holds a token at least, (num_flows,).
        upper: Deadlines that no scheduler can exceed; where they are met, nothing else is tried.
    """
    return _Tries(env, holding).most(upper)


class _Tries:
    """Copies of an episode, and what is known of its flows, in the order of their requests."""

    def __init__(self, env: DecisionEnv[Any], holding: FloatArray) -> None:
        flows, topology = env.workload, env.simulation.topology
        assert flows.deadline_span is not None
        request = flows.arrival_time + topology.path_delay(topology.path_of(flows.source, flows.destination))
        order = np.argsort(request, kind="stable")
        latest = latest_completion(flows.arrival_time + flows.deadline_span) - holding
        self._request = request[order]
        self._latest_grant = (latest + CLOCK_TOLERANCE * np.abs(latest))[order]
        self._destination = flows.destination[order]
        self._endless = int(np.count_nonzero(np.isinf(flows.deadline_span)))
        # Flows are interchangeable if they are equal, and no other flow shares the links of their sources.
        _, sender, count = np.unique(flows.source, return_inverse=True, return_counts=True)
        own = np.where(count > 1, np.arange(len(count)), NOBODY)[sender]
        columns = np.stack([flows.size, flows.deadline_span, flows.arrival_time, flows.destination, own], axis=1)
        self._kind = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)[order]
        self._copies = EpisodeCopies(env, 1 + NUM_COPIES)
        self._copies.follow(flows, [])

    def most(self, upper: int) -> int | None:
        """Tries everything; see ``most_deadlines``."""
        copies, num_flows = self._copies, len(self._request)
        zero, nothing = np.zeros(1, dtype=np.int64), np.zeros((1, num_flows), dtype=np.bool_)
        stack = [_States(zero, zero, zero, nothing, nothing, zero + NOBODY)]
        free = np.arange(1, 1 + NUM_COPIES)
        best, num_steps = 0, 0
        while stack and best < upper + self._endless:
            states = stack.pop()
            potential = self._potential(states)
            states = states.pick(np.argsort(potential, kind="stable"))
            hopeful = np.sort(potential, kind="stable") > best
            free = np.concatenate([free, states.copy[~hopeful]])
            states = states.pick(hopeful)
            if not len(states.copy):
                continue
            chunk = min(1 + len(free) // (SHARE * (1 + num_flows)), len(states.copy))
            parent, action = self._choices(states.pick(np.s_[-chunk:]))
            parent += len(states.copy) - chunk
            num_steps += len(parent)
            if num_steps > MOST_STEPS or len(parent) > len(free):
                return None
            children = self._take(states, parent, action, free[: len(parent)])
            free = np.concatenate([free[len(parent) :], states.copy[-chunk:]])
            over = copies.over[children.copy]
            best = max(best, int(children.met[over].max(initial=0)))
            free = np.concatenate([free, children.copy[over]])
            stack += [states.pick(np.s_[:-chunk]), children.pick(~over)]
        return best - self._endless

    def _hopeless(self, states: _States) -> BoolArray:
        """Returns which flows will not be in time though they are granted as soon as that is possible."""
        soonest = np.maximum(self._copies.time[states.copy, np.newaxis], self._request)
        return np.where(states.granted, states.lost, soonest > self._latest_grant)

    def _potential(self, states: _States) -> IntArray:
        """Returns the flows that could finish in time at most."""
        hopeless = self._hopeless(states)
        without_late = np.count_nonzero(hopeless & ~states.granted, axis=1) + states.late
        possible: IntArray = len(self._request) - np.maximum(np.count_nonzero(hopeless, axis=1), without_late)
        return possible

    def _choices(self, states: _States) -> tuple[IntArray, IntArray]:
        """Lists what each state may do: rows of the states, and actions.

        Of equal flows the first is enough, and so is one order of the grants of an instant.
        """
        mask = self._copies.mask[states.copy]
        waiting = self._waiting(states)
        rows, actions = [], []
        for row in range(len(mask)):
            flows = np.flatnonzero(waiting[row])
            later = np.flatnonzero(flows > states.last[row])
            _, first = np.unique(self._kind[flows[later]], return_index=True)
            allowed = later[first]
            if mask[row, -1]:
                allowed = np.append(allowed, mask.shape[1] - 1)
            rows.append(np.full(len(allowed), row))
            actions.append(allowed)
        return np.concatenate(rows), np.concatenate(actions)

    def _waiting(self, states: _States) -> BoolArray:
        """Returns which flows wait at the destination that asks, (num_states, num_flows)."""
        there = ~states.granted & (self._destination == self._copies.host[states.copy, np.newaxis])
        count = np.count_nonzero(self._copies.mask[states.copy, :-1], axis=1)
        waiting: BoolArray = there & (np.cumsum(there, axis=1) <= count[:, np.newaxis])
        return waiting

    def _take(self, states: _States, parent: IntArray, action: IntArray, numbers: IntArray) -> _States:
        """Takes actions in copies of the states."""
        copies, before = self._copies, states.pick(parent)
        flows = np.argsort(~self._waiting(before), axis=1, kind="stable")
        grants = np.flatnonzero(action < len(self._request))
        chosen = flows[grants, action[grants]]
        lost, granted, last = before.lost.copy(), before.granted.copy(), np.full(len(parent), NOBODY)
        lost[grants, chosen] = self._hopeless(before)[grants, chosen]
        granted[grants, chosen] = True
        time, host = copies.time[before.copy], copies.host[before.copy]
        copies.copy(before.copy, numbers)
        copies.step(numbers, action)
        last[grants] = chosen
        last[(copies.time[numbers] != time) | (copies.host[numbers] != host)] = NOBODY
        met = copies.reward[numbers].astype(np.int64)
        late = copies.num_finished[numbers] - met
        return _States(numbers, before.met + met, before.late + late, granted, lost, last)
