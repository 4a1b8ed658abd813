"""Decisions: what an agent is asked, and the rules by which a system observes and rewards, for both engines."""

from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.routes import Routes
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network

IntArray = npt.NDArray[np.integer[Any]]
Rows = npt.NDArray[Any]


class Order(IntEnum):
    """What a network can be told to do when it asks."""

    GRANT = 0
    """Give a token to the request with this index in the queue."""
    POSTPONE = 1
    """Send the request with this index to the back of the queue."""
    WAIT = 2
    """Let the destination wait for its next request or token."""
    SERVE_FIRST = 3
    """Serve the competing flow with this index before all others."""
    TAKE_PATH = 4
    """Send the flow that needs a path along the one with this index among its own."""


class Decision(NamedTuple):
    """A network that waits for a decision, or has come to the end of its episode.

    Arrays are those of the engine, not copies. In the compiled engine they hold the flows of many networks: those of
    this one begin at the indices given here, and ``number`` is its index where each network has one entry.

    Attributes:
        number: Number of the network.
        asked: Whether a decision is due; if not, the episode is over, and the rest shows its end.
        now: Time in s.
        advanced_to: Time in s to which ``state.remaining`` belongs; rates are constant since.
        candidates: Rows of the flows to decide on, oldest first: requests that wait for a token, flows that compete, or
            the flow that needs a path.
        first_candidate: Index of the first of them.
        num_candidates: Number of them.
        active: Rows of the flows that hold a token of the destination, or, without tokens, of those that send.
        first_active: Index of the first of them.
        num_active: Number of them.
        host: Destination that asks, or asked last; -1 without tokens.
        can_wait: Whether another request or token will come to that destination if nothing is granted.
        delivered: Rows of the flows that have been delivered, in that order.
        first_delivered: Index of the first of them.
        num_delivered: Number of them.
        completion_time: Absolute times in s of the delivery of each flow.
        state: The flows.
        controls: Their controls.
        network: Links as they are now, and paths.
        routes: Between which paths each flow may choose; ``None`` where paths stay.
        flows: What the rules keep of each flow, columns by name (``flow_fields``).
        episodes: What they keep of each episode, columns by name (``episode_fields``).
    """

    number: int
    asked: bool
    now: float
    advanced_to: float
    candidates: IntArray
    first_candidate: int
    num_candidates: int
    active: IntArray
    first_active: int
    num_active: int
    host: int
    can_wait: bool
    delivered: IntArray
    first_delivered: int
    num_delivered: int
    completion_time: npt.NDArray[np.float64]
    state: FlowState
    controls: Controls
    network: Network
    routes: Routes | None
    flows: Rows
    episodes: Rows


class DecisionRules(Protocol):
    """The part of an environment that is its system's: a NamedTuple of its arguments, with these methods.

    The methods are plain functions that Numba can compile. The SimPy engine calls them as they are; the compiled engine
    compiles those of the one record that it is given. They change nothing but ``flows`` and ``episodes``.
    """

    def act(self, decision: Decision, action: int) -> tuple[int, int, bool]:
        """Reads an action in the action space.

        Returns:
            An ``Order``; the index that it is about; and whether the order replaces an action that does nothing now,
            such as the choice of an empty slot.
        """

    def mask(self, decision: Decision, mask: npt.NDArray[np.bool_]) -> None:
        """Writes which actions are not replaced, (num_actions,)."""

    def observe(self, decision: Decision, observation: npt.NDArray[np.float32]) -> None:
        """Writes what the agent sees, (layout.size,)."""

    def reward(self, decision: Decision, told: int, terms: npt.NDArray[np.float64]) -> float:
        """Returns the reward.

        Args:
            decision: The network after the action.
            told: Flows that had been delivered before the action; 0 for the first action.
            terms: Receives the named terms, (num_terms,).
        """

    def final(self, decision: Decision, values: npt.NDArray[np.float64]) -> None:
        """Writes what the last info tells besides, (num_final_infos,)."""
