"""Checks of configuration values, with one-line messages that name them."""

import math
from dataclasses import field, fields
from typing import Any, ClassVar

from flowsched_gym.core.errors import ConfigError, listed


def bounded(default: float | None, least: float, most: float | None = None) -> Any:
    """Returns a finite field of a ``CheckedConfig`` with a lower and, unless None, an upper bound, both inclusive."""
    return field(default=default, metadata={"bounds": (least, most)})


class CheckedConfig:
    """A dataclass that checks its ``bounded`` fields; ``GROUP`` begins their names in messages."""

    GROUP: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            if "bounds" in each.metadata and (value := getattr(self, each.name)) is not None:
                least, most = each.metadata["bounds"]
                if not value >= least or value == math.inf or (most is not None and not value <= most):
                    finite = "finite and " * (value == math.inf)
                    allowed = f"{finite}>= {least}" if most is None else f"in [{least}, {most}]"
                    raise ConfigError(f"{self.GROUP}{each.name} is {value}: it must be {allowed}")


def check_member(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuses a word that is none of those allowed."""
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}: it must be one of {listed(value, allowed)}")


def is_number(value: object) -> bool:
    """Returns whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -math.inf < value < math.inf
