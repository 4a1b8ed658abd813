"""Executes every notebook at small settings, and holds the stored files free of what an execution leaves behind."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tests.processes import PATIENCE
from tests.repository import ROOT

NOTEBOOKS: Final = sorted((ROOT / "notebooks").glob("*.ipynb"))

SMALL: Final = {
    "FLOWSCHED_NOTEBOOK_EPISODES": "10",
    "FLOWSCHED_NOTEBOOK_BURSTS": "20",
    "FLOWSCHED_NOTEBOOK_FLOWS": "100",
}
"""Settings under which a notebook takes seconds; ten episodes are the fewest that have intervals."""

KERNEL: Final = "python3"

STRICT: Final = """\
import socket, warnings

warnings.simplefilter("error")


def refuse(connection, address):
    raise ConnectionError(f"a notebook needs no network, but connects to {address}")


socket.socket.connect = refuse
"""
"""Runs before the cells of a notebook: a warning ends it, and so does a connection."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    """Returns a notebook whose form has been checked."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def execute(notebook: NotebookNode, folder: Path, *, allow_errors: bool = False) -> NotebookNode:
    """Executes a notebook in a folder of its own; returns it with the outputs of its cells."""
    notebook.cells.insert(0, new_code_cell(STRICT))
    resources = {"metadata": {"path": str(folder)}}
    waiting = {"startup_timeout": PATIENCE, "iopub_timeout": PATIENCE}
    NotebookClient(notebook, kernel_name=KERNEL, resources=resources, allow_errors=allow_errors, **waiting).execute()
    return notebook


def outputs_of(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        yield from cell.get("outputs", ())


@pytest.fixture
def kernel_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives kernels the small settings, this checkout, inline pictures and no file of the user's."""
    for name, value in SMALL.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_notebooks_are_numbered_in_the_order_of_reading() -> None:
    numbers = [re.fullmatch(r"(\d\d)(?:_[a-z0-9]+)+", path.stem)[1] for path in NOTEBOOKS]
    assert numbers == [f"{number:02}" for number in range(1, len(NOTEBOOKS) + 1)]
    assert numbers


@each_notebook
def test_a_notebook_runs_without_a_warning_and_shows_pictures(path: Path, kernel_folder: Path) -> None:
    outputs = list(outputs_of(execute(read(path), kernel_folder)))
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    assert [output for output in outputs if "image/png" in output.get("data", {})]
    assert list(kernel_folder.iterdir()) == []


def test_a_cell_that_warns_or_connects_fails(kernel_folder: Path) -> None:
    sources = ("warnings.warn('beware')", "urllib.request.urlopen('http://127.0.0.1:9')", "1 + 1")
    cells = [new_code_cell(f"import urllib.request, warnings\n{source}") for source in sources]

    _, warned, connected, counted = execute(new_notebook(cells=cells), kernel_folder, allow_errors=True).cells

    assert [output.get("ename") for output in warned.outputs] == ["UserWarning"]
    assert [output.get("ename") for output in connected.outputs] == ["URLError"]
    assert "needs no network" in connected.outputs[0].evalue
    assert [output.data["text/plain"] for output in counted.outputs] == ["2"]


@each_notebook
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = read(path)
    assert list(outputs_of(notebook)) == []
    assert {cell.get("execution_count") for cell in notebook.cells} == {None}
    assert {key for cell in notebook.cells for key in cell.metadata} == set()


@each_notebook
def test_a_notebook_names_the_python_kernel_and_no_version_of_it(path: Path) -> None:
    assert read(path).metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
        "language_info": {"name": "python"},
    }


@each_notebook
def test_a_notebook_begins_with_its_title_and_numbers_its_sections(path: Path) -> None:
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    sections = [int(number) for text in texts for number in re.findall(r"^## (\d+)\. ", text, flags=re.MULTILINE)]
    assert re.match(r"# \w", texts[0])
    assert sections == list(range(1, len(sections) + 1))
    assert sections


@each_notebook
def test_links_of_a_notebook_lead_to_files(path: Path) -> None:
    links = [
        link
        for cell in read(path).cells
        if cell.cell_type == "markdown"
        for link in re.findall(r"\]\(([^)#:]+)\)", cell.source)
    ]

    assert [link for link in links if not (path.parent / link).exists()] == []
