"""Helpers that write Markdown: tables, arguments from docstrings, examples with what they print."""

import contextlib
import inspect
import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = [
    "arguments_table",
    "code",
    "example",
    "first_sentence",
    "list_page",
    "picture",
    "prose",
    "section_entries",
    "shown",
    "table",
    "write_page",
]

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def write_page(path: Path, text: str) -> None:
    """Writes a page, which ends with one line break."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a table; bars inside cells are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def code(text: object) -> str:
    """Returns a text as code, with single line breaks as spaces."""
    return f"`{' '.join(str(text).split())}`"


def first_sentence(described: object) -> str:
    """Returns the first line of a docstring without its full stop."""
    return (inspect.getdoc(described) or "").partition("\n")[0].removesuffix(".")


def prose(described: object) -> str:
    """Returns a docstring without its sections of arguments and errors."""
    document = inspect.getdoc(described) or ""
    match = SECTION.search(document)
    return (document[: match.start()] if match else document).strip()


def section_entries(described: object, section: str) -> dict[str, str]:
    """Returns the entries of a section of a docstring, such as ``Args``, by name."""
    document = inspect.getdoc(described) or ""
    _, _, rest = document.partition(f"\n{section}:\n")
    end = re.search(r"^\S", rest, re.MULTILINE)
    body = rest[: end.start()] if end else rest
    return {name: " ".join(meaning.split()) for name, meaning in ENTRY.findall(body)}


def arguments_table(kind: type) -> str:
    """Returns a table of what a class takes: name, type, default and meaning."""
    meanings = section_entries(kind, "Args")
    if kind.__init__ is object.__init__:
        return ""
    rows = []
    for name, parameter in inspect.signature(kind).parameters.items():
        value = "required" if parameter.default is parameter.empty else code(_plain(parameter.default))
        rows.append((code(name), code(_annotation(parameter.annotation)), value, meanings.get(name, "")))
    return table(("argument", "type", "default", "meaning"), rows) if rows else ""


def example(source: str, *, run: bool = True) -> str:
    """Runs a piece of Python and returns it with what it prints; one that is not run is compiled all the same."""
    source = textwrap.dedent(source).strip() + "\n"
    program = compile(source, "example", "exec")
    if not run:
        return f"```python\n{source}```\n"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    return f"```python\n{source}```\n\n```text\n{printed.getvalue()}```\n"


def shown(value: object) -> str:
    """Returns a value as Python code with double quotes."""
    return repr(value).replace("'", '"')


def picture(name: str, text: str) -> str:
    """Returns a picture that lies beside the page."""
    return f"![{text}]({name})\n"


def list_page(title: str, text: str, entries: Iterable[tuple[str, str, str]], *, order: bool = True) -> str:
    """Returns the first page of a folder: a table of its pages (file name, title, description), and their order."""
    entries = list(entries)  # read twice
    rows = [(f"[`{name}`]({file}.md)", description) for file, name, description in entries]
    page = f"# {title}\n\n{text}\n\n{table(('name', 'what it is'), rows)}\n"
    files = "\n".join(file for file, _, _ in entries)
    return page + f"```{{toctree}}\n:hidden:\n\n{files}\n```\n" if order else page


def _plain(default: object) -> object:
    return f'"{default}"' if isinstance(default, str) else default


def _annotation(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    text = re.sub(
        r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w*?(float|int|bool)\d*_?\]\]",
        r"\1 array",
        re.sub(r"\w+\.(?=\w)", "", text),
    )
    return text.replace("Sequence[", "sequence[")
