"""Runs many environments whose agent acts once per period: acts in each, and runs all of them in one compiled call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.envs.arguments import check_room
from flowsched_gym.envs.network_view import KeptColumns, NetworkView, view_network
from flowsched_gym.envs.period import PeriodEnv
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.errors import InvalidAction, SimulationError, shown
from flowsched_gym.model.questions import Asks
from flowsched_gym.workload import PoissonWorkload, Workload, WorkloadLike, WorkloadSource
from flowsched_gym.workload.checks import check_integer

__all__ = ["PeriodVectorEnv", "StepResults"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(slots=True, kw_only=True, eq=False)
class StepResults:
    """Receives what environments return.

    Attributes:
        observation: Observations, (num_envs, size).
        time: Times in s, (num_envs,), as all that follows.
        reward: Rewards.
        terminated: Whether all flows have been delivered.
        truncated: Whether the limit of decisions is reached.
        num_finished: Flows that finished.
        terms: Named terms of the rewards; none before the first reward.
    """

    observation: npt.NDArray[np.float32]
    time: FloatArray
    reward: FloatArray
    terminated: BoolArray
    truncated: BoolArray
    num_finished: IntArray
    terms: dict[str, FloatArray] = field(default_factory=dict)


class PeriodVectorEnv(FlowSchedVectorEnv):
    """Runs many environments of a subclass of ``PeriodEnv``, each bit for bit as that runs it.

    Args:
        num_envs: Environments, >= 1.
        workload: As in the single environment.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        **arguments: The other arguments of the single environment.

    Raises:
        ConfigError: An argument has another type or is out of its range.
        FlowFileError: The flow file has a fault.
    """

    _SINGLE: ClassVar[type[PeriodEnv[Any]]]
    """The single environment."""
    _template: PeriodEnv[Any]

    def __init__(
        self,
        num_envs: int = 1,
        workload: WorkloadLike | None = None,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        """Makes room for two episodes of each environment."""
        check_integer("num_envs", num_envs, at_least=1)
        self._arguments = arguments if workload is None else {"workload": workload, **arguments}
        template = self._single()
        self._control = template._control
        self._discipline = self._control.new_discipline()
        num_flows = _expected_flows(template._source)
        check_room(num_envs, num_flows, template.layout.size)
        simulation = BatchSimulation(
            2 * num_envs,
            num_flows,
            template._topology,
            self._discipline,
            routing=template._routing,
            asks=Asks.PERIOD,
            period=template._period,
            rate_caps=self._control.sets_rate_caps,
        )
        super().__init__(
            template,
            simulation,
            num_envs=num_envs,
            autoreset_mode=autoreset_mode,
            max_episode_steps=max_episode_steps,
        )
        self._fit()

    def view(self, number: int) -> NetworkView:
        """Views the network of an environment as it stands.

        Raises:
            ConfigError: There is no environment of that number.
            SimulationError: There is no episode yet.
        """
        check_integer("number", number, at_least=0, below=self.num_envs)
        if not self._begun:
            raise SimulationError("there is no episode yet: call reset() first")
        return self._view(int(self._current[number]))

    def _fit(self) -> None:
        """Makes room for what is kept of networks beside the tables."""
        num_networks, num_rows = self.simulation.num_networks, self.simulation.num_rows
        flow_id, source, destination, by_arrival = np.zeros((4, num_networks, num_rows), dtype=np.int64)
        self._kept = KeptColumns(flow_id, source, destination, by_arrival, np.zeros((num_networks, num_rows)))
        self._memory = np.zeros((num_networks, self._control.memory_size))
        self._told: IntArray = np.zeros(num_networks, dtype=np.int64)
        self._begun_at = np.zeros(num_networks)

    def _view(self, network: int) -> NetworkView:
        """Views a network."""
        return view_network(
            self.simulation,
            network,
            self._discipline,
            self._kept,
            told=int(self._told[network]),
            begun_at=float(self._begun_at[network]),
        )

    def _new_outputs(self) -> StepResults:
        """Makes room for what a step returns."""
        num_envs = self.num_envs
        return StepResults(
            observation=np.empty((num_envs, self.layout.size), dtype=np.float32),
            time=np.zeros(num_envs),
            reward=np.zeros(num_envs),
            terminated=np.zeros(num_envs, dtype=np.bool_),
            truncated=np.zeros(num_envs, dtype=np.bool_),
            num_finished=np.zeros(num_envs, dtype=np.int64),
        )

    def _advance(self, actions: npt.NDArray[Any], outputs: StepResults) -> tuple[IntArray, int]:
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
                net = self.simulation.tables.networks[network]
                self._told[network], self._begun_at[network] = net["delivered"], net["now"]
            if self.simulation.question(network) is not None:
                self._control.act(self._view(network), self._memory[network], action)
                self.simulation.go_on(network)
        self._run(networks)
        finished = [self._end_step(number, outputs) for number in running]
        return np.concatenate([np.zeros(0, dtype=np.int64), *finished]), int(np.count_nonzero(self._over))

    def _run(self, networks: list[int]) -> None:
        """Runs networks, each to the next period in which there is something to decide, or to its end."""
        simulation, asks = self.simulation, self._control.asks
        simulation.run(*networks)
        while self._control.may_pass:
            networks = [n for n in networks if simulation.question(n) is not None and not asks(self._view(n))]
            if not networks:
                return
            for network in networks:
                simulation.go_on(network)
            simulation.run(*networks)

    def _end_step(self, number: int, outputs: StepResults) -> IntArray:
        """Pays an environment, and shows where it is; returns the rows that have finished."""
        network = int(self._current[number])
        view, memory = self._view(network), self._memory[network]
        outputs.reward[number], terms = self._control.pay(view, memory)
        for name, value in terms.items():
            outputs.terms.setdefault(name, np.zeros(self.num_envs))[number] = value
        outputs.observation[number] = self._control.observe(view, memory)
        outputs.time[number] = view.now
        outputs.num_finished[number] = len(view.finished)
        ended = self.simulation.finished(network)
        cut = not ended and self._num_steps[number] + 1 >= self._template._max_decisions
        outputs.terminated[number], outputs.truncated[number] = ended, cut
        self._over[number] = ended or cut
        return view.finished

    def _observe(self, numbers: IntArray, outputs: StepResults) -> None:
        """Writes what environments show now."""
        outputs.num_finished[numbers] = 0
        for number in numbers.tolist():
            network = int(self._current[number])
            view = self._view(network)
            outputs.observation[number] = self._control.observe(view, self._memory[network])
            outputs.time[number] = view.now

    def _observations(self, outputs: StepResults) -> npt.NDArray[np.float32]:
        """Returns the observations."""
        return outputs.observation

    def _results(self, outputs: StepResults) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Returns rewards, and who has terminated and been truncated."""
        return outputs.reward, outputs.terminated, outputs.truncated

    def _times(self, outputs: StepResults) -> FloatArray:
        """Returns the times."""
        return outputs.time

    def _terms(self, outputs: StepResults) -> dict[str, FloatArray]:
        """Returns the named terms of the rewards."""
        return outputs.terms

    def _finished_counts(self, outputs: StepResults) -> IntArray:
        """Returns how many flows finished."""
        return outputs.num_finished

    def _prepare(self, network: int, workload: Workload) -> None:
        """Runs a network that has been loaded to its first decision."""
        tables, num_flows = self.simulation.tables, workload.num_flows
        first = network * tables.num_rows
        kept = self._template.kept_columns(workload, tables.flows["volume"][first : first + num_flows].copy())
        for column, values in zip(self._kept, kept, strict=True):
            column[network, :num_flows] = values
        self._memory[network], self._told[network], self._begun_at[network] = 0.0, 0, 0.0
        self._control.begin(self._view(network), self._memory[network])
        self._run([network])

    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Views what is kept of networks, with a leading axis over these."""
        return {**self._kept._asdict(), "memory": self._memory, "told": self._told, "begun_at": self._begun_at}

    def _take_own(self, networks: IntArray) -> dict[str, npt.NDArray[Any]]:
        """Copies what is kept of networks."""
        return {name: array[networks] for name, array in self._own_arrays().items()}

    def _put_own(self, networks: IntArray, own: Mapping[str, npt.NDArray[Any]]) -> None:
        """Sets what is kept of networks, in tables that may have grown."""
        if self._kept.flow_id.shape[1] != self.simulation.num_rows:
            self._fit()
        for name, array in self._own_arrays().items():
            given = own[name]
            if given.ndim == 1:
                array[networks] = given
            else:
                array[networks, : given.shape[1]] = given

    def _single(self) -> PeriodEnv[Any]:
        """Makes a single environment with the arguments of these."""
        return self._SINGLE(**self._arguments)


def _expected_flows(source: WorkloadSource) -> int:
    """Returns how many flows an episode will have, or a guess that grows."""
    if isinstance(source, PoissonWorkload) and source.num_flows is not None:
        return source.num_flows
    return max(source.draw(0).num_flows, 1)
