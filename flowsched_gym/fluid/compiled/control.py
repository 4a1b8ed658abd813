"""The rules of disciplines in compiled code, which is of the one that is used: the type of its record tells which.

These functions have no bodies of their own; ``disciplines.Rules`` says what each does.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines import COMPILED
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.machine_code.decorators import chosen_by_type
from flowsched_gym.topology.network import Network

IntArray = npt.NDArray[np.int64]


def _rule(name: str, record: type) -> Any:
    """Finds a rule of the discipline that keeps this record."""
    return getattr(COMPILED[record], name)


@chosen_by_type(_rule)
def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, own: Any) -> None:
    """Sets what is kept of a flow that arrives in network ``n``."""


@chosen_by_type(_rule)
def control(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, network: Network, own: Any
) -> None:
    """Fills the controls of the active flows of network ``n``."""


@chosen_by_type(_rule)
def review_time(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: Any
) -> float:
    """Returns when the controls of network ``n`` change by themselves."""
    raise NotImplementedError


@chosen_by_type(_rule)
def average(
    now: float, elapsed: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: Any
) -> None:
    """Sets the mean rates of a step of network ``n``."""


@chosen_by_type(_rule)
def finished(n: int, row: int, state: FlowState, controls: Controls, own: Any) -> None:
    """Notes that a flow of network ``n`` has sent its last byte, or done its CPU work."""


@chosen_by_type(_rule)
def moved(n: int, row: int, own: Any) -> None:
    """Notes that the path of a active flow of network ``n`` has changed."""


@chosen_by_type(_rule)
def all_may_change(n: int, own: Any) -> bool:
    """Returns whether flows of network ``n``, beside new ones and those at ``review_at``, may get other priorities."""
    raise NotImplementedError


@chosen_by_type(_rule)
def serve_first(n: int, row: int, own: Any) -> None:
    """Puts a flow of network ``n`` before all others."""
