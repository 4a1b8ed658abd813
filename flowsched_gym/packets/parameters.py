"""The parameters of ports and senders of packets, checked, and presets of them: the settings of runs of ns-3."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.checks import check_between, check_choice, check_flag, check_number
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.packets.rules.tcp_windows import (
    CUBIC,
    D2TCP,
    DCTCP,
    FIXED,
    MOST_WINDOW,
    NEWRENO,
    RENO,
    TAFE,
    reacts_to_marks,
)
from flowsched_gym.packets.state import PortLimits
from flowsched_gym.workload.empirical import PACKET_PAYLOAD

__all__ = [
    "NETWORK_PARAMETERS",
    "PORT_PARAMETERS",
    "PRESETS",
    "Acks",
    "MessageRule",
    "NetworkParameters",
    "PacketTransport",
    "Paths",
    "PortParameters",
    "preset_or_parameters",
]
FULL_PACKET: Final = 1502
"""Bytes of a full packet on the wire, of which 1,460 are payload."""
_MODERN: Final[dict[str, Any]] = {
    **{"payload": 1460, "header": 42, "ack_bytes": 58, "acks": "packets", "handshake": True},
    **{"initial_window": 10, "min_rto": 0.01},
}
_DROP_TAIL: Final = {"host": 100 * FULL_PACKET, "core": 200 * FULL_PACKET}
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "dctcp": {
        **_MODERN,
        "transport": "dctcp",
        "mark_at": {"host": 20 * FULL_PACKET, "core": 40 * FULL_PACKET},
        "buffer": {"host": 200 * FULL_PACKET, "core": 400 * FULL_PACKET},
    },
    "cubic": {**_MODERN, "transport": "cubic", "buffer": _DROP_TAIL},
    "newreno": {**_MODERN, "transport": "newreno", "buffer": _DROP_TAIL},
    "reno": {
        **{"transport": "reno", "payload": 536, "header": 54, "ack_bytes": 54, "acks": "packets", "handshake": True},
        **{"receive_window": 131_072 // 536, "buffer": 1_100 * 590, "initial_window": 1, "min_rto": 1.0},
        "start_jitter": 1e-4,
    },
}
"""``dctcp``, ``cubic``: links of 1 Gbps between hosts and switches, 2 Gbps in the core; ``newreno`` has the ports of
``cubic``. ``reno``: TCP without selective acknowledgements, as the Artemis thesis had it in 2018."""
UNLIMITED: Final = 2**62
"""In place of a number of packets: so many never wait."""
MOST_FIXED_WINDOW: Final = 2**31 - 1
HEADER: Final = 40.0
"""Bytes around a packet's payload (QCluster's public ns-2 scripts)."""
FIXED_WINDOW: Final = 64
INITIAL_WINDOW: Final = 10
"""Packets of the first window (RFC 6928)."""
LONGEST_WAIT: Final = 1e9
"""Longest time in s of a timer, 32 years: such a time can be doubled again and again."""
CLASSES: Final = ("host", "core")
BY_TASK: Final = "task"
"""Messages of the flows of a task, beside those of ``MessageRule``."""


class PacketTransport(StrEnum):
    """Windows of senders."""

    FIXED = "fixed"
    DCTCP = "dctcp"
    NEWRENO = "newreno"
    CUBIC = "cubic"
    D2TCP = "d2tcp"
    TAFE = "tafe"
    RENO = "reno"


TRANSPORTS: Final[Mapping[str, int]] = dict(
    zip(PacketTransport, (FIXED, DCTCP, NEWRENO, CUBIC, D2TCP, TAFE, RENO), strict=True)
)
"""These, as rules know them."""


class Acks(StrEnum):
    """Acknowledgements take no bandwidth, or are packets on the way back."""

    FREE = "free"
    PACKETS = "packets"


class Paths(StrEnum):
    """All packets of a flow take one path, or they take those of its pair of hosts in turns."""

    FLOW = "flow"
    PACKET = "packet"


class MessageRule(StrEnum):
    """What counts as a message: each flow, as if its packets named it, or what a host pair sends without a long gap."""

    IDEAL = "ideal"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortParameters:
    """Parameters of the port of packets that are given, which counts packets.

    Attributes:
        buffer: Packets that may wait, in all queues; one more is dropped. ``None``: unlimited. The packet that is being
            sent does not wait.
        mark_at: A packet is marked if with it more packets wait than this (DCTCP's K). ``None``: no marks.
    """

    buffer: int | None = None
    mark_at: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("buffer", 1), ("mark_at", 0)):
            if getattr(self, name) is not None:
                check_between(name, getattr(self, name), least, UNLIMITED - 1, what="a whole number")

    def limits(self) -> PortLimits:
        """Returns what may wait there."""
        room, unmarked = (
            np.full(1, float(UNLIMITED if each is None else each)) for each in (self.buffer, self.mark_at)
        )
        return PortLimits(room, unmarked, by_bytes=False)


ByClass = float | Mapping[str, float | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkParameters:
    """Parameters of senders, and of the ports and links that they send across.

    Attributes:
        transport: ``fixed`` windows, ``dctcp`` (RFC 8257), ``newreno`` (RFC 5681), ``cubic`` with HyStart (RFC 8312);
            ``reno``: NewReno whose acknowledgements tell the first missing packet and no more (RFC 6582); or two that
            are as ``dctcp``, but marks cut a window by other parts: ``d2tcp`` by alpha ** d / 2, where d is the time
            that a flow needs over the time to its deadline, from 0.5 to 2, and 1 without one; ``tafe`` by
            alpha S_c / S_max (TAFE, Eq. 3 to 5), where S_c are the bytes not acknowledged. All find losses by selective
            acknowledgements and timers; with fixed windows, only where a port may drop packets.
        payload: Bytes of payload of a full packet, > 0; the last packet of a flow has the rest.
        header: Bytes around it on the wire, >= 0.
        initial_window: Packets of the first window, 1 to 4,096, or of a fixed one, to 2**31 - 1; ``None`` for 10, or 64
            where it is fixed.
        largest: Upper bound of flow sizes in B (S_max of ``tafe``), > 0; larger flows back off like one of it.
            ``None``: the largest flow, at least a full packet.
        min_rto: Shortest time in s after which a timer expires, > 0, at most 1e9, the first time of a SYN too.
        handshake: Whether a flow begins with a SYN, its answer and a third packet, of ``ack_bytes`` each.
        acks: ``free``: acknowledgements take the propagation delay back, no bandwidth; ``packets``: they queue too.
        ack_bytes: Bytes of an acknowledgement on the wire, > 0; ``None`` for those of a header, or 40 without one.
        ack_every: Packets in order that a receiver acknowledges together, >= 1; 1 where marks cut windows.
        ack_delay: Time in s after which it acknowledges them if fewer come, > 0, at most 1e9.
        receive_window: Packets that a receiver has room for, from the first missing one on, >= 1; ``None``: unlimited.
        paths: ``flow``: the path that the fluid takes (the hash of ``Topology.ecmp``), the same one back; ``packet``:
            the packets of a flow take the paths of its pair in turns, from that one on.
        mark_at: A packet is marked if more bytes wait when it arrives at a port (K of DCTCP). One number, or a mapping
            by class of link, ``{"host": ..., "core": ...}``: a link of the class ``host`` begins or ends at a host.
            ``None``: no marks.
        buffer: Bytes that may wait at a port, in all queues, by class too; a packet beyond is dropped. The packet that
            is being sent does not wait. ``None``: unlimited; otherwise at least the largest packet that comes there.
        messages: ``ideal``: each flow is a message; ``time``: each pair of hosts is a connection, whose messages are
            told apart by silence alone; ``task``: the flows of a task are one, whose bytes all of its senders know.
        start_jitter: Longest time in s by which a source begins later than it could, >= 0: when its flow arrives or,
            where it needs a token, gets it. Even, and hashed from the flow and the seed. Flows that begin at one
            instant stay in step, and lose much where a buffer overflows.
        delay: Propagation delay in s of each link of a topology that is given by name, >= 0.
    """

    transport: str = "fixed"
    payload: float = PACKET_PAYLOAD
    header: float = HEADER
    initial_window: int | None = None
    largest: float | None = None
    min_rto: float = 2e-3
    handshake: bool = False
    acks: str = Acks.FREE
    ack_bytes: float | None = None
    ack_every: int = 1
    ack_delay: float = 0.2
    receive_window: int | None = None
    paths: str = Paths.FLOW
    mark_at: ByClass = None
    buffer: ByClass = None
    messages: str = MessageRule.IDEAL
    start_jitter: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        check_choice("transport", self.transport, TRANSPORTS)
        check_choice("acks", self.acks, Acks)
        check_choice("paths", self.paths, Paths)
        check_choice("messages", self.messages, (*MessageRule, BY_TASK))
        check_flag("handshake", self.handshake)
        for name in ("payload", "min_rto", "ack_delay"):
            value = check_number(name, getattr(self, name), above=0)
            if name != "payload" and value > LONGEST_WAIT:
                raise ConfigError(f"{name} is {value!r}: it must be at most {LONGEST_WAIT:g} s")
        for name in ("header", "delay", "start_jitter"):
            check_number(name, getattr(self, name), at_least=0)
        for name in ("largest", "ack_bytes"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), above=0)
        if self.initial_window is not None:
            most = MOST_FIXED_WINDOW if self.is_fixed else int(MOST_WINDOW)
            check_between("initial_window", self.initial_window, 1, most, what="a whole number")
        for name in ("mark_at", "buffer"):
            self._by_class(name)
        for name in ("ack_every", "receive_window"):
            if name == "ack_every" or getattr(self, name) is not None:
                check_between(name, getattr(self, name), 1, UNLIMITED, what="a whole number")
        if self.ack_every > 1 and reacts_to_marks(TRANSPORTS[self.transport]):
            raise ConfigError(
                f"ack_every is {self.ack_every}: transport {self.transport!r} needs to be told each mark: 1"
            )

    @property
    def is_fixed(self) -> bool:
        """Whether windows stay as they are."""
        return TRANSPORTS[self.transport] == FIXED

    @property
    def has_data_alone(self) -> bool:
        """Whether nothing but data passes ports."""
        return self.acks == Acks.FREE and not self.handshake

    @property
    def window(self) -> float:
        """Packets of the first window."""
        default = FIXED_WINDOW if self.is_fixed else INITIAL_WINDOW
        return float(default if self.initial_window is None else self.initial_window)

    @property
    def ack_size(self) -> float:
        """Bytes of an acknowledgement on the wire."""
        return float((self.header or HEADER) if self.ack_bytes is None else self.ack_bytes)

    def limits(self, at_host: BoolArray) -> PortLimits:
        """Returns what may wait at each port, whose link begins or ends at a host or not, (num_ports,)."""
        room, unmarked = (np.where(at_host, *self._by_class(name)) for name in ("buffer", "mark_at"))
        return PortLimits(room, unmarked, True)

    def _by_class(self, name: str) -> list[float]:
        given: Any = getattr(self, name)
        for each in given if isinstance(given, Mapping) else ():
            if each not in CLASSES:
                raise ConfigError(f"{name} has the class {shown(each)}: it must be one of {listed(each, CLASSES)}")
        values = [given.get(each) if isinstance(given, Mapping) else given for each in CLASSES]
        least: dict[str, int] = {"at_least": 0} if name == "mark_at" else {"above": 0}
        return [np.inf if value is None else check_number(name, value, **least) for value in values]


PORT_PARAMETERS: Final = tuple(field.name for field in fields(PortParameters))
NETWORK_PARAMETERS: Final = tuple(field.name for field in fields(NetworkParameters))


def preset_or_parameters(name: str, given: object) -> NetworkParameters:
    """Returns the parameters of an argument: a preset's, or those of a mapping.

    Raises:
        ConfigError: There is no such preset or parameter, or a value is not allowed.
    """
    if isinstance(given, str) and given in PRESETS:
        return NetworkParameters(**PRESETS[given])
    if not isinstance(given, Mapping):
        allowed = listed(given if isinstance(given, str) else "", PRESETS)
        raise ConfigError(f"{name} is {shown(given)}: it must be one of {allowed}, a mapping of parameters, or None")
    for key in given:
        if key not in NETWORK_PARAMETERS:
            known = listed(key if isinstance(key, str) else "", NETWORK_PARAMETERS)
            raise ConfigError(f"{name} has {shown(key)}: it has {known}")
    try:
        parameters = NetworkParameters(**given)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    if parameters.delay:
        raise ConfigError(f"{name}: delay is {parameters.delay!r}: the environment has its own delays")
    return parameters
