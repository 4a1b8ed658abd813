"""What tests know of each environment by its id: ``CASES`` of ``tests/systems/<system>/cases.py``."""

import importlib
from typing import Any, Final

from flowsched_gym.packets.parameters import PRESETS
from flowsched_gym.registration import SYSTEMS
from tests.cases import Cases

CASES: Final[dict[str, Cases]] = {
    spec.id: importlib.import_module(f"tests.systems.{system.name}.cases").CASES[spec.id]
    for system in SYSTEMS
    for spec in system.environments
}
OVER_PACKETS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "qcluster": ("flowsched/QCluster-v0", {"packets": "dctcp", "flows": 120, "period_us": 500.0}),
    "thresholds": (
        "flowsched/AuTOThresholds-v0",
        {"packets": "dctcp", "flows": 60, "period_flows": 7, "hosts": 8, "clusters": 2},
    ),
    "long-flows": (
        "flowsched/AuTOLongFlows-v0",
        {"packets": "cubic", "flows": 150, "hosts": 8, "scope": "network", "period_ms": 1.0},
    ),
    "order": ("flowsched/MERPOrder-v0", {"packets": "dctcp", "flows": 30, "topology": "tree9", "link_delay_us": 10.0}),
    "route": ("flowsched/MERPRoute-v0", {"packets": "newreno", "flows": 40, "link_delay_us": 10.0}),
    "tasks": ("flowsched/TAFETasks-v0", {"packets": "dctcp", "tasks": 6}),
    "tasks-mixed": (
        "flowsched/TAFETasks-v0",
        {"packets": "dctcp", "tasks": 6, "workload": "tafe-mixed", "information": "full"},
    ),
    "tasks-alibaba": (
        "flowsched/TAFETasks-v0",
        {
            **{"packets": {**PRESETS["cubic"], "start_jitter": 1e-4}, "tasks": 6, "workload": "tafe-alibaba"},
            **{"topology": "big-switch", "cpus": [0.5], "barrier": "task", "information": "full"},
        },
    ),
    "task-thresholds": (
        "flowsched/TAFEThresholds-v0",
        {"packets": "dctcp", "tasks": 12, "period_flows": 9, "topology": "big-switch"},
    ),
}
"""Ids, and arguments of short episodes over packets."""
FEW_OVER_PACKETS: Final = ("route", "tasks")
"""Those of them that are not exhaustive: each costs half a minute of compiling."""
