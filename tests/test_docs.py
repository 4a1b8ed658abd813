"""Holds the documents to what the package does: examples run, generated parts are fresh, and what is named is there."""

import contextlib
import io
import json
import re
import sys
from types import ModuleType
from typing import Final

import pytest
from PIL import Image

from benchmarks import registry_tables
from benchmarks.paper.closeness import FIGURES, README, THEORY, learned_rows, learned_table, readme
from benchmarks.paper.run import POINTS_ALLOWED, SHARE_ALLOWED
from benchmarks.speed import network, page, training, transports, vector
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.packets.schedulers import SCHEDULERS
from flowsched_gym.topology import TOPOLOGIES
from tests.processes import run
from tests.repository import ROOT

DOCUMENTS: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES: Final = (
    "docs/architecture.md",
    "docs/packets.md",
    "docs/simpy.md",
    "CONTRIBUTING.md",
    "README.md",
)
FILE: Final = re.compile(r"`((?:flowsched_gym|tests|docs|baselines|benchmarks|configs)/[\w./]+\.\w+)`")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples_run_and_print_what_is_shown(path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    printed = io.StringIO()
    for language, block in blocks:
        if language == "text":
            assert printed.getvalue() == block
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, path.name, "exec"), names)
            assert printed.getvalue()

    assert blocks


def test_every_topology_and_every_scheduler_is_described() -> None:
    for text, names in ((text_of("docs/networks.md"), TOPOLOGIES), (text_of("docs/packets.md"), SCHEDULERS)):
        rows = " ".join(re.findall(r"^\| (`.+?) \|", text, re.MULTILINE))
        assert [name for name in names if f"`{name}`" not in rows] == []


def test_terms_are_in_alphabetical_order_and_lead_to_pages_and_files_that_exist() -> None:
    rows = re.findall(r"^\| (.+?) \| .+ \| (.+) \|$", text_of("docs/glossary.md"), re.MULTILINE)[1:]
    files = [name for _, where in rows for name in re.findall(r"`([\w./]+\.\w+)`", where)]
    terms = [term.replace("`", "").casefold() for term, _ in rows]
    links = [link for _, where in rows for link in re.findall(r"\]\((.+?)\)", where)]

    assert terms == sorted(set(terms))
    assert [link for link in links if not (ROOT / "docs" / link).is_file()] == []
    assert len(files) > 40
    assert [name for name in files if not (ROOT / "flowsched_gym" / name).is_file()] == []


def test_processes_and_resources_are_where_the_page_on_simpy_says() -> None:
    text = text_of("docs/simpy.md")
    named = re.findall(r"^\| `([\w.]+)` \| `(\w+\.py)` \|", text, re.MULTILINE)

    assert len(named) == 9
    for name, file in named:
        room = ROOT / "flowsched_gym" / ("core" if file.startswith("simpy_") else "fluid/simpy")
        source = (room / file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"(def|class) {part}\b", source), (name, file)


def test_files_that_pages_name_exist() -> None:
    named = {page: FILE.findall(text_of(page)) for page in PAGES}

    assert len(named["docs/architecture.md"]) > 20
    assert [(page, name) for page, names in named.items() for name in names if not (ROOT / name).is_file()] == []


def test_the_picture_of_the_learned_agent_is_drawn_from_the_results() -> None:
    with Image.open(ROOT / "docs" / "images" / "learned.png") as picture:
        assert picture.info["Description"] == learned_table(), "it is stale: python -m docs.make_images"


def test_the_readme_says_that_no_agent_wins_while_none_is_better_than_the_rules_with_its_actions() -> None:
    agents = [row for row in learned_rows() if row.learned]
    better = [row.policy for row in agents if row.difference is None or row.difference.low > 0]
    assert agents
    assert ("no agent wins here" in " ".join(README.read_text(encoding="utf-8").split())) is not bool(better)


def test_the_figures_of_the_readme_are_inside_what_is_allowed() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
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
    assert README.read_text(encoding="utf-8") == readme(), "the README is stale: run `make paper`"
    figures = json.loads(module.FIGURES.read_text(encoding="utf-8"))
    current = page.README.read_text(encoding="utf-8")
    assert current == page.page_with(module.FIGURES, lay_out), f"it is stale: python -m {module.__name__} --write"
    assert "--quick" not in figures["command"]
    if module in (vector, network):
        assert set(figures["rates"]) == set(module.cases(1))


def test_the_tables_of_environments_and_heuristics_are_those_of_the_registry() -> None:
    for path, text in registry_tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is stale: python -m benchmarks.registry_tables"


def test_every_discipline_and_algorithm_has_a_row() -> None:
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


def test_the_documentation_builds_without_a_warning(tmp_path) -> None:
    """Reads all pages, runs examples of those that are made from the code, and resolves every link.

    Pictures, episodes that compile much, notebooks (which have tests of their own) and HTML are left to ``make docs``.
    """
    settings = ("complete=0", "nb_execution_mode=off")
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q", "-c", "docs"]
    command += [part for setting in settings for part in ("-D", setting)]

    run(*command, ".", str(tmp_path))

    assert (ROOT / "docs" / "catalogue" / "environments" / "artemis.md").is_file()
