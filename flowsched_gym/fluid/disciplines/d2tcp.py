"""Shares links fairly but for deadlines, as D2TCP does."""

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.tasks.imminence import Imminence, next_refresh, weigh_by_deadline
from flowsched_gym.fluid.rules.tasks.stages import first_cpu_path
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


def _weigh(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: Imminence,
) -> None:
    weigh_by_deadline(now, active, count, state, controls, network, own)


def _next_refresh(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: Imminence
) -> float:
    return next_refresh(now, active, count, state, controls, own)


class D2tcp(BaseDiscipline):
    """D2TCP as a fluid: flows share links by the weights ``alpha ** (1 - d)``, CPUs equally.

    d is the imminence of a flow's deadline: the time that it needs at its fair share over the time left, from 0.5 to 2;
    1 without a deadline, 2 when it is over. Weights are set anew at every event, and when 1/32 of the time to a
    deadline has passed.

    Args:
        alpha: Share of marked packets, in (0, 1]; 1 is DCTCP. It follows from queues, which a fluid does not have.

    Raises:
        ConfigError: ``alpha`` is not in (0, 1].
    """

    rules = Rules(record=Imminence, control=_weigh, review_time=_next_refresh)
    own: Imminence

    def __init__(self, alpha: float = 0.5) -> None:
        if (
            isinstance(alpha, bool)
            or not isinstance(alpha, (int, float, np.integer, np.floating))
            or not 0 < alpha <= 1
        ):
            raise ConfigError(f"alpha is {shown(alpha)}: it must be > 0 and at most 1")
        self._alpha = float(alpha)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> Imminence:
        """Makes room for what is counted."""
        return Imminence(self._alpha, first_cpu_path(network), np.zeros(len(network.capacity), dtype=np.int64))
