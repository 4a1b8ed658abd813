"""Lets links fail and come up again at their times."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from simpy import Event

from flowsched_gym.model.events import EventKind
from flowsched_gym.simulation.clock import Clock
from flowsched_gym.simulation.link_sharing import LinkSharing
from flowsched_gym.simulation.paths import Paths
from flowsched_gym.simulation.senders import Senders
from flowsched_gym.workload import LinkChanges

__all__ = ["LinkFailures"]


class LinkFailures:
    """Changes links, and gives the flows whose paths fail others; those that have none wait, and lose nothing.

    Args:
        changes: When links fail and come up.
        capacity: Capacities in B/s of links that are up, (num_links,).
        clock: Clock of the simulation.
        links: Link sharing.
        senders: Senders; flows that may send but have not begun yet are looked at too.
        paths: Who chooses paths.
        on_changed: Receives the numbers of the links that change at one instant.
    """

    def __init__(
        self,
        changes: LinkChanges,
        capacity: npt.NDArray[np.float64],
        clock: Clock,
        links: LinkSharing,
        senders: Senders,
        paths: Paths,
        *,
        on_changed: Callable[[list[int]], None],
    ) -> None:
        """Schedules the first change; each change schedules the next."""
        self._times: list[float] = changes.time.tolist()
        self._links_of: list[int] = changes.link.tolist()
        self._up: list[bool] = changes.up.tolist()
        self._capacity: list[float] = capacity.tolist()
        self._clock = clock
        self._links = links
        self._senders = senders
        self._paths = paths
        self._on_changed = on_changed
        self._next = 0
        self._schedule()

    def _schedule(self) -> None:
        """Puts the next change on the clock."""
        if self._next < len(self._times):
            self._clock.at(self._times[self._next], EventKind.LINK_CHANGE, self._change)

    def _change(self, _: Event) -> None:
        """Changes the links that change now, and finds flows on dead paths others, in the order of rows."""
        now, first = self._clock._now, self._next
        links, paths = self._links, self._paths
        links.settle()
        while self._next < len(self._times) and self._times[self._next] == now:
            link = self._links_of[self._next]
            links.set_capacity(link, self._capacity[link] if self._up[self._next] else 0.0)
            self._next += 1
        self._on_changed(self._links_of[first : self._next])
        self._schedule()
        for row in sorted((*links.live[: links.count].tolist(), *self._senders.waiting())):
            if not paths.is_live(row):
                paths.choose(now, row, links.live, links.count)
