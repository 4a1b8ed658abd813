"""Shows in a minute what the package is for: ``make demo``, or ``flowsched demo``.

Evolves a policy of a few weights on Artemis's workload under load, compares it with every heuristic and with what no
scheduler can exceed on episodes that training never saw, and draws the comparison and one episode.
"""

import logging
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from hydra import compose, initialize_config_module
from hydra.errors import HydraException

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
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import make_environment
from flowsched_gym.evaluation.films import record_film
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.integrations.sb3 import load_policy

ANIMATION_FILE: Final = "episode.gif"


def run(folder: Path, overrides: Sequence[str]) -> None:
    """Trains, compares, draws, and says where everything is; overrides are changes of the configuration."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    begun = time.monotonic()
    config, content = _compose(overrides)
    env_id, kwargs = environment_arguments(config.env)
    arguments = ", ".join(f"{name}={value}" for name, value in kwargs.items())
    decisions = decisions_text(config.decisions, config.total_timesteps)
    print(f"Training {config.algorithm.name} on {env_id} ({arguments}): {decisions}.")
    folder.mkdir(parents=True, exist_ok=True)
    result = train_and_compare(config, content, folder, command="flowsched demo")
    print("Drawing one episode.")
    frames = _animate(env_id, kwargs, folder, config.evaluation.seed)
    over, best, met = result["over_best_heuristic"], result["best_heuristic"], column_of(result["metric"])
    print(
        f"\n{config.algorithm.name} meets {met.write(result['estimate']['mean'])} % of the deadlines on "
        f"{config.evaluation.episodes} episodes that it never saw: {met.write(over['mean'], signed=True)} points "
        f"compared with {best}, the best rule with its actions and information. No scheduler exceeds "
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
        try:
            composed = compose("train", overrides=["experiment=demo", *overrides])
        except HydraException as error:
            raise ConfigError(str(error).partition("\n")[0]) from None
    return read_config(composed), plain_values(composed)


def _animate(env_id: str, kwargs: dict[str, Any], folder: Path, seed: int) -> int:
    """Draws an episode of the trained agent, one frame for each decision, and returns the number of frames."""
    with closing(make_environment(env_id, kwargs)) as env:
        return record_film(env, load_policy(folder / MODEL_FILE, env), folder / ANIMATION_FILE, seed=seed)
