"""MERP: flows are ordered and routed so that the largest expansion ratio (slowdown) is smallest."""

from typing import Final

from flowsched_gym.systems.merp.order import ORDER
from flowsched_gym.systems.merp.route import ROUTE
from flowsched_gym.systems.spec import SystemSpec

__all__ = ["SYSTEM"]

SYSTEM: Final = SystemSpec(
    name="merp",
    title="flows are ordered and routed by their expansion ratios (slowdowns)",
    paper="S. Zhang, Z. Qian, H. Wu, S. Lu, Efficient Data Center Flow Scheduling Without Starvation Using Expansion "
    "Ratio, IEEE TPDS 28(11), 2017",
    environments=(ORDER, ROUTE),
)
"""What the registry knows of MERP."""
