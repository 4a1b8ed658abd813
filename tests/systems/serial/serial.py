"""A sixth system, written as CONTRIBUTING.md says: a destination serves one request at a time, and chooses between two.

The agent is rewarded with minus the time that delivered flows have taken, in ms. Its two slots show the sizes.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup
from flowsched_gym.envs.arguments import EnvConfig, about_workload, argument
from flowsched_gym.envs.columns import Column, Layout, writer
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View, panels
from flowsched_gym.envs.drawing.formats import size_text
from flowsched_gym.flows.decisions import Order
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import WorkloadLike, WorkloadSource

GRANT = int(Order.GRANT)
NUM_SLOTS = 2
REQUEST = (Column.squashed("size", "bytes to deliver", "B", 300_000.0),)
write_request = writer(REQUEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialConfig(EnvConfig):
    """The arguments of the environment."""

    workload: WorkloadLike = field(default="gather-a1", kw_only=False, metadata=about_workload())
    unit_ms: float = argument(1.0, above=0, unit="ms", meaning="completion time that is a reward of -1")


class SerialRules(NamedTuple):
    """What the destination does with a decision.

    Attributes:
        time_unit: Unit of the reward in s.
    """

    time_unit: float

    def act(self, decision: Decision, action: int) -> tuple[int, int, bool]:
        """Grants the request in a slot; an empty slot stands for the first."""
        is_there = action < decision.num_candidates
        return GRANT, action if is_there else 0, not is_there

    def mask(self, decision: Decision, mask: npt.NDArray[np.bool_]) -> None:
        """Writes which slots hold a request."""
        for slot in range(NUM_SLOTS):
            mask[slot] = slot < max(decision.num_candidates, 1)

    def observe(self, decision: Decision, observation: npt.NDArray[np.float32]) -> None:
        """Writes the sizes."""
        at = 0
        for row in decision.candidates[decision.first_candidate :][: min(NUM_SLOTS, decision.num_candidates)]:
            at = write_request(self, observation, at, size=decision.state.size[row])
        observation[at:] = 0.0

    def reward(self, decision: Decision, num_before: int, terms: npt.NDArray[np.float64]) -> float:
        """Rewards short completion times."""
        terms[0] = 0.0
        for index in range(decision.first_row + num_before, decision.first_row + decision.num_delivered):
            row = decision.delivered[index]
            terms[0] -= (decision.completion_time[row] - decision.state.arrival_time[row]) / self.time_unit
        return float(terms[0])


class SerialEnv(DecisionEnv[SerialRules]):
    """Which of two requests a destination serves next."""

    config: SerialConfig

    @configured_by(SerialConfig)
    def __init__(self, config: SerialConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        """Sets the network: one token for each host of a switch."""
        super().__init__(
            SerialRules(time_unit=config.unit_ms * SECONDS_PER_MILLISECOND),
            spaces.Discrete(NUM_SLOTS),
            source=source,
            network=NetworkSetup(topology=big_switch(num_hosts=source.num_hosts), new_discipline=Ps, num_tokens=1),
            layout=Layout(context=(), slot=REQUEST, num_slots=NUM_SLOTS),
            terms=("fct",),
            render_mode=render_mode,
            engine=engine,
        )

    def panels(self) -> View:
        """Lists what a picture shows."""
        scene, decision = self.scene(), self.decision()
        waiting = panels.Rows(
            decision.candidates[decision.first_candidate :][: decision.num_candidates],
            lambda _, row: (scene.flow(row), scene.hosts(row), size_text(scene.records.size[row])),
        )
        columns = panels.Column("flow", 3, "left"), panels.Column("from", 3, "left"), panels.Column("size", 2)
        queue = panels.Table(title="Requests", columns=columns, rows=waiting, slots=NUM_SLOTS, shows_hidden=True)
        return View(
            banner=scene.banner("Serial", self.config.workload, "Which request is next?"),
            stacks=(panels.Stack(3, (queue,)), panels.Stack(2, (scene.links(), scene.finished()))),
        )


class SerialVectorEnv(DecisionVectorEnv):
    """Many ``SerialEnv`` in one compiled call per step."""

    single = SerialEnv
