"""Which of the flows that compete goes first (MERP, section 4)."""

from typing import Final

from flowsched_gym.systems.spec import EnvironmentSpec, PolicySpec

__all__ = ["ORDER"]

ORDER: Final = EnvironmentSpec(
    id="flowsched/MERPOrder-v0",
    description="which of the flows that compete for a link goes first",
    entry_point="flowsched_gym.systems.merp.order.env:MERPOrderEnv",
    vector_entry_point="flowsched_gym.systems.merp.order.env:MERPOrderVectorEnv",
    config="flowsched_gym.systems.merp.order.config:MERPOrderConfig",
    workloads=("poisson-pareto", "poisson-tree", "poisson-web-search"),
    settings=({"workload": "poisson-pareto", "f": 32}, {"workload": "poisson-tree", "topology": "tree9", "f": 32}),
    policies=(
        PolicySpec(name="random", description="any visible flow", target="flowsched_gym.policies:RandomSlot"),
        PolicySpec(
            name="fifo", description="first in, first out: the oldest flow", target="flowsched_gym.policies:FirstSlot"
        ),
        PolicySpec(
            name="sjf", description="smallest flow first, preemptively", target="flowsched_gym.policies:SmallestSize"
        ),
        PolicySpec(
            name="srpt",
            description="shortest remaining processing time first",
            target="flowsched_gym.policies:SmallestRemaining",
        ),
        PolicySpec(
            name="vdg",
            description="first by MERP's virtual deadlines, which keep the largest slowdown smallest (Algorithm 2)",
            target="flowsched_gym.systems.merp.order.policies:VirtualDeadlines",
        ),
    ),
)
"""What the registry knows of the environment."""
