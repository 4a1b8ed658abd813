"""The systems, one folder each, and what they hand to the registry.

Targets are strings, so that reading a spec imports nothing heavy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple, Self

__all__ = [
    "NOTHING",
    "OPTIONS",
    "SAME_LEVEL",
    "SEARCH",
    "Ability",
    "Action",
    "EnvironmentSpec",
    "Information",
    "PolicySpec",
    "SystemSpec",
    "policies_of",
]
__dir__ = partial(sorted, __all__)


class Action(StrEnum):
    """Kinds of actions of policies; ``all`` are those of the bound."""

    GRANT = "grant"
    GRANT_ANY = "grant any request"
    """Those behind the visible ones too."""
    WAIT = "wait"
    POSTPONE = "postpone"
    ORDER = "order"
    PATH = "path"
    QUEUE = "queue"
    RATE = "rate"
    THRESHOLDS = "thresholds"
    ALL = "all"


class Information(StrEnum):
    """Kinds of information that policies use.

    ``traffic`` is the distribution of sizes and the load, known beforehand or learned in training; ``changes`` tells at
    once that these are others now.
    """

    SIZES = "sizes"
    DEADLINES = "deadlines"
    AGES = "ages"
    LOAD = "load"
    BYTES_LEFT = "bytes left"
    BYTES_SENT = "bytes sent"
    SLOWDOWNS = "slowdowns"
    RATES = "rates"
    PATHS = "paths"
    QUEUES = "queues"
    LINK_LOADS = "link loads"
    FORECASTS = "forecasts"
    ACTIVE_FLOWS = "active flows"
    FINISHED_FLOWS = "finished flows"
    FINISHED_TASKS = "finished tasks"
    FINISHED_MESSAGES = "finished messages"
    TRAFFIC = "traffic"
    CHANGES = "changes"
    DRAWN_FUTURES = "drawn futures"
    FUTURE = "the future"


class Ability(NamedTuple):
    """What a policy may do, and what it knows; two policies are compared fairly where both are the same."""

    actions: tuple[Action, ...] = ()
    information: tuple[Information, ...] = ()

    @classmethod
    def of(cls, actions: Iterable[str] = (), information: Iterable[str] = ()) -> Self:
        """Makes one of the values of both enumerations; any other text is a ``ValueError``."""
        return cls(tuple(map(Action, actions)), tuple(map(Information, information)))

    @property
    def words(self) -> tuple[str, str]:
        """Actions and information as tables write them."""
        return ", ".join(self.actions) or "none", ", ".join(self.information) or "none"

    def covers(self, other: "Ability") -> bool:
        """Returns whether all of another policy's actions and information are among these."""
        return set(other.actions) <= set(self.actions) and set(other.information) <= set(self.information)

    def __add__(self, other: "Ability") -> "Ability":  # type: ignore[override]  # not a longer tuple
        return Ability(
            tuple(dict.fromkeys(self.actions + other.actions)),
            tuple(dict.fromkeys(self.information + other.information)),
        )


NOTHING: Final = Ability()
"""No action, and no information."""
OPTIONS: Final = ":"
"""What stands between the name of a policy and its options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySpec:
    """A heuristic policy.

    Attributes:
        name: Name on the command line.
        description: What it does, in one phrase.
        target: ``module:Class``; the class has ``for_env``.
        options: What ``name:key=value,key=value`` may set, by key: what it means and its default, in one phrase.
        settings: Options that are the environment's: by key and value the arguments that they stand for, and actions
            that these add.
        requires: Arguments without which the environment does not offer the policy's actions.
        ability: Its actions, and the information that it uses.
        base: Name of the policy that it goes on by, unless an option says otherwise.
        ranges: Options that are tuned, with the least number that is tried, the default and the largest.
    """

    name: str
    description: str
    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, tuple[Mapping[str, object], Ability]]] = field(default_factory=dict)
    requires: Mapping[str, object] = field(default_factory=dict)
    ability: Ability = NOTHING
    base: str | None = None
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)


def policies_of(
    module: str, policies: Mapping[str, tuple[str, str, tuple[str, ...]]], *, actions: tuple[str, ...], **common: Any
) -> tuple[PolicySpec, ...]:
    """Lists policies that take the same actions: by name, the class, what it does and what it knows.

    Further arguments are those of `PolicySpec`, for all of them.

    Classes that are not given as ``module:Class`` are in ``module``.
    """
    return tuple(
        PolicySpec(
            name=name,
            description=description,
            target=kind if ":" in kind else f"{module}:{kind}",
            ability=Ability.of(actions, information),
            **common,
        )
        for name, (kind, description, information) in policies.items()
    )


SEARCH: Final = (
    PolicySpec(
        name="search",
        description="the best visible choice in rollouts under a heuristic, over sampled futures",
        target="flowsched_gym.search:Search",
        options={
            "base": "the policy that completes each rollout, a heuristic or a trained model (.zip)",
            "futures": "futures of the first round, 1",
            "rounds": "rounds, each with twice as many new futures as the one before, 3",
            "lookahead": "flows still to arrive in each future, 30",
            "clairvoyant": "whether the only future is the true one, false",
        },
    ),
)
"""The planner of environments in which an agent chooses among slots."""


SAME_LEVEL: Final = PolicySpec(
    name="same",
    description="one number for every threshold, always: a constant that is tuned",
    target="flowsched_gym.envs.policies.thresholds:SameLevel",
    options={"level": "the number, -1 to 1, 0"},
    ability=Ability.of(("thresholds",), ("traffic",)),
    ranges={"level": (-1.0, 0.0, 1.0)},
)
"""The simplest rule of environments in which an agent sets thresholds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """An environment.

    Attributes:
        id: Gymnasium id, ``flowsched/<Name>-v0``.
        entry_point, config: ``module:Class`` of the single environment, and of the frozen dataclass of its arguments.
        workloads: Names of the workloads that its tables are made for.
        policies: Heuristics that act on it.
        baselines: Names of those that a training is compared with on the way; search follows the last one.
        vector_entry_point: ``module:Class`` of the native vector environment, if there is one.
        bounded: Whether its flows have deadlines, so that a clairvoyant bound stands beside its policies.
        metric: Metric of an episode that policies are compared by (`flowsched_gym.flows.metrics.Metrics`).
        planners: Policies that try their choices on copies of the environment. They are far slower than heuristics,
            and play only where they are named.
        ability: What every agent may do, and is told.
        abilities: What values of arguments add to that, by argument and value.
        trained: What an agent knows besides when it has been trained.
        heuristic_kwargs: Arguments that let heuristics see all that they may need, in place of an agent's own. They
            change what is told, never what happens.
    """

    id: str
    description: str
    entry_point: str
    config: str
    workloads: tuple[str, ...]
    policies: tuple[PolicySpec, ...]
    baselines: tuple[str, ...] = ()
    vector_entry_point: str | None = None
    bounded: bool = False
    metric: str = "mean_slowdown"
    planners: tuple[PolicySpec, ...] = ()
    ability: Ability = NOTHING
    abilities: Mapping[str, Mapping[str, Ability]] = field(default_factory=dict)
    trained: Ability = NOTHING
    heuristic_kwargs: Mapping[str, object] = field(default_factory=dict)

    @property
    def heuristics(self) -> list[str]:
        """Names of its heuristics."""
        return [policy.name for policy in self.policies]

    @property
    def named_policies(self) -> dict[str, PolicySpec]:
        """Its heuristics, then its planners, by name."""
        return {policy.name: policy for policy in (*self.policies, *self.planners)}

    def names(self, policy: str) -> bool:
        """Returns whether a policy is one of its heuristics or planners, with options or without."""
        return policy.partition(OPTIONS)[0] in self.named_policies

    def plans(self, policy: str) -> bool:
        """Returns whether a policy is one of its planners, with options or without."""
        return policy.partition(OPTIONS)[0] in {planner.name for planner in self.planners}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSpec:
    """A system: name of its folder, what it is in one phrase, where it was published, and its environments."""

    name: str
    title: str
    paper: str
    environments: tuple[EnvironmentSpec, ...]
