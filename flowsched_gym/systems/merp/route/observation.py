"""The columns that an agent sees that chooses paths; ``rules.RouteRules.observe`` fills them."""

from typing import Final

from flowsched_gym.envs.columns import Column, Encoding, Layout
from flowsched_gym.systems.merp.route.rules import COUNT_SCALE, LIVE_SCALE, RATIO_SCALE, SIZE_SCALE, TIME_SCALE

CONTEXT: Final = (
    Column(name="size", meaning="bytes to deliver", unit="B", encoding=Encoding.SQUASHED, scale=SIZE_SCALE),
    Column(
        name="ideal_fct",
        meaning="completion time alone on the empty network",
        unit="s",
        encoding=Encoding.SQUASHED,
        scale=TIME_SCALE,
    ),
    Column(
        name="live_flows",
        meaning="flows that send in the whole network",
        unit="flows",
        encoding=Encoding.SQUASHED,
        scale=LIVE_SCALE,
    ),
    Column(name="same_pod", meaning="1 if source and destination are in one pod", unit="1", encoding=Encoding.FRACTION),
)
PATH: Final = (
    Column(name="present", meaning="1 if the path exists", unit="1", encoding=Encoding.FRACTION),
    Column(name="live", meaning="1 if all of its links are up", unit="1", encoding=Encoding.FRACTION),
    Column(
        name="bytes_left",
        meaning="bytes left of the flows on its most loaded link",
        unit="B",
        encoding=Encoding.SQUASHED,
        scale=SIZE_SCALE,
    ),
    Column(name="num_flows", meaning="flows on that link", unit="flows", encoding=Encoding.SQUASHED, scale=COUNT_SCALE),
    Column(
        name="utilisation",
        meaning="largest share of a link's capacity that is in use",
        unit="1",
        encoding=Encoding.FRACTION,
    ),
    Column(
        name="expansion_ratio",
        meaning="largest expansion ratio that MERP's order would give the flow (GPE)",
        unit="1",
        encoding=Encoding.SQUASHED,
        scale=RATIO_SCALE,
    ),
    Column(
        name="expected_rate",
        meaning="least rate to expect over the capacity of a link (GMER)",
        unit="1",
        encoding=Encoding.FRACTION,
    ),
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
        Column(
            name=f"{role}_flows",
            meaning=f"flows on the link {where}",
            unit="flows",
            encoding=Encoding.SQUASHED,
            scale=COUNT_SCALE,
        ),
        Column(
            name=f"{role}_bytes",
            meaning="bytes that they have left",
            unit="B",
            encoding=Encoding.SQUASHED,
            scale=SIZE_SCALE,
        ),
        Column(
            name=f"{role}_rate",
            meaning="least rate to expect there over its capacity",
            unit="1",
            encoding=Encoding.FRACTION,
        ),
        Column(name=f"{role}_live", meaning="1 if the link is up", unit="1", encoding=Encoding.FRACTION),
    )


SLOT: Final = (*PATH, *(column for role, where in ROLES.items() for column in _link_columns(role, where)))


def route_layout(num_slots: int) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        num_slots: Most paths between two hosts, >= 1.
    """
    return Layout(context=CONTEXT, slot=SLOT, num_slots=num_slots)
