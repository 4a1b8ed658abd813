"""Scores one policy file, as a search for rules needs it: ``flowsched score``."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym import leaderboard
from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.output import standard_output_kept_clean, without_nan
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.evaluation import evaluate, interquartile_mean
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import Setting, Suite
from flowsched_gym.leaderboard.play import class_of
from flowsched_gym.leaderboard.policy_process import Limits, played_apart
from flowsched_gym.leaderboard.scores import Compared, training_scores
from flowsched_gym.leaderboard.secret_seeds import secret_block

BYTES_PER_MEBIBYTE: Final = 2**20
RANDOM: Final = "random"


def run(options: argparse.Namespace) -> None:
    """Plays episodes with the policy, apart from this process, and prints its score."""
    suite = leaderboard.load_suite(options.suite)
    settings, kwargs = suite.select(options.env), key_values("--kwarg", options.kwarg)
    seeds = {setting.name: _seeds(suite, options) for setting in settings}
    if options.cache is not None and options.seed is None:
        print("flowsched: --cache is of no use without --seed: drawn seeds never come again", file=sys.stderr)
        options.cache = None
    path = Path(options.file)
    limits = Limits(options.seconds, options.memory_mb * BYTES_PER_MEBIBYTE, str(path.resolve().parent))
    scored: dict[str, dict[str, object]] = {}
    scores: list[float] = []
    with standard_output_kept_clean():
        fault = ""
        try:
            source = f"{path.stem}:{class_of(path)}"
        except ConfigError as error:
            fault = str(error)
        for setting in settings:
            try:
                if fault:
                    raise ConfigError(fault)
                ours = _play(setting, path.stem, source, kwargs, seeds[setting.name], limits)
            except FlowSchedError as error:
                text = str(error)
                if "by signal" in text:
                    text += f" (it may compute for {options.seconds:g} s and use {options.memory_mb} MiB)"
                scored[setting.name] = {"score": None, "metric": setting.metric, "mean": None, "error": text}
                continue
            each = Compared(ours[None], *_scale(suite, setting, seeds[setting.name], options.cache))
            score, mean = float(training_scores(each)[0]), float(ours.mean())
            scores.append(score)
            scored[setting.name] = {"score": score, "metric": setting.metric, "mean": mean, "error": None}
    whole = float(interquartile_mean(np.array(scores))) if len(scores) == len(settings) else None
    ends = {name: [each[0], each[-1]] for name, each in seeds.items()}
    answer: dict[str, object] = {
        "score": whole,
        "suite": suite.name,
        "seeds": ends[settings[0].name] if len(set(seeds.values())) == 1 else None,
        "settings": {name: {**each, "seeds": ends[name]} for name, each in scored.items()},
    }
    if options.json:
        print(json.dumps(without_nan(answer), allow_nan=False))
        return
    for name, result in scored.items():
        reached = "score {score:.4g}, {metric} {mean:.6g}".format_map(result) if result["error"] is None else ""
        print(f"{name}: {reached or result['error']} (seeds {ends[name][0]} to {ends[name][1]})")
    print("no score: the lines above say why" if whole is None else f"score: {whole:.4g}")


def _seeds(suite: Suite, options: argparse.Namespace) -> range:
    """Returns the seeds of a setting's episodes: drawn, so that no policy knows them, or those that the user names.

    Each setting has others: what a policy sees in one may be hidden in the next.
    """
    count = len(suite.validation) if options.episodes is None else options.episodes
    if options.seed is None:
        return secret_block(suite.taken, count)
    seeds = range(options.seed, options.seed + count)
    if seeds[0] <= suite.test[-1] and suite.test[0] <= seeds[-1]:
        raise ConfigError(f"--seed {seeds[0]} gives seeds of the test of suite {suite.name}, which judge, not score")
    return seeds


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
