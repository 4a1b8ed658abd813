"""Rules of a few numbers for Artemis, tuned to a setting: the most urgent of the requests that can be in time."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.checks import check_flag, check_number
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.slots import SlotColumn, SlotPolicy, decoded
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer
from flowsched_gym.systems.artemis.policies import ALONE, check_defer


class InTimeNumbers(NamedTuple):
    """The numbers of the rules; see ``InTime``, ``PacedInTime`` and ``PostponeInTime``."""

    transmissions: float = 3.0
    slot_ms: float = 2.0
    target_ms: float = 0.0
    margin_transmissions: float = 3.0
    margin_ms: float = 0.0
    youngest: bool = False
    active: float = 7.5
    flight_kb: float = 300.0
    waiting: float = 0.33
    back_transmissions: float = 3.0
    back_ms: float = 0.0


class InTimeRecord(NamedTuple):
    """The rule ``in_time_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``.

    Attributes:
        size, time_left, in_flight: Columns that are decoded, with scales in B, ms and KB.
        ms_per_byte: Time to send a byte at line rate.
        waits, postpones: Whether it may let the destination wait, and send requests to the back.
    """

    numbers: InTimeNumbers
    size: SlotColumn
    time_left: SlotColumn
    in_flight: SlotColumn
    queue: SlotColumn
    postponed_at: int
    active_at: int
    stride: int
    num_slots: int
    num_tokens: int
    ms_per_byte: float
    waits: bool
    postpones: bool

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        in_time_slot(observation.reshape((1, -1)), self, action)


class InTime(SlotPolicy):
    """Grants the most urgent of the requests that can still be in time.

    A request can be in time while ``margin_transmissions`` times its transmission, the time to send it at line rate,
    and ``margin_ms`` are left to its deadline. Of these it grants the one with the least
    ``|time left + transmissions * transmission - target_ms| + slot_ms * slot``, and where there is none the smallest
    request, or the youngest one.
    """

    pure: ClassVar[bool] = True
    needs = ("time_left", "postponed")
    defer: ClassVar[Defer] = Defer.NONE

    def __init__(self, layout: Layout, config: ArtemisConfig, numbers: InTimeNumbers, *, seed: int = 0) -> None:
        super().__init__(layout, seed=seed)
        in_flight, queue = map(layout.context_index, ("bytes_in_flight", "queue_length"))
        size, time_left = self.slot_column("size"), self.slot_column("time_left")
        self._record = InTimeRecord(
            numbers=numbers,
            size=size,
            time_left=SlotColumn(time_left.at, time_left.scale / SECONDS_PER_MILLISECOND),
            in_flight=SlotColumn(in_flight, float(layout.context[in_flight].scale) / BYTES_PER_KILOBYTE),
            queue=SlotColumn(queue, float(layout.context[queue].scale)),
            postponed_at=self.needed_at[1],
            active_at=layout.context_index("active_flows"),
            stride=self.stride,
            num_slots=layout.num_slots,
            num_tokens=config.k,
            ms_per_byte=1.0 / (config.capacity * SECONDS_PER_MILLISECOND),
            waits=self.defer is Defer.WAIT,
            postpones=self.defer is Defer.TO_BACK,
        )

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, **numbers: Any) -> Self:
        """Makes the policy for an environment that offers its actions, with numbers of ``InTimeNumbers``."""
        if cls.defer is not Defer.NONE:
            check_defer(env, cls.__name__, cls.defer)
        for name, value in numbers.items():
            if name == "youngest":
                check_flag(name, value)
            else:
                numbers[name] = check_number(name, value, above=0.0 if name == "flight_kb" else None)
        return cls(attribute_of(env, "layout"), attribute_of(env, "config"), InTimeNumbers(**numbers), seed=seed)

    def record(self) -> InTimeRecord:
        """Returns the rule with its columns and numbers."""
        return self._record

    def choose(self, batch: ObservationArray) -> IntArray:
        """Weighs the requests of each observation."""
        action = np.empty(len(batch), dtype=np.int64)
        in_time_slot(batch, self._record, action)
        return action


class PacedInTime(InTime):
    """Does as ``InTime``, and lets the destination wait while enough is being sent.

    It waits while the flows that are active, and one for each ``flight_kb`` that they have not sent yet, less
    ``waiting`` for each request in the queue, are ``active`` or more.
    """

    pure: ClassVar[bool] = True
    defer = Defer.WAIT


class PostponeInTime(InTime):
    """Does as ``InTime``, and sends late requests to the back of the queue, once each, the oldest first.

    A request is late when less than ``back_transmissions`` times its transmission and ``back_ms`` are left.
    """

    pure: ClassVar[bool] = True
    defer = Defer.TO_BACK


@rule
def in_time_slot(observation: ObservationArray, asked: InTimeRecord, action: IntArray) -> None:
    """Chooses the most urgent request that can be in time, or to wait, or a request that goes to the back."""
    numbers = asked.numbers
    for row in range(len(observation)):
        queue = decoded(observation, row, 0, asked.queue)
        if asked.waits:
            busy = observation[row, asked.active_at] * asked.num_tokens - numbers.waiting * queue
            busy += decoded(observation, row, 0, asked.in_flight) / numbers.flight_kb
            if busy >= numbers.active:
                action[row] = asked.num_slots
                continue
        best, best_is_late, late_slot, action[row] = np.inf, True, -1, 0
        for slot in range(asked.num_slots):
            offset = slot * asked.stride
            size = decoded(observation, row, offset, asked.size)
            if size <= 0.0:
                break
            left, alone = decoded(observation, row, offset, asked.time_left), size * asked.ms_per_byte
            is_late = left < numbers.margin_transmissions * alone + numbers.margin_ms
            if is_late:
                urgency = -float(slot) if numbers.youngest else size
            else:
                urgency = abs(left + numbers.transmissions * alone - numbers.target_ms) + numbers.slot_ms * slot
            if urgency < best if is_late == best_is_late else best_is_late:
                best, best_is_late, action[row] = urgency, is_late, slot
            is_back = observation[row, asked.postponed_at + offset] > 0.0
            if not is_back and left < numbers.back_transmissions * alone + numbers.back_ms and late_slot < 0:
                late_slot = slot
        if asked.postpones and late_slot >= 0 and queue > ALONE:
            action[row] = asked.num_slots + late_slot
