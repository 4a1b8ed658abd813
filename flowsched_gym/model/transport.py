"""The transports by which an admitted flow sends.

``ideal`` is a fluid that sends at its share from the instant at which its token reaches it: no header, no handshake, no
slow start. ``tcp`` is today's TCP over a buffer that does not overflow: a handshake, a header on each segment, and
rounds of one window each, sent in a burst and then waited for, until the links are busy without a pause.

Its figures are those of the TCP that the packet simulator ns-3.37 ships (Cubic, SACK, MSS 1448 B, initial window 10),
as far as its documentation and its single-flow completion times show them: a receiver that acknowledges every second
segment lets slow start grow by half a window a round; HyStart leaves it early, near 19 segments, on this path; without
a loss behind it Cubic then adds at most one segment per 20 acknowledged. Losses and retransmissions are not modelled.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flowsched_gym.errors import ConfigError

__all__ = ["TRANSPORTS", "Transport", "TransportName"]


class TransportName(StrEnum):
    """Names of the transports."""

    IDEAL = "ideal"
    TCP = "tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """Parameters of a transport.

    Attributes:
        handshake_round_trips: Round trips between the token's arrival and the first data, >= 0.
        segment: Payload of a full segment in B, 0 for a fluid.
        header: Bytes around a segment's payload, on the wire.
        initial_window: Segments of the first round; 0 for a sender that needs no window.
        exit_window: Segments at which slow start ends.
        slow_start_growth: Factor per round in slow start.
        later_growth: Factor per round after slow start.

    Raises:
        ConfigError: A figure is out of its range.
    """

    handshake_round_trips: float = 0.0
    segment: float = 0.0
    header: float = 0.0
    initial_window: float = 0.0
    exit_window: float = 0.0
    slow_start_growth: float = 1.0
    later_growth: float = 1.0

    def __post_init__(self) -> None:
        for name in ("handshake_round_trips", "segment", "header", "initial_window", "exit_window"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"transport {name} is {getattr(self, name)!r}: it must be >= 0")
        for name in ("slow_start_growth", "later_growth"):
            if not getattr(self, name) >= 1:
                raise ConfigError(f"transport {name} is {getattr(self, name)!r}: it must be >= 1")
        if self.initial_window > 0 and self.segment == 0:
            raise ConfigError("transport initial_window counts segments: it needs segment > 0")

    @property
    def has_window(self) -> bool:
        """Whether senders pause for acknowledgements."""
        return self.initial_window > 0

    @property
    def packet(self) -> float:
        """Bytes on the wire of a full segment; 0 for a fluid."""
        return self.segment + self.header


TRANSPORTS: Final = {
    TransportName.IDEAL: Transport(),
    TransportName.TCP: Transport(
        handshake_round_trips=1.0,
        segment=1448.0,
        header=54.0,
        initial_window=10.0,
        exit_window=19.0,
        slow_start_growth=1.5,
        later_growth=1.05,
    ),
}
"""The transports by name."""
