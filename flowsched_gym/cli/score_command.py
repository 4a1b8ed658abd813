"""Scores one policy file, as a search for rules needs it: ``flowsched score``."""

import argparse
import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym import leaderboard
from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.output import standard_output_kept_clean, without_nan
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, FlowSchedError, FlowSchedWarning
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.evaluation import evaluate, interquartile_mean
from flowsched_gym.evaluation.engines import with_faster_engine
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import Setting, Suite
from flowsched_gym.leaderboard.play import check_arguments
from flowsched_gym.leaderboard.policy_process import Limits, acting
from flowsched_gym.leaderboard.scores import Compared, training_scores
from flowsched_gym.leaderboard.secret_seeds import secret_block
from flowsched_gym.players import Kind, Player, find_player
from flowsched_gym.players.kept import MODEL_PREFIX

RANDOM: Final = "random"


class CacheWarning(FlowSchedWarning):
    """Results of random and of the reference are not kept for the next score."""


def run(options: argparse.Namespace) -> None:
    """Plays episodes with the policy, apart from this process, and prints its score."""
    suite = leaderboard.load_suite(options.suite)
    settings, kwargs = suite.select(options.env), key_values("--kwarg", options.kwarg)
    check_arguments(kwargs)
    seeds = {setting.name: _seeds(suite, options) for setting in settings}
    if options.cache is not None and options.seed is None:
        print("flowsched: --cache is of no use without --seed: drawn seeds never come again", file=sys.stderr)
        options.cache = None
    limits = Limits.of(options.seconds, options.memory_mb)
    cache = _Cache(suite, options.cache)
    scored: dict[str, dict[str, object]] = {}
    scores: list[float] = []
    with standard_output_kept_clean():
        try:
            players = [replace(find_player(options.file, each.spec), name=options.file) for each in settings]
            if players[0].kind is not Kind.FILE:
                raise ConfigError(f"FILE is {options.file!r}: it must be a policy file (.py)")
        except ConfigError as error:
            players, scored[settings[0].name] = [], _failed(settings[0], error)
        for setting, player in zip(settings, players, strict=False):
            scale = cache.scale(setting, seeds[setting.name])  # before the policy has a process
            try:
                ours = _play(setting, player, kwargs, seeds[setting.name], limits)
            except FlowSchedError as error:
                scored[setting.name] = _failed(setting, error)
                break
            finally:
                cache.put_back()
            each = Compared(ours[None], *scale)
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
        column, mean = column_of(str(result["metric"])), float(str(result["mean"] or 0.0))
        reached = f"score {result['score']:.4g}, {column.label} {column.write(mean)}" if result["error"] is None else ""
        print(f"{name}: {reached or result['error']} (seeds {ends[name][0]} to {ends[name][1]})")
    left = f"; {len(settings) - len(scored)} more settings were not played" if len(scored) < len(settings) else ""
    print(f"no score: the last line says why{left}" if whole is None else f"score: {whole:.4g}")


def _failed(setting: Setting, error: FlowSchedError) -> dict[str, object]:
    return {"score": None, "metric": setting.metric, "mean": None, "error": str(error)}


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


def _play(setting: Setting, player: Player, kwargs: Mapping[str, object], seeds: range, limits: Limits) -> FloatArray:
    """Plays with the policy, and returns the metric of each episode, (num_episodes,)."""
    arguments: dict[str, object] = {**setting.kwargs, **kwargs}
    sooner = with_faster_engine(setting.spec, arguments, compile_first=True)
    episodes: Any = {"episodes": len(seeds), "seed": seeds[0], "repeat": True}
    with acting(player, arguments, limits=limits) as policy:
        result = evaluate(setting.spec, policy, kwargs=sooner, label="policy", **episodes)
    return result.values(setting.metric)


class _Cache:
    """What random and the reference reach in each setting, in a folder if there is one.

    The policy may write there too. So all files are read before it starts, and put back when it has ended.
    """

    def __init__(self, suite: Suite, folder: str | None) -> None:
        self._suite = suite
        self._folder = None if folder is None else Path(folder)
        self._files = self._read()

    def scale(self, setting: Setting, seeds: range) -> tuple[FloatArray, FloatArray]:
        """Returns the metric of random and of the reference in the same episodes, (num_episodes,) each."""
        name = f"{self._suite.digest}-{setting.name}-{seeds[0]}-{len(seeds)}.json"
        if name in self._files:
            return self._checked(name, len(seeds))
        random, reference, kept = self._played(setting, seeds)
        if self._folder is not None:
            self._files[name] = json.dumps(kept).encode()
            self.put_back()
        return random, reference

    def put_back(self) -> None:
        """Restores what has been changed, and removes what has been added."""
        if self._folder is None or (found := self._read()) == self._files:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name in found.keys() - self._files.keys():
                Path(self._folder, name).unlink(missing_ok=True)
            for name, content in self._files.items():
                if found.get(name) != content:
                    with replace_when_written(Path(self._folder, name)) as temporary:
                        temporary.write_bytes(content)
        except OSError as error:  # the score stands without it
            text = f"--cache {self._folder} is not written: {error.strerror or error}"
            warnings.warn(CacheWarning(text), stacklevel=2)
            self._folder = None

    def _read(self) -> dict[str, bytes]:
        """Reads the files of the suite."""
        found = () if self._folder is None else self._folder.glob(f"{self._suite.digest}-*.json")
        return {path.name: path.read_bytes() for path in found}

    def _checked(self, name: str, count: int) -> tuple[FloatArray, FloatArray]:
        """Returns what a file holds."""
        try:
            kept = json.loads(self._files[name])
            random, reference = (np.array(kept[key], dtype=np.float64) for key in (RANDOM, "reference"))
            fits = all(each.shape == (count,) and np.isfinite(each).all() for each in (random, reference))
        except (LookupError, TypeError, ValueError, RecursionError):
            fits = False
        if not fits:
            raise ConfigError(
                f"{Path(self._folder or '', name)}: random and reference must have {count} finite numbers "
                "each; without the file, both play again"
            )
        return random, reference

    def _played(self, setting: Setting, seeds: range) -> tuple[FloatArray, FloatArray, dict[str, object]]:
        """Plays with random and the reference, or else with all rules, of which the best is the reference."""
        rules = [each for each in setting.spec.heuristics if each != RANDOM]
        names = [setting.reference] if setting.reference else rules
        played = {}
        for name in (RANDOM, *names):
            source = name if setting.spec.names(name) else f"{MODEL_PREFIX}{setting.name}/{name}"  # a trained reference
            result = leaderboard.play(self._suite, setting, find_player(source, setting.spec), seeds=seeds)
            played[name] = result.values(setting.metric)
        best = max(names, key=lambda name: merit(setting.metric, float(played[name].mean())))
        kept = {RANDOM: played[RANDOM].tolist(), "reference": played[best].tolist(), "policy": best}
        return played[RANDOM], played[best], kept
