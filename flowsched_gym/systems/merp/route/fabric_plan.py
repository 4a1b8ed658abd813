"""Says where the hosts, switches and cables of a fat-tree stand in a picture, by the numbers of its topology."""

import functools
from typing import Final, NamedTuple

from flowsched_gym.envs.rendering import Box

__all__ = ["FabricPlan", "Tier", "plan_fabric"]

Point = tuple[int, int]

SWITCH_HEIGHT: Final = 24
HOST_HEIGHT: Final = 20
GUTTER: Final = 84
"""Columns that the names of the rows take."""
ROOM_FOR_NUMBER: Final = 18
"""Columns that a number takes in a box."""
ROOM_FOR_LINES: Final = 20
"""Columns between two hosts from which idle cables are drawn dark."""


class Tier(NamedTuple):
    """Describes a row of hosts or switches.

    Attributes:
        name: What they are.
        boxes: Where each of them stands.
        numbered: Whether there is room for their numbers.
    """

    name: str
    boxes: tuple[Box, ...]
    numbered: bool


class FabricPlan(NamedTuple):
    """Says where everything stands; it follows from the arity alone.

    Attributes:
        arity: Ports of a switch (k).
        tiers: Core, aggregation and edge switches, and hosts, from top to bottom.
        cables: Links of each cable, up and down.
        sparse: Whether cables are far from each other.
        roomy: Whether switches have room for a number.
    """

    arity: int
    tiers: tuple[Tier, Tier, Tier, Tier]
    cables: tuple[tuple[int, int], ...]
    sparse: bool
    roomy: bool

    @property
    def cable_of_link(self) -> dict[int, int]:
        """Cable of each link."""
        return {link: number for number, links in enumerate(self.cables) for link in links}

    def ends(self, cable: int) -> tuple[Point, Point]:
        """Returns the lower and the upper end of a cable; cables are those of the hosts, the edges, the aggregation."""
        half, hosts = self.arity // 2, len(self.tiers[3].boxes)
        core, aggregation, edge, host = (tier.boxes for tier in self.tiers)
        kind, number = divmod(cable, hosts)
        switch, port = divmod(number, half)
        if kind == 0:
            return _top(host[number]), _bottom(edge[number // half])
        pod, middle = divmod(switch, half)
        if kind == 1:
            return _top(edge[switch]), _bottom(aggregation[pod * half + port])
        return _top(aggregation[switch]), _bottom(core[middle * half + port])

    def switch_of(self, source: int, slot: int, same_pod: bool) -> Box:
        """Returns the switch that tells the path of a slot from others."""
        if not same_pod:
            return self.tiers[0].boxes[slot]
        half = self.arity // 2
        return self.tiers[1].boxes[source // (half * half) * half + slot]


@functools.lru_cache(maxsize=8)
def plan_fabric(arity: int, columns: tuple[int, int], top: int, foot: int) -> FabricPlan:
    """Divides the space.

    Args:
        arity: Ports of a switch.
        columns: First column of the card, and the one behind its last.
        top: First row of the card.
        foot: Row behind its last.
    """
    half, hosts = arity // 2, arity * arity * arity // 4
    left, right = columns[0] + GUTTER, columns[1] - 14
    counts = {"core": half * half, "aggregation": arity * half, "edge": arity * half, "hosts": hosts}
    tiers = []
    for place, (name, count) in enumerate(counts.items()):
        y = top + 56 + (foot - top - 82) * place // (len(counts) - 1)
        step = (right - left) / count
        is_host = count == hosts
        width = max(min(int(step) - 4, 26 if is_host else 46), 3)
        height = HOST_HEIGHT if is_host else SWITCH_HEIGHT
        boxes = []
        for number in range(count):
            x = round(left + (number + 0.5) * step) - width // 2
            boxes.append(Box(x, y - height // 2, x + width, y + height // 2))
        tiers.append(Tier(name, tuple(boxes), is_host and width >= ROOM_FOR_NUMBER))
    links = tuple((2 * tier * hosts + i, (2 * tier + 1) * hosts + i) for tier in range(3) for i in range(hosts))
    roomy = tiers[1].boxes[0].width >= ROOM_FOR_NUMBER
    sparse = (right - left) / hosts >= ROOM_FOR_LINES
    return FabricPlan(arity, (tiers[0], tiers[1], tiers[2], tiers[3]), links, sparse, roomy)


def _top(box: Box) -> Point:
    """Returns the middle of the upper edge."""
    return (box.left + box.right) // 2, box.top


def _bottom(box: Box) -> Point:
    """Returns the middle of the lower edge."""
    return (box.left + box.right) // 2, box.bottom
