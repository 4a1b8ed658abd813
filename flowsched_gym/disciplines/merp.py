"""Minimises the largest expansion ratio: MERP's flow scheduling as a discipline."""

from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.disciplines.base import BaseDiscipline, DisciplineArrays, DisciplineKind
from flowsched_gym.errors import ConfigError, shown
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.expansion import (
    IN_ORDER,
    NEW,
    STALE_LINK,
    STALE_MEMBER,
    UNKNOWN,
    forget_virtual_deadline,
    hold_until,
    serve_by_virtual_deadline,
)
from flowsched_gym.model.rules.virtual_deadlines import MATCH
from flowsched_gym.model.state import FlowState, Network, longest_path
from flowsched_gym.suggestions import listed

__all__ = ["Merp", "MerpMode"]

LONGEST_GAP: Final = 1e300
"""Longest gap in s, so that times stay finite."""


class MerpMode(StrEnum):
    """Says who sends on a network of many links."""

    GREEDY = "greedy"
    """In the order of virtual deadlines, each flow takes what is left on its path."""
    STRICT = "strict"
    """A flow sends only where it is first on every link, as the paper's rule reads; links may idle beside flows."""


class Merp(BaseDiscipline):
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

    kind = DisciplineKind.MERP

    def __init__(
        self, alpha: float = 1.0, gap: float = 0.0, gap_preempt: float = 0.0, mode: str = MerpMode.GREEDY
    ) -> None:
        """Checks the parameters."""
        if not _is_number(alpha) or not 0 < alpha <= 1:
            raise ConfigError(f"alpha is {shown(alpha)}: it must be a number > 0 and <= 1")
        for name, value in (("gap", gap), ("gap_preempt", gap_preempt)):
            if not _is_number(value) or not 0 <= value <= LONGEST_GAP:
                raise ConfigError(
                    f"{name} is {shown(value)}: it must be a finite number >= 0 s, at most {LONGEST_GAP:g}"
                )
        if not isinstance(mode, str) or mode not in tuple(MerpMode):
            raise ConfigError(f"mode is {shown(mode)}: it must be one of {listed(mode, MerpMode)}")
        self.data_share = float(alpha)
        self._gaps = float(gap), float(gap_preempt)
        self._strict = mode == MerpMode.STRICT
        self.stops_flows = self._strict or any(self._gaps)

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for what is kept from event to event."""
        super().make_room(state, controls, network, num_networks)
        if any(self._gaps) and len(network.capacity) > 1:
            raise ConfigError(f"gap and gap_preempt are {self._gaps} s: only one link has a gap, this network has more")
        always = self.data_share < 1
        self._virtual_deadline = np.zeros(len(state.size))
        self._on_link = np.zeros((len(state.size), longest_path(network)))
        self._mark = np.zeros((len(state.size), 2), dtype=np.int64)
        self._standing = np.zeros(len(state.size), dtype=np.int64)
        self._unknown = np.zeros(num_networks, dtype=np.int64)
        self._settings = np.array([*self._gaps, float(always)])
        self._held = np.zeros(num_networks)
        num_rows = len(state.size) // num_networks
        self._links = np.zeros(len(network.capacity), dtype=STALE_LINK)
        self._links["first"] = IN_ORDER
        self._members = np.zeros(num_rows * longest_path(network), dtype=STALE_MEMBER)
        self._matches = np.zeros(2 * num_rows, dtype=MATCH)

    def begin_network(self, n: int, first_row: int, source: npt.NDArray[np.int64]) -> None:
        """Begins without flows."""
        self._unknown[n] = 0

    def begin_flow(self, row: int) -> None:
        """Knows nothing of a flow yet."""
        self._virtual_deadline[row] = UNKNOWN
        self._unknown[0] += 1
        self._standing[row] = NEW

    def moved(self, row: int) -> None:
        """Orders the links of the new path anew."""
        forget_virtual_deadline(0, row, self._virtual_deadline, self._unknown)

    def control(self, now: float, live: npt.NDArray[np.int64], count: int) -> None:
        """Ranks by effective virtual deadline."""
        state, controls = self.state, self.controls
        serve_by_virtual_deadline(
            now,
            0,
            live,
            count,
            state.size,
            state.arrival_time,
            state.remaining,
            controls.path,
            *self.network,
            controls.priority,
            controls.admitted,
            self._virtual_deadline,
            self._on_link,
            self._mark,
            self._standing,
            self._unknown,
            self._settings,
            self._held,
            self._strict,
            self._links,
            self._members,
            self._matches,
        )

    def review_time(self, now: float, live: npt.NDArray[np.int64], count: int) -> float:
        """Returns the end of the detection gap."""
        return hold_until(now, 0, self._held)

    def arrays(self) -> DisciplineArrays:
        """Hands over what is kept from event to event."""
        return (
            super()
            .arrays()
            ._replace(
                share=self._strict,
                settings=self._settings,
                first=self._virtual_deadline,
                level=self._standing,
                mark=self._mark,
                table=self._on_link,
                unknown=self._unknown,
                held=self._held,
                links=self._links,
                members=self._members,
                matches=self._matches,
            )
        )


def _is_number(value: object) -> bool:
    """Tells whether a value is a number, and not a truth value."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
