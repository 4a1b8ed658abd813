"""QCluster: an agent sets the thresholds that cluster packets into a port's few queues."""

from typing import Final

from flowsched_gym.systems import SAME_LEVEL, Ability, EnvironmentSpec, SystemSpec, policies_of

__all__ = ["SYSTEM"]

PORT: Final = EnvironmentSpec(
    id="flowsched/QCluster-v0",
    description="thresholds that cluster packets into a port's few queues",
    entry_point="flowsched_gym.systems.qcluster.env:QClusterEnv",
    vector_entry_point="flowsched_gym.systems.qcluster.env:QClusterVectorEnv",
    config="flowsched_gym.systems.qcluster.config:QClusterConfig",
    workloads=("qcluster-w4", "qcluster-changing", "qcluster-w6-fq"),
    baselines=("opt", "geometric", "adaptive", "constant"),
    ability=Ability.of(("thresholds",), ("finished messages", "queues")),
    trained=Ability.of(information=("traffic",)),
    policies=(
        *policies_of(
            "flowsched_gym.systems.qcluster.policies",
            {
                "random": ("RandomAction", "any thresholds, or any rule, drawn anew in each period", ()),
                "arithmetic": ("ArithmeticRule", "arithmetic means of neighbouring queues' weights", ("queues",)),
                "geometric": ("GeometricRule", "geometric means of these", ("queues",)),
                "harmonic": ("HarmonicRule", "harmonic means of these", ("queues",)),
                "adaptive": (
                    "AdaptiveRule",
                    "thresholds that let queues hold equally many packets, over their weights",
                    ("queues",),
                ),
                "opt": ("BestThresholds", "PIAS's thresholds for the sizes and the load of the workload", ("traffic",)),
                "wst": (
                    "WorstThresholds",
                    "thresholds with most packets in the first queue, and most others in the last",
                    ("traffic",),
                ),
                "constant": ("ConstantThresholds", "thresholds between QCluster's first weights", ()),
            },
            actions=("thresholds",),
        ),
        SAME_LEVEL,
    ),
)

SYSTEM: Final = SystemSpec(
    name="qcluster",
    title="thresholds that cluster packets into a port's few queues",
    paper="T. Yang, J. Li, Y. Zhao, K. Yang, H. Wang, J. Jiang, Y. Zhang, N. Zhang, QCluster: Clustering Packets for "
    "Flow Scheduling, ACM Web Conference 2022",
    environments=(PORT,),
)
