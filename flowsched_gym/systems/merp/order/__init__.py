"""Which of the flows that compete goes first (MERP, section 4)."""

from typing import Final

from flowsched_gym.systems.spec import Ability, EnvironmentSpec, policies_of

__all__ = ["ORDER"]

ORDER: Final = EnvironmentSpec(
    id="flowsched/MERPOrder-v0",
    description="which of the flows that compete for a link goes first",
    entry_point="flowsched_gym.systems.merp.order.env:MERPOrderEnv",
    vector_entry_point="flowsched_gym.systems.merp.order.env:MERPOrderVectorEnv",
    config="flowsched_gym.systems.merp.order.config:MERPOrderConfig",
    workloads=("poisson-pareto", "poisson-tree", "poisson-web-search"),
    baselines=("srpt", "vdg"),
    metric="max_slowdown",
    ability=Ability(("order",), ("sizes", "bytes left", "slowdowns")),
    policies=(
        *policies_of(
            "flowsched_gym.envs.policies",
            {
                "random": ("RandomSlot", "any visible flow", ()),
                "fifo": ("FirstSlot", "first in, first out: the oldest flow", ()),
                "sjf": ("SmallestSize", "smallest flow first, preemptively", ("sizes",)),
                "srpt": ("SmallestRemaining", "shortest remaining processing time first", ("bytes left",)),
            },
            actions=("order",),
        ),
        *policies_of(
            "flowsched_gym.systems.merp.order.policies",
            {
                "vdg": (
                    "VirtualDeadlines",
                    "first by MERP's virtual deadlines, which keep the largest slowdown smallest (Algorithm 2)",
                    ("sizes", "bytes left", "slowdowns"),
                ),
            },
            actions=("order",),
        ),
    ),
)
"""What the registry knows of the environment."""
