"""Compares rules, and trained models beside them, on the same unseen episodes: ``flowsched-evaluate``.

Examples::

    flowsched-evaluate workload=gather-heavy env.k=3 env.f=10
    flowsched-evaluate policies=[edf,fifo] episodes=50 seed=7
    flowsched-evaluate model=runs/first/model.zip workload=gather-heavy env.k=3 env.f=10
    flowsched-evaluate model=[a/model.zip,b/model.zip] policies=[edf] episodes=50
    flowsched-evaluate model=model:artemis-heavy/cmaes workload=gather-heavy env.k=3 env.f=10
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowsched_gym.baselines.applications.application import run_application
from flowsched_gym.baselines.applications.comparison import play_all
from flowsched_gym.baselines.applications.comparison_report import write_comparison
from flowsched_gym.baselines.configuration.hydra_schemas import EvaluateConfig
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.players import Player, find_player, told_apart
from flowsched_gym.registration import find_environment
from flowsched_gym.workload import read_workload


def main() -> None:
    """Runs the command."""
    run_application("flowsched-evaluate", "evaluate", _job)


def _job(config: EvaluateConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    """Plays models and rules on the same episodes, writes results, table and figure, and prints the table."""
    env_id, kwargs = environment_arguments(config.env)
    models = [_model(each, env_id) for each in config.model]
    rules = [find_player(each, env_id) for each in config.policies or find_environment(env_id).heuristics]
    comparison = play_all(
        env_id,
        kwargs,
        told_apart([*models, *rules]),
        episodes=config.episodes,
        seed=config.seed,
        trust=config.trust,
        bound=config.bound,
        command=command,
        show_progress=config.progress_bar,
    )
    title = f"{env_id.rpartition('/')[2]} on {read_workload(config.env.workload).label}"
    text, _ = write_comparison(comparison, folder, metric=config.metric, title=title)
    print(text, end="")
    print(f"Results, table and figure are in {folder}.")


def _model(source: str, env_id: str) -> Player:
    """Finds a model, and nothing else."""
    player = find_player(source, env_id)
    if not player.learned:
        raise ConfigError(
            f"model is {source!r}: it must be a model file (.zip) or an agent of the package (model:NAME)"
        )
    return player


if __name__ == "__main__":
    main()
