"""Trains the agents of the leaderboard, and keeps their models.

An agent is a file of ``configs/agent``: the setting of the suite, then the name of the agent. ``python -m
benchmarks.agents`` trains those of which ``benchmarks/models`` lacks some training, one sweep for each;
``--only artemis-heavy`` takes the agents of one setting, ``--seeds 2`` fewer trainings. Words that are left go to
``flowsched-train``: ``launcher=joblib hydra.launcher.n_jobs=2``. A sweep that was interrupted goes on where it stopped,
and one of all agents, ``flowsched-train -m 'agent=glob(*)' 'seed=range(10)' sweep_dir=multirun/agents``, leaves nothing
to do but to keep the models. The trainings of an agent are one file, with networks in half precision. Rows follow from
``flowsched leaderboard run --policy benchmarks/models/... --out benchmarks/results/standard-v3``, which this command
prints.
"""

import argparse
import csv
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import torch

from flowsched_gym.core.files import write_packed
from flowsched_gym.core.packed import is_file, packed_file, unpacked
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.integrations.archive import read_archive, write_archive
from flowsched_gym.integrations.models import FEW_WEIGHTS, MODEL_FORMAT
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.leaderboard.page.site import CURVE_FILE

HERE: Final = Path(__file__).resolve().parent
MODELS: Final = HERE / "models"
SUITE: Final = load_suite("standard-v3")
AGENTS: Final = tuple(sorted(path.stem for path in (HERE.parent / "configs" / "agent").glob("*.yaml")))
"""Names of the agents' files: that of the setting, and that of the agent, which has no hyphen."""
NUM_SEEDS: Final = 10
CURVE: Final = ("seed", "decisions", "metric", "mean", "first_seed", "episodes")
INTERIM: Final = (str(SUITE.validation[0]), "10")
"""First and number of the episodes in which ``configs/agent`` has agents looked at while they learn."""
SHOWN: Final = "evaluation/"
"""How the column of a run's metric begins."""
ONLY_TRAIN: Final = ("mlp_extractor.critic.", "mlp_extractor.value_", "value_net.", "actor_target.", "critic")
"""How names of weights begin that do not act: of critics, and of copies for training."""


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
        missing = [seed for seed in range(options.seeds) if not is_file(folder / f"seed{seed}.zip")]
        if missing:
            sweep(name, missing, options.folder, words)
            runs = {}
            for seed in missing:
                models = options.folder.glob(f"{name}-seed{seed}-*/model.zip")
                runs[seed] = max(models, key=lambda model: model.stat().st_mtime).parent
            keep(runs, folder)
        kept = f"benchmarks/models/{setting}/{agent}"
        print(f"flowsched leaderboard run --suite {SUITE.name} --env {setting} --policy {kept}")


def sweep(name: str, seeds: list[int], folder: Path, words: list[str]) -> None:
    """Trains an agent by some seeds, or goes on with its trainings."""
    several = f"seed={','.join(map(str, seeds))}"
    command = ["flowsched-train", "-m", f"agent={name}", several, f"sweep_dir={folder}", *words]
    print(shlex.join(command), flush=True)
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True)


def keep(runs: Mapping[int, Path], folder: Path) -> None:
    """Packs models by their training seeds, what they were trained for and their learning curves with those there."""
    files = dict(unpacked(folder)) if packed_file(folder).is_file() else {}
    rows = list(csv.reader(files.get(CURVE_FILE, b"").decode().splitlines()))[1:]
    for seed, run in runs.items():
        files |= {f"seed{seed}.json": (run / "model.json").read_bytes(), f"seed{seed}.zip": small(run / "model.zip")}
        with (run / "progress.csv").open(encoding="utf-8") as file:
            progress = [*csv.DictReader(file)]
        (metric,) = (name for name in METRIC_NAMES if SHOWN + name in progress[0])
        means = [(row["timesteps"], row[SHOWN + metric]) for row in progress]
        rows = [row for row in rows if row[0] != str(seed)]
        rows += [[str(seed), str(int(float(at))), metric, mean, *INTERIM] for at, mean in means if mean]
    lines = [CURVE, *sorted(rows, key=lambda row: int(row[0]))]
    write_packed(files | {CURVE_FILE: "".join(f"{','.join(line)}\n" for line in lines).encode()}, folder)


def small(model: Path) -> bytes:
    """Returns a model file whose network is rounded to half precision; weights that only train are zeros.

    A model of few weights stays as it is. The numbers keep their type, so the file is as long and packs smaller.
    """
    content = read_archive(model, "model", MODEL_FORMAT)
    if content["policy"] != FEW_WEIGHTS:
        content["weights"] = {
            name: torch.zeros_like(each) if name.startswith(ONLY_TRAIN) else each.half().to(each.dtype)
            for name, each in content["weights"].items()
        }
    with TemporaryDirectory() as folder:
        write_archive(written := Path(folder) / "model.zip", content)
        return written.read_bytes()


if __name__ == "__main__":
    main()
