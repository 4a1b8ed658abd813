"""Trains the agents of the leaderboard, keeps their models, and plays their test episodes.

``python -m benchmarks.agents`` goes through `AGENTS`; ``--only artemis-heavy`` takes part of them, ``--seeds 2`` fewer
trainings of each. What a folder of ``benchmarks/models`` has already is not trained again, and a training that was
interrupted goes on where it stopped. Rows follow from ``flowsched leaderboard run --policy benchmarks/models/... --out
benchmarks/results``, which this command prints.
"""

import argparse
import csv
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from flowsched_gym.core.files import read_json, replace_when_written
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.registration import find_environment

HERE: Final = Path(__file__).resolve().parent
MODELS: Final = HERE / "models"
SUITE: Final = load_suite("standard-v1")
NUM_SEEDS: Final = 5
NUM_EVOLVED: Final = 10
INTERIM_EPISODES: Final = 10
VALIDATION: Final = (
    f"evaluation.seed={SUITE.validation[0]} evaluation.episodes=1 "
    f"evaluation.interim_episodes={INTERIM_EPISODES} evaluation.bound=false"
)
"""Agents are looked at in episodes of the validation seeds, never in those of the test."""

FAST: Final = (
    "experiment=fast policy.width=32 policy.standardise=false algorithm.num_envs=256 algorithm.n_steps=32 "
    "algorithm.n_epochs=2 algorithm.learning_rate=3e-3 algorithm.gae_lambda=0.95 total_timesteps=400000"
)
"""Settings that `experiment=fast` had when these agents were trained."""
DEFER: Final = f"{FAST} env.defer=to-back"
TCP: Final = "env.transport=tcp policy=setwise total_timesteps=300000"
THESIS: Final = "experiment=thesis workload=gather-a1 total_timesteps=400000"
LOSSY: Final = "experiment=artemis_thesis env.defer=none"
LOSSY_WAIT: Final = "experiment=artemis_thesis total_timesteps=1000000"
MANY: Final = (
    "algorithm.gamma=0.995 algorithm.learning_rate=5e-4 algorithm.n_steps=128 algorithm.n_epochs=8 "
    "algorithm.batch_size=4096 total_timesteps=800000"
)
"""For ten destinations, whose rewards come together: longer horizons, smaller steps."""
THESIS_LOSSY: Final = "experiment=thesis env.transport=tcp-lossy-2018a total_timesteps=400000"
ORDER: Final = "experiment=merp_order env.f=32 policy.num_blocks=0 evaluation.interval=100000"
ROUTE: Final = "experiment=merp_route policy.standardise=false"
LONG_FLOWS: Final = (
    "experiment=auto_long_flows workload.flows=2000 env.scope=server env.n_l=11 "
    "env.thresholds=[200000.0,2000000.0,10000000.0] "
    "algorithm.n_steps=256 algorithm.gamma=0.97 algorithm.gae_lambda=0.95 "
    "total_timesteps=98304 evaluation.interval=49152 logger.interval=8192"
)
QCLUSTER: Final = "env.queues=8 evaluation.interval=4096"
TASKS: Final = "experiment=tafe_tasks policy.standardise=false total_timesteps=400000 evaluation.interval=100000"
AGENTS: Final = {
    ("artemis-a1", "ppo"): TCP,
    ("artemis-a2", "ppo"): f"{TCP} workload=gather-a2",
    ("artemis-a1", "a2c-thesis"): THESIS,
    ("artemis-a2", "a2c-thesis"): f"{THESIS} workload=gather-a2",
    ("artemis-thesis", "ppo-wait"): LOSSY_WAIT,
    ("artemis-thesis", "ppo"): LOSSY,
    ("artemis-thesis", "a2c-thesis"): f"{THESIS_LOSSY} workload=artemis-thesis",
    ("artemis-thesis-a2", "ppo-wait"): f"{LOSSY_WAIT} workload=artemis-thesis-a2",
    ("artemis-thesis-a2", "ppo"): f"{LOSSY} workload=artemis-thesis-a2",
    ("artemis-thesis-a2", "a2c-thesis"): f"{THESIS_LOSSY} workload=artemis-thesis-a2",
    ("artemis-thesis-multi", "ppo-wait"): f"{LOSSY_WAIT} workload=artemis-thesis-multi",
    ("artemis-thesis-multi", "ppo"): f"{LOSSY} workload=artemis-thesis-multi",
    ("artemis-thesis-scatter", "ppo"): f"{LOSSY} workload=artemis-thesis-scatter env.k=2 {MANY}",
    ("artemis-heavy", "ppo-defer"): f"{DEFER} total_timesteps=800000",
    ("artemis-heavy", "ppo"): FAST,
    ("artemis-heavy-a2", "ppo-defer"): f"{DEFER} workload=gather-heavy-a2 total_timesteps=600000",
    ("artemis-uniform", "ppo-defer"): f"{DEFER} workload=gather-uniform total_timesteps=600000",
    ("artemis-multi", "ppo-defer"): f"{DEFER} workload=gather-multi total_timesteps=600000",
    ("merp-order-pareto", "ppo"): f"{ORDER} total_timesteps=400000",
    ("merp-order-tree", "ppo"): f"{ORDER} workload=poisson-tree env.topology=tree9 total_timesteps=300000",
    ("merp-route", "ppo"): ROUTE,
    ("merp-route-failures", "ppo"): f"{ROUTE} workload=poisson-fat-tree-failures",
    ("auto-thresholds-web-search", "ppo"): "experiment=auto_thresholds_web_search workload.flows=5000",
    ("auto-thresholds-clusters", "ppo"): "experiment=auto_thresholds_clusters workload.flows=5000",
    ("auto-thresholds-changing", "ppo"): (
        "experiment=auto_thresholds_changing workload.flows=5000 env.period_flows=100"
    ),
    ("auto-long-flows", "ppo"): LONG_FLOWS,
    ("qcluster-w4", "ppo"): f"experiment=qcluster_w4 {QCLUSTER}",
    ("qcluster-changing", "ppo"): f"experiment=qcluster_changing {QCLUSTER}",
    ("qcluster-w6-fq", "ppo"): (
        f"experiment=qcluster_w4 workload=qcluster-w6-fq workload.flows=300 env.goal=fq env.reward=jain {QCLUSTER} "
        "evaluation.metric=slowdown_fairness"
    ),
    ("tafe-tasks-log", "ppo-attained"): TASKS,
    ("tafe-tasks-log", "ppo-full"): f"{TASKS} env.information=full",
    ("tafe-tasks-alibaba", "ppo-attained"): f"{TASKS} workload=tafe-alibaba",
    ("tafe-thresholds-log", "ppo"): "experiment=tafe_thresholds",
    ("tafe-thresholds-alibaba", "ppo"): "experiment=tafe_thresholds workload=tafe-alibaba env.within=shortest",
}
"""What ``flowsched-train`` is told for each agent of a setting; seeds are added."""

PAIRS: Final = "algorithm=cmaes algorithm.num_envs=80"
"""Evolution in which 40 candidates play two episodes each: more generations for the same decisions."""
CONTENDED: Final = f"env.k=3 env.f=10 {PAIRS} total_timesteps=10000000"
POSTPONE: Final = f"env.defer=to-back {CONTENDED} policy.start={{position:-1,postpone.slack:-20,postpone.1:4}}"
"""It begins by sending back what has less than 5 ms of slack, as ``postpone-late`` does."""
LOSSY_RULE: Final = f"env.k=10 env.f=5 env.transport=tcp-lossy-2018a env.defer=wait {PAIRS} total_timesteps=8000000"
ORDER_RULE: Final = "env=merp_order env.f=32 algorithm=cmaes algorithm.num_envs=320 algorithm.last_episodes=256"
ROUTE_RULE: Final = (
    "env=merp_route algorithm=cmaes policy.start={expansion_ratio:-40,expected_rate:1} total_timesteps=3000000"
)
TASKS_RULE: Final = "env=tafe_tasks env.f=32 algorithm=cmaes total_timesteps=4000000"
TOLD_ALL: Final = f"{TASKS_RULE} env.information=full policy.start={{task_left:-20}} algorithm.sigma=0.5"
BEST_CONSTANTS: Final = (
    "env=tafe_thresholds policy.start=constant algorithm=cmaes policy.constant=true algorithm.population=12 "
    "algorithm.num_envs=48 algorithm.sigma=0.3 total_timesteps=40000"
)
EVOLVED: Final = {
    ("artemis-thesis-wait", "cmaes"): f"workload=artemis-thesis {LOSSY_RULE}",
    ("artemis-thesis-a2-wait", "cmaes"): f"workload=artemis-thesis-a2 {LOSSY_RULE}",
    ("artemis-heavy", "cmaes"): f"workload=gather-heavy {CONTENDED}",
    ("artemis-heavy-postpone", "cmaes"): f"workload=gather-heavy {POSTPONE}",
    ("artemis-heavy-a2-postpone", "cmaes"): f"workload=gather-heavy-a2 {POSTPONE}",
    ("artemis-uniform-postpone", "cmaes"): f"workload=gather-uniform {POSTPONE}",
    ("artemis-multi-postpone", "cmaes"): f"workload=gather-multi {POSTPONE}",
    ("artemis-changing", "cmaes"): f"workload=artemis-changing {CONTENDED}",
    ("artemis-background", "cmaes"): f"workload=artemis-background {CONTENDED}",
    ("artemis-applications", "cmaes"): f"workload=artemis-applications {CONTENDED}",
    ("merp-order-pareto", "cmaes"): f"workload=poisson-pareto {ORDER_RULE} total_timesteps=30000000",
    ("merp-order-tree", "cmaes"): f"workload=poisson-tree env.topology=tree9 {ORDER_RULE} total_timesteps=12000000",
    ("merp-order-bursts", "cmaes"): (
        f"workload=poisson-tree-bursts env.topology=tree9 {ORDER_RULE} total_timesteps=12000000"
    ),
    ("merp-route", "cmaes"): f"workload=poisson-fat-tree {ROUTE_RULE}",
    ("merp-route-failures-repaired", "cmaes"): f"workload=poisson-fat-tree-failures-repaired {ROUTE_RULE}",
    ("tafe-tasks-log", "cmaes"): f"workload=tafe-log {TOLD_ALL}",
    ("tafe-tasks-log-attained", "cmaes"): f"workload=tafe-log {TASKS_RULE}",
    ("tafe-tasks-alibaba", "cmaes"): f"workload=tafe-alibaba {TOLD_ALL}",
    ("tafe-tasks-changing", "cmaes"): f"workload=tafe-changing {TOLD_ALL}",
    ("tafe-tasks-mixed", "cmaes"): f"workload=tafe-mixed {TOLD_ALL}",
    ("tafe-thresholds-alibaba", "static"): f"workload=tafe-alibaba env.within=shortest {BEST_CONSTANTS}",
    ("tafe-thresholds-changing", "static"): f"workload=tafe-changing {BEST_CONSTANTS}",
    ("artemis-generalist", "cmaes"): (
        "env.workload={one_of:[gather-heavy,gather-heavy-a2,gather-uniform,gather-multi]} "
        f"{POSTPONE} algorithm.num_envs=160 total_timesteps=15000000"
    ),
    ("tafe-tasks-generalist", "cmaes"): (
        f"env.workload={{one_of:[tafe-log,tafe-alibaba,tafe-changing,tafe-mixed]}} {TOLD_ALL} total_timesteps=8000000"
    ),
}
"""The same for agents of few weights, of the second suite; generalists have names of their own."""


def main() -> None:
    """Trains what is missing."""
    parser = argparse.ArgumentParser(description="Train the agents of the leaderboard.")
    parser.add_argument("--only", action="append", default=[], metavar="SETTING", help="setting; may be repeated")
    parser.add_argument(
        "--seeds", type=int, metavar="N", help=f"trainings of each ({NUM_SEEDS}; {NUM_EVOLVED} of few weights)"
    )
    parser.add_argument("--folder", type=Path, default=Path(), metavar="FOLDER", help="where runs/ lies (here)")
    options = parser.parse_args()
    for (setting, agent), overrides in (AGENTS | EVOLVED).items():
        if options.only and setting not in options.only:
            continue
        folder = MODELS / setting / agent
        for seed in range(options.seeds or (NUM_SEEDS if (setting, agent) in AGENTS else NUM_EVOLVED)):
            if not (folder / f"seed{seed}.zip").exists():
                train(setting, agent, overrides, seed, options.folder)
        write_curve(folder, options.folder / "runs", setting, agent)
        print(
            f"flowsched leaderboard run --suite {SUITE.name} --env {setting} --policy {folder.relative_to(HERE.parent)}"
        )


def train(setting: str, agent: str, overrides: str, seed: int, where: Path) -> None:
    """Trains one agent, or goes on with its training, and keeps its model."""
    name = f"{setting}-{agent}-seed{seed}"
    words = ["flowsched-train", *overrides.split(), *VALIDATION.split(), f"seed={seed}", f"run_name={name}"]
    command = [*words, "resume=true"]
    print(shlex.join(command), flush=True)
    where.mkdir(parents=True, exist_ok=True)
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True, cwd=where)
    keep(where / "runs" / name, MODELS / setting / agent, seed)


def keep(run: Path, folder: Path, seed: int) -> None:
    """Copies the model of a run, and what it was trained for."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (".json", ".zip"):
        with replace_when_written(folder / f"seed{seed}{suffix}") as temporary:
            shutil.copyfile(run / f"model{suffix}", temporary)


def write_curve(folder: Path, runs: Path, setting: str, agent: str) -> None:
    """Writes the learning curves of all trainings beside their models, where their runs are still there."""
    rows, played = [], (SUITE.validation[0], INTERIM_EPISODES)
    for model in sorted(folder.glob("seed*.zip")):
        environment = read_json(model.with_suffix(".json"))["environment"]
        metric = (SUITE.settings.get(setting) or find_environment(environment)).metric
        seed = model.stem.removeprefix("seed")
        progress = runs / f"{setting}-{agent}-seed{seed}" / "progress.csv"
        if not progress.exists():
            print(f"{progress} is not there: the learning curves of {setting}, {agent} stay as they are")
            return
        with progress.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row[f"evaluation/{metric}"]:
                    rows.append((seed, int(float(row["timesteps"])), metric, row[f"evaluation/{metric}"], *played))
    with replace_when_written(folder / "curve.csv") as temporary, temporary.open("w", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("seed", "decisions", "metric", "mean", "first_seed", "episodes"), *rows])


if __name__ == "__main__":
    main()
