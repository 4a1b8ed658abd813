"""Results of policies on environments: the episodes that they played, and how these were made."""

import os
import platform
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.evaluation.statistics import Interval, bootstrap_interval, bootstrap_intervals
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import read_workload

PACKAGE: Final = "flowsched-gym"
CORE_PACKAGES: Final = (PACKAGE, "gymnasium", "numba", "numpy", "simpy")
MODEL_PACKAGES: Final = ("sb3-contrib", "stable-baselines3", "torch")
"""Packages that the actions of trained models depend on besides."""
NAME: Final = re.compile(r"[\w .,:/+=%()-]{1,200}")
"""Letters, digits, and marks that no format gives a meaning."""
LABEL: Final = re.compile(r"[A-Za-z0-9_ .,:/+=%-]{1,200}")
"""What the name of a policy may have: no letters that look like others, and no brackets, as tables add in some."""
CONTROLS: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control and format characters, surrogates, and ends of lines and paragraphs."""
LINK: Final = re.compile(r"://|www\.", re.IGNORECASE)
"""What makes a link of a plain text."""
OWN_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
"""Name of a policy of one's own in a suite: it becomes part of a file's name."""
RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""What Windows calls no file."""
SIMILAR_LETTERS: Final = str.maketrans("01i2345678q9", "ollzeasgtbgg", "._-")
"""Digits and letters that are taken for others, and marks that are overlooked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """The file of a trained model: its name without the folder, the digest of its content, and its training seed."""

    name: str
    digest: str
    seed: int | None = None

    def __post_init__(self) -> None:
        check_name("the name of a model", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The episodes of a policy, each seed once, in their order: of a heuristic, or of a model from one training."""

    model: ModelFile | None = None
    episodes: tuple[EpisodeResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteReference:
    """The suite that episodes were played in, its name with the version and its digest, and the name of the setting."""

    suite: str
    digest: str
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a result was made, and on what: nothing that another machine would have to repeat.

    Attributes:
        command: Command line; ``None`` where it was made from Python.
        date: Day on which it was made, as year-month-day.
        seconds: Wall time that it took.
    """

    command: str | None = None
    date: str = ""
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    hardware: Mapping[str, str | int] = field(default_factory=dict)

    @classmethod
    def here(cls, *, command: str | None = None, seconds: float = 0.0, with_models: bool = False) -> "Provenance":
        """Describes this machine and what is installed on it, ``with_models`` also what trained models depend on."""
        versions = {"python": platform.python_version()}
        for name in CORE_PACKAGES + MODEL_PACKAGES * with_models:
            try:
                versions[name] = version(name)
            except PackageNotFoundError:  # a checkout that is not installed, or a policy of one's own without torch
                versions[name] = "not installed"
        system = f"{platform.system()} {platform.machine()}"
        return cls(
            command=command,
            date=time.strftime("%Y-%m-%d", time.gmtime()),
            seconds=round(seconds, 1),
            versions=versions,
            hardware={"processor": _processor(), "cores": os.cpu_count() or 0, "system": system},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSeeds:
    """What a policy did on seeds that nobody knew.

    Attributes:
        rule: Name of the rule that played the same episodes.
        differences: By metric, the policy's minus the rule's, (num_runs, num_episodes).
    """

    rule: str
    differences: Mapping[str, FloatArray]

    def interval(self, metric: str) -> Interval:
        """Returns the mean difference, with its interval."""
        return bootstrap_interval(self.differences[metric])


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """The episodes of one policy on one environment, of several trainings for an agent that was trained so.

    Attributes:
        source: What was played: name of a heuristic, ``module:Class``, or path of a model or of a folder of models;
            ``None`` where it was an object.
        runs: One for each training; all of the same episodes.
        reference: ``None`` for episodes of no suite.
        secret: Its mark, where it was verified on secret seeds; no part of its file.
        backed: Whether the models of all its runs are at hand, by their digests; no part of its file.
        spec: What the registry has of the environment.

    Raises:
        ConfigError: There is no such environment, a name has characters that could be more than text, there is no
            episode, a seed occurs twice, the episodes differ in their metrics, runs in their seeds, or a user's own
            workload is not allowed.
    """

    environment: str
    kwargs: Mapping[str, object] = field(default_factory=dict)
    policy: str
    source: str | None = None
    runs: tuple[Run, ...]
    reference: SuiteReference | None = None
    made: Provenance = field(default_factory=Provenance, compare=False)
    secret: SecretSeeds | None = field(default=None, compare=False)
    backed: bool = field(default=False, compare=False)
    spec: EnvironmentSpec = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", find_environment(self.environment))
        check_label("policy", self.policy)
        for value in (self.environment, self.source or "", self.made.command or "", *self.kwargs):
            check_printable("the result", value)
        workload = self.kwargs.get("workload")
        if isinstance(workload, Mapping):
            object.__setattr__(self, "kwargs", {**self.kwargs, "workload": read_workload(workload).plain()})
        if not self.runs or not self.episodes:
            raise ConfigError(f"the result of {self.policy} has no episode: it needs at least one")
        for seed, count in Counter(self.seeds).items():
            if count > 1:
                raise ConfigError(f"the result of {self.policy} has the seed {seed} twice: episodes must differ")
        for run in self.runs:
            if [episode.seed for episode in run.episodes] != self.seeds:
                raise ConfigError(f"a run of {self.policy} has other seeds than the first one: they must be the same")
            for episode in run.episodes:
                if list(episode.metrics) != self.metric_names:
                    raise ConfigError(f"episode {episode.seed} of {self.policy} has other metrics than the first one")

    @property
    def episodes(self) -> tuple[EpisodeResult, ...]:
        """Episodes of the first run."""
        return self.runs[0].episodes

    @property
    def learned(self) -> bool:
        """Whether what played is a trained model."""
        return self.runs[0].model is not None

    @property
    def num_distinct(self) -> int:
        """Number of runs that differ in a metric of some episode; equal ones are one training, however often named."""
        return len(set(map(outcome, self.runs)))

    @property
    def counted(self) -> "EvaluationResult":
        """What a comparison counts: all runs whose models are at hand; of others, equal ones once."""
        if self.backed or self.num_distinct == len(self.runs):
            return self
        return replace(self, runs=tuple({outcome(run): run for run in self.runs[::-1]}.values())[::-1])

    @property
    def has_actions(self) -> bool:
        """Whether all actions are known, from which every number can be computed."""
        return all(episode.actions is not None for run in self.runs for episode in run.episodes)

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics."""
        return list(self.episodes[0].metrics)

    @property
    def seeds(self) -> list[int]:
        """Seeds of the episodes, in order."""
        return [episode.seed for episode in self.episodes]

    def samples(self, metric: str) -> FloatArray:
        """Returns a metric, or ``reward``, of every episode of every run, (num_runs, num_episodes)."""
        if metric == "reward":
            return np.array([[episode.reward for episode in run.episodes] for run in self.runs])
        if metric not in self.metric_names:
            raise ConfigError(f"metric is {metric!r}: it must be reward or one of {listed(metric, self.metric_names)}")
        return np.array([[episode.metrics[metric] for episode in run.episodes] for run in self.runs])

    def values(self, metric: str) -> FloatArray:
        """Returns the mean over the runs of what `samples` returns, of every episode, (num_episodes,)."""
        values: FloatArray = self.samples(metric).mean(axis=0)
        return values

    def interval(self, metric: str) -> Interval:
        """Returns the mean of what `samples` returns, over runs and episodes, with its interval."""
        return bootstrap_interval(self.samples(metric))

    def intervals(self) -> dict[str, Interval]:
        """Returns the intervals of the reward and all metrics."""
        return bootstrap_intervals({name: self.samples(name) for name in ("reward", *self.metric_names)})


def outcome(run: Run) -> str:
    """Returns all metrics of a run as a text that equal runs share, NaN included."""
    return repr([list(episode.metrics.values()) for episode in run.episodes])


def check_name(name: str, value: str) -> None:
    """Refuses a name that Markdown or HTML would read as more than a text, such as a link."""
    if not NAME.fullmatch(value) or not value.isprintable():
        allowed = "letters, digits, spaces and . , : / + = % ( ) _ -"
        raise ConfigError(f"{name} is {shown(value)}: it must have 1 to 200 {allowed}")
    if LINK.search(value):
        raise ConfigError(f"{name} is {shown(value)}: it must not be a link")


def check_label(name: str, value: str) -> None:
    """Refuses a name of a policy that could be taken for another policy's, or for what a table adds to names."""
    check_name(name, value)
    if not LABEL.fullmatch(value) or value != value.strip():
        raise ConfigError(
            f"{name} is {shown(value)}: the name of a policy must have letters from a to z, digits, spaces and "
            ". , : / + = % _ - (--label gives one)"
        )


def check_own_name(name: str, value: str, known: Iterable[str]) -> None:
    """Refuses what a policy of one's own cannot be called in a suite: it names a file, and looks like no known one."""
    if not OWN_NAME.fullmatch(value) or RESERVED.fullmatch(value):
        raise ConfigError(
            f"{name} is {shown(value)}: the name of a policy must have 1 to 64 letters from a to z, digits and . _ -, "
            "begin with a letter or digit, and be no device of Windows (--label gives one)"
        )
    for other in known:
        if value != other and _skeleton(value) == _skeleton(other):
            raise ConfigError(f"{name} is {shown(value)}: it looks like {other}, another policy (--label gives a name)")


def check_printable(where: str, content: object) -> None:
    """Refuses control characters, such as escape codes of a terminal, in all texts of a JSON document."""
    if isinstance(content, str):
        plain = content.isascii() and content.isprintable()  # at once, as actions may have millions of digits
        if not plain and any(unicodedata.category(letter) in CONTROLS for letter in content):
            raise ConfigError(f"{where} has the text {shown(content)}: it must have no control characters")
    elif isinstance(content, (Mapping, list, tuple)):
        for each in chain.from_iterable(content.items()) if isinstance(content, Mapping) else content:
            check_printable(where, each)


def _skeleton(name: str) -> str:
    """Returns what a name looks like at a glance."""
    plain = name.casefold().translate(SIMILAR_LETTERS)
    return plain.replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _processor() -> str:
    """Returns the name of the processor, or what the platform knows of it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # only Linux has this file
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
