"""The protocol of policies: anything that predicts actions as Stable-Baselines3's models do."""

from abc import abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, IntArray, ObservationArray
from flowsched_gym.core.errors import SpaceMismatchError
from flowsched_gym.envs.columns import Layout


@runtime_checkable
class Policy(Protocol):
    """A policy that chooses actions from observations alone, one or a batch of them.

    A class may promise ``pure = True``: asked with ``deterministic=True``, each action of a batch follows from its own
    observation and mask alone, and is the one that they would get by themselves. Such a policy is asked for the
    decisions of many episodes at once.
    """

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, Any]:
        """Chooses actions.

        Args:
            observation: Observations, (size,) or (batch, size).
            state: Memory of a recurrent policy; passed through otherwise.
            episode_start: Which episodes of the batch have just begun.
            deterministic: True to choose without drawing.

        Returns:
            Actions, () or (batch,), and the state.
        """


@runtime_checkable
class Planner(Policy, Protocol):
    """A policy that looks at the environment itself, and so is told in which one it plays, one at a time."""

    def enter(self, env: Any) -> None:
        """Tells in which environment, wrapped or not, the next actions are taken."""


class LayoutPolicy:
    """A policy that reads observations by the names of their columns; those that draw have a seed."""

    def __init__(self, layout: Layout, *, seed: int = 0) -> None:
        self.layout = layout
        self.rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, Any]:
        """Chooses actions; see ``Policy``. Observations of another length raise SpaceMismatchError."""
        observation = np.asarray(observation, dtype=np.float32)
        if observation.ndim not in (1, 2) or observation.shape[-1] != self.layout.size:
            raise SpaceMismatchError(
                f"observation has shape {observation.shape}: it must be ({self.layout.size},) or a batch of these"
            )
        action = self.choose(observation.reshape(-1, self.layout.size))
        return action.reshape((*observation.shape[:-1], *action.shape[1:])), state

    @abstractmethod
    def choose(self, batch: ObservationArray) -> IntArray:
        """Chooses an action for each observation, (batch, size) to (batch,) or (batch, length)."""


def is_pure(policy: object) -> bool:
    """Returns whether a policy's own class promises ``pure``; a subclass may draw or remember, so it inherits none."""
    promise = vars(type(policy)).get("pure", False)
    return bool(promise.__get__(policy) if isinstance(promise, property) else promise)


def record_of(policy: Any) -> Any:
    """Returns the rule of a policy as machine code asks it, a NamedTuple with ``WeightedPolicy.choose`` and no weights.

    None where its class has none, or chooses otherwise than the class that has it. Who overrides what ``choose`` calls
    has to override ``record`` too.
    """
    if not isinstance(policy, LayoutPolicy):
        return None
    for kind in type(policy).__mro__:
        if "record" in vars(kind):
            return getattr(policy, "record")()  # noqa: B009 - not every class has one
        if vars(kind).keys() & {"choose", "predict"}:
            break
    return None


def attribute_of(env: Any, name: str) -> Any:
    """Reads an attribute of an environment, of the first one where there are several."""
    base = env.unwrapped
    return base.get_attr(name)[0] if hasattr(base, "get_attr") and not hasattr(base, name) else getattr(base, name)
