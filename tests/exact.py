"""Reads flow sets that were solved exactly, in rational arithmetic, by other programs."""

import json
from typing import Any, Final

from tests.repository import ROOT

FOLDER: Final = ROOT / "tests" / "data" / "exact"
TOLERANCE: Final = 1e-9
"""Relative. The solutions are exact; float64 keeps them to a few units in the sixteenth digit."""


def cases_of(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return cases
