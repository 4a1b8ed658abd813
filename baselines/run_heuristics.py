"""Compares heuristics on the same episodes: ``flowsched-heuristics``.

Examples::

    flowsched-heuristics workload=gather-heavy env.k=3 env.f=10
    flowsched-heuristics policies=[edf,fifo] episodes=50 seed=7
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowsched_gym.baselines.applications.application import run_application
from flowsched_gym.baselines.applications.comparison import Contestant, heuristics_of, play_all
from flowsched_gym.baselines.applications.comparison_report import write_comparison
from flowsched_gym.baselines.configuration.hydra_schemas import HeuristicsConfig
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.workload import workload_label


def main() -> None:
    """Runs the command."""
    run_application("flowsched-heuristics", "heuristics", _job)


def compare_and_report(
    config: HeuristicsConfig, folder: Path, command: str, *, models: tuple[Contestant, ...] = ()
) -> None:
    """Plays models and heuristics on the same episodes, writes results, table and figure, and prints the table."""
    env_id, kwargs = environment_arguments(config.env)
    comparison = play_all(
        env_id,
        kwargs,
        [*models, *heuristics_of(env_id, config.policies)],
        episodes=config.episodes,
        seed=config.seed,
        bound=config.bound,
        command=command,
        show_progress=config.progress_bar,
    )
    title = f"{env_id.rpartition('/')[2]} on {workload_label(config.env.workload)}"
    text, _ = write_comparison(comparison, folder, metric=config.metric, title=title)
    print(text, end="")
    print(f"Results, table and figure are in {folder}.")


def _job(config: HeuristicsConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    compare_and_report(config, folder, command)


if __name__ == "__main__":
    main()
