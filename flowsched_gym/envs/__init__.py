"""What Gymnasium environments of all systems share."""

from functools import partial

from flowsched_gym.envs.base import FlowSchedEnv
from flowsched_gym.envs.decision import DecisionEnv, DecisionVectorEnv
from flowsched_gym.envs.network_setup import NetworkSetup
from flowsched_gym.envs.packet_setup import PortsSetup, setup_ports
from flowsched_gym.envs.state import EnvState, VectorState
from flowsched_gym.envs.vector import FlowSchedVectorEnv

__all__ = [
    "DecisionEnv",
    "DecisionVectorEnv",
    "EnvState",
    "FlowSchedEnv",
    "FlowSchedVectorEnv",
    "NetworkSetup",
    "PortsSetup",
    "VectorState",
    "setup_ports",
]
__dir__ = partial(sorted, __all__)
