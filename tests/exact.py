"""Reads flow sets that were solved exactly, in rational arithmetic, by other programs."""

from typing import Any, Final

from flowsched_gym.core.files import read_json
from tests.repository import ROOT

FOLDER: Final = ROOT / "tests" / "data" / "exact"
TOLERANCE: Final = 1e-9
"""Relative. The solutions are exact; float64 keeps them to a few units in the sixteenth digit."""


def cases_of(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = read_json(FOLDER / f"{name}.json")["cases"]
    return cases
