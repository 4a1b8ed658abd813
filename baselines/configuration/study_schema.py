"""Search spaces of studies: files that name settings of a training, with a range or a list of values each.

A file, by its name in ``configs/sweep/study/`` or its path::

    space:
      algorithm.learning_rate: {low: 1.0e-4, high: 1.0e-2, log: true}
      algorithm.n_epochs: {low: 1, high: 8}          # whole numbers where both ends are
      algorithm.gamma: {values: [0.9, 0.95, 0.99]}
    seeds: [0, 1]          # training seeds of each trial, whose mean counts; default: the seed of the command line
    startup_trials: 10     # drawn at random before the first one is proposed
    prune: true            # whether trials below the median of the earlier ones are stopped

A range may have a ``step`` between its values, unless it is searched on a logarithmic scale (``log``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.files import check_yaml

STUDIES: Final = resources.files("flowsched_gym.configs").joinpath("sweep/study")
SUFFIX: Final = ".yaml"
LARGEST_SEED: Final = 2**32 - 1
CHOICES: Final = (bool, int, float, str)

Distribution = CategoricalDistribution | FloatDistribution | IntDistribution
Kinds = Mapping[str, tuple[tuple[type, ...], str]]
"""Types of the values of a mapping, and what a message calls them, by key."""
OF_STUDY: Final[Kinds] = {
    "space": ((dict,), "a mapping of settings"),
    "seeds": ((list,), "a list"),
    "startup_trials": ((int,), "an integer >= 1"),
    "prune": ((bool,), "true or false"),
}
NUMBER: Final = ((int, float), "a finite number")
OF_DIMENSION: Final[Kinds] = {
    **{"low": NUMBER, "high": NUMBER, "step": NUMBER},
    "log": ((bool,), "true or false"),
    "values": ((list,), "a list"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpace:
    """The search space of a study.

    Attributes:
        space: What is searched of each setting, by name (``algorithm.gamma``), at least one.
        seeds: Training seeds of each trial; empty for that of the command line.
        startup_trials: Trials drawn at random before the first one is proposed, >= 1.
        prune: Whether trials below the median of the earlier ones are stopped.
    """

    space: Mapping[str, Distribution]
    seeds: tuple[int, ...] = ()
    startup_trials: int = 10
    prune: bool = True

    def __post_init__(self) -> None:
        if not self.space:
            raise ConfigError("space is empty: a study searches at least one setting")
        for seed in self.seeds:
            if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
                raise ConfigError(f"seeds has {shown(seed)}: a seed is an integer in [0, {LARGEST_SEED}]")
        if self.startup_trials < 1:
            raise ConfigError(f"startup_trials is {self.startup_trials}: it must be an integer >= 1")


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
        known = _checked(yaml.safe_load(text), "", OF_STUDY)
        space = {str(key): _distribution(f"space.{key}", value) for key, value in known.pop("space", {}).items()}
        return StudySpace(space=space, seeds=tuple(known.pop("seeds", ())), **known)
    except (ConfigError, yaml.YAMLError) as error:
        raise ConfigError(f"study {study}: {' '.join(str(error).split())}") from None


def _distribution(name: str, content: object) -> Distribution:
    """Reads what is searched of a setting; Optuna checks that there is a range."""
    known = _checked(content, name, OF_DIMENSION)
    if set(known) != {"values"} and ("values" in known or not {"low", "high"} <= set(known)):
        raise ConfigError(f"{name} is {shown(content)}: it must have low and high, or values alone")
    if not all(type(value) in CHOICES for value in known.get("values", ())):
        raise ConfigError(f"{name}.values is {shown(known['values'])}: it must have numbers and names")
    try:
        if "values" in known:
            return CategoricalDistribution(known["values"])
        whole = type(known["low"]) is type(known["high"]) is int
        return IntDistribution(**known) if whole else FloatDistribution(**known)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None


def _checked(content: object, name: str, kinds: Kinds) -> dict[str, Any]:
    """Returns a mapping whose keys are all known, and whose values are of their types."""
    if not isinstance(content, Mapping):
        raise ConfigError(f"{name or 'the file'} is {shown(content)}: it must be a mapping with {', '.join(kinds)}")
    for key, value in content.items():
        if key not in kinds:
            raise ConfigError(f"{name or 'the file'} has no key {shown(key)}: it has {listed(str(key), kinds)}")
        types, wanted = kinds[key]
        if type(value) not in types or (type(value) is float and not math.isfinite(value)):
            raise ConfigError(f"{f'{name}.{key}'.lstrip('.')} is {shown(value)}: it must be {wanted}")
    return dict(content)
