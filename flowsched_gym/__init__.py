"""Offers published datacenter flow-scheduling problems as Gymnasium environments on one model of the network."""

import importlib
from typing import TYPE_CHECKING, Any, Final

from flowsched_gym.registration import register_environments
from flowsched_gym.version import __version__

if TYPE_CHECKING:
    from flowsched_gym.evaluation.replay import replay
    from flowsched_gym.model.records import Records
    from flowsched_gym.workload.workload import Workload

__all__ = ["Records", "Workload", "__version__", "replay"]

LAZY: Final = {
    "Records": "flowsched_gym.model.records",
    "Workload": "flowsched_gym.workload.workload",
    "replay": "flowsched_gym.evaluation.replay",
}
"""Public names that are imported when they are first used, so that importing the package stays light."""


def __getattr__(name: str) -> Any:
    """Imports a public name on its first use."""
    if name not in LAZY:
        raise AttributeError(f"module 'flowsched_gym' has no attribute {name!r}")
    value = getattr(importlib.import_module(LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Lists the public names too that have not been used yet."""
    return sorted({*globals(), *__all__})


register_environments()
