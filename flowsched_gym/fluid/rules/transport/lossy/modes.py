"""What senders do that have begun, noticed a loss, repaired it or waited, and what of the links they ask for."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.windows import HALF, cut_window
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.rules.transport.lossy.senders import LEAST, Mode, Purpose, Senders, uniform
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule
from flowsched_gym.topology.network import Network

CONNECTING, SENDING, REPAIRING, STALLED = (int(mode) for mode in Mode)
LUCK: Final = int(Purpose.LUCK)
STALL: Final = int(Purpose.STALL)
LEAST_WINDOW: Final = 2.0
"""Packets of a window after a timeout, and the least end of slow start then (RFC 5681, Eq. 4)."""


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
    """Lets a flow send new packets."""
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

    Where one of these changes, rates have to be shared anew: ``changed`` of the step tells.

    Args:
        now: Time in s.
        n: Number of the network.
        active: Rows of its active flows in the first ``count`` entries.
        count: Number of active flows.
        state: The flows.
        controls: Their controls; ``admitted``, ``weight`` and ``rate_cap`` are written here.
        round_trip: Round-trip time in s of each path.
        senders: The senders of all networks.

    Returns:
        The absolute time in s at which a sender next notices a loss, or ends to wait; inf for never.
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
