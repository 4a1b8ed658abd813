"""Result files: one per policy, environment and arguments, written whole and read with checks.

A result file is one JSON object::

    schema       "flowsched-result/4"
    suite        suite, digest and setting that the episodes belong to; null for episodes of no suite
    environment  its id
    kwargs       arguments of the environment, by name; a user's own workload as the mapping that describes it
    policy       name of the policy, or of the bound
    source       what was played: a heuristic's name, module:Class, a path of models; null for an object
    runs         one for each training of an agent, one for any other policy: model (file, digest, training seed; null
                 without a model), actions (dtype, shape of one action, data: the actions of all episodes one after the
                 other, little-endian, in hexadecimal digits; null for a bound) and episodes
                 (seed, num_decisions and reward: one list each, one value per episode; metrics: one such list for each
                 metric, by name; null where a value is not defined)
    intervals    per metric: mean, low, high, confidence, num_samples (null where not known)
    made         command, date, seconds (wall time), versions and hardware; nothing that must be repeated
    digest       of all the others: a file that was changed by hand does not agree with it

A result is its actions: every number of the runs can be computed from them, and
`flowsched_gym.leaderboard.verify` does so. Numbers are written with all their digits, so that a file read back gives
the same result bit by bit.

All results of a setting may lie in one file: ``SETTING.tar.xz``, a packed folder (`flowsched_gym.core.packed`) with a
result file for each policy, which is read as ``SETTING/POLICY.json``.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from flowsched_gym.core.arrays import is_whole, to_float
from flowsched_gym.core.errors import ConfigError, FlowSchedError, listed, shown
from flowsched_gym.core.files import check_path, read_json, write_text
from flowsched_gym.core.packed import SUFFIX, files_in, folder_of, is_file, is_folder
from flowsched_gym.evaluation import results
from flowsched_gym.evaluation.actions import FIELDS as ACTION_FIELDS
from flowsched_gym.evaluation.actions import pack_actions, unpack_actions
from flowsched_gym.evaluation.result_checks import INTERVAL_FIELDS, check_intervals, check_made, check_result
from flowsched_gym.evaluation.results import EvaluationResult, ModelFile, Provenance, Run, SuiteReference
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.registration import check_arguments
from flowsched_gym.workload import read_workload, several_key

SCHEMA: Final = "flowsched-result/4"
DIGEST_BYTES: Final = 16
LONGEST_REASON: Final = 300
"""Letters of a message about a file, beside its name."""
NAME_DIGEST_BYTES: Final = 4
"""Bytes of the digest that tells a user's own workloads apart in file names."""
NONE: Final = type(None)

FIELDS: Final = {
    "schema": str,
    "suite": (dict, NONE),
    "environment": str,
    "kwargs": dict,
    "policy": str,
    "source": (str, NONE),
    "runs": list,
    "intervals": dict,
    "made": dict,
    "digest": str,
}
"""Keys of a result file and the types of their values."""
SUITE_FIELDS: Final = {"suite": str, "digest": str, "setting": str}
RUN_FIELDS: Final = {"model": (dict, NONE), "actions": (dict, NONE), "episodes": dict}
MODEL_FIELDS: Final = {"name": str, "digest": str, "seed": (int, NONE)}
EPISODE_FIELDS: Final = {"seed": list, "num_decisions": list, "reward": list, "metrics": dict}
MADE_FIELDS: Final = {"command": (str, NONE), "date": str, "seconds": (int, float), "versions": dict, "hardware": dict}
RENDER_MODE: Final = "render_mode"
"""Argument that is no part of a result: whoever plays it again must not have a window opened."""


def result_content(result: EvaluationResult) -> dict[str, object]:
    """Returns the content of a result's file.

    Raises:
        ConfigError: An argument of the environment cannot be written, such as a ``Workload`` made in Python.
    """
    content: dict[str, object] = {
        "schema": SCHEMA,
        "suite": None if result.reference is None else asdict(result.reference),
        "environment": result.environment,
        "kwargs": {key: _writable(key, value) for key, value in sorted(result.kwargs.items()) if key != RENDER_MODE},
        "policy": result.policy,
        "source": result.source,
        "runs": [_run_content(run) for run in result.runs],
        "intervals": {
            name: {key: _nan_to_null(getattr(interval, key)) for key in INTERVAL_FIELDS}
            for name, interval in result.intervals().items()
        },
        "made": asdict(result.made),
    }
    return content | {"digest": digest_of(content)}


def _run_content(run: Run) -> dict[str, object]:
    episodes = run.episodes
    return {
        "model": None if run.model is None else asdict(run.model),
        "actions": pack_actions([each.actions for each in episodes if each.actions is not None]),
        "episodes": {
            "seed": [each.seed for each in episodes],
            "num_decisions": [each.num_decisions for each in episodes],
            "reward": [_nan_to_null(each.reward) for each in episodes],
            "metrics": {name: [_nan_to_null(each.metrics[name]) for each in episodes] for name in episodes[0].metrics},
        },
    }


def result_name(environment: str, kwargs: Mapping[str, object], policy: str) -> str:
    """Returns the file name of a result, such as ``artemis-v0_k-3_workload-gather-heavy_edf.json``."""
    parts = [environment.rpartition("/")[2], *(f"{key}-{_short(key, kwargs[key])}" for key in sorted(kwargs)), policy]
    return file_name(*parts)


def file_name(*parts: str) -> str:
    """Joins the parts of a file name, in lower case and without what some system does not allow."""
    return "_".join(re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-") for part in parts) + ".json"


def write_result(result: EvaluationResult, path: str | Path) -> None:
    """Writes a result file, and missing folders, whole or not at all; raises as `result_content`, or an ``OSError``."""
    write_json(result_content(result), path)


def write_json(content: object, path: str | Path) -> None:
    """Writes a JSON document as `write_result` does."""
    write_text(_lay_out(content) + "\n", path)


def result_paths(path: str | Path) -> list[Path]:
    """Lists the result files of a folder and of the settings packed in it, or of one packed setting; else the path."""
    path = folder_of(check_path("path of results", path))
    if not is_folder(path):
        if not is_file(path):
            raise FileNotFoundError(f"{path} does not exist: a result file, or a folder of them, is needed")
        return [path]
    settings = map(folder_of, path.glob(f"*{SUFFIX}"))
    return sorted(
        [*files_in(path, ".json"), *(each for setting in settings for each in files_in(setting, ".json"))], key=str
    )


def read_result(path: str | Path) -> EvaluationResult:
    """Reads a result file and checks it.

    Raises:
        ConfigError: It is no result file, it was changed by hand, or its content is not allowed or does not agree with
            itself; the message names the file and the key.
        OSError: The file cannot be read.
    """
    path = check_path("path of a result", path)
    content = read_json(path)
    try:
        return _result(content)
    except FlowSchedError as error:
        reason = str(error)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:  # of odd arguments
        reason = f"this is no result: {shown(error)}"
    reason = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."
    raise ConfigError(f"{path}: {reason}")


def _result(content: Any) -> EvaluationResult:
    results.check_printable("the file", content)
    schema = content.get("schema") if isinstance(content, dict) else None
    if isinstance(schema, str) and schema != SCHEMA:
        raise ConfigError(f"schema is {shown(schema)}: it must be {SCHEMA!r}")
    _checked("the file", content, FIELDS)
    kwargs, suite = content["kwargs"], content["suite"]
    if _names_a_file(kwargs.get("workload")):
        raise ConfigError("kwargs names a file: a result holds the sizes themselves, not where they lie")
    if RENDER_MODE in kwargs:
        raise ConfigError(f"kwargs has {RENDER_MODE!r}: a result is not drawn")
    runs = []
    for run in content["runs"]:
        _checked("a run", run, RUN_FIELDS)
        model = None if run["model"] is None else ModelFile(**_checked("model", run["model"], MODEL_FIELDS))
        episodes = _episodes(run["episodes"], run["actions"])
        runs.append(Run(model=model, episodes=episodes))
    reference = None if suite is None else SuiteReference(**_checked("suite", suite, SUITE_FIELDS))
    check_made(_checked("made", content["made"], MADE_FIELDS))
    result = EvaluationResult(
        **{name: content[name] for name in ("environment", "kwargs", "policy", "source")},
        runs=tuple(runs),
        reference=reference,
        made=Provenance(**content["made"]),
    )
    check_arguments(result.spec, kwargs)
    check_result(result)
    check_intervals(content["intervals"], result)
    if content["digest"] != digest_of({key: value for key, value in content.items() if key != "digest"}):
        raise ConfigError("it was changed after it was written: its content does not agree with its digest")
    return result


def _episodes(columns: Any, packed: Any) -> tuple[EpisodeResult, ...]:
    """Reads the episodes of a run, and their actions, None where there are none."""
    _checked("episodes", columns, EPISODE_FIELDS)
    seeds, lengths, rewards, metrics = (columns[key] for key in EPISODE_FIELDS)
    for name, values in {"num_decisions": lengths, "reward": rewards, **metrics}.items():
        if not isinstance(values, list) or len(values) != len(seeds):
            raise ConfigError(f"episodes, {name} must be a list of {len(seeds)} values, as seed is")
    for name in ("seed", "num_decisions"):
        for value in columns[name]:
            if not is_whole(value) or value < 0:
                raise ConfigError(f"episodes, {name} holds {shown(value)}: it must be an integer >= 0")
    actions: Sequence[npt.NDArray[Any] | None] = [None] * len(seeds)
    if packed is not None:
        _checked("actions", packed, ACTION_FIELDS)
        try:
            actions = unpack_actions(packed, lengths)
        except ConfigError as error:
            raise ConfigError(f"actions, {error}") from None
    return tuple(
        EpisodeResult(
            seed=seed,
            num_decisions=lengths[row],
            reward=_null_to_nan("reward", rewards[row]),
            metrics={name: _null_to_nan(name, values[row]) for name, values in metrics.items()},
            actions=actions[row],
        )
        for row, seed in enumerate(seeds)
    )


def digest_of(content: object, size: int = DIGEST_BYTES) -> str:
    """Returns a digest of a JSON document, or of bytes, in hexadecimal digits."""
    data = content if isinstance(content, bytes) else json.dumps(content, sort_keys=True, allow_nan=False).encode()
    return hashlib.blake2b(data, digest_size=size).hexdigest()


def _checked(where: str, content: Any, allowed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an object of the file; refuses one whose keys or types of values are others."""
    if not isinstance(content, dict):
        raise ConfigError(f"{where} is {type(content).__name__}: it must be an object")
    for key in content:
        if key not in allowed:
            raise ConfigError(f"{where} has the key {shown(key)}: allowed are {listed(key, allowed)}")
    for key, kind in allowed.items():
        if key not in content:
            raise ConfigError(f"{where} has no {key!r}: it needs {', '.join(allowed)}")
        if isinstance(content[key], bool) or not isinstance(content[key], kind):
            raise ConfigError(f"{where}, {key} is {shown(content[key])}: it has the wrong type")
    return content


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


def _short(key: str, value: object) -> object:
    """Returns a user's own workload or network as its name and a digest, other arguments unchanged."""
    if not isinstance(value, Mapping):
        return value
    workload = read_workload(value) if key == "workload" else None
    label = value.get("name", "") if workload is None else workload.label
    digest = digest_of(dict(value) if workload is None else workload.plain(), NAME_DIGEST_BYTES)
    return f"{label}-{digest}" if label else digest


def _nan_to_null(value: float) -> float | None:
    return None if value != value else value


def _lay_out(value: object, indent: str = "") -> str:
    """Writes JSON so that files and their changes can be read: what is nested on lines of its own, plain values not."""
    inner = indent + "  "
    if isinstance(value, dict) and (not indent or any(isinstance(each, (dict, list)) for each in value.values())):
        lines = [f"{inner}{json.dumps(key)}: {_lay_out(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{}"
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join(inner + _lay_out(each, inner) for each in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


def _null_to_nan(where: str, value: object) -> float:
    if value is None:
        return math.nan
    if not math.isfinite(number := to_float(value)):
        raise ConfigError(f"episodes, {where} holds {shown(value)}: it must be a finite number or null")
    return number


def _names_a_file(workload: object) -> bool:
    """Returns whether a user's own workload names further files: result files may come from anybody."""
    stack: list[object] = [workload] if isinstance(workload, Mapping) else []
    while stack:  # no recursion: strangers nest deeply
        value = stack.pop()
        if isinstance(value, Mapping):
            if value.get("kind") == "cdf-file":
                return True
            several = value.get(several_key(value))  # a text in it is a workload, as it may be without the others
            stack += (
                [each for each in several if not isinstance(each, str)] if isinstance(several, list) else value.values()
            )
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, str) and value.endswith(".csv"):
            return True
    return False
