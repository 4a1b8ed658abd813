"""Plays an episode on both engines at once: whatever one is told, both are told, and they must do the same."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.flows.decisions import OrderDecision, PathDecision
from flowsched_gym.fluid import Discipline, Records
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload
from tests.simulate import network_of

LOG_LENGTH = 20_000


def assert_same_records(found: Records, expected: Records) -> None:
    """Compares every array of the records, bit by bit."""
    for field in fields(Records):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes(), f"{field.name}: {one.tolist()} is not {other.tolist()}"


class Twins:
    """A simulation, and a network of a batch of three that does the same."""

    def __init__(
        self, workload: Workload, topology: Topology, new_discipline: Callable[[], Discipline], **how: Any
    ) -> None:
        self.workload = workload
        self.simulation = Simulation(workload, topology, new_discipline(), keep_log=True, **how)
        self.batch = BatchSimulation(3, 1, topology, new_discipline(), log_length=LOG_LENGTH, **how)
        self.number = 1
        self.batch.load(self.number, workload)
        self.run()

    @property
    def network(self) -> CompiledSimulation:
        return network_of(self.batch, self.number)

    def run(self) -> None:
        """Runs to the next decision."""
        self.simulation.run()
        self.batch.run(self.number)
        assert self.network.now == self.simulation.now
        assert self.network.finished == self.simulation.finished
        hosts = [None if each.asking is None else each.asking.host for each in (self.simulation, self.network)]
        assert hosts[0] == hosts[1]

    def tell(self, order: str, *arguments: int) -> None:
        """Calls a method of both, with the same result."""
        assert getattr(self.network, order)(*arguments) == getattr(self.simulation, order)(*arguments)

    def decide(self, generator: np.random.Generator) -> None:
        """Decides the same at random in both, and runs on."""
        asking, pending = self.simulation.asking, self.simulation.pending
        if asking is not None:
            for name in ("num_waiting", "tokens", "expected"):
                assert getattr(self.network.asking, name) == getattr(asking, name), name
            slot, kind = int(generator.integers(min(5, asking.num_waiting))), generator.integers(6)
            if kind == 1 and asking.can_wait:
                self.tell("wait")
            else:
                self.tell("postpone" if kind == 0 else "grant", slot)
        elif isinstance(pending, OrderDecision):
            assert pending.rows.tolist() == self.network.pending.rows.tolist()  # type: ignore[union-attr]
            self.tell("serve_first", int(generator.integers(len(pending.rows))))
        else:
            assert isinstance(pending, PathDecision)
            assert pending == self.network.pending
            self._take_any_path(generator.permutation(pending.last - pending.first).tolist())
        self.run()

    def _take_any_path(self, choices: list[int]) -> None:
        """Takes the first of some paths that is live; both refuse the others."""
        for choice in choices:
            try:
                row = self.simulation.take_path(choice)
            except SimulationError:
                with pytest.raises(SimulationError, match="has failed"):
                    self.network.take_path(choice)
                continue
            assert self.network.take_path(choice) == row
            return

    def finish(self, seed: int = 0) -> int:
        """Decides to the end and compares all that has happened; returns the number of decisions."""
        generator, count = np.random.default_rng(seed), 0
        while not self.simulation.finished:
            self.decide(generator)
            count += 1
        assert self.network.log == self.simulation.log
        assert self.network.delivered == self.simulation.delivered
        assert_same_records(self.batch.records(self.number, self.workload), self.simulation.records())
        return count
