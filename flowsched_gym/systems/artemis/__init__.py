"""Artemis: a destination grants tokens to flows with deadlines."""

from typing import Final

from flowsched_gym.systems import NOTHING, SEARCH, Ability, EnvironmentSpec, PolicySpec, SystemSpec, policies_of

__all__ = ["SYSTEM"]

QUEUE: Final[dict[str, dict[str, tuple[dict[str, object], Ability]]]] = {
    "queue": {"visible": ({}, NOTHING), "whole": ({"f": 10_000}, Ability.of(("grant any request",)))}
}
"""Which requests a rule ranks. The thesis says of its agent alone that it sees f of them (section 4.1.2)."""

IN_TIME: Final[dict[str, str]] = {
    "transmissions": "transmissions that count as time left, 3",
    "slot_ms": "ms for each older request, 2",
    "target_ms": "time left, so counted, that is the most urgent, in ms, 0",
    "margin_transmissions": "transmissions that a request needs to be in time, 3",
    "margin_ms": "ms that it needs besides, 0",
    "youngest": "whether the youngest is granted where none can be in time, and not the smallest, false",
}
IN_TIME_RANGES: Final[dict[str, tuple[float, float, float]]] = {
    "transmissions": (0.0, 3.0, 12.0),
    "slot_ms": (0.0, 2.0, 10.0),
    "target_ms": (0.0, 0.0, 20.0),
    "margin_transmissions": (0.0, 3.0, 20.0),
    "margin_ms": (-40.0, 0.0, 20.0),
}
"""Options of the rules of `flowsched_gym.systems.artemis.in_time`, and what a search tries."""

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
            workloads=("gather-heavy", "gather-a1", "gather-a2"),
            baselines=("edf", "feasible-first"),
            bounded=True,
            planners=SEARCH,
            metric="deadline_hit_ratio",
            heuristic_kwargs={"observation": "full"},
            ability=Ability.of(("grant",), ("sizes", "deadlines")),
            abilities={
                "observation": {
                    "request": Ability.of(information=("load",)),
                    "full": Ability.of(information=("ages", "load")),
                },
                "defer": {"wait": Ability.of(actions=("wait",)), "to-back": Ability.of(actions=("postpone",))},
            },
            policies=(
                *policies_of(
                    "flowsched_gym.envs.policies",
                    {
                        "random": ("RandomSlot", "any visible request", ()),
                        "fifo": ("FirstSlot", "first in, first out: the oldest request", ()),
                        "lifo": ("LastSlot", "last in, first out: the youngest visible request", ()),
                    },
                    actions=("grant",),
                ),
                *policies_of(
                    "flowsched_gym.envs.policies",
                    {
                        "edf": ("EarliestDeadline", "earliest deadline first", ("deadlines", "ages")),
                        "ssdf": ("SmallestRatio", "smallest size-deadline ratio first", ("sizes", "deadlines")),
                        "lsdf": ("LargestRatio", "largest size-deadline ratio first", ("sizes", "deadlines")),
                        "sjf": ("SmallestSize", "smallest flow first", ("sizes",)),
                        "least-slack": ("LeastSlack", "least slack first", ("sizes", "deadlines", "ages")),
                    },
                    actions=("grant",),
                    options={"queue": "the requests among which it chooses: visible, or whole, visible"},
                    settings=QUEUE,
                ),
                PolicySpec(
                    name="feasible-first",
                    description="earliest deadline among those that can still be met, the others last",
                    target="flowsched_gym.systems.artemis.policies:FeasibleFirst",
                    ability=Ability.of(("grant",), ("sizes", "deadlines", "ages")),
                ),
                PolicySpec(
                    name="skip-late",
                    description="grants as its base does among requests with some slack, else the smallest request",
                    target="flowsched_gym.systems.artemis.policies:SkipLate",
                    options={
                        "base": "the rule that chooses what is granted, fifo",
                        "margin_ms": "slack in ms below which a request is late, 5",
                    },
                    ability=Ability.of(("grant",), ("sizes", "deadlines", "ages")),
                    base="fifo",
                    ranges={"margin_ms": (0.0, 5.0, 20.0)},
                ),
                PolicySpec(
                    name="in-time",
                    description="the most urgent of the requests that can still be in time, by tuned numbers",
                    target="flowsched_gym.systems.artemis.in_time:InTime",
                    options=IN_TIME,
                    ability=Ability.of(("grant",), ("sizes", "deadlines", "ages")),
                    ranges=IN_TIME_RANGES,
                ),
                PolicySpec(
                    name="paced-in-time",
                    description="does so, and lets the destination wait while enough is being sent",
                    target="flowsched_gym.systems.artemis.in_time:PacedInTime",
                    options={
                        **IN_TIME,
                        "active": "flows from which on it waits, 7.5",
                        "flight_kb": "KB still to be sent that count as one more, 300",
                        "waiting": "flows that each waiting request counts less, 0.33",
                    },
                    requires={"defer": "wait"},
                    ability=Ability.of(("grant", "wait"), ("sizes", "deadlines", "ages", "load")),
                    ranges={
                        **IN_TIME_RANGES,
                        "active": (1.0, 7.5, 20.0),
                        "flight_kb": (50.0, 300.0, 3000.0),
                        "waiting": (0.0, 0.33, 2.0),
                    },
                ),
                PolicySpec(
                    name="postpone-in-time",
                    description="does so, and sends late requests to the back of the queue",
                    target="flowsched_gym.systems.artemis.in_time:PostponeInTime",
                    options={
                        **IN_TIME,
                        "back_transmissions": "transmissions below which a request is late, 3",
                        "back_ms": "ms below which it is late besides, 0",
                    },
                    requires={"defer": "to-back"},
                    ability=Ability.of(("grant", "postpone"), ("sizes", "deadlines", "ages", "load")),
                    ranges={**IN_TIME_RANGES, "back_transmissions": (0.0, 3.0, 12.0), "back_ms": (-20.0, 0.0, 20.0)},
                ),
                PolicySpec(
                    name="paced",
                    description="lets the destination wait while enough flows are active, else grants as its base does",
                    target="flowsched_gym.systems.artemis.policies:Paced",
                    options={
                        "base": "the rule that chooses what is granted, lifo",
                        "active": "flows that are active at most, 5",
                    },
                    requires={"defer": "wait"},
                    ability=Ability.of(("grant", "wait"), ("load",)),
                    base="lifo",
                    ranges={"active": (1, 5, 20)},
                ),
                PolicySpec(
                    name="postpone-late",
                    description="sends requests with little slack to the back, grants the others as its base would",
                    target="flowsched_gym.systems.artemis.policies:PostponeLate",
                    options={
                        "base": "the rule that chooses what is granted, fifo",
                        "margin_ms": "slack in ms below which a request is sent to the back, 5",
                    },
                    requires={"defer": "to-back"},
                    ability=Ability.of(("grant", "postpone"), ("sizes", "deadlines", "ages", "load")),
                    base="fifo",
                    ranges={"margin_ms": (0.0, 5.0, 20.0)},
                ),
            ),
        ),
    ),
)
