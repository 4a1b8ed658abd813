"""Artemis: a destination grants tokens to flows with deadlines."""

from typing import Final

from flowsched_gym.systems.spec import EnvironmentSpec, PolicySpec, SystemSpec

__all__ = ["SYSTEM"]

SYSTEM: Final = SystemSpec(
    name="artemis",
    title="a destination grants tokens to flows with deadlines",
    paper="M. M. Naouach, Towards A Workload-Driven Flow Scheduler For Modern Datacenters, thesis, Waterloo, 2018",
    environments=(
        EnvironmentSpec(
            id="flowsched/Artemis-v0",
            description="which waiting token request a destination serves next",
            entry_point="flowsched_gym.systems.artemis.env:ArtemisEnv",
            vector_entry_point="flowsched_gym.systems.artemis.env:ArtemisVectorEnv",
            config="flowsched_gym.systems.artemis.config:ArtemisConfig",
            workloads=("gather-a1", "gather-a2", "gather-heavy"),
            settings=(
                {"workload": "gather-a1", "k": 10, "f": 5, "transport": "tcp"},
                {"workload": "gather-a2", "k": 10, "f": 5, "transport": "tcp"},
                {"workload": "gather-heavy", "k": 3, "f": 10},
                {"workload": "gather-heavy-a2", "k": 3, "f": 10},
                {"workload": "gather-uniform", "k": 3, "f": 10},
                {"workload": "gather-multi", "k": 3, "f": 10},
            ),
            bounded=True,
            heuristic_kwargs={"observation": "full"},
            policies=(
                PolicySpec(
                    name="random", description="any visible request", target="flowsched_gym.policies:RandomSlot"
                ),
                PolicySpec(
                    name="fifo",
                    description="first in, first out: the oldest request",
                    target="flowsched_gym.policies:FirstSlot",
                ),
                PolicySpec(
                    name="lifo",
                    description="last in, first out: the youngest visible request",
                    target="flowsched_gym.policies:LastSlot",
                ),
                PolicySpec(
                    name="edf", description="earliest deadline first", target="flowsched_gym.policies:EarliestDeadline"
                ),
                PolicySpec(
                    name="ssdf",
                    description="smallest size-deadline ratio first",
                    target="flowsched_gym.policies:SmallestRatio",
                ),
                PolicySpec(
                    name="lsdf",
                    description="largest size-deadline ratio first",
                    target="flowsched_gym.policies:LargestRatio",
                ),
                PolicySpec(name="sjf", description="smallest flow first", target="flowsched_gym.policies:SmallestSize"),
                PolicySpec(
                    name="least-slack", description="least slack first", target="flowsched_gym.policies:LeastSlack"
                ),
                PolicySpec(
                    name="feasible-first",
                    description="earliest deadline among those that can still be met, the others last",
                    target="flowsched_gym.systems.artemis.policies:FeasibleFirst",
                ),
            ),
        ),
    ),
)
"""What the registry knows of Artemis."""
