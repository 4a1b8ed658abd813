"""Ways to choose the path of a flow where there are several."""

from flowsched_gym.model.routes import RoutingKind
from flowsched_gym.routing.routing import DEFAULT_FLOWLET_GAP, ROUTINGS, Routing, make_routing

__all__ = ["DEFAULT_FLOWLET_GAP", "ROUTINGS", "Routing", "RoutingKind", "make_routing"]
