"""Fills the generated parts of the page about speed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from flowsched_gym.core.files import write_text
from flowsched_gym.evaluation import write_json

README: Final = Path(__file__).with_name("README.md")


def page_with(figures: Path, table: Callable[[Mapping[str, Any]], str]) -> str:
    """Returns the page with a part made anew.

    Args:
        figures: File of what was measured; its name is that of the part.
        table: Lays the figures out.
    """
    start, end = f"<!-- generated: {figures.stem} -->", f"<!-- end of generated: {figures.stem} -->"
    before, _, rest = README.read_text(encoding="utf-8").partition(start)
    after = rest.partition(end)[2]
    return f"{before}{start}\n\n{table(json.loads(figures.read_text(encoding='utf-8')))}\n{end}{after}"


def publish(figures: Mapping[str, Any], path: Path, table: Callable[[Mapping[str, Any]], str], *, write: bool) -> None:
    """Prints the figures of a run and, where asked, keeps them and fills their part of the page.

    Args:
        figures: What was measured.
        path: File that keeps them.
        table: Lays them out.
        write: Whether to keep them.
    """
    print(table(figures))
    if write:
        write_json(figures, path)
        write_text(page_with(path, table), README)
        print(f"written to {path} and {README}")
