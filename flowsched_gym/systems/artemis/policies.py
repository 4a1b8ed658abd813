"""Heuristics that only Artemis has: one that grants, and rules that wait or send requests back."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.checks import check_integer, check_number
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs import policies
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import LayoutPolicy, attribute_of
from flowsched_gym.envs.policies.slots import SlotColumn, SlotPolicy, SmallestSize, decoded
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer

LINKS_AFTER_GRANT: Final = 4
"""Links that the token (two) and the last byte (two) still have to cross when a request is granted."""
ALONE: Final = 1.5
"""More than one request, and fewer than two."""


class FeasibleFirst(SlotPolicy):
    """Earliest deadline first among the requests that can still meet theirs; hopeless ones last.

    A request counts as feasible while its deadline is further away than ``latency + share * size / line_rate``: what it
    takes when ``share`` flows send at once, which is what ``k`` tokens bring about under load. The latency is the time
    in s for the token and the last byte to travel, the line rate the capacity of the destination's link in B/s.
    """

    pure: ClassVar[bool] = True
    needs = ("time_left",)

    def __init__(self, layout: Layout, *, seed: int = 0, line_rate: float, latency: float, share: float) -> None:
        super().__init__(layout, seed=seed)
        self._latency, self._seconds_per_byte = latency, share / line_rate

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an Artemis environment, with its k, line rate and delays."""
        config: ArtemisConfig = attribute_of(env, "config")
        latency = LINKS_AFTER_GRANT * config.delay
        return cls(attribute_of(env, "layout"), line_rate=config.capacity, latency=latency, share=config.k)

    def record(self) -> "FeasibleRecord":
        """Returns the rule with its columns and what it knows of the network."""
        size, time_left = self.slot_column("size"), self.slot_column("time_left")
        return FeasibleRecord(size, time_left, self.stride, self._latency, self._seconds_per_byte)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares deadlines, the hopeless behind all others."""
        action = np.empty(len(batch), dtype=np.int64)
        feasible_slot(batch, *self.record(), action)
        return action


class FeasibleRecord(NamedTuple):
    """The rule ``feasible_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    size: SlotColumn
    time_left: SlotColumn
    stride: int
    latency: float
    seconds_per_byte: float

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        feasible_slot(
            observation.reshape((1, -1)),
            self.size,
            self.time_left,
            self.stride,
            self.latency,
            self.seconds_per_byte,
            action,
        )


BASES: Final[Mapping[str, type[SlotPolicy]]] = {
    "fifo": policies.FirstSlot,
    "lifo": policies.LastSlot,
    "edf": policies.EarliestDeadline,
    "ssdf": policies.SmallestRatio,
    "lsdf": policies.LargestRatio,
    "sjf": SmallestSize,
    "least-slack": policies.LeastSlack,
    "feasible-first": FeasibleFirst,
}
"""Rules that grant, and draw nothing."""


class Paced(LayoutPolicy):
    """A rule that grants while few flows are active, and lets the destination wait otherwise.

    Several flows that start at once overflow a buffer that fewer do not, so at most ``active`` flows send, >= 1; from
    the number of tokens (k) on, it never waits. Refuses observations that do not show how many flows are active.
    """

    pure: ClassVar[bool] = True

    def __init__(self, base: SlotPolicy, *, active: int, num_tokens: int) -> None:
        check_integer("active", active, at_least=1)
        super().__init__(base.layout)
        self._base = base
        self._active_at = self.layout.context_index("active_flows")
        self._most = (active - 0.5) / num_tokens  # between two counts: the column is a float32

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, base: str = "lifo", active: int = 5) -> Self:
        """Makes the policy for an environment with ``defer="wait"``, and no other, with a base of this name."""
        check_defer(env, "paced", Defer.WAIT)
        return cls(_base_of(env, base), active=active, num_tokens=attribute_of(env, "config").k)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Waits, or grants what the base chooses."""
        return np.where(batch[:, self._active_at] > self._most, self.layout.num_slots, self._base.choose(batch))


class _SlackRule(LayoutPolicy):
    """A rule that has a base choose among some requests, and tells late ones from others.

    A request is late whose slack is below a margin in s: time to its deadline less the time to send it at line rate.
    """

    def __init__(self, base: SlotPolicy, *, margin: float) -> None:
        super().__init__(base.layout)
        self._base = base
        self._present, self._slack = map(self.layout.slot_slice, ("present", "slack"))
        scale = self.layout.slot_scale("slack")
        self._margin = margin / (abs(margin) + scale)  # encoded, as the slacks are: that keeps their order

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, base: str = "fifo", margin_ms: float = 5.0) -> Self:
        """Makes the policy with the name of a base and a margin >= 0; refuses observations without slacks."""
        check_number("margin_ms", margin_ms, at_least=0.0)
        return cls(_base_of(env, base), margin=margin_ms * SECONDS_PER_MILLISECOND)

    def _present_and_late(self, batch: ObservationArray) -> tuple[BoolArray, BoolArray]:
        """Returns which slots hold a request, and which a late one, (batch, num_slots)."""
        present = batch[:, self._present] > 0.0
        return present, present & (batch[:, self._slack] < self._margin)

    def _choose_among(self, batch: ObservationArray, kept: BoolArray) -> IntArray:
        """Lets the base choose among some of the requests, (batch, num_slots): it sees no other."""
        layout = self.layout
        order = np.argsort(~kept, axis=1, kind="stable")
        shown = batch.copy()
        slots = shown[:, layout.num_context :].reshape(len(batch), *order.shape[1:], layout.num_slot_features)
        slots[:] = np.take_along_axis(slots, order[:, :, np.newaxis], axis=1)
        slots[np.arange(layout.num_slots) >= kept.sum(axis=1)[:, np.newaxis]] = 0.0
        return order[np.arange(len(batch)), self._base.choose(shown)]


class SkipLate(_SlackRule):
    """A rule that grants a request with enough slack, and the smallest one where none has it."""

    def __init__(self, base: SlotPolicy, *, margin: float) -> None:
        super().__init__(base, margin=margin)
        self._otherwise = SmallestSize(self.layout)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Grants what the base chooses among the requests that are not late, else the smallest request."""
        present, late = self._present_and_late(batch)
        kept = present & ~late
        return np.where(kept.any(axis=1), self._choose_among(batch, kept), self._otherwise.choose(batch))


class PostponeLate(_SlackRule):
    """A rule that sends requests with little slack to the back of the queue, and grants one of the others.

    Each visible request that lacks the slack is sent back once, the oldest first. Those that were sent back already are
    left out as well; where no other is visible, the base chooses among them.
    """

    def __init__(self, base: SlotPolicy, *, margin: float) -> None:
        super().__init__(base, margin=margin)
        self._queue_at = self.layout.context_index("queue_length")
        self._postponed = self.layout.slot_slice("postponed")

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, base: str = "fifo", margin_ms: float = 5.0) -> Self:
        """Makes the policy for an environment with ``defer="to-back"``; see ``SkipLate.for_env``."""
        check_defer(env, "postpone-late", Defer.TO_BACK)
        return super().for_env(env, base=base, margin_ms=margin_ms)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Postpones the oldest late request that can be, or grants what the base chooses among the others."""
        present, late = self._present_and_late(batch)
        # A request that waits alone stays where it is: one of f + 1 is squashed.
        alone = batch[:, self._queue_at] < ALONE / (ALONE + self.layout.num_slots)
        movable = late & (batch[:, self._postponed] == 0.0) & ~alone[:, np.newaxis]
        kept = present & ~late
        only_late = ~kept.any(axis=1)
        kept[only_late] = present[only_late]
        granted = self._choose_among(batch, kept)
        return np.where(movable.any(axis=1), self.layout.num_slots + movable.argmax(axis=1), granted)


@rule
def feasible_slot(
    observation: ObservationArray,
    size: SlotColumn,
    time_left: SlotColumn,
    stride: int,
    latency: float,
    seconds_per_byte: float,
    action: IntArray,
) -> None:
    """Chooses the earliest deadline among the requests that can still meet theirs, else the earliest of all.

    A granted flow needs ``latency`` in s beside sending, and ``seconds_per_byte`` for each byte.
    """
    for row in range(len(observation)):
        best, best_is_hopeless, action[row] = np.inf, True, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - size.at, stride)):
            if observation[row, size.at + offset] > 0.0:
                left = decoded(observation, row, offset, time_left)
                hopeless = left < latency + decoded(observation, row, offset, size) * seconds_per_byte
                better = left < best if hopeless == best_is_hopeless else best_is_hopeless
                if better:
                    best, best_is_hopeless, action[row] = left, hopeless, slot


def check_defer(env: Any, policy: str, needed: Defer) -> None:
    """Refuses an environment that does not offer what a policy needs."""
    given = attribute_of(env, "config").defer
    if given is not needed:
        raise ConfigError(f"policy {policy} needs defer={needed}: the environment was made with defer={given}")


def _base_of(env: Any, name: str) -> SlotPolicy:
    if not isinstance(name, str) or name not in BASES:
        raise ConfigError(f"base is {shown(name)}: it must be one of {listed(name, BASES)}")
    return BASES[name].for_env(env)
