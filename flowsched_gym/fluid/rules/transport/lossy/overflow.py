"""Lets windows grow by what was delivered, and loses what finds no room."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.rules.transport.lossy.modes import draw_luck
from flowsched_gym.fluid.rules.transport.lossy.senders import LEAST, NO_PORT, Mode, Senders, in_flight_of
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule
from flowsched_gym.machine_code.numerics import power

SENDING: Final = int(Mode.SENDING)
REPAIRING: Final = int(Mode.REPAIRING)
SLACK: Final = 1e-9
"""Relative rounding of the room of a port, and of its rounds."""
MOST_HANDOUTS: Final = 3
"""How often what a flow cannot lose, as it had no more on its way, is handed out among the others."""


@inlined_rule
def deliver(
    now: float,
    elapsed: float,
    n: int,
    served: IntArray,
    num_served: int,
    state: FlowState,
    controls: Controls,
    senders: Senders,
) -> None:
    """Lets windows grow by what was delivered, repairs holes, and loses what has found no room.

    Args:
        now: Time in s at the end of the step.
        elapsed: Its length in s, > 0.
        n: Number of the network.
        served: Rows of the flows that had a rate, in its first ``num_served`` entries.
        num_served: How many these are.
        state: The flows, with what has been delivered; the rates of those that have ended are 0.
        controls: Their controls, as they were in the step.
        senders: The senders of all networks; ``next_change`` was called at the beginning of the step.
    """
    figures, first_port = senders.figures, n * senders.num_links
    flows, ports = senders.flows, senders.ports
    link = senders.steps["first_port"][n]
    while link != NO_PORT:
        ports["in_flight"][first_port + link] = 0.0
        link = ports["next"][first_port + link]
    for index in range(num_served):
        row = served[index]
        sender = flows[row]
        port = ports[first_port + sender["link"]]
        if state.rate[row] == 0.0 or sender["changes_at"] <= now:
            port["step_ends"] = now
        if state.rate[row] == 0.0:
            senders.steps["changed"][n] = True
            continue
        delivered = state.rate[row] * elapsed * figures.per_byte
        if sender["mode"] == REPAIRING:
            sender["holes"] = max(sender["holes"] - delivered / controls.weight[row], 0.0)
        elif sender["growth"] > 0.0:
            most = figures.largest_window
            if sender["window"] < sender["slow_start_end"] - LEAST:
                most = min(most, sender["slow_start_end"])
            sender["window"] = min(sender["window"] + sender["growth"] * delivered, most)
        if port["is_busy"]:
            port["in_flight"] += in_flight_of(row, state, senders)
    link = senders.steps["first_port"][n]
    while link != NO_PORT:
        port = ports[first_port + link]
        if port["step_ends"] <= now:
            if port["is_busy"] and port["in_flight"] >= port["room"] * (1.0 - SLACK):
                _lose(now, n, link, served, num_served, state, senders)
            elif port["overflows"]:
                port["overflows"] = False
                _forget_crumbs(link, served, num_served, state, senders)
            port["step_began"] = now
        link = port["next"]


@inlined_part
def _can_lose(row: int, link: int, state: FlowState, senders: Senders) -> bool:
    """Returns whether a flow sends new packets to a port."""
    sender = senders.flows[row]
    sends: bool = state.rate[row] > 0.0 and sender["mode"] == SENDING and sender["link"] == link
    return sends


@inlined_part
def _lose(
    now: float,
    n: int,
    link: int,
    served: IntArray,
    num_served: int,
    state: FlowState,
    senders: Senders,
) -> None:
    """Hands out what overflows, in proportion to what flows have on their way and their inclination to lose it."""
    figures, flows = senders.figures, senders.flows
    port = senders.ports[n * senders.num_links + link]
    if not port["overflows"]:
        port["overflows"] = True
        port["lost"] = 0.0
        for index in range(num_served):
            if flows["link"][served[index]] == link:
                draw_luck(n, served[index], port["busy_periods"], senders)
    skew = figures.loss_skew * figures.loss_scale / (figures.loss_scale + port["lost"])
    excess = port["in_flight"] - port["room"]
    part = min((now - port["step_began"]) / port["round"], 1.0)
    handouts = 0
    while excess > LEAST and handouts < MOST_HANDOUTS:
        handouts += 1
        total = 0.0
        for index in range(num_served):
            row = served[index]
            if _can_lose(row, link, state, senders):
                flows["loss_weight"][row] = power(flows["luck"][row], skew)
                total += flows["loss_weight"][row] * in_flight_of(row, state, senders)
        if total == 0.0:
            break
        per_weight = excess / total
        excess = 0.0
        for index in range(num_served):
            row = served[index]
            if _can_lose(row, link, state, senders):
                in_flight = in_flight_of(row, state, senders)
                lost = per_weight * flows["loss_weight"][row] * in_flight
                most = in_flight * part
                if lost > most:
                    excess += lost - most
                    lost = most
                flows["holes"][row] += lost
                port["in_flight"] -= lost
                port["lost"] += lost
    for index in range(num_served):
        row = served[index]
        notices = flows["holes"][row] >= 1.0 and flows["changes_at"][row] == np.inf
        if notices and _can_lose(row, link, state, senders):
            flows["changes_at"][row] = now + port["round"]


@inlined_part
def _forget_crumbs(
    link: int,
    served: IntArray,
    num_served: int,
    state: FlowState,
    senders: Senders,
) -> None:
    """Takes less than a packet for no loss, when an overflow has ended."""
    flows = senders.flows
    for index in range(num_served):
        row = served[index]
        if flows["holes"][row] < 1.0 and _can_lose(row, link, state, senders):
            flows["holes"][row] = 0.0
