"""QCluster: an agent sets the thresholds that cluster packets into a port's few queues."""

from typing import Final

from flowsched_gym.systems import Ability, Action, EnvironmentSpec, Information, SystemSpec, policies_of

__all__ = ["SYSTEM"]

PORT: Final = EnvironmentSpec(
    id="flowsched/QCluster-v0",
    description="thresholds that cluster packets into a port's few queues",
    entry_point="flowsched_gym.systems.qcluster.env:QClusterEnv",
    vector_entry_point="flowsched_gym.systems.qcluster.env:QClusterVectorEnv",
    config="flowsched_gym.systems.qcluster.config:QClusterConfig",
    workloads=("qcluster-w4", "qcluster-changing", "qcluster-w6-fq"),
    baselines=("opt", "geometric", "adaptive", "constant"),
    ability=Ability((Action.THRESHOLDS,), (Information.FINISHED_MESSAGES, Information.QUEUES)),
    trained=Ability(information=(Information.TRAFFIC,)),
    policies=policies_of(
        "flowsched_gym.systems.qcluster.policies",
        {
            "random": ("RandomAction", "any thresholds, or any rule, drawn anew in each period", ()),
            "arithmetic": ("ArithmeticRule", "arithmetic means of neighbouring queues' weights", (Information.QUEUES,)),
            "geometric": ("GeometricRule", "geometric means of these", (Information.QUEUES,)),
            "harmonic": ("HarmonicRule", "harmonic means of these", (Information.QUEUES,)),
            "adaptive": (
                "AdaptiveRule",
                "thresholds that let queues hold equally many packets, over their weights",
                (Information.QUEUES,),
            ),
            "opt": (
                "BestThresholds",
                "PIAS's thresholds for the sizes and the load of the workload",
                (Information.TRAFFIC,),
            ),
            "wst": (
                "WorstThresholds",
                "thresholds with most packets in the first queue, and most others in the last",
                (Information.TRAFFIC,),
            ),
            "constant": ("ConstantThresholds", "thresholds between QCluster's first weights", ()),
        },
        actions=(Action.THRESHOLDS,),
    ),
)

SYSTEM: Final = SystemSpec(
    name="qcluster",
    title="thresholds that cluster packets into a port's few queues",
    paper="T. Yang, J. Li, Y. Zhao, K. Yang, H. Wang, J. Jiang, Y. Zhang, N. Zhang, QCluster: Clustering Packets for "
    "Flow Scheduling, ACM Web Conference 2022",
    environments=(PORT,),
)
