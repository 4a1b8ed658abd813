"""Vector environments of a ``PeriodEnv``: all networks run in one compiled call."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import InvalidAction, SimulationError, shown
from flowsched_gym.envs.episode_view import EpisodeView
from flowsched_gym.envs.period import PeriodEnv
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.fluid.compiled.stepping import Results

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class PeriodVectorEnv(FlowSchedVectorEnv):
    """Many environments of a subclass of ``PeriodEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[PeriodEnv[Any]]]
    _template: PeriodEnv[Any]

    def __init__(self, *args: Any, **arguments: Any) -> None:
        """Takes the system's part from the template."""
        super().__init__(*args, **arguments)
        self._control = self._template._control

    def view(self, number: int) -> Any:
        """Views the network of an environment as it stands.

        Raises:
            ConfigError: There is no environment of that number.
            SimulationError: There is no episode yet.
        """
        check_integer("number", number, at_least=0, below=self.num_envs)
        if not self._begun:
            raise SimulationError("there is no episode yet: call reset() first")
        return self._view(int(self._current[number]))[0]

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        """Acts where no environment is over, runs these networks together, and pays."""
        running = np.flatnonzero(~self._over).tolist()
        given = list(actions) if np.iterable(actions) else []
        if len(given) != self.num_envs:
            raise InvalidAction(
                f"actions is {shown(actions)}: there must be one for each of {self.num_envs} environments"
            )
        chosen = [self._control.check(given[number], f"action of environment {number}") for number in running]
        networks = self._current[running].tolist()
        for number, network, action in zip(running, networks, chosen, strict=True):
            if self._num_steps[number]:
                episode = self.simulation.episodes[network]
                episode["told"] = self.simulation.num_delivered(network)
                episode["begun_at"] = self.simulation.now(network)
            if self.simulation.awaits_decision(network):
                self._control.act(*self._view(network), action)
                self.simulation.go_on(network)
        self._run(networks)
        finished = [self._end_step(number, outputs) for number in running]
        return np.concatenate([np.zeros(0, dtype=np.int64), *finished]), int(np.count_nonzero(self._over))

    def _run(self, networks: list[int]) -> None:
        """Runs networks, each to the next period in which there is something to decide, or to its end."""
        simulation, asks = self.simulation, self._control.asks
        simulation.run(*networks)
        while self._control.may_pass:
            networks = [n for n in networks if simulation.awaits_decision(n) and not asks(self._view(n)[0])]
            if not networks:
                return
            for network in networks:
                simulation.go_on(network)
            simulation.run(*networks)

    def _end_step(self, number: int, outputs: Results) -> IntArray:
        """Rewards and observes an environment; returns the rows that have finished."""
        network = int(self._current[number])
        view, memory = self._view(network)
        outputs.reward[number], terms = self._control.reward(view, memory)
        outputs.terms[number] = [terms[name] for name in self._control.terms]
        self._show(number, outputs)
        outputs.num_finished[number] = len(view.finished)
        ended = self.simulation.finished(network)
        cut = not ended and self._num_steps[number] + 1 >= self._template._max_decisions
        outputs.terminated[number], outputs.truncated[number] = ended, cut
        self._over[number] = ended or cut
        return view.finished

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now."""
        outputs.num_finished[numbers] = 0
        for number in numbers.tolist():
            self._show(number, outputs)

    def _show(self, number: int, outputs: Results) -> None:
        """Writes what an environment shows."""
        view, memory = self._view(int(self._current[number]))
        outputs.observation[number] = self._control.observe(view, memory)
        outputs.mask[number] = self._control.masks(view)
        outputs.time[number] = view.now

    def _view(self, network: int) -> tuple[EpisodeView, FloatArray]:
        """Views a network and its memory."""
        simulation = self.simulation
        return self._template._network.view_batch(simulation, network), simulation.episodes["memory"][network]

    def _prepare(self, network: int) -> None:
        """Runs a network that has been loaded to the first period in which there is something to decide."""
        self._control.begin(*self._view(network))
        self._run([network])
