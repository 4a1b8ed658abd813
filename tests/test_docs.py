"""Holds the documents to what the package does: examples and commands run, generated parts are fresh, names exist.

Commands run in an empty folder, from the wheel: a reader has no checkout. By default those that take seconds run, in
this process but for those of the README; of the others, arguments and configurations are checked. The exhaustive tests
run all of them, one after the other, from the wheel.
Arguments at their end shorten those that train, plan or play many episodes.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest
from PIL import Image
from pygments.lexers import get_all_lexers

from benchmarks import registry_tables
from benchmarks.paper.closeness import FIGURES, README, THEORY, learned_rows, learned_table, readme
from benchmarks.paper.run import POINTS_ALLOWED, SHARE_ALLOWED
from benchmarks.speed import network, page, training, transports, vector
from flowsched_gym.baselines import evaluate, train, tune
from flowsched_gym.baselines.applications.multirun import SweepTables
from flowsched_gym.cli import main as flowsched
from flowsched_gym.cli.app import _parser
from flowsched_gym.core.files import read_json
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.packets.schedulers import SCHEDULERS
from flowsched_gym.topology import TOPOLOGIES
from tests.cases import few_of
from tests.processes import Outcome, call, run
from tests.repository import ROOT
from tests.test_repository import PYPROJECT

DOCUMENTS: Final = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
NAMING_FILES: Final = ("docs/architecture.md", "docs/packets.md", "docs/simpy.md", "CONTRIBUTING.md", "README.md")
FILE: Final = re.compile(r"`((?:flowsched_gym|tests|docs|baselines|benchmarks|configs)/[\w./]+\.\w+)`")

BLOCK: Final = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TOCTREE: Final = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTED: Final = re.compile(
    r"^```(?:bash|console|sh)\n(flowsched [^\n]*)\n```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE
)
"""A command alone in its block, and the block of what it prints."""
PROGRAMS: Final = ("flowsched", "python", "ray", "wandb")
"""What begins a command; other lines of these blocks are what a command prints."""
ELSEWHERE: Final = re.compile(r"^ray |^wandb |launcher=(ray|slurm)|ppo_on_|^flowsched (leaderboard verify|watch|play)")
"""What takes a cluster, an account, a screen or other packages; and verifying, which takes as long as playing did."""
LONG: Final = re.compile(
    r"^python | demo|tune-rule| score | collect |-train|-tune|-evaluate|search|QCluster|model\.zip|leaderboard"
)
"""Commands that take more than seconds, or the files of one that does."""

TRAINING: Final = "total_timesteps=20000 evaluation.episodes=2 progress_bar=false"
SHORTER: Final = {
    "flowsched-train": f"{TRAINING} evaluation.interim_episodes=1 evaluation.bound=false",
    "flowsched-tune": f"{TRAINING} trials=2",
    "flowsched-evaluate": "episodes=2 bound=false progress_bar=false",
    "python -m flowsched_gym.baselines.offline": "--updates 50 --episodes 2",
    "python -m flowsched_gym.baselines.ppo_without_sb3": "--total-steps 20000",
    "flowsched evaluate": "--episodes 2",
}
"""What shortens commands, by how they begin."""
FILES: Final = {
    "docs/leaderboard.md": {"my_agent.py": r"```python\n(.*?)\n# Not in the module"},
    "docs/networks.md": {"racks.yaml": r"```yaml\n# racks.yaml\n(.*?)```"},
    "docs/own-traffic.md": {
        "records.csv": r"```text\n(.*?)```",
        "racks.graphml": r"```xml\n(.*?)```",
        "like.yaml": r"```yaml\n(.*?)```",
        "racks-v1.json": r"```json\n(.*?)```",
    },
    "docs/workloads.md": {"own/workload/two-pods.yaml": r"```yaml\n(.*?)```"},
}
"""Files that a reader of a page writes, and where the page has them."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if "```python" in text_of(each)])
def test_examples_run_and_print_what_is_shown(document, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", text_of(document), re.DOTALL)
    names: dict = {}
    printed = io.StringIO()
    for language, block in blocks:
        if language == "text":
            assert printed.getvalue() == block
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, document, "exec"), names)
            assert printed.getvalue()
    assert blocks


def test_processes_and_resources_are_where_the_page_on_simpy_says() -> None:
    text = text_of("docs/simpy.md")
    named = re.findall(r"^\| `([\w.]+)` \| `(\w+\.py)` \|", text, re.MULTILINE)
    assert len(named) == 9
    for name, file in named:
        room = ROOT / "flowsched_gym" / {"simpy_environment.py": "core", "stages.py": "flows"}.get(file, "fluid/simpy")
        source = (room / file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"(def|class) {part}\b", source), (name, file)


def test_files_that_pages_name_exist_and_terms_are_in_alphabetical_order() -> None:
    terms = re.findall(r"^\| (.+?) \| .+ \| (.+) \|$", text_of("docs/glossary.md"), re.MULTILINE)[1:]
    named = {page: FILE.findall(text_of(page)) for page in NAMING_FILES}
    named["docs/glossary.md"] = [
        f"flowsched_gym/{name}" for _, where in terms for name in re.findall(r"`([\w./]+\.\w+)`", where)
    ]
    names = [name.replace("`", "").casefold() for name, _ in terms]
    assert names == sorted(set(names))
    assert min(len(named["docs/architecture.md"]) - 20, len(named["docs/glossary.md"]) - 40) > 0
    assert [(page, name) for page, names in named.items() for name in names if not (ROOT / name).is_file()] == []


def test_guides_are_in_the_order_of_use_extras_are_described_and_the_pictures_of_the_style_sheet_exist() -> None:
    entries = re.findall(
        r"^(?:.* <)?([\w./*\[\]-]+)>?$", "\n".join(TOCTREE.findall(text_of("docs/index.md"))), re.MULTILINE
    )
    order = ["installing", "../notebooks/01_first_episode", "training", "../baselines/README", "gallery", "workloads"]
    order += ["networks", "packets", "leaderboard", "../CONTRIBUTING"]
    assert [entry for entry in entries if entry in order] == order
    extras = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", text_of("docs/installing.md"), re.MULTILINE)))
    assert set(extras) == set(PYPROJECT["project"]["optional-dependencies"])
    for name in re.findall(r'src\$="/(.+?)"', text_of("docs/_static/site.css")):
        assert f"images/{name}" in text_of("docs/index.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_blocks_of_code_are_in_languages_that_pygments_colours(document: str) -> None:
    languages = set(re.findall(r"^```([\w+-]+)$", text_of(document), re.MULTILINE))
    aliases = {alias for _, names, *_ in get_all_lexers() for alias in names}
    assert languages <= aliases


def test_the_picture_of_the_learned_agent_and_the_readme_are_made_of_the_results() -> None:
    with Image.open(ROOT / "docs" / "images" / "learned.png") as picture:
        assert picture.info["Description"] == learned_table(), "it is stale: python -m docs.make_images"
    assert README.read_text(encoding="utf-8") == readme(), "the README is stale: run `make paper`"


def test_the_readme_says_that_no_agent_wins_while_none_is_better_than_the_rules_with_its_actions() -> None:
    agents = [row for row in learned_rows() if row.learned]
    better = [row.policy for row in agents if row.difference is None or row.difference.low > 0]
    assert agents
    assert ("no agent wins here" in " ".join(README.read_text(encoding="utf-8").split())) is not bool(better)


def test_the_figures_of_the_readme_are_inside_what_is_allowed() -> None:
    figures = read_json(FIGURES)
    assert figures["exact"]["largest_relative_gap"] < 1e-9
    assert max(abs(figures["theory"][name] / mean - 1) for name, mean in THEORY.items()) < 0.01
    assert figures["ns3"]["largest_points"] < POINTS_ALLOWED
    assert figures["ns3"]["largest_quartile_share"] < SHARE_ALLOWED
    assert figures["ns3"]["largest_isolated_share"] < SHARE_ALLOWED


@pytest.mark.parametrize(
    ("module", "lay_out"),
    [(vector, vector.table), (network, network.tables), (training, training.table), (transports, transports.table)],
    ids=["vector", "network", "training", "transports"],
)
def test_the_generated_parts_of_the_pages_are_those_of_the_figures(module: ModuleType, lay_out) -> None:
    figures = json.loads(module.FIGURES.read_text(encoding="utf-8"))
    current = page.README.read_text(encoding="utf-8")
    assert current == page.page_with(module.FIGURES, lay_out), f"it is stale: python -m {module.__name__} --write"
    assert "--quick" not in figures["command"]
    if module in (vector, network):
        assert set(figures["rates"]) == set(module.cases(1))


def test_the_tables_of_environments_and_heuristics_are_those_of_the_registry() -> None:
    for path, text in registry_tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is stale: python -m benchmarks.registry_tables"


def test_every_topology_scheduler_discipline_and_algorithm_has_a_row() -> None:
    for document, names in (("docs/networks.md", TOPOLOGIES), ("docs/packets.md", SCHEDULERS)):
        rows = " ".join(re.findall(r"^\| (`.+?) \|", text_of(document), re.MULTILINE))
        assert [name for name in names if f"`{name}`" not in rows] == []
    text = text_of("baselines/README.md")
    for name, discipline in DISCIPLINES.items():
        assert f"| `{name}` |" in text
        assert f"`flowsched_gym.fluid.disciplines:{discipline.__name__}`" in text
    for path in (ROOT / "configs" / "algorithm").glob("*.yaml"):
        assert f"`algorithm={path.stem}" in text


def test_the_example_with_stable_baselines3_learns() -> None:
    code = re.search(r"```python\n(.*?)```", text_of("baselines/README.md"), re.DOTALL)[1]
    assert "45_056" in code
    names: dict = {}
    exec(compile(code.replace("45_056", "16_384"), "README.md", "exec"), names)
    assert names["model"].num_timesteps == 16_384
    assert names["model"].policy.optimizer.state


@pytest.mark.exhaustive
def test_the_documentation_builds_without_a_warning(tmp_path) -> None:
    """Reads all pages, runs examples of those that are made from the code, and resolves every link.

    Pictures, episodes that compile much, notebooks (which have tests of their own) and HTML are left to ``make docs``.
    """
    settings = ("complete=0", "nb_execution_mode=off", "smartquotes=0")
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q", "-c", "docs"]
    command += [part for setting in settings for part in ("-D", setting)]
    run(*command, ".", str(tmp_path))
    assert (ROOT / "docs" / "catalogue" / "environments" / "artemis.md").is_file()


def commands_of(page: str) -> list[str]:
    """Returns the commands of a page, each in one line, without its comment."""
    lines = "\n".join(BLOCK.findall(text_of(page))).replace("\\\n", " ").splitlines()
    commands = [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith(PROGRAMS)]
    return [command for command in commands if not ELSEWHERE.search(command)]


WITH_COMMANDS: Final = [page for page in ("baselines/README.md", *DOCUMENTS) if commands_of(page)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Puts this process into a folder with nothing but what the reader of a page writes."""
    monkeypatch.chdir(tmp_path)
    page = request.node.callspec.params["page"]
    for name, place in FILES.get(page, {}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.search(place, text_of(page), re.DOTALL)[1])
        (path.parent / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n300000,1\n")
    return tmp_path


def shortened(command: str) -> str:
    return " ".join([command, *(words for start, words in SHORTER.items() if f"{command} ".startswith(f"{start} "))])


def run_from(installed: Path, command: str, folder: Path) -> Outcome:
    """Runs a command line of a shell with an installed wheel."""
    path = os.pathsep.join([str(installed / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    return run("bash", "-c", command, folder=folder, PATH=path, PYTHONPATH=str(installed))


@pytest.mark.parametrize("page", few_of(WITH_COMMANDS, {*WITH_COMMANDS} - {"docs/packets.md", "baselines/README.md"}))
def test_quick_commands_run_and_all_others_are_understood(
    page: str, here: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, capsys
) -> None:
    printed = {shlex.join(shlex.split(command)): text for command, text in PRINTED.findall(text_of(page))}
    assert (page != "docs/own-traffic.md") or printed
    monkeypatch.setattr(SweepTables, "on_multirun_end", lambda *_, **__: None)
    begun: list[str] = []
    applications = {"train": (train, "job"), "tune": (tune, "_job"), "evaluate": (evaluate, "_job")}
    for module, job in applications.values():
        monkeypatch.setattr(module, job, lambda config, content, folder, command: begun.append(command))
    for command in commands_of(page):
        program, *words = shlex.split(command)
        if not LONG.search(command) and page == "README.md":
            run_from(request.getfixturevalue("installed"), shortened(command), here)
        elif not LONG.search(command):
            capsys.readouterr()
            assert flowsched(shlex.split(shortened(command))[1:]) == 0
            shown = printed.get(command)
            assert shown in (None, capsys.readouterr().out)
        elif program == "flowsched":
            _parser().parse_args(words)
        elif program.startswith("flowsched-"):
            named = (word for word in words if word.startswith("experiment=") and word.endswith(".yaml"))
            experiment = Path(next(named, "").partition("=")[2])
            if experiment.name:
                experiment.parent.mkdir(parents=True)
                experiment.write_text("# @package _global_\n")
            few = [word for word in words if not word.startswith(("seed=range", "launcher=", "hydra.launcher"))]
            few = ["agent=merp-route-cmaes" if word.startswith("agent=glob") else word for word in few]
            done = len(begun)
            assert call(program, applications[program.removeprefix("flowsched-")][0].main, *few) == 0
            assert len(begun) > done


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_runs(page: str, here: Path, installed: Path) -> None:
    for command in commands_of(page):
        outcome = run_from(installed, shortened(command), here)
        if command == "flowsched demo":
            quoted = " ".join(re.findall(r"^> (.*)", text_of(page), re.MULTILINE))
            assert quoted in " ".join(outcome.out.split())


@pytest.mark.exhaustive
def test_the_table_of_a_sweep_is_what_its_command_prints(installed: Path, tmp_path: Path) -> None:
    blocks = r"^```sh\n(flowsched-train -m [^\n]*total_timesteps=50000)\n```\n\n```console\n(.*?)^```"
    command, table = re.search(blocks, text_of("docs/sweeps.md"), re.DOTALL | re.MULTILINE).groups()
    printed = run_from(installed, command, tmp_path).out.splitlines()
    assert [line for line in table.splitlines() if line not in printed] == []
