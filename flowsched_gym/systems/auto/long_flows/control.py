"""The control of long flows: the choices of the agent, their effects, its observations and its rewards."""

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.envs.actions import read_choices
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.layouts import long_flows_layout
from flowsched_gym.systems.auto.long_flows.observation import Observer
from flowsched_gym.systems.auto.long_flows.reward import MEMORY_SIZE, TERMS, reward_terms
from flowsched_gym.systems.auto.long_flows.seen import path_of, seen_flows, usable_paths

RATE_STEPS: Final = (1 / 3, 2 / 3, 1.0)
"""Largest rates that an agent may choose, over the capacity of a link: three, as in the authors' shipped network."""


class LongFlowsControl(FluidControl[IntArray]):
    """Control of the queue, the largest rate and the path of the long flows that an agent sees.

    Args:
        config: The arguments of the environment.
    """

    may_pass: ClassVar[bool] = True
    sets_rate_caps: ClassVar[bool] = True
    memory_size = MEMORY_SIZE

    def __init__(self, config: AuTOLongFlowsConfig) -> None:
        """Sets the spaces."""
        self.config = config
        self.terms = TERMS
        self._observe, self._rewarded = Observer(config), str(config.reward)
        self.layout = long_flows_layout(config)
        parts = (config.num_queues, len(RATE_STEPS), config.paths)
        self._num_choices = np.tile(np.array(parts, dtype=np.int64), config.n_l)
        self.action_space = spaces.MultiDiscrete(self._num_choices)
        self._rate_caps = np.array([config.capacity * share if share < 1 else np.inf for share in RATE_STEPS])
        none = [np.arange(count) == 0 for count in parts]
        self._empty: BoolArray = np.tile(np.concatenate(none), (config.n_l, 1))
        self.num_actions = self._empty.size

    def new_discipline(self) -> Mlfq:
        """Makes feedback queues with the fixed thresholds."""
        return Mlfq(self.config.thresholds)

    def asks(self, view: NetworkView) -> bool:
        """Returns whether there is a long flow to decide about."""
        return len(seen_flows(view, self.config)) > 0

    def check(self, action: object, name: str = "action") -> IntArray:
        """Reads a queue, a rate step and a path for each slot.

        Raises:
            InvalidAction: The action is outside the space.
        """
        return read_choices(action, self._num_choices, name)

    def act(self, view: NetworkView, memory: FloatArray, action: IntArray) -> None:
        """Sets what was chosen for the flows in the slots; a path on which a link has failed is not taken."""
        rows = seen_flows(view, self.config)
        queue, step, path = action.reshape(self.config.n_l, -1)[: len(rows)].T
        view.pin(rows, queue)
        view.rate_cap[rows] = self._rate_caps[step]
        changed = np.flatnonzero(path != path_of(view, self.config, rows))
        if len(changed):
            self._move(view, rows[changed], path[changed])

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Returns the reward, and its named terms."""
        terms = reward_terms(view, self.config, memory)
        return terms[self._rewarded], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> npt.NDArray[np.float32]:
        """Returns what the agent sees."""
        return self._observe(view)

    def masks(self, view: NetworkView) -> BoolArray:
        """Returns which choices do what they say, slot by slot, part by part; of an empty slot, each part's first."""
        rows = seen_flows(view, self.config)
        masks = self._empty.copy()
        masks[: len(rows), : -self.config.paths] = True
        masks[: len(rows), -self.config.paths :] = usable_paths(view, self.config, rows)
        return masks.ravel()

    def _move(self, view: NetworkView, rows: IntArray, path: IntArray) -> None:
        """Sends flows along other paths, those of them that are usable."""
        usable = usable_paths(view, self.config, rows)[np.arange(len(rows)), path]
        for row, choice in zip(rows[usable].tolist(), path[usable].tolist(), strict=True):
            view.move(row, choice)
