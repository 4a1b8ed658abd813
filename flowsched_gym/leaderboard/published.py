"""The published results of a suite, in the wheel: what a user's own policies are set beside.

They are packed into ``published.tar.xz``. The file of a suite holds, for every policy of every setting, what it saw and
might do (`VIEW_ARGUMENTS`), and the metrics of its table in each episode, with seven digits. The whole result files are
in the repository (``benchmarks/results``), from which it is generated.
"""

import math
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import is_file
from flowsched_gym.evaluation import EpisodeResult, EvaluationResult, ModelFile, Run
from flowsched_gym.evaluation.result_files import write_json
from flowsched_gym.evaluation.results import SecretSeeds
from flowsched_gym.leaderboard.suite import SUITES, VIEW_ARGUMENTS, Suite
from flowsched_gym.systems import OPTIONS

SCHEMA: Final = "flowsched-published/1"
DIGITS: Final = 7
METRICS: Final = (
    *("deadline_hit_ratio", "mean_fct", "p99_fct", "mean_tct", "p99_tct"),
    *("mean_slowdown", "max_slowdown", "slowdown_fairness"),
)
"""Metrics that the file has, where they are defined, beside that by which a setting is judged."""


def published_path(suite: str) -> Path:
    """Returns the file of a suite's published results in the package."""
    return Path(str(resources.files("flowsched_gym.leaderboard"))) / "published" / f"{suite}.json"


def published_content(results: Sequence[EvaluationResult], suite: Suite) -> dict[str, object]:
    """Returns the content of the file of published results."""
    rows = [
        {
            "setting": result.reference.setting,
            "policy": result.policy,
            "source": result.source,
            "view": {name: value for name, value in result.kwargs.items() if name in VIEW_ARGUMENTS},
            "models": [run.model.seed for run in result.runs if run.model is not None],
            **({"backed": True} if result.backed else {}),
            **_secret_content(result.secret, suite.settings[result.reference.setting].metric),
            "metrics": {
                name: _rounded(result, name)
                for name in dict.fromkeys((*METRICS, suite.settings[result.reference.setting].metric))
                if name in result.metric_names
            },
        }
        for result in results
        if result.reference is not None
        and (result.reference.suite, result.reference.digest) == (suite.name, suite.digest)
    ]
    return {"schema": SCHEMA, "suite": suite.name, "digest": suite.digest, "rows": rows}


def write_published(results: Sequence[EvaluationResult], suite: Suite) -> Path:
    """Writes the file of published results into the package's folder; for maintainers, in a checkout."""
    path = published_path(suite.name)
    write_json(published_content(results, suite), path)
    return path


def published_results(suite: Suite) -> list[EvaluationResult]:
    """Reads the published results of a suite; none where nothing was published for it.

    Raises:
        ConfigError: The file belongs to another suite of that name.
    """
    path = published_path(suite.name)
    if not is_file(path):
        return []
    content = read_json(path)
    if content["digest"] != suite.digest:
        raise ConfigError(f"suite {suite.name} is not the one that results were published for: its digest differs")
    return [_result(row, suite) for row in content["rows"]]


@cache
def published_names() -> frozenset[str]:
    """Returns the names of the policies of all suites that are published."""
    contents = [read_json(path) for path in map(published_path, SUITES) if is_file(path)]
    return frozenset(row["policy"].partition(OPTIONS)[0] for content in contents for row in content["rows"])


def published_outcome(run: Run) -> str:
    """Returns what is published of the metrics of a run as a text that runs of equal actions share, NaN included."""
    episodes = [
        [f"{each.metrics[name]:.{DIGITS}g}" for name in METRICS if name in each.metrics] for each in run.episodes
    ]
    return repr(episodes)


def same_as_published(result: EvaluationResult, published: EvaluationResult) -> bool:
    """Returns whether a result has the numbers of a published one, to the digits that are published."""
    if len(result.runs) != len(published.runs) or result.learned != published.learned:
        return False
    names = published.metric_names
    return all(each in result.metric_names and _rounded(result, each) == _rounded(published, each) for each in names)


def _result(row: dict[str, Any], suite: Suite) -> EvaluationResult:
    setting = suite.settings[row["setting"]]
    models = [ModelFile(name=f"seed{seed}.zip", digest="", seed=seed) for seed in row["models"]]
    runs = []
    for number, model in enumerate(models or [None]):
        columns = {name: np.array(values[number], dtype=np.float64) for name, values in row["metrics"].items()}
        episodes = []
        for index, seed in enumerate(suite.test):
            metrics = {name: float(values[index]) for name, values in columns.items()}
            episodes.append(EpisodeResult(seed=seed, num_decisions=0, reward=math.nan, metrics=metrics))
        runs.append(Run(model=model, episodes=tuple(episodes)))
    return EvaluationResult(
        environment=setting.spec.id,
        kwargs={**setting.kwargs, **setting.settings_of(row["source"]), **row["view"]},
        policy=row["policy"],
        source=row["source"],
        runs=tuple(runs),
        reference=suite.reference(setting),
        secret=_secret(row.get("secret")),
        backed=row.get("backed", False),
    )


def _secret_content(secret: SecretSeeds | None, metric: str) -> dict[str, object]:
    """Returns what is published of a mark: the rule, and the differences by the metric of the setting; or nothing."""
    return {} if secret is None else {"secret": {"rule": secret.rule, metric: _digits(secret.differences[metric])}}


def _secret(content: dict[str, Any] | None) -> SecretSeeds | None:
    if content is None:
        return None
    differences = {name: np.array(value, dtype=np.float64) for name, value in content.items() if name != "rule"}
    return SecretSeeds(rule=content["rule"], differences=differences)


def _rounded(result: EvaluationResult, metric: str) -> list[list[float | None]]:
    """Returns a metric of all episodes of all runs with the digits that are published."""
    return _digits(result.samples(metric))


def _digits(values: FloatArray) -> list[list[float | None]]:
    """Returns a value of all episodes of all runs with the digits that are published; None for NaN."""
    runs = values.tolist()
    return [[None if value != value else float(f"{value:.{DIGITS}g}") for value in run] for run in runs]
