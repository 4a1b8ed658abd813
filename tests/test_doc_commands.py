"""Runs the commands of the documents in an empty folder, from the wheel: a reader has no checkout.

By default commands that take seconds run; of the others, arguments and configurations are checked. The exhaustive tests
run all of them, one after the other, and shorten those that train or plan by arguments at their end.
"""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

from flowsched_gym.baselines import evaluate, run_heuristics, train, tune
from flowsched_gym.baselines.applications.multirun import SweepTables
from flowsched_gym.cli.app import _parser
from tests.processes import run
from tests.repository import ROOT

PAGES: Final = (
    "README.md",
    "baselines/README.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
)
BLOCK: Final = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAMS: Final = ("flowsched", "python", "ray", "wandb")
"""What begins a command; other lines of these blocks are what a command prints."""
ELSEWHERE: Final = re.compile(r"^ray |^wandb |launcher=(ray|slurm)|^flowsched leaderboard verify")
"""What takes a cluster or an account; and verifying, which plays for as long as ``leaderboard run`` before it."""
LONG: Final = re.compile(r"^python |-train|-tune|-evaluate|-heuristics|search|QCluster|model\.zip|leaderboard")
"""Commands that take more than seconds, or the files of one that does."""

TRAINING: Final = "total_timesteps=20000 evaluation.episodes=2 progress_bar=false"
COMPARING: Final = "episodes=2 bound=false progress_bar=false"
SHORTER: Final = {
    "flowsched-train": f"{TRAINING} evaluation.interim_episodes=1 evaluation.bound=false",
    "flowsched-tune": f"{TRAINING} trials=2",
    "flowsched-heuristics": COMPARING,
    "flowsched-evaluate": COMPARING,
    "python -m flowsched_gym.baselines.train_auto": "--decisions 600",
    "python -m flowsched_gym.baselines.ppo_without_sb3": "--total-steps 20000",
    "flowsched evaluate": "--episodes 2",
}
"""What shortens commands, by how they begin."""
FILES: Final = {
    "docs/leaderboard.md": {"my_agent.py": r"```python\n(.*?)\n# Not in the module"},
    "docs/workloads.md": {"own/workload/two-pods.yaml": r"```yaml\n(.*?)```"},
}
"""Files that a reader of a page writes, and where the page has them."""
CDF: Final = "size_bytes,cdf\n1000,0\n300000,1\n"


def commands_of(page: str) -> list[str]:
    """Returns the commands of a page, each in one line, without its comment."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = "\n".join(BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    commands = [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith(PROGRAMS)]
    return [command for command in commands if not ELSEWHERE.search(command)]


WITH_COMMANDS: Final = [page for page in PAGES if commands_of(page)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Puts this process into a folder with nothing but what the reader of a page writes."""
    monkeypatch.chdir(tmp_path)
    page = request.node.callspec.params["page"]
    for name, place in FILES.get(page, {}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.search(place, (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)[1])
        (path.parent / "sizes.csv").write_text(CDF)
    return tmp_path


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_quick_commands_run_and_all_others_are_understood(
    page: str, here: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SweepTables, "on_multirun_end", lambda *_, **__: None)
    begun: list[str] = []
    applications = {"train": (train, "job"), "tune": (tune, "_job"), "evaluate": (evaluate, "_job")}
    applications["heuristics"] = (run_heuristics, "_job")
    for module, job in applications.values():
        monkeypatch.setattr(module, job, lambda config, content, folder, command: begun.append(command))
    for command in commands_of(page):
        program, *words = shlex.split(command)
        if not LONG.search(command):
            run_from(installed, command, here)
        elif program == "flowsched":
            _parser().parse_args(words)
        elif program.startswith("flowsched-"):
            experiment = Path(next((word for word in words if word.endswith(".yaml")), "none").partition("=")[2])
            if experiment.name:
                experiment.parent.mkdir(parents=True)
                experiment.write_text("# @package _global_\n")
            few = [word for word in words if not word.startswith("seed=range")]
            monkeypatch.setattr(sys, "argv", [program, *few])
            done = len(begun)
            applications[program.removeprefix("flowsched-")][0].main()
            assert len(begun) > done


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_runs(page: str, here: Path, installed: Path) -> None:
    for command in commands_of(page):
        shorter = " ".join(words for start, words in SHORTER.items() if f"{command} ".startswith(f"{start} "))
        run_from(installed, f"{command} {shorter}", here)


def run_from(installed: Path, command: str, folder: Path) -> None:
    """Runs a command line of a shell with an installed wheel."""
    path = os.pathsep.join([str(installed / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    run("bash", "-c", command, folder=folder, PATH=path, PYTHONPATH=str(installed))
