"""Result files: one per policy, environment and arguments, written whole and read with checks.

A result file is one JSON object::

    schema           "flowsched-result/1"
    environment      id, or "disciplines/<topology>" for a discipline without an environment
    kwargs           arguments of the environment, by name; a user's own workload as the mapping that describes it
    policy           name of the policy, "<name>-discipline" for one that acts inside the network, or of the bound
    command          command line that gave it, null where it was called from Python
    package_version  version of flowsched-gym
    episodes         seed, num_decisions and reward: one list each, one value per episode; metrics: one such list for
                     each metric, by name; null where a value is not defined
    intervals        per metric: mean, low, high, confidence, num_samples (null where not known)

Numbers are written with all their digits, so that a file read back gives the same result bit by bit.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.errors import ConfigError, shown
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.evaluation.statistics import Interval, bootstrap_interval, bootstrap_intervals
from flowsched_gym.evaluation.texts import check_name, check_printable
from flowsched_gym.files import check_path, read_json, write_text
from flowsched_gym.registration import check_arguments
from flowsched_gym.suggestions import listed
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import plain_variant, workload_label

__all__ = ["SCHEMA", "EvaluationResult", "read_result", "result_name", "write_json", "write_result"]

DIGEST_SIZE: Final = 4
"""Bytes of the digest that tells a user's own workloads apart in file names."""
SCHEMA: Final = "flowsched-result/1"

FIELDS: Final = {
    "schema": str,
    "environment": str,
    "kwargs": dict,
    "policy": str,
    "command": (str, type(None)),
    "package_version": str,
    "episodes": dict,
    "intervals": dict,
}
"""Keys of a result file and the types of their values."""
EPISODE_FIELDS: Final = {"seed": list, "num_decisions": list, "reward": list, "metrics": dict}
"""Keys of the episodes and the types of their values."""
DISCIPLINES: Final = "disciplines"
"""Prefix of the topology where disciplines played without an environment."""
EXPANDED_LEVELS: Final = 3
"""Nested objects that a JSON document is laid out over lines for; what lies deeper stands on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """The episodes of one policy on one environment.

    Attributes:
        environment: Id of the environment.
        kwargs: Arguments that it was made with.
        policy: Name of the policy.
        command: Command line, where there was one.
        package_version: Version of the package.
        episodes: Episodes, in the order of their seeds; each seed once.

    Raises:
        ConfigError: A name has characters that could be more than text, there is no episode, a seed occurs twice, the
            episodes differ in their metrics, or a user's own workload is not allowed.
    """

    environment: str
    kwargs: Mapping[str, object] = field(default_factory=dict)
    policy: str
    command: str | None = None
    package_version: str
    episodes: tuple[EpisodeResult, ...]

    def __post_init__(self) -> None:
        check_name("policy", self.policy)
        check_name("package_version", self.package_version)
        for value in (self.environment, self.command or "", *self.kwargs):
            check_printable("the result", value)
        workload = self.kwargs.get("workload")
        if isinstance(workload, Mapping):
            object.__setattr__(self, "kwargs", {**self.kwargs, "workload": plain_variant(workload)})
        if not self.episodes:
            raise ConfigError(f"the result of {self.policy} has no episode: it needs at least one")
        seeds = [episode.seed for episode in self.episodes]
        if len(set(seeds)) < len(seeds):
            twice = next(seed for seed in seeds if seeds.count(seed) > 1)
            raise ConfigError(f"the result of {self.policy} has the seed {twice} twice: episodes must differ")
        for episode in self.episodes:
            if list(episode.metrics) != self.metric_names:
                raise ConfigError(f"episode {episode.seed} of {self.policy} has other metrics than the first one")

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics."""
        return list(self.episodes[0].metrics)

    @property
    def seeds(self) -> list[int]:
        """Seeds of the episodes, in order."""
        return [episode.seed for episode in self.episodes]

    def values(self, metric: str) -> FloatArray:
        """Returns a metric of every episode, (num_episodes,); ``reward`` is one too.

        Raises:
            ConfigError: There is no such metric.
        """
        if metric == "reward":
            return np.array([episode.reward for episode in self.episodes])
        if metric not in self.metric_names:
            raise ConfigError(f"metric is {metric!r}: it must be reward or one of {listed(metric, self.metric_names)}")
        return np.array([episode.metrics[metric] for episode in self.episodes])

    def interval(self, metric: str) -> Interval:
        """Returns the mean of a metric over the episodes, with its interval.

        Raises:
            ConfigError: There is no such metric.
        """
        return bootstrap_interval(self.values(metric))

    def intervals(self) -> dict[str, Interval]:
        """Returns the intervals of the reward and all metrics."""
        return bootstrap_intervals({name: self.values(name) for name in ("reward", *self.metric_names)})

    def as_dict(self) -> dict[str, object]:
        """Returns the content of the result file.

        Raises:
            ConfigError: An argument of the environment cannot be written, such as a ``Workload`` made in Python.
        """
        return {
            "schema": SCHEMA,
            "environment": self.environment,
            "kwargs": {key: _writable(key, value) for key, value in sorted(self.kwargs.items())},
            "policy": self.policy,
            "command": self.command,
            "package_version": self.package_version,
            "episodes": {
                "seed": self.seeds,
                "num_decisions": [episode.num_decisions for episode in self.episodes],
                "reward": [_nan_to_null(episode.reward) for episode in self.episodes],
                "metrics": {
                    name: [_nan_to_null(episode.metrics[name]) for episode in self.episodes]
                    for name in self.metric_names
                },
            },
            "intervals": {
                name: {
                    "mean": _nan_to_null(interval.mean),
                    "low": _nan_to_null(interval.low),
                    "high": _nan_to_null(interval.high),
                    "confidence": interval.confidence,
                    "num_samples": interval.num_samples,
                }
                for name, interval in self.intervals().items()
            },
        }


def result_name(environment: str, kwargs: Mapping[str, object], policy: str) -> str:
    """Returns the file name of a result, such as ``artemis-v0_k-3_workload-gather-heavy_edf.json``."""
    parts = [environment.rpartition("/")[2], *(f"{key}-{_short(kwargs[key])}" for key in sorted(kwargs)), policy]
    return "_".join(re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-") for part in parts) + ".json"


def write_result(result: EvaluationResult, path: str | Path) -> None:
    """Writes a result file, whole or not at all; missing folders are made.

    Raises:
        ConfigError: An argument of the environment cannot be written.
        OSError: The file cannot be written.
    """
    write_json(result.as_dict(), path)


def write_json(content: object, path: str | Path) -> None:
    """Writes a JSON document, whole or not at all; missing folders are made.

    Raises:
        OSError: The file cannot be written.
    """
    write_text(_lay_out(content, EXPANDED_LEVELS, "") + "\n", path)


def read_result(path: str | Path) -> EvaluationResult:
    """Reads a result file and checks it.

    Raises:
        ConfigError: It is no result file, or its content is not allowed or does not agree with itself; the message
            names the file and the key.
        OSError: The file cannot be read.
    """
    path = check_path("path of a result", path)
    content = read_json(path)
    check_printable(str(path), content)
    _check_keys(path, "the file", content, FIELDS)
    if _names_a_file(content["kwargs"]):
        raise ConfigError(f"{path}: kwargs names a file: a result holds the sizes themselves, not where they lie")
    if content["schema"] != SCHEMA:
        raise ConfigError(f"{path}: schema is {content['schema']!r}: it must be {SCHEMA!r}")
    columns = content["episodes"]
    _check_keys(path, "episodes", columns, EPISODE_FIELDS)
    lists = {key: columns[key] for key in ("seed", "num_decisions", "reward")} | columns["metrics"]
    for name, values in lists.items():
        if not isinstance(values, list) or len(values) != len(columns["seed"]):
            raise ConfigError(f"{path}: episodes, {name} must be a list of {len(columns['seed'])} values, as seed is")
    for name in ("seed", "num_decisions"):
        for value in columns[name]:
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ConfigError(f"{path}: episodes, {name} holds {shown(value)}: it must be an integer >= 0")
    episodes = [
        EpisodeResult(
            seed=seed,
            num_decisions=columns["num_decisions"][row],
            reward=_null_to_nan(path, "reward", columns["reward"][row]),
            metrics={name: _null_to_nan(path, name, values[row]) for name, values in columns["metrics"].items()},
        )
        for row, seed in enumerate(columns["seed"])
    ]
    try:
        _check_environment(content["environment"], content["kwargs"])
        result = EvaluationResult(
            environment=content["environment"],
            kwargs=content["kwargs"],
            policy=content["policy"],
            command=content["command"],
            package_version=content["package_version"],
            episodes=tuple(episodes),
        )
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    _check_intervals(path, content["intervals"], result)
    return result


def _check_environment(name: str, kwargs: Mapping[str, Any]) -> None:
    """Refuses what is no environment with its arguments, nor disciplines on a topology."""
    disciplines, _, topology = name.rpartition("/")
    if disciplines != DISCIPLINES:
        check_arguments(name, kwargs)
    elif topology not in TOPOLOGIES:
        raise ConfigError(f"environment is {shown(name)}: {DISCIPLINES}/ is followed by {listed(topology, TOPOLOGIES)}")


def _check_keys(path: Path, where: str, content: Any, allowed: Mapping[str, Any]) -> None:
    """Refuses an object whose keys or types of values are others."""
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: {where} is {type(content).__name__}: it must be an object")
    for key in content:
        if key not in allowed:
            raise ConfigError(f"{path}: {where} has the key {key!r}: allowed are {listed(key, allowed)}")
    for key, kind in allowed.items():
        if key not in content:
            raise ConfigError(f"{path}: {where} has no {key!r}: it needs {', '.join(allowed)}")
        if isinstance(content[key], bool) or not isinstance(content[key], kind):
            raise ConfigError(f"{path}: {where}, {key} is {shown(content[key])}: it has the wrong type")


def _check_intervals(path: Path, found: Mapping[str, Any], result: EvaluationResult) -> None:
    """Refuses intervals that do not belong to the episodes: a file that was edited by hand."""
    for name in ("reward", *result.metric_names):
        mean = found[name].get("mean") if isinstance(found.get(name), dict) else None
        if mean is not None and (isinstance(mean, bool) or not isinstance(mean, (int, float))):
            raise ConfigError(f"{path}: intervals, {name} has the mean {shown(mean)}: it must be a number or null")
        values = result.values(name)
        known = values[~np.isnan(values)]
        expected = float(known.mean()) if len(known) else None
        agrees = (mean is None) == (expected is None)
        if agrees and mean is not None and expected is not None:
            agrees = math.isclose(mean, expected, rel_tol=1e-9, abs_tol=1e-12)
        if not agrees:
            raise ConfigError(f"{path}: intervals, {name} has the mean {shown(mean)}: the episodes give {expected!r}")


def _writable(key: str, value: object) -> object:
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (list, tuple)):
        return [_writable(key, each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _writable(key, each) for name, each in value.items()}
    raise ConfigError(
        f"argument {key} is a {type(value).__name__}: a result file holds numbers, text, true, false, null, lists and "
        "mappings"
    )


def _short(value: object) -> object:
    """Returns a user's own workload as its name and a digest, other arguments unchanged."""
    if not isinstance(value, Mapping):
        return value
    content = json.dumps(plain_variant(value), sort_keys=True).encode()
    return f"{workload_label(value)}-{hashlib.blake2b(content, digest_size=DIGEST_SIZE).hexdigest()}"


def _nan_to_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _lay_out(value: object, levels: int, indent: str) -> str:
    """Writes JSON with one line for each key of the outer objects, so that files and their changes can be read."""
    if not levels or not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    inner = indent + "  "
    lines = [f"{inner}{json.dumps(key)}: {_lay_out(item, levels - 1, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _null_to_nan(path: Path, where: str, value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < math.inf:
        raise ConfigError(f"{path}: episodes, {where} holds {shown(value)}: it must be a finite number or null")
    try:
        return float(value)
    except OverflowError:
        raise ConfigError(f"{path}: episodes, {where} holds {shown(value)}: it is too large") from None


def _names_a_file(kwargs: object) -> bool:
    """Returns whether a user's own workload names further files: result files may come from anybody."""
    workload = kwargs.get("workload") if isinstance(kwargs, Mapping) else None
    stack: list[object] = [workload] if isinstance(workload, Mapping) else []
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            if value.get("kind") == "cdf-file":
                return True
            stack += value.values()
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, str) and value.endswith(".csv"):
            return True
    return False
