"""Actions from a mixture of the actor's distribution and the uniform one (Artemis, algorithm 2).

The thesis explores with probability epsilon and reduces epsilon linearly; its algorithm 3 then ascends the gradient of
the policy by which the flows were scheduled. That policy is the mixture: an action is drawn with probability
``(1 - epsilon) * actor + epsilon / num_actions``. So the logarithm of exactly this probability is differentiated here,
which keeps the gradient unbiased while epsilon is large; the actor's own logarithm would not.
"""

from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import CategoricalDistribution, Distribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.setwise import SetwisePolicy


def mix_with_uniform(logits: torch.Tensor, epsilon: torch.Tensor) -> torch.Tensor:
    """Returns the logarithms of the mixture's probabilities, (batch, num_actions), for the actor's logits."""
    uniform = torch.log(epsilon) - torch.log(torch.tensor(float(logits.shape[-1])))
    return torch.logaddexp(torch.log1p(-epsilon) + torch.log_softmax(logits, dim=-1), uniform)


class EpsilonMixture(ActorCriticPolicy):
    """An actor-critic policy with discrete actions, mixed with the uniform distribution.

    Asked for its most likely action (``deterministic``), it gives the actor's.
    """

    epsilon: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        *,
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
            initial_epsilon: Share of the uniform distribution at the start.
            final_epsilon: Share of it at the end of its reduction.
            epsilon_fraction: Part of the training in which it is reduced; 0 for the final value from the start.
            **kwargs: Passed on to the policy.

        Raises:
            ConfigError: The actions are not discrete.
        """
        if not isinstance(action_space, spaces.Discrete):
            raise ConfigError(
                f"algorithm mixes with the uniform distribution: actions are {action_space}, not Discrete"
            )
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)
        self._schedule = (initial_epsilon, final_epsilon, epsilon_fraction)
        self.register_buffer("epsilon", torch.tensor(float(initial_epsilon)))
        self.set_progress(0.0)

    def set_progress(self, done: float) -> None:
        """Reduces epsilon to its value when this share of the training is done."""
        initial, final, fraction = self._schedule
        share = min(1.0, done / fraction) if fraction > 0 else 1.0
        self.epsilon.fill_(initial + share * (final - initial))

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Distribution:
        assert isinstance(self.action_dist, CategoricalDistribution)
        return self.action_dist.proba_distribution(
            action_logits=mix_with_uniform(self.action_net(latent_pi), self.epsilon)
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
