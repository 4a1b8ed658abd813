"""Fills the generated parts of the page about speed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["README", "page_with"]

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
