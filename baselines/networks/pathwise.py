"""A network that steers long flows, shared by all slots and all paths, one flow after the other.

An observation of AuTO's long flows tells of each slot the flow in it and, for each of its paths, how many other flows
are on the two links. Here the same weights score every path of every flow, from the flow's own columns and the counts
of that path, so that what is learned for one holds for all, whatever their numbers.

Flows that choose at once would all take the path that is empty now. So they choose in the order of the slots, each from
the counts as they are when those before it have moved: the policy is a product of conditional ones. To draw an action
is a walk over the slots; its log-probability is worked out for all slots together, as all moves are known then. Queue
and rate are scored from the mean over a flow's paths. The critic adds up values of flows.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import nn
from torch.nn.functional import one_hot

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.columns import Layout
from flowsched_gym.integrations.setwise import ACTOR_GAIN, FORBIDDEN

Masks = BoolArray | torch.Tensor | None

OWN: Final = ("priority", "attained", "waiting", "rate", "rate_cap")
"""Slot columns of the flow itself that are read."""
UP: Final = ("long_up", "all_up")
DOWN: Final = ("long_down", "all_down")
"""Slot columns with the counts of a path's link up and down, before the number of the path."""
START: Final = 4.0
"""Logit of the lowest queue and of no limit in a new network, those of the others being nearly 0: leave the flow."""
TIE: Final = 1e-4
"""What each further path loses in logits, so that rounding does not decide between equal ones."""
NUM_PARTS: Final = 3
"""Choices for a slot: queue, rate step, path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathwiseShape:
    """Sizes of a path-wise network, and the indices of the columns that it reads.

    Attributes:
        first: Place of the first slot in the observation.
        num_slots: Slots, >= 1.
        num_slot_features: Columns of a slot.
        source: Slot column of the sending host; 0 where the slot is empty.
        destination: Slot column of the receiving host.
        path: Slot column of the present path: counted from 1, over the number of paths.
        own: Slot columns of the flow itself.
        up: Slot columns of the counts on links up, path by path, as many for each.
        down: The same for links down.
        scale: Count that is encoded as one half.
        num_queues: Queues to choose from.
        num_rates: Rate steps to choose from.
        num_paths: Paths to choose from.
        width: Width of all layers, >= 1.
    """

    first: int
    num_slots: int
    num_slot_features: int
    source: int
    destination: int
    path: int
    own: tuple[int, ...]
    up: tuple[int, ...]
    down: tuple[int, ...]
    scale: float
    num_queues: int
    num_rates: int
    num_paths: int
    width: int

    @classmethod
    def of_layout(cls, layout: Layout, action_space: spaces.Space[Any], *, width: int) -> "PathwiseShape":
        """Finds the columns of an observation.

        Raises:
            ConfigError: A column is missing, or the actions are not (queue, rate step, path) for each slot.
        """
        choices = cls._choices(layout, action_space)
        up, down = ([f"{kind}_{path}" for path in range(choices[-1]) for kind in kinds] for kinds in (UP, DOWN))
        indices = {column.name: index for index, column in enumerate(layout.slot)}
        missing = [name for name in ("source", "destination", "path", *OWN, *up, *down) if name not in indices]
        if missing:
            raise ConfigError(
                f"policy is pathwise: it needs the slot columns {', '.join(missing)}; there are {', '.join(indices)}"
            )
        return cls(
            first=layout.num_context,
            num_slots=layout.num_slots,
            num_slot_features=layout.num_slot_features,
            source=indices["source"],
            destination=indices["destination"],
            path=indices["path"],
            own=tuple(indices[name] for name in OWN),
            up=tuple(indices[name] for name in up),
            down=tuple(indices[name] for name in down),
            scale=layout.slot_scale(up[0]),
            num_queues=choices[0],
            num_rates=choices[1],
            num_paths=choices[2],
            width=width,
        )

    @staticmethod
    def _choices(layout: Layout, action_space: spaces.Space[Any]) -> tuple[int, ...]:
        if isinstance(action_space, spaces.MultiDiscrete) and action_space.nvec.size == NUM_PARTS * layout.num_slots:
            slots = action_space.nvec.reshape(-1, NUM_PARTS)
            if len(slots) and (slots == slots[0]).all():
                return tuple(slots[0].tolist())
        raise ConfigError(
            f"policy is pathwise: the action space is {action_space}, it must be MultiDiscrete with queue, rate step "
            "and path of each slot"
        )


class Flows(NamedTuple):
    """The flows in the slots of a batch of observations.

    Attributes:
        active: Which slots hold a flow, (batch, slots) bool.
        own: Columns of the flows themselves, (batch, slots, columns).
        up: Other flows on the link up of each path, by kind, (batch, slots, paths, kinds).
        down: Other flows on the link down of each path.
        path: Present path, one-hot, (batch, slots, paths); zeros of empty slots.
        shares_up: 1 where the flow of a slot has the source of an earlier slot's, (batch, slots, earlier slots).
        shares_down: The same of destinations.
    """

    active: torch.Tensor
    own: torch.Tensor
    up: torch.Tensor
    down: torch.Tensor
    path: torch.Tensor
    shares_up: torch.Tensor
    shares_down: torch.Tensor


class PathwiseNetwork(nn.Module):
    """Scores of paths, queues and rates of flows, and values."""

    def __init__(self, shape: PathwiseShape) -> None:
        super().__init__()
        self.shape = shape
        width, num_counts = shape.width, len(UP) + len(DOWN)
        self.read_flow = nn.Linear(len(shape.own), width)
        self.read_path = nn.Linear(num_counts + 1, width, bias=False)
        self.score_path = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), _last(width, 1))
        rest = _last(width, shape.num_queues + shape.num_rates)
        with torch.no_grad():
            rest.bias[[shape.num_queues - 1, -1]] = START
        self.score_rest = nn.Sequential(nn.Linear(width, width), nn.ReLU(), rest)
        self.value_flow = nn.Sequential(
            nn.Linear(len(shape.own) + 2 * num_counts, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.value = nn.Linear(width, 1)

    def check_layout(self, layout: Layout, action_space: spaces.Space[Any]) -> None:
        """Refuses to read observations that have other columns."""
        fitting = PathwiseShape.of_layout(layout, action_space, width=self.shape.width)
        found = {name: tuple(each) if isinstance(each, list) else each for name, each in asdict(self.shape).items()}
        if found != asdict(fitting):
            raise ConfigError(f"shape is {self.shape}: for this environment it must be {fitting}")

    def read(self, observation: torch.Tensor) -> Flows:
        """Splits observations, (batch, size) float32."""
        shape = self.shape
        size = shape.num_slots * shape.num_slot_features
        slots = observation[:, shape.first : shape.first + size].reshape(-1, shape.num_slots, shape.num_slot_features)
        source, destination = slots[:, :, shape.source], slots[:, :, shape.destination]
        active = source > 0
        path = torch.round(slots[:, :, shape.path] * shape.num_paths).long() - 1
        present = one_hot(path.clamp(min=0), shape.num_paths) * active.unsqueeze(-1)
        return Flows(
            active=active,
            own=slots[:, :, shape.own],
            up=self._counts(slots[:, :, shape.up]),
            down=self._counts(slots[:, :, shape.down]),
            path=present.float(),
            shares_up=_shares(source, active),
            shares_down=_shares(destination, active),
        )

    def walk(self, flows: Flows, allowed: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Chooses paths, slot by slot; returns them, (batch, slots) int64, 0 of empty slots.

        Args:
            flows: What observations tell.
            allowed: Paths that may be taken, (batch, slots, paths) bool.
            noise: Added to the logits, (batch, slots, paths): zeros for the likeliest path of each flow when those
                before it have taken theirs, Gumbel noise to draw.
        """
        moves, own = torch.zeros_like(flows.path), self.read_flow(flows.own)
        chosen = torch.zeros(flows.active.shape, dtype=torch.int64)
        for slot in range(int(flows.active.sum(dim=1).max())):
            one = slice(slot, slot + 1)
            logits, _ = self._score(Flows(*(each[:, one] for each in flows)), own[:, one], moves)
            best = (logits.masked_fill(~allowed[:, one], FORBIDDEN) + noise[:, one]).argmax(dim=-1)
            chosen[:, one] = best * flows.active[:, one]
            moves[:, one] = self._moves(flows.path[:, one], flows.active[:, one], best)
        return chosen

    def logits(self, flows: Flows, paths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores all choices, given the paths that flows take, (batch, slots).

        Returns:
            Logits of queues and rate steps, (batch, slots, queues + rates), and of paths, (batch, slots, paths), each
            slot's from what the slots before it have taken.
        """
        logits, hidden = self._score(flows, self.read_flow(flows.own), self._moves(flows.path, flows.active, paths))
        return self.score_rest(hidden.mean(dim=2)), logits

    def values(self, flows: Flows) -> torch.Tensor:
        """Estimates values, (batch, 1): the sum of those of the flows, and a constant."""
        counts = self._encoded(torch.cat([flows.up, flows.down], dim=-1))
        here = (counts * flows.path.unsqueeze(-1)).sum(dim=2)
        vectors = self.value_flow(torch.cat([flows.own, here, counts.mean(dim=2)], dim=-1))
        total: torch.Tensor = (vectors * flows.active.unsqueeze(-1)).sum(dim=1) / self.shape.num_slots
        value: torch.Tensor = self.value(total)
        return value

    def _score(self, flows: Flows, own: torch.Tensor, moves: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns logits of the paths of some slots, and the hidden vectors of all their paths, given earlier moves."""
        up = flows.up + (flows.shares_up @ moves).unsqueeze(-1)
        down = flows.down + (flows.shares_down @ moves).unsqueeze(-1)
        seen = torch.cat([self._encoded(up), self._encoded(down), flows.path.unsqueeze(-1)], dim=-1)
        hidden = own.unsqueeze(2) + self.read_path(seen)
        scores: torch.Tensor = self.score_path(hidden).squeeze(-1)
        return scores - TIE * torch.arange(self.shape.num_paths), torch.relu(hidden)

    def _moves(self, before: torch.Tensor, active: torch.Tensor, paths: torch.Tensor) -> torch.Tensor:
        """Returns 1 where a flow goes, -1 where it has been, 0 else, (batch, slots, paths)."""
        moves: torch.Tensor = one_hot(paths, self.shape.num_paths) * active.unsqueeze(-1) - before
        return moves

    def _counts(self, encoded: torch.Tensor) -> torch.Tensor:
        """Decodes counts of one way, (batch, slots, paths, kinds)."""
        counts = self.shape.scale * encoded / (1.0 - encoded)
        return counts.reshape(*encoded.shape[:2], self.shape.num_paths, -1)

    def _encoded(self, counts: torch.Tensor) -> torch.Tensor:
        return counts / (counts + self.shape.scale)


class PathwisePolicy(MaskableActorCriticPolicy):
    """Path-wise policy of MaskablePPO and REINFORCE; ``shape`` has the fields of ``PathwiseShape``."""

    optimizer_class: Any

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        *,
        shape: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        self._shape = PathwiseShape(**shape)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        self.network = PathwiseNetwork(self._shape)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Masks = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns actions, values and log-probabilities."""
        flows, allowed = self.network.read(obs), self._allowed(obs, action_masks)
        actions = self._choose(flows, allowed, deterministic)
        log_prob, _ = self._judge(flows, allowed, actions)
        return actions, self.network.values(flows), log_prob

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Masks = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Returns values, log-probabilities, and entropies given what the slots before have taken, summed."""
        flows, allowed = self.network.read(obs), self._allowed(obs, action_masks)
        log_prob, entropy = self._judge(flows, allowed, actions.long())
        return self.network.values(flows), log_prob, entropy

    def predict_values(self, obs: PyTorchObs) -> torch.Tensor:
        """Returns values, (batch, 1)."""
        assert isinstance(obs, torch.Tensor)
        return self.network.values(self.network.read(obs))

    def get_distribution(self, obs: PyTorchObs, action_masks: Masks = None) -> MaskableDistribution:
        """Raises an error: the choices of a slot depend on those before it."""
        raise NotImplementedError("the choices of a slot depend on those of the slots before it: use forward")

    def _predict(
        self, observation: PyTorchObs, deterministic: bool = False, action_masks: Masks = None
    ) -> torch.Tensor:
        """Returns actions, (batch, 3 * slots)."""
        assert isinstance(observation, torch.Tensor)
        flows = self.network.read(observation)
        return self._choose(flows, self._allowed(observation, action_masks), deterministic)

    def _allowed(self, observation: torch.Tensor, masks: Masks) -> torch.Tensor:
        """Returns what may be chosen, (batch, slots, queues + rates + paths) bool."""
        shape = self._shape
        size = shape.num_queues + shape.num_rates + shape.num_paths
        if masks is None:
            return torch.ones((len(observation), shape.num_slots, size), dtype=torch.bool)
        return torch.as_tensor(masks, dtype=torch.bool).reshape(len(observation), shape.num_slots, size)

    def _choose(self, flows: Flows, allowed: torch.Tensor, deterministic: bool) -> torch.Tensor:
        """Draws actions, or takes the likeliest, (batch, 3 * slots) int64."""
        shape = self._shape
        noise = torch.zeros(allowed.shape) if deterministic else _gumbel(allowed.shape)
        rest, paths = noise[..., : -shape.num_paths], noise[..., -shape.num_paths :]
        path = self.network.walk(flows, allowed[..., -shape.num_paths :], paths)
        logits = self.network.logits(flows, path)[0].masked_fill(~allowed[..., : -shape.num_paths], FORBIDDEN) + rest
        queue, step = (part.argmax(dim=-1) * flows.active for part in torch.split(logits, self._sizes[:2], dim=-1))
        return torch.stack([queue, step, path], dim=-1).flatten(start_dim=1)

    def _judge(self, flows: Flows, allowed: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns log-probabilities and entropies, (batch,) each."""
        chosen = actions.reshape(len(actions), -1, NUM_PARTS)
        logits = torch.cat(self.network.logits(flows, chosen[..., -1]), dim=-1).masked_fill(~allowed, FORBIDDEN)
        log_prob, entropy = torch.zeros(len(actions)), torch.zeros(len(actions))
        for part, scores in enumerate(torch.split(logits, self._sizes, dim=-1)):
            logarithms = torch.log_softmax(scores, dim=-1)
            taken = logarithms.gather(-1, chosen[..., part : part + 1]).squeeze(-1)
            log_prob = log_prob + (taken * flows.active).sum(dim=1)
            entropy = entropy - ((logarithms.exp() * logarithms).sum(dim=-1) * flows.active).sum(dim=1)
        return log_prob, entropy

    @property
    def _sizes(self) -> list[int]:
        return [self._shape.num_queues, self._shape.num_rates, self._shape.num_paths]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "shape": asdict(self._shape)}


def _last(num_inputs: int, num_outputs: int) -> nn.Linear:
    """Returns a linear layer whose first outputs are all nearly zero."""
    layer = nn.Linear(num_inputs, num_outputs)
    nn.init.orthogonal_(layer.weight, gain=ACTOR_GAIN)
    nn.init.zeros_(layer.bias)
    return layer


def _shares(host: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
    """Returns 1 where the flow of a slot shares its host with that of an earlier slot, (batch, slots, slots)."""
    same = (host.unsqueeze(2) == host.unsqueeze(1)) & active.unsqueeze(1)
    return torch.tril(same.float(), diagonal=-1)


def _gumbel(shape: torch.Size) -> torch.Tensor:
    """Draws Gumbel noise: the largest of logits and noise is a draw by the logits' probabilities."""
    return -torch.log(torch.empty(shape).exponential_())
