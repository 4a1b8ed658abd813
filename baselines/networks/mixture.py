"""Actions from a mixture of the actor's distribution and the uniform one (Artemis, algorithm 2).

The thesis explores with probability epsilon, uniformly among the flows that wait, and reduces epsilon linearly; its
algorithm 3 then ascends the gradient of the policy by which the flows were scheduled. That policy is the mixture: an
action is drawn with probability ``(1 - epsilon) * actor + epsilon / num_waiting``. So the logarithm of exactly this
probability is differentiated here, which keeps the gradient unbiased while epsilon is large; the actor's own logarithm
would not.
"""

from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import CategoricalDistribution, Distribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule

from flowsched_gym.integrations.setwise import FORBIDDEN, SetwisePolicy


def mix_with_uniform(logits: torch.Tensor, epsilon: torch.Tensor, waiting: torch.Tensor) -> torch.Tensor:
    """Returns the logarithms of the mixture's probabilities, (batch, num_actions), for the actor's logits.

    ``waiting``, (batch, num_actions) bool, are the actions among which the uniform distribution draws, one at least.
    """
    uniform = torch.where(waiting, torch.log(epsilon) - torch.log(waiting.sum(dim=-1, keepdim=True)), FORBIDDEN)
    return torch.logaddexp(torch.log1p(-epsilon) + torch.log_softmax(logits, dim=-1), uniform)


class EpsilonMixture(ActorCriticPolicy):
    """An actor-critic policy with discrete actions, mixed with the uniform distribution.

    Asked for its most likely action (``deterministic``), it gives the actor's.
    """

    epsilon: torch.Tensor
    marked_by: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        *,
        marked_by: Sequence[int],
        initial_epsilon: float,
        final_epsilon: float,
        epsilon_fraction: float,
        **kwargs: Any,
    ) -> None:
        """Initialises the policy.

        Args:
            observation_space: Space of the observations.
            action_space: A discrete space.
            lr_schedule: Learning rate by the share of training that is left.
            marked_by: For each action the place in the observation that is above 0 where its slot is not empty.
            initial_epsilon: Share of the uniform distribution at the start.
            final_epsilon: Share of it at the end of its reduction.
            epsilon_fraction: Part of the training in which it is reduced; 0 for the final value from the start.
            **kwargs: Passed on to the policy.
        """
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)
        self._schedule = (initial_epsilon, final_epsilon, epsilon_fraction)
        self.register_buffer("epsilon", torch.tensor(float(initial_epsilon)))
        self.register_buffer("marked_by", torch.tensor(marked_by), persistent=False)
        self._waiting = torch.empty(0)
        self.set_progress(0.0)

    def set_progress(self, done: float) -> None:
        """Reduces epsilon to its value when this share of the training is done."""
        initial, final, fraction = self._schedule
        share = min(1.0, done / fraction) if fraction > 0 else 1.0
        self.epsilon.fill_(initial + share * (final - initial))

    def extract_features(self, obs: PyTorchObs, *args: Any) -> Any:
        """Notes which actions are waiting, before they are drawn and before they are evaluated."""
        self._note_waiting(obs)
        return super().extract_features(obs, *args)

    def get_distribution(self, obs: PyTorchObs) -> Distribution:
        """Notes which actions are waiting, and returns their distribution."""
        self._note_waiting(obs)
        return super().get_distribution(obs)

    def _note_waiting(self, obs: PyTorchObs) -> None:
        assert isinstance(obs, torch.Tensor)
        self._waiting = obs[:, self.marked_by] > 0

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Distribution:
        assert isinstance(self.action_dist, CategoricalDistribution)
        return self.action_dist.proba_distribution(
            action_logits=mix_with_uniform(self.action_net(latent_pi), self.epsilon, self._waiting)
        )

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> torch.Tensor:
        """Returns actions, (batch,)."""
        if not deterministic:
            return super()._predict(observation)
        features = self.extract_features(observation, self.pi_features_extractor)
        assert isinstance(features, torch.Tensor)
        logits: torch.Tensor = self.action_net(self.mlp_extractor.forward_actor(features))
        return logits.argmax(dim=-1)


class MixturePolicy(EpsilonMixture):
    """The mixture on perceptrons."""


class SetwiseMixturePolicy(EpsilonMixture, SetwisePolicy):
    """The mixture on a set-wise network."""
