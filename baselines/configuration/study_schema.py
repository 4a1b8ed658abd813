"""Search spaces of studies: files that name settings of a training, with a range or a list of values each.

A file, by its name in ``configs/sweep/study/`` or its path::

    space:
      algorithm.learning_rate: {low: 1.0e-4, high: 1.0e-2, log: true}
      algorithm.n_epochs: {low: 1, high: 8}          # whole numbers where both ends are
      algorithm.gamma: {values: [0.9, 0.95, 0.99]}
    seeds: [0, 1]          # training seeds of each trial, whose mean counts; default: the seed of the command line
    startup_trials: 10     # drawn at random before the first one is proposed
    prune: true            # whether trials below the median of the earlier ones are stopped
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.files import check_yaml

STUDIES: Final = resources.files("flowsched_gym.configs").joinpath("sweep/study")
SUFFIX: Final = ".yaml"
Choice = bool | int | float | str
LARGEST_SEED: Final = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A setting that is searched: a range, or a list of values.

    Attributes:
        key: Its name, such as ``algorithm.gamma``.
        low: Least value.
        high: Largest value.
        log: Whether the range is searched on a logarithmic scale.
        step: Distance between two values; ``None`` for all of the range, and for 1 between whole numbers.
        values: What there is to choose from, in the place of a range.
    """

    key: str
    low: int | float | None = None
    high: int | float | None = None
    log: bool = False
    step: int | float | None = None
    values: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.log, bool):
            raise ConfigError(f"space.{self.key}.log is {shown(self.log)}: it must be true or false")
        if self.values:
            if not all(isinstance(value, Choice) for value in self.values):
                raise ConfigError(f"space.{self.key}.values is {shown(self.values)}: it must hold numbers and names")
            if (self.low, self.high, self.step, self.log) != (None, None, None, False):
                raise ConfigError(f"space.{self.key} has values and a range: it must have one of them")
            return
        for name in ("low", "high", "step"):
            value = getattr(self, name)
            if (value is not None or name != "step") and (
                isinstance(value, bool) or not isinstance(value, (int, float))
            ):
                raise ConfigError(f"space.{self.key}.{name} is {shown(value)}: it must be a number")
        assert self.low is not None
        assert self.high is not None
        if not self.low < self.high:
            raise ConfigError(f"space.{self.key}.low is {self.low}: it must be below high, {self.high}")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ConfigError(f"space.{self.key}.log is true: low must be above 0, and there must be no step")
        if self.step is not None and self.step <= 0:
            raise ConfigError(f"space.{self.key}.step is {self.step}: it must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpace:
    """The search space of a study.

    Attributes:
        space: The settings that are searched, at least one.
        seeds: Training seeds of each trial; empty for that of the command line.
        startup_trials: Trials drawn at random before the first one is proposed, >= 1.
        prune: Whether trials below the median of the earlier ones are stopped.
    """

    space: tuple[Dimension, ...]
    seeds: tuple[int, ...] = ()
    startup_trials: int = 10
    prune: bool = True

    def __post_init__(self) -> None:
        if not self.space:
            raise ConfigError("space is empty: a study searches at least one setting")
        for seed in self.seeds:
            if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
                raise ConfigError(f"seeds has {shown(seed)}: a seed is an integer in [0, {LARGEST_SEED}]")
        trials = self.startup_trials
        if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
            raise ConfigError(f"startup_trials is {shown(trials)}: it must be an integer >= 1")
        if not isinstance(self.prune, bool):
            raise ConfigError(f"prune is {shown(self.prune)}: it must be true or false")


def read_study(study: str) -> StudySpace:
    """Reads a search space by its name, or by the path of its file.

    Raises:
        ConfigError: There is none, or it is not as described above.
        OSError: The file cannot be read.
    """
    if study.endswith(SUFFIX):
        text = Path(study).read_text(encoding="utf-8")
    else:
        names = [file.name.removesuffix(SUFFIX) for file in STUDIES.iterdir()]
        if study not in names:
            raise ConfigError(
                f"study is {study!r}: it must be a file ending in {SUFFIX}, or one of {listed(study, names)}"
            )
        text = STUDIES.joinpath(study + SUFFIX).read_text(encoding="utf-8")
    try:
        check_yaml(text)
        return _space(yaml.safe_load(text))
    except (ConfigError, yaml.YAMLError) as error:
        raise ConfigError(f"study {study}: {' '.join(str(error).split())}") from None


def _space(content: object) -> StudySpace:
    known = _checked(content, "the file", StudySpace)
    space = known.get("space")
    if not isinstance(space, Mapping):
        raise ConfigError(f"space is {shown(space)}: it must be a mapping of settings")
    dimensions = []
    for key, dimension in space.items():
        given = _checked(dimension, f"space.{key}", Dimension)
        dimensions.append(Dimension(**{**given, "key": str(key), "values": _several(f"space.{key}.values", given)}))
    seeds = _several("seeds", known)
    return StudySpace(**{**known, "space": tuple(dimensions), "seeds": seeds})


def _checked(content: object, name: str, schema: type) -> dict[str, Any]:
    """Returns a mapping whose keys are all known."""
    names = [field.name for field in fields(schema) if field.name != "key"]
    if not isinstance(content, Mapping):
        raise ConfigError(f"{name} is {shown(content)}: it must be a mapping with {', '.join(names)}")
    for key in content:
        if key not in names:
            raise ConfigError(f"{name} has no key {shown(key)}: it has {listed(str(key), names)}")
    return {str(key): value for key, value in content.items()}


def _several(name: str, given: Mapping[str, Any]) -> tuple[Any, ...]:
    values = given.get(name.rpartition(".")[2], [])
    if not isinstance(values, list):
        raise ConfigError(f"{name} is {shown(values)}: it must be a list")
    return tuple(values)
