"""What tests know of each environment by its id: ``CASES`` of ``tests/systems/<system>/cases.py``."""

import importlib
from typing import Final

from flowsched_gym.registration import SYSTEMS
from tests.cases import Cases

CASES: Final[dict[str, Cases]] = {
    spec.id: importlib.import_module(f"tests.systems.{system.name}.cases").CASES[spec.id]
    for system in SYSTEMS
    for spec in system.environments
}
