"""Schemas of the policy networks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flowsched_gym.baselines.configuration.schema_checks import CheckedConfig, bounded, check_member, is_number
from flowsched_gym.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class PolicyConfig(CheckedConfig):
    """Settings of a policy network."""

    GROUP: ClassVar[str] = "policy."


@dataclass(frozen=True, kw_only=True)
class FlatConfig(PolicyConfig):
    """Settings of perceptrons on the whole observation.

    Attributes:
        shared: Widths of the hidden layers that actor and critic share.
        separate: Widths of the hidden layers that each of them has behind these.
        activation: ``tanh`` or ``relu``.
        start: Action that training starts with, for actions of numbers: the numbers, or the name of a heuristic whose
            first action it is; ``None`` for what a new network does.
        start_std: Standard deviation of the actions drawn at the start, for actions of numbers, before they are
            squashed, if they are; ``None`` for what a new network has.
    """

    shared: list[int] = field(default_factory=list)
    separate: list[int] = field(default_factory=lambda: [128, 128])
    activation: str = "tanh"
    start: Any = None
    start_std: float | None = None

    def __post_init__(self) -> None:
        _check_widths(self, "shared", "separate")
        check_member("policy.activation", self.activation, ("tanh", "relu"))
        _check_start(self.start)
        if self.start_std is not None and not 0 < self.start_std < math.inf:
            raise ConfigError(f"policy.start_std is {self.start_std}: it must be a finite number > 0")


@dataclass(frozen=True, kw_only=True)
class SetwiseConfig(PolicyConfig):
    """Settings of one network that all slots share (`setwise`).

    Attributes:
        width: Width of all layers.
        num_blocks: Rounds in which each slot reads a summary of all.
        standardise: Whether the network reads how far each column is from its mean, in standard deviations.
    """

    width: int = bounded(32, 1)
    num_blocks: int = bounded(1, 0)
    standardise: bool = False


@dataclass(frozen=True, kw_only=True)
class PathwiseConfig(PolicyConfig):
    """Settings of one network that all slots and all paths of long flows share (`pathwise`).

    Attributes:
        width: Width of all layers.
    """

    width: int = bounded(32, 1)


@dataclass(frozen=True, kw_only=True)
class WeightsConfig(PolicyConfig):
    """Settings of a policy of a few weights (`flowsched_gym.envs.policies.scores`), for evolution.

    Attributes:
        width: Hidden units of a network beside the linear score of slots; 0 for none.
        constant: Whether actions of numbers are constants, whatever is observed.
        start: Where the search begins: as for perceptrons, or weights of columns in a score, ``{size: -20}``, with
            the action before those of another kind than the first, ``postpone.slack``; ``None`` for zeros.
        rule: Rule of the environment whose choice is one more column of slots, ``rule``; ``None`` for none.
    """

    width: int = bounded(0, 0)
    rule: str | None = None
    constant: bool = False
    start: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.start, Mapping):
            _check_start(self.start)
        elif not all(is_number(weight) for weight in self.start.values()):
            raise ConfigError(f"policy.start is {self.start!r}: weights of columns must be finite numbers")


@dataclass(frozen=True, kw_only=True)
class AutoConfig(PolicyConfig):
    """Settings of the networks of AuTO's threshold agent (`auto_networks`), for DDPG and TD3.

    Attributes:
        actor: Widths of the actor's hidden layers.
        critic: Widths of the critic's hidden layers; the action is joined before the last one.
        start: As for perceptrons.
    """

    actor: list[int] = field(default_factory=lambda: [600, 600])
    critic: list[int] = field(default_factory=lambda: [600, 600, 600])
    start: Any = None

    def __post_init__(self) -> None:
        _check_widths(self, "actor", "critic")
        if not self.critic:
            raise ConfigError("policy.critic is []: the action is joined before the last layer, so there must be one")
        _check_start(self.start)


def _check_widths(config: object, *names: str) -> None:
    for name in names:
        widths = getattr(config, name)
        if any(width < 1 for width in widths):
            raise ConfigError(f"policy.{name} is {list(widths)}: widths must be >= 1")


def _check_start(start: object) -> None:
    numbers = isinstance(start, Sequence) and all(map(is_number, start))
    if not (start is None or isinstance(start, str) or (numbers and start)):
        raise ConfigError(f"policy.start is {start!r}: it must be finite numbers, the name of a heuristic, or null")
