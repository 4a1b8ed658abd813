"""Copies of a running episode, side by side in compiled code: what a search plays."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.envs.actions import no_actions
from flowsched_gym.envs.base import ONLY
from flowsched_gym.envs.decision import DecisionEnv
from flowsched_gym.envs.episode import EpisodeBatch
from flowsched_gym.flows.decisions import Environments
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.workload import Workload

FIRST: Final[IntArray] = ONLY
"""The number of the copy that follows the episode."""


class EpisodeCopies:
    """Copies of one episode, by number; each can have other flows to come.

    The environment that they are made with, on any engine, is not touched.

    Attributes:
        observation: What the agent of each copy sees, (num_copies, size) float32.
        mask: Which actions are not replaced, (num_copies, num_actions) bool.
        reward: Rewards of the last step, (num_copies,) float64.
        time: Times in s after the last step, (num_copies,) float64.
        host: Destinations that ask for a grant then, -1 for none, (num_copies,) int64.
        num_finished: Flows that finished in the last step, (num_copies,) int64.
        over: Which copies have ended, (num_copies,) bool.
    """

    def __init__(self, env: DecisionEnv[Any], num_copies: int) -> None:
        self._env = env
        self._batch: EpisodeBatch = env._network.new_batch(num_copies, env._source.draw(0))
        self._results = env._new_results(num_copies)
        self.observation: ObservationArray = self._results.observation
        self.mask: BoolArray = self._results.mask
        self.reward: FloatArray = self._results.reward
        self.time: FloatArray = self._results.time
        self.host: IntArray = self._results.host
        self.num_finished: IntArray = self._results.num_finished
        self.over: BoolArray = np.zeros(num_copies, dtype=np.bool_)
        self._workload: Workload | None = None
        self._taken: list[int] = []
        self._all = np.arange(num_copies)
        self._actions = np.zeros(num_copies, dtype=np.int64)
        self._chosen = np.zeros(num_copies, dtype=np.int64)
        self._none = no_actions(env.action_space)
        self._no_weights = np.zeros((num_copies, 0))

    def follow(self, workload: Workload, actions: Sequence[int]) -> None:
        """Plays an episode in copy 0 by its actions, before which it does not end; where it goes on, only new ones."""
        known = len(self._taken)
        if workload is not self._workload or list(actions[:known]) != self._taken:
            self._load([workload], FIRST)
            self._run(FIRST, self._none)
            self._workload, known = workload, 0
        self._play(FIRST, actions[known:])
        self._taken = list(actions)

    def branch(self, numbers: IntArray, workloads: Sequence[Workload]) -> None:
        """Sets copies, (count,), to where copy 0 is, each with flows to come of its own.

        In their workloads, the flows that have arrived in copy 0 come first, in the same order.
        """
        assert self._workload is not None
        self._load(workloads, numbers)
        arrival_time = self._workload.arrival_time
        if isinstance(self._batch, BatchSimulation) and (np.diff(arrival_time) >= 0).all():
            num_arrived = int(np.searchsorted(arrival_time, self.time[0], side="right"))
            self._batch.branch(0, numbers, num_arrived, with_delivered=not self._taken)
            self._run(numbers, self._none)
        else:  # the rows of flows that have arrived are others there, or packets are underway
            self._run(numbers, self._none)
            self._play(numbers, self._taken)

    def copy(self, sources: IntArray, numbers: IntArray) -> None:
        """Sets copies, (count,), to what others, (count,), are; each number once, and none that is a source."""
        # The first action is rewarded for what was delivered before it, too.
        self._batch.copy(sources, numbers, with_delivered=not self._taken)
        self.over[numbers] = self.over[sources]
        self.observation[numbers], self.mask[numbers] = self.observation[sources], self.mask[sources]

    def step(self, numbers: IntArray, actions: IntArray) -> None:
        """Takes actions, (count,), in some copies, (count,), none of which is over."""
        self._actions[numbers] = actions
        self._run(numbers, self._actions)

    def play(self, numbers: IntArray, record: Any) -> None:
        """Plays some copies, (count,), to their ends by the ``record`` of a policy; adds rewards to the last ones."""
        self._batch.play(self._environments(numbers), record, self._no_weights, 0, self._chosen, self._results)

    def _load(self, workloads: Sequence[Workload], numbers: IntArray) -> None:
        for number, workload in zip(numbers.tolist(), workloads, strict=True):
            self._batch.load(number, workload)
        self.over[numbers] = False

    def _play(self, numbers: IntArray, actions: Sequence[int]) -> None:
        """Takes the same actions in copies, one after the other."""
        for action in actions:
            self._actions[numbers] = action
            self._run(numbers, self._actions)

    def _run(self, numbers: IntArray, actions: IntArray) -> None:
        self._batch.step(self._environments(numbers), actions, self._results)

    def _environments(self, numbers: IntArray) -> Environments:
        env = self._env
        return Environments(env.rules, env._max_decisions, self._all, numbers, self.over)
