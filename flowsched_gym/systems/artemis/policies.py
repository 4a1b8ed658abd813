"""Heuristics that only Artemis has."""

from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, gbps_to_capacity
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.slots import SlotPolicy
from flowsched_gym.systems.artemis.rules import feasible_slot

LINKS_AFTER_GRANT: Final = 4
"""Links that the token (two) and the last byte (two) still have to cross when a request is granted."""


class FeasibleFirst(SlotPolicy):
    """Earliest deadline first among the requests that can still meet theirs; hopeless ones last.

    A request counts as feasible while its deadline is further away than ``latency + share * size / line_rate``: what it
    takes when ``share`` flows send at once, which is what ``k`` tokens bring about under load.

    Args:
        layout: Columns of the observations.
        seed: Not used.
        line_rate: Capacity of the destination's link in B/s.
        latency: Time in s for the token and the last byte to travel.
        share: Flows that share the link.
    """

    pure: ClassVar[bool] = True
    needs = ("time_left",)

    def __init__(self, layout: Layout, *, seed: int = 0, line_rate: float, latency: float, share: float) -> None:
        """Keeps what a flow needs."""
        super().__init__(layout, seed=seed)
        self._line_rate = line_rate
        self._latency = latency
        self._share = share

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an Artemis environment, with its k, line rate and delays."""
        config = attribute_of(env, "config")
        return cls(
            attribute_of(env, "layout"),
            seed=seed,
            line_rate=gbps_to_capacity(config.link_gbps),
            latency=LINKS_AFTER_GRANT * config.link_delay_us * SECONDS_PER_MICROSECOND,
            share=config.k,
        )

    def choose(self, batch: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """Compares deadlines, the hopeless behind all others."""
        action = np.empty(len(batch), dtype=np.int64)
        feasible_slot(
            batch,
            self.slot_column("size"),
            self.slot_column("time_left"),
            self.stride,
            self._latency,
            self._share / self._line_rate,
            action,
        )
        return action
