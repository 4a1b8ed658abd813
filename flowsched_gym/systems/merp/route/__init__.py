"""Which path a new flow takes through a fat-tree (MERP, section 5)."""

from typing import Final

from flowsched_gym.systems.spec import SEARCH, Ability, EnvironmentSpec, policies_of

__all__ = ["ROUTE"]

ROUTE: Final = EnvironmentSpec(
    id="flowsched/MERPRoute-v0",
    description="which path a new flow takes through a fat-tree",
    entry_point="flowsched_gym.systems.merp.route.env:MERPRouteEnv",
    vector_entry_point="flowsched_gym.systems.merp.route.env:MERPRouteVectorEnv",
    config="flowsched_gym.systems.merp.route.config:MERPRouteConfig",
    workloads=("poisson-fat-tree", "poisson-fat-tree-failures"),
    baselines=("ecmp", "memr"),
    planners=SEARCH,
    ability=Ability(("path",), ("sizes", "link loads")),
    policies=policies_of(
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
        },
        actions=("path",),
    ),
)
"""What the registry knows of the environment."""
