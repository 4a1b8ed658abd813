"""Trains the agents of the leaderboard, and keeps their models.

An agent is a file of ``configs/agent``: the setting of the suite, then the name of the agent. ``python -m
benchmarks.agents`` trains those of which ``benchmarks/models`` lacks some training, one sweep for each;
``--only artemis-heavy`` takes the agents of one setting, ``--seeds 2`` fewer trainings. Words that are left go to
``flowsched-train``: ``launcher=joblib hydra.launcher.n_jobs=2``. A sweep that was interrupted goes on where it stopped,
and one of all agents, ``flowsched-train -m 'agent=glob(*)' 'seed=range(10)' sweep_dir=multirun/agents``, leaves nothing
to do but to keep the models. Rows follow from ``flowsched leaderboard run --policy benchmarks/models/... --out
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
SUITE: Final = load_suite("standard-v2")
AGENTS: Final = tuple(sorted(path.stem for path in (HERE.parent / "configs" / "agent").glob("*.yaml")))
"""Names of the agents' files: that of the setting, and that of the agent, which has no hyphen."""
NUM_SEEDS: Final = 10
CURVE: Final = ("seed", "decisions", "metric", "mean", "first_seed", "episodes")
INTERIM: Final = (str(SUITE.validation[0]), "10")
"""First and number of the episodes in which ``configs/agent`` has agents looked at while they learn."""


def main() -> None:
    """Trains what is missing."""
    parser = argparse.ArgumentParser(description="Train the agents of the leaderboard.")
    parser.add_argument("--only", action="append", default=[], metavar="SETTING", help="setting; may be repeated")
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, metavar="N", help=f"trainings of each ({NUM_SEEDS})")
    parser.add_argument(
        "--folder", type=Path, default=Path("multirun/agents"), metavar="FOLDER", help="folder of the sweep"
    )
    options, words = parser.parse_known_args()
    for name in AGENTS:
        setting, _, agent = name.rpartition("-")
        if options.only and setting not in options.only:
            continue
        folder = MODELS / setting / agent
        missing = [seed for seed in range(options.seeds) if not (folder / f"seed{seed}.zip").exists()]
        if missing:
            sweep(name, missing, options.folder, words)
        for seed in missing:
            models = options.folder.glob(f"{name}-seed{seed}-*/model.zip")
            run = max(models, key=lambda model: model.stat().st_mtime).parent
            keep(run, folder, seed)
            add_to_curve(run / "progress.csv", folder, setting, seed)
        kept = f"benchmarks/models/{setting}/{agent}"
        print(f"flowsched leaderboard run --suite {SUITE.name} --env {setting} --policy {kept}")


def sweep(name: str, seeds: list[int], folder: Path, words: list[str]) -> None:
    """Trains an agent by some seeds, or goes on with its trainings."""
    several = f"seed={','.join(map(str, seeds))}"
    command = ["flowsched-train", "-m", f"agent={name}", several, f"sweep_dir={folder}", *words]
    print(shlex.join(command), flush=True)
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True)


def keep(run: Path, folder: Path, seed: int) -> None:
    """Copies the model of a run, and what it was trained for."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (".json", ".zip"):
        with replace_when_written(folder / f"seed{seed}{suffix}") as temporary:
            shutil.copyfile(run / f"model{suffix}", temporary)


def add_to_curve(progress: Path, folder: Path, setting: str, seed: int) -> None:
    """Writes the learning curve of a training beside its model, with those of the others."""
    environment = read_json(folder / f"seed{seed}.json")["environment"]
    metric = (SUITE.settings.get(setting) or find_environment(environment)).metric
    path, rows = folder / "curve.csv", []
    if path.exists():
        with path.open(encoding="utf-8") as file:
            rows = [(*row[:4], *INTERIM) for row in list(csv.reader(file))[1:] if row[0] != str(seed)]
    with progress.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row[f"evaluation/{metric}"]:
                rows.append(
                    (str(seed), str(int(float(row["timesteps"]))), metric, row[f"evaluation/{metric}"], *INTERIM)
                )
    with replace_when_written(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([CURVE, *sorted(rows, key=lambda row: int(row[0]))])


if __name__ == "__main__":
    main()
