"""The columns that an agent sees that chooses paths; ``rules.RouteRules.observe`` fills them."""

from typing import Final

from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.systems.merp.route.rules import COUNT_SCALE, LIVE_SCALE, RATIO_SCALE, SIZE_SCALE, TIME_SCALE

CONTEXT: Final = (
    Column.squashed("size", "bytes to deliver", "B", SIZE_SCALE),
    Column.squashed("ideal_fct", "completion time alone on the empty network", "s", TIME_SCALE),
    Column.squashed("live_flows", "flows that send in the whole network", "flows", LIVE_SCALE),
    Column.fraction("same_pod", "1 if source and destination are in one pod"),
)
PATH: Final = (
    Column.fraction("present", "1 if the path exists"),
    Column.fraction("live", "1 if all of its links are up"),
    Column.squashed("bytes_left", "bytes left of the flows on its most loaded link", "B", SIZE_SCALE),
    Column.squashed("num_flows", "flows on that link", "flows", COUNT_SCALE),
    Column.fraction("utilisation", "largest share of a link's capacity that is in use"),
    Column.squashed(
        "expansion_ratio", "largest expansion ratio that MERP's order would give the flow (GPE)", "1", RATIO_SCALE
    ),
    Column.fraction("expected_rate", "least rate to expect over the capacity of a link (GMER)"),
)
ROLES: Final = {
    "edge_up": "from edge to aggregation",
    "core_up": "from aggregation to core",
    "core_down": "from core to aggregation",
    "edge_down": "from aggregation to edge",
}
"""Links of a path between those of the hosts, in their order; a path inside a pod has the first and the last."""


def _link_columns(role: str, where: str) -> tuple[Column, ...]:
    """Lists the columns of one link of a path."""
    return (
        Column.squashed(f"{role}_flows", f"flows on the link {where}", "flows", COUNT_SCALE),
        Column.squashed(f"{role}_bytes", "bytes that they have left", "B", SIZE_SCALE),
        Column.fraction(f"{role}_rate", "least rate to expect there over its capacity"),
        Column.fraction(f"{role}_live", "1 if the link is up"),
    )


SLOT: Final = (*PATH, *(column for role, where in ROLES.items() for column in _link_columns(role, where)))


def route_layout(num_slots: int) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        num_slots: Most paths between two hosts, >= 1.
    """
    return Layout(context=CONTEXT, slot=SLOT, num_slots=num_slots)
