"""A network that scores the slots of an observation, shared by all slots, whatever their number.

The observation of a slot-choice environment is a context followed by one row of columns for each slot
(`flowsched_gym.envs.columns.Layout`). A flat network has to learn for each slot anew what makes a request urgent; here
one network reads every slot together with the context, the slot's position in the queue and a summary of all slots, so
that what is learned in one slot holds in all. Slots where nothing waits take no part and cannot be chosen.

`setwise_policy` makes it the policy of PPO, A2C and MaskablePPO; `setwise_features` puts its encoder of slots before
the perceptrons of other policies of Stable-Baselines3, such as DQN's.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED
from flowsched_gym.envs.columns import Layout
from flowsched_gym.integrations.sb3_vec_env import make_sb3_vec_env
from flowsched_gym.workload import ONE_OF

try:
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.common.vec_env import VecEnv
    from torch import nn
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="build a network that scores slots") from None


MARKERS: Final = ("live", "present", "size")
"""Slot columns that tell which slots can be chosen; the first one counts that an observation has."""
FORBIDDEN: Final = -1e8
"""Logit of an action whose slot is empty: its probability is zero in float32."""
ACTOR_GAIN: Final = 0.01
"""Gain of the last layer of the scorers, so that training starts near a uniform choice."""
NUM_SAMPLED: Final = 16
NUM_SAMPLED_STEPS: Final = 128
"""Environments, and steps of each, whose observations columns are standardised by."""
LEAST_SPREAD: Final = 1e-4
"""Standard deviation below which a column counts as constant."""
NO_ARGUMENTS: Final = frozenset(
    {"autoreset_mode", "engine", "finished", "num_envs", "render_mode", "vectorization_mode"}
)
"""What ``gymnasium.make`` and ``make_vec`` keep with an environment's arguments, and what its columns are not of."""


def marker_of(layout: Layout, reader: str) -> str:
    """Finds the slot column that tells which slots can be chosen; an error says what needs it."""
    names = [column.name for column in layout.slot]
    marker = next((name for name in MARKERS if name in names), None)
    if marker is None:
        raise ConfigError(f"{reader}: it needs a slot column of {', '.join(MARKERS)}, the observation has {names}")
    return marker


@dataclass(frozen=True, slots=True, kw_only=True)
class SetwiseShape:
    """Sizes of a set-wise network.

    Attributes:
        presence: Slot column that is positive exactly where something can be chosen.
        width: Width of all layers, >= 1.
        num_blocks: Rounds in which each slot reads a summary of all slots before it is scored, >= 0. The critic, which
            needs the summary alone, has none.
        centre: What is subtracted from each column, those of the context first; empty for nothing.
        spread: What the difference is divided by, > 0; empty where ``centre`` is.
    """

    num_context: int
    num_slots: int
    num_slot_features: int
    presence: int
    width: int
    num_blocks: int
    centre: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("num_context", 0), ("num_slots", 1), ("width", 1), ("num_blocks", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be >= {least}")
        if not 0 <= self.presence < self.num_slot_features:
            raise ConfigError(f"presence is {self.presence}: it must be a column, 0 to {self.num_slot_features - 1}")
        lengths = {len(self.centre), len(self.spread)}
        if lengths not in ({0}, {self.num_context + self.num_slot_features}) or not all(n > 0 for n in self.spread):
            raise ConfigError(
                f"centre and spread are {self.centre} and {self.spread}: they must be "
                f"{self.num_context + self.num_slot_features} numbers each, the latter > 0, or none"
            )

    @classmethod
    def of_layout(
        cls, layout: Layout, *, width: int, num_blocks: int, seen: FloatArray | None = None
    ) -> "SetwiseShape":
        """Reads the sizes from the columns of an observation, one of which tells which slots are empty.

        With observations that were ``seen``, (batch, size), each column is standardised: the network reads how far it
        is from the mean of these, in standard deviations.
        """
        presence = [column.name for column in layout.slot].index(marker_of(layout, "network is setwise"))
        centre, spread = ((), ()) if seen is None else _standards(seen, layout, presence)
        return cls(
            num_context=layout.num_context,
            num_slots=layout.num_slots,
            num_slot_features=layout.num_slot_features,
            presence=presence,
            width=width,
            num_blocks=num_blocks,
            centre=centre,
            spread=spread,
        )


class SlotEncoder(nn.Module):
    """Encoder of slots into a vector each, and into a summary of length ``num_summary`` for all of them."""

    def __init__(self, shape: SetwiseShape, num_blocks: int) -> None:
        super().__init__()
        width = shape.width
        self.shape = shape
        position = (torch.arange(shape.num_slots, dtype=torch.float32) + 1.0) / shape.num_slots
        self.register_buffer("position", position.reshape(1, -1, 1), persistent=False)
        scale = 1.0 / torch.tensor(shape.spread, dtype=torch.float32)
        self.register_buffer("scale", scale, persistent=False)
        self.register_buffer("offset", -torch.tensor(shape.centre, dtype=torch.float32) * scale, persistent=False)
        self.read_slot = nn.Linear(shape.num_slot_features + 1, width)
        self.read_context = nn.Linear(shape.num_context, width, bias=False) if shape.num_context else None
        self.embed = nn.Linear(width, width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(num_blocks))
        self.num_summary = 2 * width + shape.num_context

    def check_layout(self, layout: Layout, _: spaces.Space[Any]) -> None:
        """Refuses to read observations that have other columns."""
        fitting = SetwiseShape.of_layout(layout, width=self.shape.width, num_blocks=self.shape.num_blocks)
        if (found := replace(self.shape, centre=(), spread=())) != fitting:
            raise ConfigError(f"shape is {found}: for this environment it must be {fitting}")

    def forward(
        self, observation: torch.Tensor, *, summarise: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Encodes observations, (batch, num_context + num_slots * num_slot_features) float32.

        Returns:
            Vectors of the slots, (batch, num_slots, width); the summary, (batch, num_summary): mean and maximum over
            the slots that are not empty, and the context, or that alone where it is not to ``summarise``; and which
            slots are empty, (batch, num_slots) bool.
        """
        shape = self.shape
        context = observation[:, : shape.num_context]
        slots = observation[:, shape.num_context :].reshape(-1, shape.num_slots, shape.num_slot_features)
        empty = slots[:, :, shape.presence] <= 0
        share = (~empty).to(slots.dtype)
        share = (share / share.sum(dim=1, keepdim=True).clamp(min=1.0)).unsqueeze(1)
        if shape.centre:
            scale, offset = self.get_buffer("scale"), self.get_buffer("offset")
            context = torch.addcmul(offset[: shape.num_context], context, scale[: shape.num_context])
            slots = torch.addcmul(offset[shape.num_context :], slots, scale[shape.num_context :])
        position: torch.Tensor = self.get_buffer("position").expand(len(slots), -1, -1)
        first = self.read_slot(torch.cat([slots, position], dim=-1))
        if self.read_context is not None:
            first = first + self.read_context(context).unsqueeze(1)
        vectors = self.embed(torch.relu(first))
        for block in self.blocks:
            vectors = vectors + block(vectors, _pool(vectors, share, empty))
        summary = torch.cat([_pool(vectors, share, empty), context], dim=-1) if summarise else context
        return vectors, summary, empty


class _Block(nn.Module):
    """A perceptron by which each slot reads a summary of all; its output is added to the slot's vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.read_own = nn.Linear(width, width)
        self.read_all = nn.Linear(2 * width, width, bias=False)
        self.write = nn.Linear(width, width)

    def forward(self, vectors: torch.Tensor, pooled: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.read_own(vectors) + self.read_all(pooled).unsqueeze(1))
        added: torch.Tensor = self.write(hidden)
        return added


def _pool(vectors: torch.Tensor, share: torch.Tensor, empty: torch.Tensor) -> torch.Tensor:
    """Returns mean, by each slot's share, and maximum over the slots that are not empty, zeros where all are."""
    mean = torch.bmm(share, vectors).squeeze(1)
    largest = vectors.masked_fill(empty.unsqueeze(-1), FORBIDDEN).amax(dim=1)
    largest = largest.masked_fill(empty.all(dim=1, keepdim=True), 0.0)
    return torch.cat([mean, largest], dim=-1)


class SetwiseNetwork(nn.Module):
    """Logits of actions and values, from an encoder of slots each, so that neither disturbs the other.

    Actions are counted slot by slot first (``num_actions // num_slots`` scores of each slot: grant it, send it to the
    back), then come those that belong to no slot (wait), scored from the summary.
    """

    def __init__(self, shape: SetwiseShape, num_actions: int) -> None:
        super().__init__()
        scores_per_slot, num_others = divmod(num_actions, shape.num_slots)
        if scores_per_slot < 1:
            raise ConfigError(f"network is setwise: {num_actions} actions are fewer than {shape.num_slots} slots")
        self.actor = SlotEncoder(shape, shape.num_blocks)
        self.critic = SlotEncoder(shape, 0)
        self.score_slots = _head(shape.width, shape.width, scores_per_slot)
        self.score_others = _head(self.actor.num_summary, shape.width, num_others) if num_others else None
        self.value_layers = nn.Sequential(
            nn.Linear(self.critic.num_summary, shape.width), nn.ReLU(), nn.Linear(shape.width, shape.width), nn.ReLU()
        )
        self.latent_dim_pi = num_actions
        self.latent_dim_vf = shape.width

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the logits of the actions and the critic's last hidden vector."""
        return self.forward_actor(observation), self.forward_critic(observation)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Returns the logits of the actions, (batch, num_actions)."""
        vectors, summary, empty = self.actor(observation, summarise=self.score_others is not None)
        scores = self.score_slots(vectors).masked_fill(empty.unsqueeze(-1), FORBIDDEN)
        logits: torch.Tensor = scores.transpose(1, 2).flatten(start_dim=1)
        if self.score_others is not None:
            logits = torch.cat([logits, self.score_others(summary)], dim=-1)
        return logits

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Returns the critic's last hidden vector, (batch, width)."""
        _, summary, _ = self.critic(observation)
        hidden: torch.Tensor = self.value_layers(summary)
        return hidden


def _head(num_inputs: int, width: int, num_outputs: int) -> nn.Sequential:
    """Returns a perceptron whose first outputs are all nearly zero."""
    last = nn.Linear(width, num_outputs)
    nn.init.orthogonal_(last.weight, gain=ACTOR_GAIN)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(num_inputs, width), nn.ReLU(), last)


class _Setwise:
    """A set-wise network in place of the two perceptrons of a policy; ``shape`` has the fields of ``SetwiseShape``."""

    mlp_extractor: Any
    action_net: Any
    optimizer_class: Any
    optimizer_kwargs: dict[str, Any]

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        *,
        shape: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        if not isinstance(action_space, spaces.Discrete):
            raise ConfigError(f"network is setwise: the action space is {action_space}, it must be Discrete")
        self._shape = SetwiseShape(**shape)
        self._num_actions = int(action_space.n)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)  # type: ignore[call-arg]

    def _build(self, lr_schedule: Schedule) -> None:
        self.mlp_extractor = SetwiseNetwork(self._shape, self._num_actions)
        self.action_net = nn.Identity()
        self.value_net = nn.Linear(self._shape.width, 1)
        nn.init.orthogonal_(self.value_net.weight)
        nn.init.zeros_(self.value_net.bias)
        self.optimizer = self.optimizer_class(
            self.parameters(),  # type: ignore[attr-defined]
            lr=lr_schedule(1),
            **self.optimizer_kwargs,
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super()._get_constructor_parameters()  # type: ignore[misc]
        return {**parameters, "shape": asdict(self._shape)}


class SetwisePolicy(_Setwise, ActorCriticPolicy):
    """Set-wise policy of PPO and A2C."""


class MaskableSetwisePolicy(_Setwise, MaskableActorCriticPolicy):
    """Set-wise policy of MaskablePPO."""


class SetwiseFeatures(BaseFeaturesExtractor):
    """Slots as a set-wise network encodes them, before the perceptrons of a policy of Stable-Baselines3.

    The features are the vectors of all slots, zeros where one is empty, and the summary.
    """

    def __init__(self, observation_space: Any, *, shape: dict[str, Any]) -> None:
        sizes = SetwiseShape(**shape)
        super().__init__(observation_space, features_dim=(sizes.num_slots + 2) * sizes.width + sizes.num_context)
        self.encoder = SlotEncoder(sizes, sizes.num_blocks)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns the features, (batch, features_dim)."""
        vectors, summary, empty = self.encoder(observations)
        return torch.cat([vectors.masked_fill(empty.unsqueeze(-1), 0.0).flatten(start_dim=1), summary], dim=-1)


def setwise_policy(
    env: gymnasium.Env[Any, Any] | VecEnv,
    *,
    maskable: bool = False,
    width: int = 32,
    num_blocks: int = 1,
    standardise: bool = True,
) -> tuple[type[SetwisePolicy] | type[MaskableSetwisePolicy], dict[str, Any]]:
    """Chooses the policy that scores the slots of an environment with one network.

    Args:
        env: An environment of this package, alone or many of them for Stable-Baselines3, where an action is a slot.
        maskable: Whether MaskablePPO learns with it, instead of PPO or A2C.
        width: Width of all layers, >= 1.
        num_blocks: Rounds in which each slot reads a summary of all, >= 0.
        standardise: Whether columns are standardised first, by means and standard deviations that 2,048 random
            decisions in environments made like this one show. Most columns vary little, and a network that reads how
            far they are from their means learns in a fraction of the decisions. The environment must be one of
            ``gym.make``, and its actions slots.

    Returns:
        The class, and its ``policy_kwargs``.

    Raises:
        ConfigError: The environment has no such slots or actions, or its observations are changed by a wrapper.
    """
    if not isinstance(env.action_space, spaces.Discrete):
        raise ConfigError(f"network is setwise: the action space is {env.action_space}, it must be Discrete")
    shape = asdict(_shape_of(env, width, num_blocks, standardise))
    return (MaskableSetwisePolicy if maskable else SetwisePolicy), {"shape": shape}


def setwise_features(
    env: gymnasium.Env[Any, Any] | VecEnv, *, width: int = 32, num_blocks: int = 1, standardise: bool = True
) -> dict[str, Any]:
    """Makes the ``policy_kwargs`` that put the encoder of slots before any ``MlpPolicy`` of Stable-Baselines3.

    The arguments and errors are those of `setwise_policy`; actions need not be slots.
    """
    shape = asdict(_shape_of(env, width, num_blocks, standardise))
    return {"features_extractor_class": SetwiseFeatures, "features_extractor_kwargs": {"shape": shape}}


def _shape_of(env: gymnasium.Env[Any, Any] | VecEnv, width: int, num_blocks: int, standardise: bool) -> SetwiseShape:
    try:
        layout: Layout = env.get_attr("layout", 0)[0] if isinstance(env, VecEnv) else env.get_wrapper_attr("layout")
    except AttributeError:
        raise ConfigError(f"env is {env}: it has no layout, as environments of flowsched-gym have") from None
    if env.observation_space.shape != (layout.size,):
        raise ConfigError(
            f"observations have the shape {env.observation_space.shape}, the layout has {layout.size} columns: "
            "a set-wise network needs observations that no wrapper has reshaped"
        )
    seen = _random_observations(env) if standardise else None
    return SetwiseShape.of_layout(layout, width=width, num_blocks=num_blocks, seen=seen)


def _random_observations(env: gymnasium.Env[Any, Any] | VecEnv) -> FloatArray:
    """Draws allowed actions in environments made like this one; returns what is seen, (batch, size)."""
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        raise ConfigError(f"env has {env.action_space}: columns are standardised where slots are chosen (Discrete)")
    spec: Any = env.get_attr("spec", 0)[0] if isinstance(env, VecEnv) else env.spec
    if spec is None:
        raise ConfigError(f"env is {env}: columns are standardised where gymnasium.make or make_vec made it")
    kwargs = {name: value for name, value in spec.kwargs.items() if name not in NO_ARGUMENTS}
    if isinstance(kwargs.get("workload"), list):
        kwargs["workload"] = {ONE_OF: kwargs["workload"]}
    envs = make_sb3_vec_env(spec.id, NUM_SAMPLED, seed=FIRST_TRAINING_SEED, **kwargs)
    rng = np.random.default_rng(FIRST_TRAINING_SEED)
    seen: list[Any] = [envs.reset()]
    for _ in range(NUM_SAMPLED_STEPS):
        chances = rng.random((NUM_SAMPLED, envs.action_space.n)) * envs.action_masks()  # type: ignore[attr-defined]
        seen.append(envs.step(chances.argmax(axis=1))[0])
    envs.close()
    return np.concatenate(seen).astype(np.float64)


def _standards(seen: FloatArray, layout: Layout, presence: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns mean and standard deviation of each column where slots are not empty; 1 for those that do not vary."""
    context = seen[:, : layout.num_context]
    slots = seen[:, layout.num_context :].reshape(-1, layout.num_slot_features)
    slots = slots[slots[:, presence] > 0]
    centre = np.concatenate([context.mean(axis=0), slots.mean(axis=0)])
    spread = np.concatenate([context.std(axis=0), slots.std(axis=0)])
    return tuple(centre.tolist()), tuple(np.where(spread > LEAST_SPREAD, spread, 1.0).tolist())
