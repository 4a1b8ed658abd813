"""Ways to choose a path, by name; `fluid/rules/routing/choose_path.py` defines them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from flowsched_gym.core.arrays import to_float
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND


class RoutingKind(IntEnum):
    """Ways to choose a path."""

    ECMP = 0
    LEAST_LOADED = 1
    CONGA = 2
    MEMR = 3
    MEMR_HOP_BY_HOP = 4


DEFAULT_FLOWLET_GAP: Final = 500 * SECONDS_PER_MICROSECOND
"""Pause in s after which a flow may change its path (Alizadeh et al., SIGCOMM 2014, section 3.4)."""

ROUTINGS: Final[Mapping[str, RoutingKind]] = {kind.name.lower().replace("_", "-"): kind for kind in RoutingKind}
"""Ways to choose a path by name."""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    "ecmp": "a hash of the flow over the paths that are up (equal-cost multi-path)",
    "least-loaded": "fewest bytes left on the most loaded link",
    "conga": "least utilised links, anew after each pause of a flow (CONGA, as a model of flows)",
    "memr": "largest expansion ratio and smallest tail rate over the whole path (MERP, Algorithms 4 to 6)",
    "memr-hop-by-hop": "the same, decided switch by switch",
}
"""What each of them does."""


@dataclass(frozen=True, slots=True)
class Routing:
    """How flows choose among those paths between their hosts that are up.

    CONGA alone looks at ``flowlet_gap``, the pause in s, > 0, after which a flow chooses anew.
    """

    kind: RoutingKind
    flowlet_gap: float = DEFAULT_FLOWLET_GAP

    def __post_init__(self) -> None:
        if not isinstance(self.kind, RoutingKind):
            raise ConfigError(
                f"routing kind is {shown(self.kind)}: it must be one of {', '.join(kind.name for kind in RoutingKind)}"
            )
        if not 0 < to_float(self.flowlet_gap) < math.inf:
            raise ConfigError(f"flowlet_gap is {shown(self.flowlet_gap)}: it must be a finite number > 0 s")


def make_routing(name: str, **parameters: object) -> Routing:
    """Makes a routing by name, one of ``ROUTINGS``; ``conga`` alone takes ``flowlet_gap`` in s.

    Raises:
        ConfigError: The name or a parameter is unknown, or a value is not allowed.
    """
    kind = ROUTINGS[check_choice("routing", name, ROUTINGS)]
    allowed = ["flowlet_gap"] if kind is RoutingKind.CONGA else []
    for parameter in parameters:
        if parameter not in allowed:
            raise ConfigError(
                f"routing {name} has no parameter {shown(parameter)}: it takes {listed(parameter, allowed)}"
            )
    given: dict[str, Any] = parameters
    return Routing(kind, **given)
