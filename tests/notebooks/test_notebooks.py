"""Executes every notebook at small settings, and holds the stored files free of what an execution leaves behind."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from flowsched_gym.leaderboard import group_results, load_suite, published_results
from tests.cases import few_of
from tests.leaderboard.test_forged_files import TINY
from tests.processes import PATIENCE
from tests.repository import ROOT

NOTEBOOKS: Final = sorted((ROOT / "notebooks").glob("*.ipynb"))

SMALL: Final = {
    "FLOWSCHED_NOTEBOOK_EPISODES": "10",
    "FLOWSCHED_NOTEBOOK_BURSTS": "10",
    "FLOWSCHED_NOTEBOOK_FLOWS": "100",
    "FLOWSCHED_NOTEBOOK_CANDIDATES": "3",
    "FLOWSCHED_NOTEBOOK_STEPS": "128",
    "FLOWSCHED_NOTEBOOK_TRAINING": (
        "seed=0 env.bursts=5 vectorization=dummy algorithm.num_envs=2 algorithm.batch_size=64 progress_bar=false "
        "evaluation.interim_episodes=1 evaluation.episodes=2 evaluation.bound=false"
    ),
}
"""Settings under which a notebook takes seconds; ten episodes are the fewest that have intervals."""

SETTING: Final = TINY["settings"]["short"]
SUITE: Final = TINY | {
    "name": "small-v1",
    "settings": {"artemis-heavy": SETTING | {"kwargs": SETTING["kwargs"] | {"bursts": 10}}},
}
"""A suite of short episodes."""

STRICT: Final = """\
import socket, warnings

warnings.simplefilter("error")


def refuse(connection, address):
    raise ConnectionError(f"a notebook needs no network, but connects to {address}")


socket.socket.connect = refuse
"""
"""Runs before the cells of notebooks: a warning ends them, and so does a connection."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    """Returns a notebook whose form has been checked."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


class Kernel:
    """A kernel in which notebooks run one after the other, each without the names of those before it.

    It starts once, as starting and importing would take longer than the notebooks themselves.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(folder))
        self.run(new_notebook(cells=[new_code_cell(STRICT)]))

    def run(self, notebook: NotebookNode, *, allow_errors: bool = False) -> NotebookNode:
        """Executes a notebook; returns it with the outputs of its cells."""
        notebook.cells.insert(0, new_code_cell("%reset -f"))
        waiting = {"startup_timeout": PATIENCE, "iopub_timeout": PATIENCE}
        client = NotebookClient(notebook, km=self.manager, allow_errors=allow_errors, **waiting)
        client.comm_open_handlers["jupyter.widget"] = lambda message: None  # see docs/conf.py
        try:
            client.execute()
        finally:
            client.kc.stop_channels()
        return notebook


def outputs_of(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        yield from cell.get("outputs", ())


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Gives a kernel the small settings, this checkout, inline pictures and no file of the user's."""
    place = tmp_path_factory.mktemp("notebooks")
    folder = place / "work"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        suite = place / "small-v1.json"
        suite.write_text(json.dumps(SUITE), encoding="utf-8")
        folders = {name: str(place / name) for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
        files = {"FLOWSCHED_NOTEBOOK_SUITE": str(suite), "PYTHONPATH": str(ROOT)}
        for name, value in (SMALL | folders | files).items():
            patch.setenv(name, value)
        patch.delenv("MPLBACKEND", raising=False)
        kernel = Kernel(folder)
        yield kernel
        kernel.manager.shutdown_kernel(now=True)


# The others train, or compile what no other test needs.
@pytest.mark.parametrize(
    "path",
    few_of(NOTEBOOKS, [path for path in NOTEBOOKS if path.stem[:2] in ("01", "03", "04")]),
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_without_a_warning_and_shows_pictures(path: Path, kernel: Kernel) -> None:
    outputs = list(outputs_of(kernel.run(read(path))))
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    assert [output for output in outputs if "image/png" in output.get("data", {})]
    assert list(kernel.folder.iterdir()) == []


def test_a_setting_of_the_published_suite_has_each_policy_once() -> None:
    sources = [cell.source for cell in read(ROOT / "notebooks" / "08_onto_the_leaderboard.ipynb").cells]
    published = re.search(r"^groups = .*\npublished = .*$", "\n".join(sources), re.MULTILINE)
    suite = load_suite("standard")
    names = {"suite": suite, "group_results": group_results, "published_results": published_results}
    exec(published[0], names | {"setting": suite.settings["artemis-heavy"]}, found := {})
    policies = [result.policy for result in found["published"]]
    assert policies
    assert len(policies) == len(set(policies))


def test_a_cell_that_warns_or_connects_fails(kernel: Kernel) -> None:
    sources = ("warnings.warn('beware')", "urllib.request.urlopen('http://127.0.0.1:9')", "1 + 1")
    cells = [new_code_cell(f"import urllib.request, warnings\n{source}") for source in sources]
    _, warned, connected, counted = kernel.run(new_notebook(cells=cells), allow_errors=True).cells
    assert [output.get("ename") for output in warned.outputs] == ["UserWarning"]
    assert [output.get("ename") for output in connected.outputs] == ["URLError"]
    assert "needs no network" in connected.outputs[0].evalue
    assert [output.data["text/plain"] for output in counted.outputs] == ["2"]


@each_notebook
def test_a_notebook_is_stored_in_the_order_of_reading_without_outputs_and_its_links_lead_to_files(path: Path) -> None:
    assert re.fullmatch(rf"{NOTEBOOKS.index(path) + 1:02}(_[a-z0-9]+)+", path.stem)
    notebook = read(path)
    assert list(outputs_of(notebook)) == []
    assert {cell.get("execution_count") for cell in notebook.cells} == {None}
    assert {key for cell in notebook.cells for key in cell.metadata} == set()
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert [link for link in re.findall(r"\]\(([^)#:]+)\)", text) if not (path.parent / link).exists()] == []
