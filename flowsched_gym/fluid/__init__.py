"""What the world is: flows, links, controls, events. Knows neither SimPy nor Gymnasium."""

from functools import partial

from flowsched_gym.flows.records import Records
from flowsched_gym.flows.state import Controls, FlowState, new_controls, new_flow_state
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.fluid.transport import TRANSPORTS, Losses, Transport, TransportName, find_transport
from flowsched_gym.topology.network import Network

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
__dir__ = partial(sorted, __all__)
