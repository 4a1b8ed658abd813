"""Offers published datacenter flow-scheduling problems as Gymnasium environments on one model of the network.

``help(env.unwrapped)`` is the specification of an environment that ``gymnasium.make`` has made; ``help(env)`` is that
of Gymnasium's wrapper around it. ``flowsched list`` names all environments.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from flowsched_gym.registration import register_environments
from flowsched_gym.version import __version__

if TYPE_CHECKING:
    from flowsched_gym.evaluation.packets import replay_packets, serve_packets
    from flowsched_gym.evaluation.replay import replay
    from flowsched_gym.flows.records import Records
    from flowsched_gym.flows.workload import Workload
    from flowsched_gym.packets.state import PacketRecords, PacketTrace
    from flowsched_gym.players.kept import load_agent

__all__ = [
    "PacketRecords",
    "PacketTrace",
    "Records",
    "Workload",
    "__version__",
    "load_agent",
    "replay",
    "replay_packets",
    "serve_packets",
]

LAZY: Final = {
    "PacketRecords": "flowsched_gym.packets.state",
    "PacketTrace": "flowsched_gym.packets.state",
    "Records": "flowsched_gym.flows.records",
    "Workload": "flowsched_gym.flows.workload",
    "load_agent": "flowsched_gym.players.kept",
    "replay": "flowsched_gym.evaluation.replay",
    "replay_packets": "flowsched_gym.evaluation.packets",
    "serve_packets": "flowsched_gym.evaluation.packets",
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
    """Lists the public names alone, also those that have not been used yet."""
    return sorted(__all__)


register_environments()
