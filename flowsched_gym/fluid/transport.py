"""The transports by which an admitted flow sends.

``ideal`` is a fluid that sends at its share from the instant at which its token reaches it: no header, no handshake, no
slow start. ``tcp`` is today's TCP over a buffer that does not overflow: a handshake, a header on each segment, and
rounds of one window each, sent in a burst and then waited for, until the links are busy without a pause.

Its figures are those of the TCP that the packet simulator ns-3.37 ships (Cubic, SACK, MSS 1448 B, initial window 10),
as far as its documentation and its single-flow completion times show them: a receiver that acknowledges every second
segment lets slow start grow by half a window a round; HyStart leaves it early, near 19 segments, on this path; without
a loss behind it Cubic then adds at most one segment per 20 acknowledged. Losses and retransmissions are not modelled.

``tcp-lossy`` and its relatives send to a buffer that overflows, as ten slow starts do in the thesis's setting of
Artemis: see ``rules.transport.lossy_senders`` for the rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import to_float
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.fluid.rules.transport.lossy_senders import PORT, SENDER, STEP, LossFigures, Senders


class TransportName(StrEnum):
    """Names of the transports."""

    IDEAL = "ideal"
    TCP = "tcp"
    TCP_LOSSY = "tcp-lossy"
    TCP_LOSSY_2018A = "tcp-lossy-2018a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What a sender meets whose packets can be lost.

    Attributes:
        buffer: Packets that a switch can keep for a link to a host, > 0.
        buffer_spread: Largest part of the buffer by which it is smaller in a busy period, from 0 to below 1: packets
            come in bursts, which overflow a buffer before a fluid does.
        loss_skew: How unequally an overflow falls on flows at its beginning: the power, >= 0, of a uniform number for
            each flow.
        loss_scale: Packets, > 0, lost in an overflow after which that power is half of it: a large overflow falls on
            all flows.
        largest_window: Packets that a sender may have on their way, >= 1: what the receiver's buffer holds.
        added_per_round: Packets that a window grows by in each round after slow start, >= 0.
        window_kept: Part of the window that is kept after a loss, above 0 and at most 1.
        timeout_probability: Of senders that have nothing new to send when they notice a loss: how many wait for their
            retransmission timeout, from 0 to 1.
        timeout: Time in s that these wait, > 0.
        late_ack_probability: How many of them wait for acknowledgements that a receiver delays, from 0 to 1.
        late_ack: Time in s that these wait, > 0.
        jitter: Largest delay in s by which a sender is late in reacting to its token, >= 0.
        seed: Seed, an integer >= 0, of what is hashed: others give other losses for the same flows.

    Raises:
        ConfigError: A figure is out of its range.
    """

    buffer: float
    buffer_spread: float = 0.0
    loss_skew: float = 3.0
    loss_scale: float = 200.0
    largest_window: float
    added_per_round: float = 0.0
    window_kept: float = 0.5
    timeout_probability: float
    timeout: float
    late_ack_probability: float = 0.0
    late_ack: float = 0.4
    jitter: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed, is_allowed in (
            ("buffer", "> 0", self.buffer > 0),
            ("buffer_spread", ">= 0 and below 1", 0 <= self.buffer_spread < 1),
            ("loss_skew", "from 0 to 100", 0 <= self.loss_skew <= 100),
            ("loss_scale", "> 0", self.loss_scale > 0),
            ("largest_window", ">= 1", self.largest_window >= 1),
            ("added_per_round", ">= 0", self.added_per_round >= 0),
            ("window_kept", "above 0 and at most 1", 0 < self.window_kept <= 1),
            ("timeout_probability", "from 0 to 1", 0 <= self.timeout_probability <= 1),
            ("timeout", "> 0", self.timeout > 0),
            ("late_ack_probability", "from 0 to 1", 0 <= self.late_ack_probability <= 1),
            ("late_ack", "> 0", self.late_ack > 0),
            ("jitter", ">= 0", self.jitter >= 0),
            ("seed", "an integer from 0 to 2**63 - 1", type(self.seed) is int and 0 <= self.seed < 2**63),
        ):
            if not is_allowed or not abs(getattr(self, name)) < float("inf"):
                raise ConfigError(f"transport {name} is {getattr(self, name)!r}: it must be {allowed}")


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
        losses: What happens when a buffer overflows; ``None`` where none does.

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
    losses: Losses | None = None

    def __post_init__(self) -> None:
        least = {"slow_start_growth": 1, "later_growth": 1}
        for name in (field.name for field in fields(self) if field.name != "losses"):
            if not getattr(self, name) >= least.get(name, 0):
                raise ConfigError(f"transport {name} is {getattr(self, name)!r}: it must be >= {least.get(name, 0)}")
        if self.initial_window > 0 and self.segment == 0:
            raise ConfigError("transport initial_window counts segments: it needs segment > 0")
        if self.losses is not None and self.initial_window < 1:
            raise ConfigError(f"transport initial_window is {self.initial_window!r}: with losses it must be >= 1")

    @property
    def has_window(self) -> bool:
        """Whether senders pause for acknowledgements."""
        return self.initial_window > 0

    @property
    def first_burst(self) -> float:
        """Segments that a sender sends at once and then waits; 0 where it does not wait, or spreads what it sends."""
        return self.initial_window if self.losses is None else 0.0

    @property
    def packet(self) -> float:
        """Bytes on the wire of a full segment; 0 for a fluid."""
        return self.segment + self.header

    def loss_figures(self) -> LossFigures:
        """Returns the figures of a transport with losses as its rules take them."""
        losses = self.losses
        if losses is None:
            raise ConfigError("transport has no losses")
        return LossFigures(
            packet=self.packet,
            per_byte=1.0 / self.packet,
            initial_window=self.initial_window,
            exit_window=self.exit_window,
            slow_start_growth=self.slow_start_growth - 1.0,
            later_growth=self.later_growth - 1.0,
            **{field.name: getattr(losses, field.name) for field in fields(Losses) if field.name != "seed"},
        )


NEW_RENO: Final = Transport(
    handshake_round_trips=0.011,
    segment=536.0,
    header=54.0,
    initial_window=1.104,
    exit_window=1e9,
    slow_start_growth=1.4764,
    losses=Losses(
        buffer=1192.0,
        buffer_spread=0.178,
        loss_skew=8.7,
        loss_scale=1.0,
        largest_window=233.2,
        added_per_round=0.5,
        timeout_probability=0.1075,
        timeout=1.0,
        late_ack_probability=0.0045,
        late_ack=0.4,
        jitter=1e-4,
    ),
)

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
    TransportName.TCP_LOSSY: NEW_RENO,
    TransportName.TCP_LOSSY_2018A: replace(
        NEW_RENO,
        handshake_round_trips=0.19,
        initial_window=1.3,
        slow_start_growth=2.08,
        losses=Losses(
            buffer=1090.0,
            buffer_spread=0.06,
            loss_skew=10.0,
            loss_scale=50.0,
            largest_window=245.9,
            added_per_round=1.0,
            timeout_probability=0.14,
            timeout=1.0,
            jitter=1e-4,
        ),
    ),
}


def find_transport(name: TransportName, figures: Mapping[str, float] | None = None) -> Transport:
    """Finds a transport by its name; ``figures`` of ``Transport`` and, with losses, ``Losses`` replace its own.

    Raises:
        ConfigError: It has no such figure, or one is out of its range.
    """
    transport = TRANSPORTS[name]
    losses = transport.losses
    own = {field.name for field in fields(Transport)} - {"losses"}
    allowed = own if losses is None else own | {field.name for field in fields(Losses)}
    if figures is not None and not isinstance(figures, Mapping):
        raise ConfigError(f"transport_figures is {shown(figures)}: it must be a mapping from names to figures, or None")
    given: dict[str, Any] = {}
    for figure, value in (figures or {}).items():
        if figure not in allowed:
            raise ConfigError(f"transport_figures has {shown(figure)}: {name} has {listed(figure, sorted(allowed))}")
        if not abs(to_float(value)) < float("inf"):
            raise ConfigError(f"transport_figures {figure} is {shown(value)}: it must be a finite number")
        given[figure] = value if figure == "seed" else float(value)
    if losses is not None:
        losses = replace(losses, **{figure: given[figure] for figure in given.keys() - own})
    return replace(transport, losses=losses, **{figure: given[figure] for figure in given.keys() & own})


def new_senders(num_networks: int, num_rows: int, num_links: int, transport: Transport) -> Senders:
    """Makes room for networks with so many flows and links."""
    return Senders(
        flows=np.zeros(num_networks * num_rows, dtype=SENDER),
        ports=np.zeros(num_networks * num_links, dtype=PORT),
        steps=np.zeros(num_networks, dtype=STEP),
        salts=np.zeros(num_networks, dtype=np.uint64),
        figures=transport.loss_figures(),
        num_rows=num_rows,
        num_links=num_links,
    )
