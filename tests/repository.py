"""Finds the sources of the package, for the tests that read them."""

import ast
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent

FOLDERS: Final = {
    "flowsched_gym": "flowsched_gym",
    "baselines": "flowsched_gym/baselines",
    "configs": "flowsched_gym/configs",
}
"""Folders of the repository that go into the wheel, and where."""


class Source(NamedTuple):
    """A module of the package and where its source lies."""

    module: str
    path: Path

    @property
    def relative_path(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def parse(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), filename=self.relative_path)


def _sources() -> list[Source]:
    """Returns every module of the wheel that can be imported, by the import name that it has there."""
    found = []
    for folder, target in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if parts[-1] == "__main__":
                continue
            if parts[-1] == "__init__":
                parts = parts[:-1]
            found.append(Source(".".join((*target.split("/"), *parts)), path))
    return found


SOURCES: Final = _sources()
