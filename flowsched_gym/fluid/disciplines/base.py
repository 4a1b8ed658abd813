"""What disciplines are made of: rules, written once for both engines, and a record of what they keep.

The rules of a discipline are plain functions. The reference engine calls them as they are; the compiled engine compiles
those of the one discipline that it runs (``fluid.compiled.control``), found by the type of the discipline's record.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


def _nothing_on_arrival(now: float, n: int, row: int, state: FlowState, controls: Controls, own: Any) -> None:
    """Does nothing when a flow arrives."""


def _nothing_to_control(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, network: Network, own: Any
) -> None:
    """Leaves all flows equal."""


def _never(now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: Any) -> float:
    """Returns inf: nothing changes by itself."""
    return np.inf


def _nothing_on_move(n: int, row: int, own: Any) -> None:
    """Does nothing when a flow takes another path."""


def _nobody_else(n: int, own: Any) -> bool:
    """Returns that only new flows, and those at ``review_at``, may get other priorities."""
    return False


def _no_ranks(n: int, row: int, own: Any) -> None:
    """Sets no ranks."""


def _nothing_on_finish(n: int, row: int, state: FlowState, controls: Controls, own: Any) -> None:
    """Does nothing when a flow has finished a stage."""


def _steady(
    now: float, elapsed: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: Any
) -> None:
    """Leaves the rates as they are: they have been constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a discipline: functions of plain arrays that Numba can compile, with these names of parameters.

    ``n`` is the number of a network, ``row`` that of a flow among the flows of all networks, ``own`` the record.

    Attributes:
        record: NamedTuple of what the discipline keeps, a type of its own even where it keeps nothing.
        kept: Fields of the record that belong to flows, and change as time goes on: several for each network.
        kept_once: The same with one entry for each network.
        begin_flow: Sets what is kept of a flow that arrives, or has waited for others,
            ``(now, n, row, state, controls, own)``.
        control: Fills the controls of the active flows, the first ``count`` rows of ``active``; where flows share
            within priorities, of those at least that may have changed since the last call. It may reorder these rows.
            ``(now, n, active, count, state, controls, network, own)``.
        review_time: Returns when the controls change by themselves, in s,
            ``(now, n, active, count, state, controls, own)``. Where rates are not constant, it sets mean rates until
            then.
        average: Sets the mean rates of a step that ends now, after ``elapsed`` seconds, where rates are not constant,
            ``(now, elapsed, n, active, count, state, controls, own)``.
        finished: Learns that a flow has sent its last byte, or done its CPU work, ``(n, row, state, controls, own)``.
        moved: Learns that the path of an active flow has changed, ``(n, row, own)``.
        all_may_change: Returns whether other flows than new ones and those at ``review_at`` may get other priorities,
            ``(n, own)``.
        serve_first: Puts a flow before all others, as an agent has decided, ``(n, row, own)``.
    """

    record: type
    kept: tuple[str, ...] = ()
    kept_once: tuple[str, ...] = ()
    begin_flow: Callable[[float, int, int, FlowState, Controls, Any], None] = _nothing_on_arrival
    control: Callable[[float, int, IntArray, int, FlowState, Controls, Network, Any], None] = _nothing_to_control
    review_time: Callable[[float, int, IntArray, int, FlowState, Controls, Any], float] = _never
    average: Callable[[float, float, int, IntArray, int, FlowState, Controls, Any], None] = _steady
    finished: Callable[[int, int, FlowState, Controls, Any], None] = _nothing_on_finish
    moved: Callable[[int, int, Any], None] = _nothing_on_move
    all_may_change: Callable[[int, Any], bool] = _nobody_else
    serve_first: Callable[[int, int, Any], None] = _no_ranks


class BaseDiscipline:
    """A discipline: its parameters, and its rules applied to the flows that it serves.

    The compiled engine shares links incrementally where flows share within ``num_priorities`` priorities, from 0 on,
    and have no largest rates; with 0 priorities it shares them anew at each event.

    Attributes:
        own: What it keeps, a record of the type ``rules.record``; made by ``make_room``.
    """

    rules: ClassVar[Rules] = Rules(record=type(None))
    own: Any
    state: FlowState
    controls: Controls
    network: Network
    data_share: float = 1.0
    stops_flows: bool = False
    shares_equally: bool = False
    num_priorities: int = 0

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Prepares for these flows."""
        self.check_flows(len(state.size))
        self.make_room(state, controls, network)

    def check_flows(self, num_flows: int) -> None:
        """Checks that the parameters fit the number of flows.

        Raises:
            ConfigError: They do not.
        """

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for what is kept.

        Args:
            state: Flows of all networks, as many for each.
            controls: Their controls.
            network: Links and paths, the same for all networks.
            num_networks: Networks, >= 1.
        """
        self.state = state
        self.controls = controls
        self.network = network
        self.own = self.new_record(len(state.size), network, num_networks)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> Any:
        """Makes the record.

        Args:
            num_flows: Flows of all networks.
            network: Links and paths, the same for all networks.
            num_networks: Networks, >= 1.
        """
        return self.rules.record()

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Prepares for an episode of network ``n``."""

    def begin_flow(self, now: float, row: int) -> None:
        """Sets what is kept of a flow that arrives, or has waited for others, at ``now`` in s."""
        self.rules.begin_flow(now, 0, row, self.state, self.controls, self.own)

    def finished(self, row: int) -> None:
        """Reacts to a flow that has sent its last byte, or done its CPU work."""
        self.rules.finished(0, row, self.state, self.controls, self.own)

    def average(self, now: float, elapsed: float, active: IntArray, count: int) -> None:
        """Sets the mean rates of a step that ends now, where rates are not constant."""
        self.rules.average(now, elapsed, 0, active, count, self.state, self.controls, self.own)

    def moved(self, row: int) -> None:
        """Reacts to a new path of an active flow."""
        self.rules.moved(0, row, self.own)

    def control(self, now: float, active: IntArray, count: int) -> None:
        """Fills the controls of the active flows."""
        self.rules.control(now, 0, active, count, self.state, self.controls, self.network, self.own)

    def review_time(self, now: float, active: IntArray, count: int) -> float:
        """Returns when the controls change by themselves, in s; inf for never."""
        return self.rules.review_time(now, 0, active, count, self.state, self.controls, self.own)
