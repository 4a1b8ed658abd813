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
from flowsched_gym.baselines.applications.comparison import Contestant, heuristics_of, play_all
from flowsched_gym.baselines.applications.comparison_report import write_comparison
from flowsched_gym.baselines.configuration.hydra_schemas import EvaluateConfig
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.leaderboard.kept import model_path
from flowsched_gym.registration import MODEL_PREFIX, MODEL_SUFFIX
from flowsched_gym.workload import workload_label


def main() -> None:
    """Runs the command."""
    run_application("flowsched-evaluate", "evaluate", _job)


def _job(config: EvaluateConfig, content: Mapping[str, Any], folder: Path, command: str) -> None:
    """Plays models and rules on the same episodes, writes results, table and figure, and prints the table."""
    env_id, kwargs = environment_arguments(config.env)
    comparison = play_all(
        env_id,
        kwargs,
        [*_models(config.model, trust=config.trust), *heuristics_of(env_id, config.policies)],
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


def _models(paths: list[str], *, trust: bool) -> list[Contestant]:
    """Names models by their files, or by the folders of these where the files are called alike."""
    for path in paths:
        if not path.endswith(MODEL_SUFFIX) and not path.startswith(MODEL_PREFIX):
            raise ConfigError(f"model is {path!r}: a model file ends in {MODEL_SUFFIX}")
    paths = [str(model_path(path)) for path in paths]
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        names = [f"{Path(path).resolve().parent.name}-{Path(path).stem}" for path in paths]
    if len(set(names)) < len(names):
        raise ConfigError(f"model is {paths}: two of them have the same name and folder name")
    return [Contestant(name=name, source=path, trust=trust) for name, path in zip(names, paths, strict=True)]


if __name__ == "__main__":
    main()
