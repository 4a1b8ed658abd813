"""Minimises the largest expansion ratio: MERP's flow scheduling as a discipline."""

from enum import StrEnum
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray, to_float
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.rules.ordering.expansion import (
    IN_ORDER,
    NEW,
    STALE_LINK,
    STALE_MEMBER,
    UNKNOWN,
    ExpansionRatios,
    serve_by_virtual_deadline,
)
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import MATCH
from flowsched_gym.topology.network import Network, longest_path

LONGEST_GAP: Final = 1e300
"""Longest gap in s, so that times stay finite."""


class MerpMode(StrEnum):
    """Rules for who sends on a network of many links."""

    GREEDY = "greedy"
    """In the order of virtual deadlines, each flow takes what is left on its path."""
    STRICT = "strict"
    """A flow sends only where it is first on every link, as the paper's rule reads; links may idle beside flows."""


class Merp(Discipline):
    """Minimal expansion ratio first (MERP, Algorithm 2).

    A link's virtual deadlines are found anew when a flow arrives that crosses it, and with ``alpha`` below 1 at
    completions too; a flow's effective one is the latest over its path (its smallest expected service rate). The
    paper's rate adjustment appears as the share of each link that carries data, and as a gap in which the next flow
    detects that it is first; only one link has a gap. A flow that arrives and is first starts without a gap.

    Args:
        alpha: Share of the links' capacity that carries data, in (0, 1]. Virtual deadlines reckon with all of it.
        gap: Time in s, >= 0, before the next flow sends after one has finished; 0 is the paper's early start.
        gap_preempt: Time in s, >= 0, before a flow sends that waited and that a new arrival's order brings forward.
        mode: ``greedy`` or ``strict``.

    Raises:
        ConfigError: A parameter is out of its range, or there is a gap on many links.
    """

    record_type = ExpansionRatios
    kept = ("virtual_deadline", "on_link", "mark", "standing")
    kept_once = ("unknown", "held")
    record: ExpansionRatios
    control = staticmethod(serve_by_virtual_deadline)

    def __init__(
        self, alpha: float = 1.0, gap: float = 0.0, gap_preempt: float = 0.0, mode: str = MerpMode.GREEDY
    ) -> None:
        if not 0 < to_float(alpha) <= 1:
            raise ConfigError(f"alpha is {shown(alpha)}: it must be a number > 0 and <= 1")
        for name, value in (("gap", gap), ("gap_preempt", gap_preempt)):
            if not 0 <= to_float(value) <= LONGEST_GAP:
                raise ConfigError(
                    f"{name} is {shown(value)}: it must be a finite number >= 0 s, at most {LONGEST_GAP:g}"
                )
        self.data_share = float(alpha)
        self._gaps = float(gap), float(gap_preempt)
        self._strict = check_choice("mode", mode, MerpMode) is MerpMode.STRICT
        self.stops_flows = self._strict or any(self._gaps)

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: ExpansionRatios) -> None:
        """Knows nothing yet of a flow's virtual deadline."""
        record.virtual_deadline[row] = UNKNOWN
        record.unknown[n] += 1
        record.standing[row] = NEW

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: ExpansionRatios
    ) -> float:
        """Returns the end of the gap."""
        end: float = record.held[n]
        return end if end > now else np.inf

    @staticmethod
    def moved(n: int, row: int, record: ExpansionRatios) -> None:
        """Forgets the virtual deadline on the old path."""
        if record.virtual_deadline[row] != UNKNOWN:
            record.virtual_deadline[row] = UNKNOWN
            record.unknown[n] += 1

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> ExpansionRatios:
        """Makes room for what is kept from event to event; refuses a gap where the network has many links."""
        if any(self._gaps) and len(network.capacity) > 1:
            raise ConfigError(f"gap and gap_preempt are {self._gaps} s: only one link has a gap, this network has more")
        longest, num_rows = longest_path(network), num_flows // num_networks
        links = np.zeros(len(network.capacity), dtype=STALE_LINK)
        links["first"] = IN_ORDER
        return ExpansionRatios(
            strict=self._strict,
            settings=np.array([*self._gaps, float(self.data_share < 1)]),
            virtual_deadline=np.zeros(num_flows),
            on_link=np.zeros((num_flows, longest)),
            mark=np.zeros((num_flows, 2), dtype=np.int64),
            standing=np.zeros(num_flows, dtype=np.int64),
            unknown=np.zeros(num_networks, dtype=np.int64),
            held=np.zeros(num_networks),
            links=links,
            members=np.zeros(num_rows * longest, dtype=STALE_MEMBER),
            matches=np.zeros(2 * num_rows, dtype=MATCH),
        )

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Begins without flows."""
        self.record.unknown[n] = 0
