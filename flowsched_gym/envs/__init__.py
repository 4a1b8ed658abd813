"""What Gymnasium environments of all systems share."""

from flowsched_gym.envs.base import FlowSchedEnv
from flowsched_gym.envs.compiled_vector import CompiledVectorEnv
from flowsched_gym.envs.state import EnvState
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.envs.vector_state import VectorState

__all__ = ["CompiledVectorEnv", "EnvState", "FlowSchedEnv", "FlowSchedVectorEnv", "VectorState"]
