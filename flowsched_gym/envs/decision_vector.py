"""Vector environments of a ``DecisionEnv``."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.stepping import Results, step
from flowsched_gym.encoders import as_integers
from flowsched_gym.envs.decision_env import DecisionEnv
from flowsched_gym.envs.masks import MaskedVectorEnv
from flowsched_gym.errors import InvalidAction, shown
from flowsched_gym.model.rules.compile import compiled_for

__all__ = ["DecisionVectorEnv"]

IntArray = npt.NDArray[np.int64]


class DecisionVectorEnv(MaskedVectorEnv):
    """Many environments of a subclass of ``DecisionEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[DecisionEnv[Any]]]
    _template: DecisionEnv[Any]

    def __init__(self, *args: Any, **arguments: Any) -> None:
        """Finds the machine code, of these types for good, so that it is looked up once and not in every step."""
        super().__init__(*args, **arguments)
        self._everyone = np.arange(self.num_envs)
        self._no_actions = np.zeros(0, dtype=np.int64)
        self._finished: IntArray = self._no_actions
        self._step = compiled_for(step, *self._step_arguments(self._everyone, self._everyone, self._new_outputs()))

    def _step_arguments(self, numbers: IntArray, actions: IntArray, outputs: Results) -> tuple[Any, ...]:
        """Lists what the compiled step takes."""
        template, tables = self._template, self.simulation.tables
        if len(self._finished) < self.num_envs * tables.num_active:
            self._finished = np.zeros(self.num_envs * tables.num_active, dtype=np.int64)
        outputs = outputs._replace(finished=self._finished)
        return (
            tables,
            template.rules,
            template._max_decisions,
            self._current,
            numbers,
            self._over,
            actions,
            outputs,
        )

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        """Applies actions where no environment is over."""
        chosen = as_integers(actions)
        if chosen is None or chosen.shape != (self.num_envs,):
            raise InvalidAction(f"actions is {shown(actions)}: it must be {self.num_envs} integers")
        contiguous = np.ascontiguousarray(chosen, dtype=np.int64)
        num_finished, num_over = self._step(*self._step_arguments(self._everyone, contiguous, outputs))
        if num_finished < 0:
            number = -1 - num_finished
            raise InvalidAction(
                f"action of environment {number} is {chosen[number]}: "
                f"it must be an integer from 0 to {self._template.num_actions - 1}"
            )
        return self._finished[:num_finished].copy(), num_over

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now; those that have been loaded run to their first decision."""
        self._step(*self._step_arguments(numbers, self._no_actions, outputs))

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step."""
        columns = super()._columns(outputs)
        if self._template._network.num_tokens is not None:
            columns["destination"] = outputs.host
        return {**columns, "empty_slot_choices": outputs.empty_slot_choices}
