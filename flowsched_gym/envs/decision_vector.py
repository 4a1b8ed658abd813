"""Vector environments of a ``DecisionEnv``."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import InvalidAction, shown
from flowsched_gym.envs.actions import as_integers
from flowsched_gym.envs.decision_env import DecisionEnv
from flowsched_gym.envs.masks import MaskedVectorEnv
from flowsched_gym.envs.policies.scores import WeightedPolicy
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.compiled.stepping import Results, play, step
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.machine_code.decorators import compiled_for

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class DecisionVectorEnv(MaskedVectorEnv):
    """Many environments of a subclass of ``DecisionEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[DecisionEnv[Any]]]
    _template: DecisionEnv[Any]
    simulation: BatchSimulation

    def __init__(self, *args: Any, **arguments: Any) -> None:
        """Finds the machine code, of these types for good, so that it is looked up once and not in every step."""
        super().__init__(*args, **arguments)
        self._everyone = np.arange(self.num_envs)
        self._no_actions = np.zeros(0, dtype=np.int64)
        self._finished: IntArray = self._no_actions
        tables, outputs = self.simulation.tables, self._new_outputs()
        self._step = compiled_for(step, *self._step_arguments(tables, self._everyone, self._everyone, outputs))

    def _step_arguments(
        self, tables: Tables, numbers: IntArray, actions: IntArray, outputs: Results
    ) -> tuple[Any, ...]:
        """Lists what the compiled step takes."""
        template = self._template
        return tables, template.rules, template._max_decisions, self._current, numbers, self._over, actions, outputs

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        """Applies actions where no environment is over."""
        chosen = as_integers(actions)
        if chosen is None or chosen.shape != (self.num_envs,):
            raise InvalidAction(f"actions is {shown(actions)}: it must be {self.num_envs} integers")
        contiguous = np.ascontiguousarray(chosen, dtype=np.int64)
        if contiguous.view(np.uint64).max() >= self._template.num_actions:
            self._refuse(contiguous)
        num_active = self.simulation.tables.most_active
        if len(self._finished) < self.num_envs * num_active:
            self._finished = np.zeros(self.num_envs * num_active, dtype=np.int64)

        def work(tables: Tables, numbers: IntArray) -> tuple[IntArray, int]:
            own = outputs._replace(finished=self._finished[numbers[0] * num_active :])
            num_finished, num_over = self._step(*self._step_arguments(tables, numbers, contiguous, own))
            return own.finished[:num_finished], num_over

        parts = self.simulation.share_out(work, self._everyone)
        return np.concatenate([finished for finished, _ in parts]), sum(num_over for _, num_over in parts)

    def _play(self, policy: WeightedPolicy, weights: FloatArray, outputs: Results) -> int:
        """Plays the episodes to their ends in one compiled call for each thread."""
        template, actions = self._template, np.zeros((self.num_envs, 1), dtype=np.int64)

        def work(tables: Tables, numbers: IntArray) -> int:
            scratch = np.zeros(policy.scratch_size)
            arguments = tables, template.rules, template._max_decisions, self._current, numbers, self._over
            return play(*arguments, policy, weights, scratch, actions, outputs)

        return sum(self.simulation.share_out(work, self._everyone))

    def _refuse(self, actions: IntArray) -> None:
        """Refuses actions outside the space where no environment is over."""
        num_actions = self._template.num_actions
        outside = np.flatnonzero(((actions < 0) | (actions >= num_actions)) & ~self._over)
        if len(outside):
            raise InvalidAction(
                f"action of environment {outside[0]} is {actions[outside[0]]}: "
                f"it must be an integer from 0 to {num_actions - 1}"
            )

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now; those that have been loaded run to their first decision."""
        self._step(*self._step_arguments(self.simulation.tables, numbers, self._no_actions, outputs))

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step."""
        columns = super()._columns(outputs)
        if self._template._network.num_tokens is not None:
            columns["destination"] = outputs.host
        return {**columns, "empty_slot_choices": outputs.empty_slot_choices}
