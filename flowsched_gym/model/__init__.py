"""What the world is: flows, links, controls, events. Knows neither SimPy nor Gymnasium."""

from flowsched_gym.model.controls import Controls, new_controls
from flowsched_gym.model.discipline import Discipline
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.records import Records
from flowsched_gym.model.state import FlowState, Network, new_flow_state
from flowsched_gym.model.transport import TRANSPORTS, Losses, Transport, TransportName, find_transport

__all__ = [
    "TRANSPORTS",
    "Controls",
    "Discipline",
    "EventKind",
    "FlowState",
    "Losses",
    "Network",
    "Records",
    "Transport",
    "TransportName",
    "find_transport",
    "new_controls",
    "new_flow_state",
]
