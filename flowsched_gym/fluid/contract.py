"""Scheduling disciplines: rules from the state of the flows to their controls."""

from typing import Protocol, runtime_checkable

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.topology.network import Network


@runtime_checkable
class Discipline(Protocol):
    """A rule that sets the controls of the active flows whenever these, or levels that they have attained, change.

    One object serves one simulation: it may keep state of its own, made in ``begin``.

    Attributes:
        data_share: Share of each link's capacity that carries data, in (0, 1].
        stops_flows: Whether it writes ``admitted`` or ``review_at``, as senders with windows do.
        shares_equally: Whether it leaves all controls as they are, so that flows share equally.
    """

    data_share: float
    stops_flows: bool
    shares_equally: bool

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Prepares for a simulation of these flows; called once, before time runs.

        Args:
            state: The flows, none of which has arrived.
            controls: Their controls, all equal.
            network: Links and paths.
        """
        ...

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Prepares for an episode of a network, before its time runs.

        Args:
            n: Number of the network.
            first_row: Row of its first flow.
            flows: Its flows.
        """
        ...

    def begin_flow(self, now: float, row: int) -> None:
        """Prepares for a flow that arrives at ``now``, in s, or its token request does, or has waited for others."""
        ...

    def finished(self, row: int) -> None:
        """Reacts to a flow that has sent its last byte, or done its CPU work."""
        ...

    def average(self, now: float, elapsed: float, active: IntArray, count: int) -> None:
        """Sets the mean rates of the active flows in a step that ends, where rates are not constant.

        Args:
            now: Time in s at the end of the step.
            elapsed: Its length in s, > 0.
            active: Rows of the active flows in its first ``count`` entries.
            count: Number of active flows.
        """
        ...

    def moved(self, row: int) -> None:
        """Reacts to a new path of an active flow; ``control`` follows in the same instant."""
        ...

    def control(self, now: float, active: IntArray, count: int) -> None:
        """Fills the controls of the active flows.

        Args:
            now: Time in s.
            active: Rows of the active flows in its first ``count`` entries; may be reordered, within these.
            count: Number of active flows.
        """
        ...

    def review_time(self, now: float, active: IntArray, count: int) -> float:
        """Returns when the controls would change although nothing arrives, finishes or crosses ``review_at``.

        Called after the links have been shared, so that the rates are known.

        Returns:
            Absolute time in s, > now; inf for never.
        """
        ...


def check_transport(discipline: Discipline, transport: Transport, *, paths_stay: bool) -> None:
    """Checks that not both the discipline and the senders steer flows.

    Args:
        discipline: The discipline.
        transport: How a flow sends.
        paths_stay: Whether flows keep their paths, and links stay up.

    Raises:
        ConfigError: They do, or packets can be lost on paths that change.
    """
    if transport.losses is not None and not (discipline.shares_equally and paths_stay):
        raise ConfigError(
            f"transport has losses: senders share links by their windows, along paths that stay; "
            f"{type(discipline).__name__}{'' if paths_stay else ' with a routing'} cannot serve them, Ps can"
        )
    if discipline.stops_flows and transport.has_window:
        raise ConfigError(
            f"transport has initial_window {transport.initial_window:g}: senders with windows stop flows, and "
            f"{type(discipline).__name__} does so with these parameters; use transport 'ideal'"
        )
