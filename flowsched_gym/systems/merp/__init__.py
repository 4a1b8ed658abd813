"""MERP: flows are ordered and routed so that the largest expansion ratio (slowdown) is smallest."""

from typing import Final

from flowsched_gym.systems import SEARCH, Ability, EnvironmentSpec, PolicySpec, SystemSpec, policies_of

__all__ = ["SYSTEM"]

ORDER: Final = EnvironmentSpec(
    id="flowsched/MERPOrder-v0",
    description="which of the flows that compete for a link goes first",
    entry_point="flowsched_gym.systems.merp.order.env:MERPOrderEnv",
    vector_entry_point="flowsched_gym.systems.merp.order.env:MERPOrderVectorEnv",
    config="flowsched_gym.systems.merp.order.config:MERPOrderConfig",
    workloads=("poisson-pareto", "poisson-tree", "poisson-web-search"),
    baselines=("srpt", "vdg"),
    planners=SEARCH,
    metric="max_slowdown",
    ability=Ability.of(("order",), ("sizes", "bytes left", "slowdowns")),
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
        PolicySpec(
            name="vdg",
            description="first by MERP's virtual deadlines, which keep the largest slowdown smallest (Algorithm 2)",
            target="flowsched_gym.systems.merp.order.policies:VirtualDeadlines",
            ability=Ability.of(("order",), ("sizes", "bytes left", "slowdowns")),
        ),
        PolicySpec(
            name="most-delayed",
            description="the largest slowdown, so far and if the flow were last, less its wait, by tuned numbers",
            target="flowsched_gym.systems.merp.order.policies:MostDelayed",
            options={
                "so_far": "weight of the square of the slowdown so far, 1",
                "if_last": "weight of the slowdown if it were last, 0.3",
                "waiting": "weight of the time since its arrival, 0.5",
            },
            ability=Ability.of(("order",), ("sizes", "bytes left", "slowdowns")),
            ranges={"so_far": (-2.0, 1.0, 2.0), "if_last": (-2.0, 0.3, 2.0), "waiting": (-2.0, 0.5, 2.0)},
        ),
        PolicySpec(
            name="next-delayed",
            description="the most delayed flow; where that has begun, the next on another link that has not",
            target="flowsched_gym.systems.merp.order.policies:NextDelayed",
            options={
                "so_far": "weight of the square of the slowdown so far, 1",
                "if_last": "weight of the slowdown if it were last, 0.4",
                "waiting": "weight of the time since its arrival, 0.5",
                "margin": "how much less delayed than the first that flow may be, 0.1",
            },
            ability=Ability.of(("order",), ("sizes", "bytes left", "slowdowns")),
            ranges={
                "so_far": (-2.0, 1.0, 2.0),
                "if_last": (-2.0, 0.4, 2.0),
                "waiting": (-2.0, 0.5, 2.0),
                "margin": (0.0, 0.1, 0.5),
            },
        ),
    ),
)

ROUTE: Final = EnvironmentSpec(
    id="flowsched/MERPRoute-v0",
    description="which path a new flow takes through a fat-tree",
    entry_point="flowsched_gym.systems.merp.route.env:MERPRouteEnv",
    vector_entry_point="flowsched_gym.systems.merp.route.env:MERPRouteVectorEnv",
    config="flowsched_gym.systems.merp.route.config:MERPRouteConfig",
    workloads=("poisson-fat-tree", "poisson-fat-tree-failures"),
    baselines=("ecmp", "memr"),
    planners=SEARCH,
    ability=Ability.of(("path",), ("sizes", "link loads")),
    abilities={"observation": {"forecast": Ability.of(information=("forecasts",))}},
    policies=(
        *policies_of(
            "flowsched_gym.systems.merp.route.policies",
            {
                "random": ("RandomPath", "any path that is up", ()),
                "ecmp": ("HashedPath", "equal-cost multi-path: a path that is up, by a hash", ()),
                "least-loaded": (
                    "LeastLoadedPath",
                    "fewest bytes left on the most loaded link of the path",
                    ("link loads",),
                ),
                "conga": ("CongaPath", "least utilised path, any of these by a hash, chosen once", ("link loads",)),
                "memr": (
                    "MemrPath",
                    "smallest expansion ratio, then the largest rate to expect (MERP, Algorithms 4 to 6)",
                    ("sizes", "link loads"),
                ),
                "memr-ratio": (
                    "SmallestRatioPath",
                    "smallest expansion ratio over the rate to expect",
                    ("sizes", "link loads"),
                ),
            },
            actions=("path",),
        ),
        PolicySpec(
            name="least-added",
            description="least sum of the flow's slowdown and what it adds to those of others, if no more flows came",
            target="flowsched_gym.systems.merp.route.policies:LeastAdded",
            requires={"observation": "forecast"},
            ability=Ability.of(("path",), ("sizes", "link loads", "forecasts")),
        ),
    ),
)

SYSTEM: Final = SystemSpec(
    name="merp",
    title="flows are ordered and routed by their expansion ratios (slowdowns)",
    paper="S. Zhang, Z. Qian, H. Wu, S. Lu, Efficient Data Center Flow Scheduling Without Starvation Using Expansion "
    "Ratio, IEEE TPDS 28(11), 2017",
    environments=(ORDER, ROUTE),
)
