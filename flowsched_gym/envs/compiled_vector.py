"""Holds what vector environments share whose step is one compiled rule: what it reads, and what it writes."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.batch.stepping import (
    EMPTY_SLOT_CHOICES,
    NUM_FINISHED,
    OWN_AMOUNTS,
    OWN_COUNTS,
    REWARD,
    TERMINATED,
    TIME,
    TRUNCATED,
    Columns,
)
from flowsched_gym.encoders import as_integers
from flowsched_gym.envs.base import FlowSchedEnv
from flowsched_gym.envs.masks import MaskedVectorEnv
from flowsched_gym.errors import InvalidAction, shown
from flowsched_gym.model.rules.compile import compiled_for

__all__ = ["CompiledVectorEnv"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


class CompiledVectorEnv(MaskedVectorEnv):
    """Steps environments of discrete actions by a compiled rule of the system; see ``FlowSchedVectorEnv``.

    Args:
        template: A single environment with the arguments of all; it has ``num_actions``.
        simulation: Two networks for each environment.
        arguments: These arguments.
        num_envs: Environments, >= 1.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.

    Raises:
        ConfigError: An argument is not allowed.
    """

    _STEP: ClassVar[Callable[..., tuple[int, int]]]
    """Applies actions: (tables, own, current, over, actions, out) to (flows that finished, environments that are over),
    or to (-1 - the first environment whose action is outside the space, 0)."""
    _OBSERVE: ClassVar[Callable[..., None]]
    """Writes what environments show: (tables, own, current, numbers, out)."""
    _SHARED = (*MaskedVectorEnv._SHARED, "num_actions")
    _NUM_AMOUNTS: ClassVar[int] = OWN_AMOUNTS
    _NUM_COUNTS: ClassVar[int] = OWN_COUNTS

    def __init__(
        self,
        template: FlowSchedEnv[int],
        simulation: BatchSimulation,
        arguments: Mapping[str, Any],
        *,
        num_envs: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        """Makes no draw."""
        super().__init__(
            template,
            simulation,
            num_envs=num_envs,
            autoreset_mode=autoreset_mode,
            max_episode_steps=max_episode_steps,
        )
        self._arguments = dict(arguments)
        self._size = template.layout.size
        self._num_actions = int(template.action_space.n)  # type: ignore[attr-defined]  # it is Discrete
        self._fit()

    def _fit(self) -> None:
        """Makes room beside the tables, of their size."""
        tables = self.simulation.tables
        self._num_rows = tables.num_rows
        self._own = self._new_own()
        self._finished: IntArray = np.zeros(self.num_envs * tables.num_active, dtype=np.int64)
        # Of these types for good: so the machine code is looked up once, and not in every step.
        everyone = self._current
        self._step = compiled_for(
            type(self)._STEP, tables, self._own, everyone, self._over, everyone, self._new_outputs()
        )

    def _new_outputs(self) -> Columns:
        """Makes room for what a step returns."""
        num_envs = self.num_envs
        return Columns(
            observation=np.empty(num_envs * self._size, dtype=np.float32),
            mask=np.empty(num_envs * self._num_actions, dtype=np.bool_),
            amounts=np.empty((self._NUM_AMOUNTS, num_envs)),
            counts=np.empty((self._NUM_COUNTS, num_envs), dtype=np.int64),
            flags=np.empty((2, num_envs), dtype=np.bool_),
            finished=self._finished,
        )

    def _advance(self, actions: npt.NDArray[Any], outputs: Columns) -> tuple[IntArray, int]:
        """Applies actions where no environment is over."""
        chosen = as_integers(actions)
        if chosen is None or chosen.shape != (self.num_envs,):
            raise InvalidAction(f"actions is {shown(actions)}: it must be {self.num_envs} integers")
        num_finished, num_over = self._step(
            self.simulation.tables,
            self._own,
            self._current,
            self._over,
            np.ascontiguousarray(chosen, dtype=np.int64),
            outputs,
        )
        if num_finished < 0:
            number = -1 - num_finished
            raise InvalidAction(
                f"action of environment {number} is {chosen[number]}: "
                f"it must be an integer from 0 to {self._num_actions - 1}"
            )
        return self._finished[:num_finished].copy(), num_over

    def _observe(self, numbers: IntArray, outputs: Columns) -> None:
        """Writes what environments show now."""
        outputs.counts[NUM_FINISHED, numbers] = 0
        type(self)._OBSERVE(self.simulation.tables, self._own, self._current, numbers, outputs)

    def _observations(self, outputs: Columns) -> npt.NDArray[np.float32]:
        """Returns the observations."""
        return outputs.observation.reshape(self.num_envs, self._size)

    def _results(self, outputs: Columns) -> tuple[npt.NDArray[np.float64], BoolArray, BoolArray]:
        """Returns rewards, and who has terminated and been truncated."""
        return outputs.amounts[REWARD], outputs.flags[TERMINATED], outputs.flags[TRUNCATED]

    def _mask(self, outputs: Columns) -> BoolArray:
        """Returns the action masks."""
        return outputs.mask.reshape(self.num_envs, self._num_actions)

    def _columns(self, outputs: Columns) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step."""
        return {**super()._columns(outputs), "empty_slot_choices": outputs.counts[EMPTY_SLOT_CHOICES]}

    def _times(self, outputs: Columns) -> npt.NDArray[np.float64]:
        """Returns the times."""
        times: npt.NDArray[np.float64] = outputs.amounts[TIME]
        return times

    def _finished_counts(self, outputs: Columns) -> IntArray:
        """Returns how many flows finished."""
        counts: IntArray = outputs.counts[NUM_FINISHED]
        return counts

    def _take_own(self, networks: IntArray) -> dict[str, npt.NDArray[Any]]:
        """Copies what is kept of networks."""
        return {name: array[networks] for name, array in self._own_arrays().items()}

    def _put_own(self, networks: IntArray, own: Mapping[str, npt.NDArray[Any]]) -> None:
        """Sets what is kept of networks."""
        if self._num_rows != self.simulation.num_rows:
            self._fit()
        for name, array in self._own_arrays().items():
            given = own[name]
            if given.ndim == 1:
                array[networks] = given
            else:
                array[networks, : given.shape[1]] = given

    def _single(self) -> FlowSchedEnv[int]:
        """Makes a single environment with the arguments of these."""
        return type(self._template)(**self._arguments)

    @abstractmethod
    def _new_own(self) -> Any:
        """Makes what the system keeps beside the tables, a NamedTuple that ``_STEP`` and ``_OBSERVE`` read."""

    @abstractmethod
    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Views what of that belongs to networks and changes, with a leading axis over these."""
