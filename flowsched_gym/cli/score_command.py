"""Scores one policy file, as a search for rules needs it: ``flowsched score``."""

import argparse
import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym import leaderboard
from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.output import standard_output_kept_clean, without_nan
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_between
from flowsched_gym.core.errors import ConfigError, FlowSchedError, shown
from flowsched_gym.core.files import open_to_read, read_json, write_text
from flowsched_gym.evaluation import evaluate, interquartile_mean
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import Setting, Suite
from flowsched_gym.leaderboard.policy_process import Limits, played_apart
from flowsched_gym.leaderboard.scores import Compared, training_scores

BYTES_PER_MEBIBYTE: Final = 2**20
RANDOM: Final = "random"


def run(options: argparse.Namespace) -> None:
    """Plays the validation episodes with the policy, apart from this process, and prints its score."""
    suite = leaderboard.load_suite(options.suite)
    settings, kwargs = suite.select(options.env), key_values("--kwarg", options.kwarg)
    seeds = suite.validation
    if options.episodes is not None:
        count = check_between("--episodes", options.episodes, 1, len(seeds), what=f"of suite {suite.name} an integer")
        seeds = seeds[:count]
    path = Path(options.file)
    limits = Limits(options.seconds, options.memory_mb * BYTES_PER_MEBIBYTE, str(path.resolve().parent))
    scored: dict[str, dict[str, object]] = {}
    scores: list[float] = []
    with standard_output_kept_clean():
        fault = ""
        try:
            source = f"{path.stem}:{_class_of(path)}"
        except ConfigError as error:
            fault = str(error)
        for setting in settings:
            try:
                if fault:
                    raise ConfigError(fault)
                ours = _play(setting, path.stem, source, kwargs, seeds, limits)
            except FlowSchedError as error:
                text = str(error)
                if "by signal" in text:
                    text += f" (it may compute for {options.seconds:g} s and use {options.memory_mb} MiB)"
                scored[setting.name] = {"score": None, "metric": setting.metric, "mean": None, "error": text}
                continue
            each = Compared(ours[None], *_scale(suite, setting, seeds, options.cache))
            score, mean = float(training_scores(each)[0]), float(ours.mean())
            scores.append(score)
            scored[setting.name] = {"score": score, "metric": setting.metric, "mean": mean, "error": None}
    whole = float(interquartile_mean(np.array(scores))) if len(scores) == len(settings) else None
    answer: dict[str, object] = {
        "score": whole,
        "suite": suite.name,
        "seeds": [seeds[0], seeds[-1]],
        "settings": scored,
    }
    if options.json:
        print(json.dumps(without_nan(answer), allow_nan=False))
        return
    for name, result in scored.items():
        column, mean = column_of(str(result["metric"])), float(str(result["mean"] or 0.0))
        reached = f"score {result['score']:.4g}, {column.label} {column.write(mean)}" if result["error"] is None else ""
        print(f"{name}: {reached or result['error']}")
    print("no score: the lines above say why" if whole is None else f"score: {whole:.4g}")


def _class_of(path: Path) -> str:
    """Finds the one class of a policy file that has ``predict``, without running the file."""
    with open_to_read(path, "policy", "a policy file (.py)") as file:
        text = file.read_bytes()
    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} is not Python: {error}") from None
    classes = [
        each.name
        for each in tree.body
        if isinstance(each, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name == "predict" for part in each.body)
    ]
    if len(classes) != 1:
        raise ConfigError(f"{path} has {shown(classes)}: it must have one class with a method predict")
    return classes[0]


def _play(
    setting: Setting, label: str, source: str, kwargs: Mapping[str, object], seeds: range, limits: Limits
) -> FloatArray:
    """Plays with the policy, and returns the metric of each episode, (num_episodes,)."""
    arguments: dict[str, object] = {**setting.kwargs, **kwargs}
    episodes: Any = {"episodes": len(seeds), "seed": seeds[0], "repeat": True}
    with played_apart(label, source, setting.spec, arguments, limits=limits) as policy:
        result = evaluate(setting.spec, policy, kwargs={"engine": "compiled", **arguments}, label="policy", **episodes)
    return result.values(setting.metric)


def _scale(suite: Suite, setting: Setting, seeds: range, cache: str | None) -> tuple[FloatArray, FloatArray]:
    """Returns the metric of random and of the reference in the same episodes, (num_episodes,) each; from a cache."""
    file = None if cache is None else Path(cache, f"{suite.digest}-{setting.name}-{seeds[0]}-{len(seeds)}.json")
    if file is not None and file.exists():
        kept = read_json(file)
        return np.array(kept[RANDOM], dtype=np.float64), np.array(kept["reference"], dtype=np.float64)
    names = [setting.reference] if setting.reference else [each for each in setting.spec.heuristics if each != RANDOM]
    played = {}
    for name in (RANDOM, *names):
        result = leaderboard.play(suite, setting, leaderboard.entrants_of([name])[0], seeds=seeds)
        played[name] = result.values(setting.metric)
    best = max(names, key=lambda name: merit(setting.metric, float(played[name].mean())))
    if file is not None:
        kept = {RANDOM: played[RANDOM].tolist(), "reference": played[best].tolist(), "policy": best}
        write_text(json.dumps(kept), file)
    return played[RANDOM], played[best]
