"""A training as the commands run it: what it learned is compared with the rules, and the run summed up in a file."""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from stable_baselines3.common.logger import KVWriter

from flowsched_gym.baselines.applications.comparison import Comparison, play_all
from flowsched_gym.baselines.applications.comparison_report import FIGURE_FILE, decisions_text, write_comparison
from flowsched_gym.baselines.configuration.algorithm_schemas import BothAgentsConfig
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.both_agents import THRESHOLDS, ThresholdsLearner, set_by
from flowsched_gym.baselines.training.loggers import WandbCurves
from flowsched_gym.baselines.training.trainer import BESIDE_FILE, MODEL_FILE, RESULT_FILE, SIDECAR_FILE, train
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EpisodeRunner,
    Interval,
    make_environment,
    paired_difference,
    paired_ratio,
    write_json,
)
from flowsched_gym.evaluation.rollout import rollout
from flowsched_gym.integrations.sb3 import batched, make_sb3_vec_env
from flowsched_gym.leaderboard import reference_of
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import find_environment, heuristic_arguments
from flowsched_gym.workload import read_workload

LOGGER: Final = logging.getLogger(__name__)

KEPT_FOLDER: Final = ".rules"
"""Folder beside the runs with results of rules, which the next run of the same environment takes from there."""
MILLISECONDS: Final = 1e3
"""In a second."""
RUN_SCHEMA: Final = "flowsched-training/1"


def train_and_compare(
    config: TrainConfig, content: Mapping[str, Any], folder: Path, *, command: str | None = None
) -> dict[str, Any]:
    """Trains a policy as `train` does, and compares it with the heuristics; returns the content of ``result.json``.

    The command line is kept with the results. Raises what `train` raises, and a ``ConfigError`` where the agent would
    have the name of a rule.
    """
    begun = time.monotonic()
    rules = (*find_environment(environment_arguments(config.env)[0]).heuristics, BOUND_POLICY)
    if config.algorithm.name in rules:  # the comparison would say so after all the training
        raise ConfigError(f"algorithm.name is {config.algorithm.name!r}: it must be none of {', '.join(rules)}")
    result: dict[str, Any] = {}

    def finish(num_timesteps: int, curves: Sequence[KVWriter]) -> None:
        comparison, best = _compare(config, folder, command)
        result.update(_summarise(config, comparison, best))
        result["num_timesteps"], result["seconds"] = num_timesteps, time.monotonic() - begun
        result["evaluation"] = content["evaluation"]
        if isinstance(config.algorithm, BothAgentsConfig):
            result["pairs"] = _play_pairs(config, config.algorithm, folder)
        write_json(result, folder / RESULT_FILE)
        for output in curves:
            if isinstance(output, WandbCurves):
                files = (folder / FIGURE_FILE, folder / MODEL_FILE, folder / SIDECAR_FILE)
                output.keep(*files, summary=_final_numbers(comparison, result))

    train(config, content, folder, finish=finish)
    return result


def _compare(config: TrainConfig, folder: Path, command: str | None) -> tuple[Comparison, str]:
    """Compares the model with the rules of the environment, and names the best with its actions and information."""
    env_id, kwargs = environment_arguments(config.env)
    model = replace(find_player(str(folder / MODEL_FILE), env_id), name=config.algorithm.name)
    rules = [find_player(name, env_id) for name in find_environment(env_id).heuristics]
    evaluation = config.evaluation
    comparison = play_all(
        env_id,
        kwargs,
        [model, *rules],
        episodes=evaluation.episodes,
        seed=evaluation.seed,
        bound=evaluation.bound,
        command=command,
        show_progress=config.progress_bar,
        kept=folder.parent / KEPT_FOLDER,
    )
    title = f"{config.algorithm.name} on {read_workload(config.env.workload).label}"
    note = f"{config.algorithm.name} learned from {decisions_text(config.decisions, config.total_timesteps)}"
    text, rows = write_comparison(comparison, folder, metric=evaluation.metric, title=title, notes=[note])
    LOGGER.info("%d episodes that training never saw:\n%s", evaluation.episodes, text)
    # Where no rule has as little as the agent, it is compared with the best of all.
    own = next(row.reference for row in rows if row.learned)
    best = own or reference_of(comparison.results, evaluation.metric)
    assert best is not None  # every environment has rules
    return comparison, best


def _play_pairs(config: TrainConfig, algorithm: BothAgentsConfig, folder: Path) -> dict[str, list[float]]:
    """Plays each agent alone and both, before and after training; returns the mean FCT in s of each episode.

    Where no agent acts, thresholds are those of the environment (``qlas``) or PIAS's, and paths those of ECMP.
    """
    env_id, kwargs = environment_arguments(config.env)
    new = ThresholdsLearner(algorithm, env_id, kwargs, seed=config.seed)
    found: dict[str, list[float]] = {}
    with ExitStack() as opened:
        spec = find_environment(env_id)
        runners = [
            opened.enter_context(closing(EpisodeRunner(spec, arguments, compile_first=True)))
            for arguments in (kwargs, heuristic_arguments(spec, kwargs))
        ]
        env, shown = (runner.env for runner in runners)
        alone = opened.enter_context(closing(make_environment(THRESHOLDS, new.kwargs)))
        envs = opened.enter_context(closing(make_sb3_vec_env(env_id, 1, **kwargs)))
        ecmp, untrained = make_policy("ecmp", shown), build_model(algorithm, config.policy, envs, seed=config.seed)
        long_flows = make_policy(str(folder / MODEL_FILE), env)
        pias, before, after = (
            partial(set_by, kwargs=new.kwargs, policy=policy)
            for policy in (make_policy("pias", alone), new.model, make_policy(str(folder / BESIDE_FILE), alone))
        )
        pairs: dict[str, tuple[Any, Any]] = {
            "qlas": (shown, ecmp),
            "pias": (pias(shown), ecmp),
            "thresholds alone, before": (before(shown), ecmp),
            "thresholds alone": (after(shown), ecmp),
            "long flows alone, before": (env, batched(untrained)),
            "long flows alone": (env, long_flows),
            "both, before": (before(env), batched(untrained)),
            "both": (after(env), long_flows),
        }
        first, episodes = config.evaluation.seed, config.evaluation.episodes
        for name, (played, policy) in pairs.items():
            if played in (env, shown):
                results = runners[played is shown].play(policy, episodes=episodes, seed=first)
            else:
                results = tuple(rollout(played, policy, seed=seed) for seed in range(first, first + episodes))
            found[name] = [result.metrics["mean_fct"] for result in results]
            LOGGER.info("%-24s mean FCT, ms %.2f", name, MILLISECONDS * np.mean(found[name]))
    return found


def _summarise(config: TrainConfig, comparison: Comparison, best: str) -> dict[str, Any]:
    """Returns a run in a few numbers, without what it took."""
    env_id, kwargs = environment_arguments(config.env)
    metric = config.evaluation.metric
    reached = comparison.result(config.algorithm.name)
    values, best_values = reached.values(metric), comparison.result(best).values(metric)
    bounds = [each for each in comparison.results if each.policy == BOUND_POLICY and metric in each.metric_names]
    return {
        "schema": RUN_SCHEMA,
        "run_name": config.run_name,
        "environment": env_id,
        "kwargs": kwargs,
        "workload": read_workload(config.env.workload).label,
        "algorithm": config.algorithm.name,
        "seed": config.seed,
        "total_timesteps": config.total_timesteps,
        "metric": metric,
        "metric_mean": reached.interval(metric).mean,
        "estimate": _plain(reached.interval(metric)),
        "best_heuristic": best,
        "over_best_heuristic": _plain(paired_difference(values, best_values)),
        "ratio_to_best_heuristic": _plain(paired_ratio(values, best_values)),
        "bound": bounds[0].interval(metric).mean if bounds else None,
    }


def _final_numbers(comparison: Comparison, result: Mapping[str, Any]) -> dict[str, float | str]:
    """Returns what a run of Weights & Biases ends with: the agent, all heuristics and the bound, by name."""
    metric = result["metric"]
    numbers: dict[str, float | str] = {
        f"final/{other.policy}": other.interval(metric).mean
        for other in comparison.results
        if metric in other.metric_names and other.policy not in comparison.learned
    }
    return numbers | {
        f"final/{metric}": result["metric_mean"],
        "final/over_best_heuristic": result["over_best_heuristic"]["mean"],
        "final/best_heuristic": result["best_heuristic"],
    }


def _plain(interval: Interval) -> dict[str, float | None]:
    ends = (interval.low, interval.high) if interval.known else (None, None)
    return {"mean": interval.mean, "low": ends[0], "high": ends[1]}
