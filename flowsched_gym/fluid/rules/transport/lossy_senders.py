"""Windows of senders whose packets are lost when a buffer overflows, advanced in rounds of one window each.

A port is the last link of a path, with the buffer of the switch in front of it. Between two events all rates are
constant: a sender has ``window`` less its ``holes`` packets on their way and delivers them once in each round of its
port, which lasts a round trip, or as long as the link needs for what all have on their way. Windows grow by what is
delivered. When more is on its way than link and buffer hold, the excess is lost, and falls on few flows. A round later
these notice: mostly they cut their window and repair one hole a round (NewReno without SACK, RFC 6582), or, some of
those that have nothing new to send, they wait for their retransmission timeout.

Nothing is drawn: what is random is hashed from the episode, the flow and the busy period of the port.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.hashing import GOLDEN, between_0_and_1, mixed
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.windows import HALF, cut_window
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule
from flowsched_gym.topology.network import Network

StructuredArray = npt.NDArray[Any]


class Mode(IntEnum):
    """What a sender does."""

    CONNECTING = 0
    """Its handshake waits in the buffer."""
    SENDING = 1
    """It sends its window, round by round."""
    REPAIRING = 2
    """It repairs one hole a round, and sends what else its window allows."""
    STALLED = 3
    """It waits for its retransmission timeout."""


CONNECTING, SENDING, REPAIRING, STALLED = (int(mode) for mode in Mode)

SENDER: Final = np.dtype(
    [
        ("window", "f8"),  # packets
        ("pace", "f8"),  # window at the beginning of the round, which it delivers in it
        ("holes", "f8"),  # packets that are lost and not repaired
        ("slow_start_end", "f8"),  # window from which on it grows slowly
        ("growth", "f8"),  # packets that the window grows by for each one delivered, until the next event
        ("rate", "f8"),  # in this step, in B/s
        ("part", "f8"),  # share of its packets on their way that is at its port, not in front of other links
        ("luck", "f8"),  # its inclination to lose packets in this overflow, from 0 to 1
        ("loss_weight", "f8"),  # what that comes to now
        ("changes_at", "f8"),  # when it notices a loss, or ends to wait, in s; inf for never
        ("mode", "i8"),
        ("link", "i8"),  # its port
        ("key", "u8"),  # what its random numbers are hashed from
    ],
    align=True,
)
PORT: Final = np.dtype(
    [
        ("in_flight", "f8"),  # packets on their way to this port, or in its buffer
        ("round", "f8"),  # time in s in which each sender delivers what it has on its way
        ("round_ends", "f8"),  # absolute time in s at which they go on with the windows that they have by then
        ("step_began", "f8"),  # when its step began, at whose end it loses what finds no room, in s
        ("step_ends", "f8"),  # when that is over, in s
        ("round_trip", "f8"),  # of its senders, with an empty buffer, in s
        ("room", "f8"),  # packets that its link and its buffer hold in this busy period
        ("slope", "f8"),  # packets on their way that are added in each second
        ("lost", "f8"),  # packets lost in this overflow
        ("next", "i8"),  # link of the next port that delivers in this step, or ``NO_PORT``
        ("step", "i8"),  # the last step in which it delivered
        ("first_row", "i8"),  # the first of the flows that deliver to it
        ("busy_periods", "i8"),  # that have begun
        ("begins", "?"),  # whether it begins a step now
        ("is_busy", "?"),  # whether packets wait in its buffer
        ("overflows", "?"),
    ],
    align=True,
)
STEP: Final = np.dtype(
    [
        ("number", "i8"),  # steps that have begun
        ("first_port", "i8"),  # link of the first port that delivers in this one
        ("changed", "?"),  # whether flows, their weights or their largest rates have changed since it began
    ],
    align=True,
)
"""Steps of constant rates of a network."""
NO_PORT: Final = -1
"""Ends the list of ports."""
LEAST: Final = 1e-6
"""Packets that are none: rounding."""
JITTER, LUCK, STALL, ROOM = 1, 2, 3, 4
"""Purposes: what a random number is for."""
LEAST_WINDOW: Final = 2.0
"""Packets of a window after a timeout, and the least end of slow start then (RFC 5681, Eq. 4)."""


class LossFigures(NamedTuple):
    """The figures of a transport that loses packets, most of them those of ``fluid.Losses``; windows in packets.

    ``packet`` is the bytes of one on the wire, ``per_byte`` 1 over that; growths are packets for each one delivered.
    """

    packet: float
    per_byte: float
    initial_window: float
    exit_window: float
    slow_start_growth: float
    later_growth: float
    added_per_round: float
    window_kept: float
    largest_window: float
    buffer: float
    buffer_spread: float
    loss_skew: float
    loss_scale: float
    timeout_probability: float
    timeout: float
    late_ack_probability: float
    late_ack: float
    jitter: float


class Senders(NamedTuple):
    """The senders of all networks, and the ports that they send to.

    Attributes:
        flows: (num_networks * num_rows,) SENDER.
        ports: (num_networks * num_links,) PORT; those of links that are the last of no path are not used.
        steps: (num_networks,) STEP.
        salts: What is added to the keys of a network's flows, (num_networks,) uint64: 0, or another number where what
            has not been drawn shall be other than in the episode.
    """

    flows: StructuredArray
    ports: StructuredArray
    steps: StructuredArray
    salts: npt.NDArray[np.uint64]
    figures: LossFigures
    num_rows: int
    num_links: int


@inlined_rule
def uniform(n: int, row: int, period: int, purpose: int, senders: Senders) -> float:
    """Hashes a number between 0 and 1 without its ends, for a busy period of a port, 0 for none, and a purpose."""
    x = mixed(senders.flows["key"][row] + senders.salts[n])
    x = mixed(x + np.uint64(period) * GOLDEN)
    luck: float = between_0_and_1(mixed(x + np.uint64(purpose) * GOLDEN))
    return luck


def begin_senders(n: int, keys: npt.NDArray[np.uint64], senders: Senders) -> None:
    """Prepares a network for an episode of flows with these keys, (num_flows,), at time 0."""
    senders.salts[n] = 0
    senders.steps[n] = (0, NO_PORT, True)
    senders.flows["key"][n * senders.num_rows :][: len(keys)] = keys
    ports = senders.ports[n * senders.num_links : (n + 1) * senders.num_links]
    for name in ("step", "in_flight", "round_ends", "step_ends", "busy_periods", "is_busy", "overflows"):
        ports[name] = 0


@inlined_rule
def token_jitter(n: int, row: int, senders: Senders) -> float:
    """Returns by how many s the sender of a flow is late in reacting to its token."""
    if senders.figures.jitter == 0.0:
        return 0.0
    return senders.figures.jitter * uniform(n, row, 0, JITTER, senders)


@inlined_rule
def in_flight_of(row: int, state: FlowState, senders: Senders) -> float:
    """Returns the packets that a flow has on their way to its port, or in its buffer."""
    sender = senders.flows[row]
    pipe = sender["window"] - sender["holes"]
    if sender["mode"] == REPAIRING:
        pipe = max(pipe, 1.0)
    unsent = state.remaining[row] * senders.figures.per_byte - sender["holes"]
    packets: float = max(min(sender["part"] * pipe, unsent), 0.0)
    return packets


@inlined_rule
def start_sender(now: float, n: int, row: int, controls: Controls, network: Network, senders: Senders) -> None:
    """Lets a sender begin that has its token: now, or when its handshake has passed the buffer of its port."""
    figures, sender = senders.figures, senders.flows[row]
    link = network.path_links[network.path_start[controls.path[row] + 1] - 1]
    sender["link"] = link
    port = senders.ports[n * senders.num_links + link]
    sender["window"] = figures.initial_window
    sender["pace"] = figures.initial_window
    sender["holes"] = 0.0
    sender["slow_start_end"] = figures.exit_window
    sender["growth"] = 0.0
    sender["part"] = 1.0
    sender["mode"] = CONNECTING
    sender["changes_at"] = now
    controls.admitted[row] = False  # until its handshake is through
    senders.steps["changed"][n] = True
    queue = port["in_flight"] - network.capacity[link] * port["round_trip"] / figures.packet
    if port["is_busy"] and queue > 0.0:
        sender["changes_at"] += queue * figures.packet / network.capacity[link]


@inlined_part
def _send(n: int, row: int, senders: Senders) -> None:
    senders.flows["mode"][row] = SENDING
    senders.flows["rate"][row] = 0.0
    port = senders.ports[n * senders.num_links + senders.flows["link"][row]]
    if port["overflows"]:
        draw_luck(n, row, port["busy_periods"], senders)


@inlined_rule
def draw_luck(n: int, row: int, period: int, senders: Senders) -> None:
    """Draws how inclined a flow is to lose packets in an overflow."""
    senders.flows["luck"][row] = uniform(n, row, period, LUCK, senders)


@inlined_rule
def control_senders(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    round_trip: FloatArray,
    senders: Senders,
) -> float:
    """Lets senders notice, repair and wait, and sets their weights and largest rates: what they have on their way.

    Where one of these changes, rates have to be shared anew: ``changed`` of the step tells. ``round_trip`` is the time
    in s of each path. Returns the absolute time in s at which a sender next notices a loss, or ends to wait, or inf.
    """
    figures = senders.figures
    time = np.inf
    for index in range(count):
        row = active[index]
        sender = senders.flows[row]
        port = senders.ports[n * senders.num_links + sender["link"]]
        if sender["changes_at"] <= now:
            _change_mode(now, n, row, state, senders)
        elif port["step_ends"] > now:
            time = min(time, sender["changes_at"])
            continue
        if sender["mode"] == REPAIRING and sender["holes"] <= LEAST:
            sender["holes"] = 0.0
            _send(n, row, senders)
        if port["round_ends"] <= now:
            sender["pace"] = sender["window"]
        unsent = state.remaining[row] * figures.per_byte - sender["holes"]
        if sender["mode"] == SENDING and unsent <= LEAST and sender["changes_at"] == np.inf:
            unsent += sender["holes"]  # less than a packet, with nothing behind it: no loss
            sender["holes"] = 0.0
        pipe = max(sender["pace"] - sender["holes"], 0.0)
        if sender["mode"] == REPAIRING:
            pipe = max(pipe, 1.0) if unsent > LEAST else 1.0
        elif sender["mode"] != SENDING or (unsent <= LEAST and sender["holes"] > 0.0):
            pipe = 0.0
        elif sender["changes_at"] == np.inf:
            pipe = max(pipe, LEAST)
        if controls.admitted[row] != (pipe > 0.0):
            controls.admitted[row] = pipe > 0.0
            senders.steps["changed"][n] = True
        if pipe > 0.0 and (pipe != controls.weight[row] or controls.rate_cap[row] == np.inf):
            controls.weight[row] = pipe
            controls.rate_cap[row] = pipe * figures.packet / round_trip[controls.path[row]]
            senders.steps["changed"][n] = True
        time = min(time, sender["changes_at"])
    return time


@inlined_part
def _change_mode(now: float, n: int, row: int, state: FlowState, senders: Senders) -> None:
    """Ends a wait, or lets a sender notice that it has lost packets."""
    figures, sender = senders.figures, senders.flows[row]
    sender["changes_at"] = np.inf
    if sender["mode"] == CONNECTING:
        _send(n, row, senders)
    elif sender["mode"] == STALLED:  # what is lost is sent again as if it were new
        sender["window"] = LEAST_WINDOW
        sender["pace"] = LEAST_WINDOW
        sender["holes"] = 0.0
        _send(n, row, senders)
    else:
        period = senders.ports["busy_periods"][n * senders.num_links + sender["link"]]
        drawn = uniform(n, row, period, STALL, senders)
        has_sent_all = state.remaining[row] * figures.per_byte <= max(sender["window"], sender["holes"])
        if has_sent_all and drawn < figures.timeout_probability + figures.late_ack_probability:
            sender["mode"] = STALLED
            sender["slow_start_end"] = cut_window(sender["window"], HALF, LEAST_WINDOW)
            times_out = drawn < figures.timeout_probability
            sender["changes_at"] = now + (figures.timeout if times_out else figures.late_ack)
        else:
            sender["mode"] = REPAIRING
            sender["window"] = cut_window(sender["window"], 1.0 - figures.window_kept, LEAST)
            sender["slow_start_end"] = sender["window"]
            sender["pace"] = sender["window"]
