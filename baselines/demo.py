"""Shows in a minute what the package is for: ``make demo``, or ``python -m flowsched_gym.baselines.demo``.

Evolves a policy of a few weights on Artemis's workload under load, compares it with every heuristic and with what no
scheduler can exceed on episodes that training never saw, and draws the comparison and one episode.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from hydra import compose, initialize_config_module

from flowsched_gym.baselines.applications.comparison_report import FIGURE_FILE, TABLE_FILE, decisions_text
from flowsched_gym.baselines.applications.training_run import train_and_compare
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.configuration.hydra_store import (
    environment_arguments,
    plain_values,
    read_config,
    register_schemas,
)
from flowsched_gym.baselines.training.trainer import MODEL_FILE
from flowsched_gym.core.errors import FlowSchedError
from flowsched_gym.core.files import ended_by_signals, exit_status
from flowsched_gym.evaluation import make_environment
from flowsched_gym.evaluation.films import record_film
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.integrations.sb3 import load_policy

FOLDER: Final = "demo"
ANIMATION_FILE: Final = "episode.gif"
BAD_USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the demonstration; leaves by ``SystemExit`` with status 2 where an input is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(FOLDER), help="where everything goes (default: demo)")
    parser.add_argument("overrides", nargs="*", help="changes of the configuration, such as total_timesteps=100000")
    options = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        with ended_by_signals():
            _run(options.folder, options.overrides)
    except FlowSchedError as error:
        print(f"demo: {error}", file=sys.stderr)
        raise SystemExit(BAD_USAGE) from None
    except KeyboardInterrupt as interrupt:
        print("demo: stopped", file=sys.stderr)
        raise SystemExit(exit_status(interrupt)) from None


def _run(folder: Path, overrides: Sequence[str]) -> None:
    """Trains, compares, draws, and says where everything is."""
    begun = time.monotonic()
    config, content = _compose(overrides)
    env_id, kwargs = environment_arguments(config.env)
    arguments = ", ".join(f"{name}={value}" for name, value in kwargs.items())
    decisions = decisions_text(config.decisions, config.total_timesteps)
    print(f"Training {config.algorithm.name} on {env_id} ({arguments}): {decisions}.")
    folder.mkdir(parents=True, exist_ok=True)
    result = train_and_compare(config, content, folder, command="python -m flowsched_gym.baselines.demo")
    print("Drawing one episode.")
    frames = _animate(env_id, kwargs, folder, config.evaluation.seed)
    over, best, met = result["over_best_heuristic"], result["best_heuristic"], column_of(result["metric"])
    print(
        f"\n{config.algorithm.name} meets {met.write(result['estimate']['mean'])} % of the deadlines on "
        f"{config.evaluation.episodes} episodes that it never saw: {met.write(over['mean'], signed=True)} points "
        f"beside {best}, the best rule with its actions and information. No scheduler exceeds "
        f"{met.write(result['bound'])} %.\n"
    )
    for name, meaning in (
        (FIGURE_FILE, "completion times and deadlines met, policy by policy"),
        (ANIMATION_FILE, f"{frames} decisions of the trained agent"),
        (TABLE_FILE, "the table above"),
        (MODEL_FILE, "the trained agent, for flowsched evaluate --policy"),
        ("progress.csv", "the learning curve"),
    ):
        print(f"{folder / name}: {meaning}")
    print(f"All this took {time.monotonic() - begun:.0f} s.")


def _compose(overrides: Sequence[str]) -> tuple[TrainConfig, dict[str, Any]]:
    register_schemas()
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        composed = compose("train", overrides=["experiment=demo", *overrides])
    return read_config(composed), plain_values(composed)


def _animate(env_id: str, kwargs: dict[str, Any], folder: Path, seed: int) -> int:
    """Draws an episode of the trained agent, one frame for each decision, and returns the number of frames."""
    with closing(make_environment(env_id, kwargs)) as env:
        return record_film(env, load_policy(folder / MODEL_FILE, env), folder / ANIMATION_FILE, seed=seed)


if __name__ == "__main__":
    main()
