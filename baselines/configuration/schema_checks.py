"""Refuses values of a configuration that are out of their range, in one line that names them."""

from flowsched_gym.errors import ConfigError
from flowsched_gym.suggestions import listed

__all__ = ["check_member", "check_range"]


def check_range(group: str, config: object, **ranges: tuple[float | None, float | None]) -> None:
    """Refuses numbers outside their ranges, ends included."""
    for name, (least, most) in ranges.items():
        value = getattr(config, name)
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            allowed = f">= {least}" if most is None else f"in [{least}, {most}]"
            raise ConfigError(f"{group + '.' if group else ''}{name} is {value}: it must be {allowed}")


def check_member(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuses a word that is none of those allowed."""
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}: it must be one of {listed(value, allowed)}")
