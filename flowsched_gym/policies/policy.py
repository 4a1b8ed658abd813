"""Says what a policy is: anything that predicts actions as Stable-Baselines3's models do."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["Policy", "attribute_of"]


@runtime_checkable
class Policy(Protocol):
    """Chooses actions from observations alone, one or a batch of them."""

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[np.int64], Any]:
        """Chooses actions.

        Args:
            observation: Observations, (size,) or (batch, size).
            state: Memory of a recurrent policy; passed through otherwise.
            episode_start: Which episodes of the batch have just begun.
            deterministic: True to choose without drawing.

        Returns:
            Actions, () or (batch,), and the state.
        """
        ...


def attribute_of(env: Any, name: str) -> Any:
    """Reads an attribute of an environment, of the first one where there are several."""
    base = env.unwrapped
    return base.get_attr(name)[0] if hasattr(base, "get_attr") and not hasattr(base, name) else getattr(base, name)
