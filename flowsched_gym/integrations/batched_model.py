"""Models of Stable-Baselines3, asked for the actions of many observations at once, equal to those of each one alone.

A network adds its products in another order for a batch than for one observation, so that probabilities differ in their
last bits: by up to 2e-6 on the models of ``benchmarks/models``. Where two actions are as good as equally likely, either
may then win, and a result would depend on how many episodes are played at once. So where the two likeliest actions of
an observation are nearer to each other than ``MARGIN``, the observation is asked alone.
"""

from typing import Any, ClassVar, Final, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.envs.policies import Policy

try:
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
    from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="ask a model for many actions") from None


MARGIN: Final = 1e-3
"""Difference of two probabilities below which rounding might change their order; it is hundreds of times smaller."""


def batched(model: Any) -> Policy:
    """Wraps a model so that many episodes can be played with it at once.

    Args:
        model: A model of Stable-Baselines3 or sb3-contrib, or its network.

    Returns:
        A ``BatchedModel`` where the model chooses among discrete actions by their probabilities and has no memory; the
        model itself elsewhere.
    """
    policy = _network(model)
    actor = isinstance(policy, (ActorCriticPolicy, MaskableActorCriticPolicy))
    remembers = isinstance(policy, RecurrentActorCriticPolicy)
    space = model.action_space
    if actor and not remembers and isinstance(space, spaces.Discrete) and space.n > 1:
        return BatchedModel(model)
    return cast(Policy, model)


class BatchedModel:
    """A model that acts on each observation of a batch as it acts on that observation alone.

    Args:
        model: The model; its actions are discrete, at least two.
    """

    pure: ClassVar[bool] = True

    def __init__(self, model: Any) -> None:
        self._model = model
        self._policy = _network(model)
        self._with_masks = isinstance(self._policy, MaskableActorCriticPolicy)

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
        action_masks: BoolArray | None = None,
    ) -> tuple[IntArray, Any]:
        """Chooses actions; see ``Policy``.

        Args:
            observation: Observations, (size,) or (batch, size).
            state: Passed through.
            episode_start: Not used.
            deterministic: True for the most likely actions; otherwise the model draws.
            action_masks: Actions that are allowed, (num_actions,) or (batch, num_actions); for models that take them.

        Returns:
            Actions, () or (batch,), and the state.
        """
        masks: dict[str, Any] = {"action_masks": action_masks} if self._with_masks else {}
        if not deterministic or np.ndim(observation) == 1:
            alone: IntArray = self._model.predict(observation, deterministic=deterministic, **masks)[0]
            return alone, state
        policy = self._policy
        policy.set_training_mode(False)
        with torch.no_grad():
            distribution = policy.get_distribution(policy.obs_to_tensor(observation)[0], **masks).distribution
        best = distribution.probs.topk(2)
        actions: IntArray = best.indices[:, 0].cpu().numpy()
        near = best.values[:, 0] - best.values[:, 1] < MARGIN
        for row in np.flatnonzero(near.cpu().numpy()):
            own_mask = {name: None if mask is None else mask[row] for name, mask in masks.items()}
            actions[row] = self._model.predict(observation[row], deterministic=True, **own_mask)[0]
        return actions, state


def _network(model: Any) -> Any:
    """Returns the network of a model, which may be it."""
    return model if isinstance(model, BasePolicy) else model.policy
