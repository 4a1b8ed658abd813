"""Plays episodes of an environment with a policy: ``flowsched evaluate``."""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flowsched_gym.cli.arguments import key_values, positive_integer, seed
from flowsched_gym.cli.output import print_json, standard_output_kept_clean
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.evaluation import MIN_EPISODES, EvaluationResult, evaluate, make_environment
from flowsched_gym.leaderboard import Table
from flowsched_gym.policies import Policy

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY: Final = "play episodes of an environment with a policy"

MODEL_SUFFIX: Final = ".zip"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.epilog = (
        "Episode e has the seed S + e, so that policies evaluated with one seed meet the same flows. A class that "
        "promises pure = True (see flowsched_gym.policies.Policy) plays many episodes at once, with the same result."
    )
    parser.add_argument("environment", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0")
    parser.add_argument(
        "--policy", required=True, metavar="POLICY", help="name of a policy, module:Class, or a trained model (.zip)"
    )
    parser.add_argument("--episodes", type=positive_integer, required=True, metavar="N", help="number of episodes")
    parser.add_argument("--seed", type=seed, required=True, metavar="S", help="seed of the first episode")
    parser.add_argument(
        "--kwarg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="argument of the environment, such as workload=gather-heavy or k=3; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")


def run(options: argparse.Namespace) -> None:
    """Plays the episodes and prints what came of them."""
    kwargs = key_values("--kwarg", options.kwarg)
    # A user's own module:Class, or what a model is made of, lies where the user is; a console script does not look
    # there by itself. It looks there last, so that what lies there takes the place of no installed module.
    sys.path.append(os.getcwd())
    with standard_output_kept_clean(), ProgressBar("playing episodes") as progress:
        is_model = options.policy.endswith(MODEL_SUFFIX)
        result = evaluate(
            options.environment,
            _load_model(options.policy, options.environment, kwargs) if is_model else options.policy,
            episodes=options.episodes,
            seed=options.seed,
            kwargs=kwargs,
            label=Path(options.policy).stem if is_model else None,
            command=_command(options),
            progress=progress,
        )
    if options.json:
        print_json(result.as_dict())
    else:
        print(f"{result.policy} on {result.environment}, {len(result.episodes)} episodes:")
        print(_table(result).text(), end="")
        if len(result.episodes) < MIN_EPISODES:
            print(f"Intervals need at least {MIN_EPISODES} episodes.")


def _load_model(path: str, env_id: str, kwargs: Mapping[str, object]) -> Policy:
    """Loads a trained model that fits the environment."""
    # Torch reads this at its import: small networks are several times slower on more threads than one.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from flowsched_gym.integrations.batched_model import batched  # noqa: PLC0415 - Stable-Baselines3 is optional
    from flowsched_gym.integrations.sb3 import load_policy  # noqa: PLC0415 - the same

    env = make_environment(env_id, kwargs)
    try:
        return batched(load_policy(path, env))
    finally:
        env.close()


def _table(result: EvaluationResult) -> Table:
    """Lays out the reward and all metrics that are defined, with their intervals."""
    rows = []
    intervals = result.intervals()
    for name, interval in intervals.items():
        if interval.mean == interval.mean:
            ends = (f"{interval.low:.6g}", f"{interval.high:.6g}") if interval.known else ("", "")
            rows.append((name, f"{interval.mean:.6g}", *ends))
    confidence = f"{intervals['reward'].confidence:.0%}"
    return Table(columns=("metric", "mean", f"{confidence} from", "to"), rows=tuple(rows))


def _command(options: argparse.Namespace) -> str:
    """Puts the command line together again, to be kept with the result."""
    words = ["flowsched", "evaluate", options.environment, "--policy", options.policy]
    words += ["--episodes", str(options.episodes), "--seed", str(options.seed)]
    return shlex.join(words + [word for entry in options.kwarg for word in ("--kwarg", entry)])
