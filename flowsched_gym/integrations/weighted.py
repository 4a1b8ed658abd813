"""Policies of a few weights as Stable-Baselines3 has them: trained and saved like any other model."""

from typing import Any

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.integrations.few_weights import FewWeights, Term, read_terms

try:
    import torch
    from stable_baselines3.common.policies import BasePolicy
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="train a model of a few weights") from None

__all__ = ["FewWeights", "Term", "WeightedModel", "read_terms"]


class WeightedModel(FewWeights, BasePolicy):
    """The policy ``FewWeights``, with its weights as a parameter; nothing here has a gradient."""

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any = None,
        **shape: Any,
    ) -> None:
        BasePolicy.__init__(self, observation_space, action_space)
        FewWeights.__init__(self, observation_space, action_space, **shape)

    def set_weights(self, weights: FloatArray) -> None:
        """Sets the weights, (num_weights,)."""
        values = torch.from_numpy(np.array(weights, dtype=np.float64))
        self.weights = torch.nn.Parameter(values, requires_grad=False)

    def _predict(self, observation: Any, deterministic: bool = False) -> Any:
        return torch.from_numpy(self.predict(observation.cpu().numpy())[0])
