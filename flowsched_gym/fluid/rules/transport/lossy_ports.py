"""Ports of senders that lose packets: how long rates stay constant, how windows grow, and what finds no room.

See ``lossy_senders`` for the model.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.windows import window_growth
from flowsched_gym.fluid.rules.transport.lossy_senders import (
    LEAST,
    NO_PORT,
    REPAIRING,
    ROOM,
    SENDING,
    LossFigures,
    Senders,
    draw_luck,
    in_flight_of,
    uniform,
)
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule, rule
from flowsched_gym.machine_code.numerics import power

SHORTEST_STEP: Final = 1e-9
"""Least time in s between two changes of the same network that senders bring about."""
SLACK: Final = 1e-9
"""Relative rounding of the room of a port, of its rounds, and of rates."""
MOST_HANDOUTS: Final = 3
"""How often what a flow cannot lose, as it had no more on its way, is handed out among the others."""


@inlined_rule
def next_change(
    now: float,
    n: int,
    served: IntArray,
    num_served: int,
    state: FlowState,
    controls: Controls,
    capacity: FloatArray,
    round_trip: FloatArray,
    senders: Senders,
) -> float:
    """Begins steps of ports: returns the absolute time in s at which windows and losses next change the rates.

    The step of a port lasts until something of its own changes. What happens elsewhere in the network does not end it,
    so that what is lost at one port does not depend on how often another one changes. ``capacity`` is what of each link
    is for data, ``round_trip`` the time in s of each path.
    """
    figures, first_port = senders.figures, n * senders.num_links
    flows, ports = senders.flows, senders.ports
    _list_ports(now, n, served, num_served, state, senders)
    _find_rounds(n, served, num_served, state, controls, round_trip, senders)
    link = senders.steps["first_port"][n]
    while link != NO_PORT:
        port = ports[first_port + link]
        if port["begins"]:
            _begin_port(now, n, link, capacity, senders)
        link = port["next"]
    for index in range(num_served):
        row = served[index]
        sender = flows[row]
        port = ports[first_port + sender["link"]]
        if not port["begins"]:
            continue
        soonest = max(_begin_step(row, port["round"], state, controls, senders), SHORTEST_STEP)
        port["step_ends"] = min(port["step_ends"], now + soonest)
        if port["is_busy"]:
            port["in_flight"] += in_flight_of(row, state, senders)
            rate = state.rate[row] * figures.per_byte
            if sender["growth"] > 0.0:
                port["slope"] += sender["growth"] * rate * sender["part"]
            elif state.remaining[row] * figures.per_byte <= sender["window"] + LEAST:
                port["slope"] -= rate
    time = np.inf
    link = senders.steps["first_port"][n]
    while link != NO_PORT:
        port = ports[first_port + link]
        left = port["room"] - port["in_flight"]
        fills = port["is_busy"] and not port["overflows"] and port["slope"] > 0.0 and left > 0.0
        if port["begins"] and fills:
            port["step_ends"] = min(port["step_ends"], now + max(left / port["slope"], SHORTEST_STEP))
        time = min(time, port["step_ends"])
        link = port["next"]
    return time


@inlined_part
def _list_ports(now: float, n: int, served: IntArray, num_served: int, state: FlowState, senders: Senders) -> None:
    """Lists the ports that deliver, and finds which of them begin a step: the others go on with theirs."""
    flows, step = senders.flows, senders.steps[n]
    step["number"] += 1
    step["changed"] = False
    step["first_port"] = NO_PORT
    for index in range(num_served):
        row = served[index]
        link = flows["link"][row]
        port = senders.ports[n * senders.num_links + link]
        if port["step"] != step["number"]:
            port["begins"] = port["step_ends"] <= now
            if port["step"] != step["number"] - 1:
                port["begins"] = True
                port["step_began"] = now
            port["step"] = step["number"]
            port["first_row"] = row
            port["next"] = step["first_port"]
            step["first_port"] = link
        if abs(state.rate[row] - flows["rate"][row]) > SLACK * state.rate[row]:
            flows["rate"][row] = state.rate[row]
            port["begins"] = True


@inlined_part
def _find_rounds(
    n: int,
    served: IntArray,
    num_served: int,
    state: FlowState,
    controls: Controls,
    round_trip: FloatArray,
    senders: Senders,
) -> None:
    """Finds the length of the rounds of ports that begin a step."""
    first_port = n * senders.num_links
    link = senders.steps["first_port"][n]
    while link != NO_PORT:
        port = senders.ports[first_port + link]
        if port["begins"]:
            port["round"] = np.inf
            port["round_trip"] = 0.0
        link = port["next"]
    for index in range(num_served):
        row = served[index]
        port = senders.ports[first_port + senders.flows["link"][row]]
        if port["begins"]:
            port["round"] = min(port["round"], controls.weight[row] * senders.figures.packet / state.rate[row])
            port["round_trip"] = max(port["round_trip"], round_trip[controls.path[row]])


@inlined_part
def _begin_port(now: float, n: int, link: int, capacity: FloatArray, senders: Senders) -> None:
    """Begins a step of a port, with a round or a busy period where one begins."""
    figures, port = senders.figures, senders.ports[n * senders.num_links + link]
    if port["round_ends"] <= now:
        port["round_ends"] = now + port["round"]
    port["step_ends"] = port["round_ends"]
    port["in_flight"] = 0.0
    port["slope"] = 0.0
    is_busy = port["round"] > port["round_trip"] * (1.0 + SLACK)
    if is_busy and not port["is_busy"]:
        port["busy_periods"] += 1
        drawn = uniform(n, port["first_row"], port["busy_periods"] * senders.num_links + link, ROOM, senders)
        buffer = figures.buffer * (1.0 - figures.buffer_spread * drawn)
        port["room"] = capacity[link] * port["round_trip"] * figures.per_byte + buffer
    port["is_busy"] = is_busy


@inlined_part
def _begin_step(row: int, round_time: float, state: FlowState, controls: Controls, senders: Senders) -> float:
    """Sets how a window grows in this step; returns the time in s in which its growth or its rate would change."""
    figures, sender = senders.figures, senders.flows[row]
    rate = state.rate[row] * figures.per_byte
    unsent = state.remaining[row] * figures.per_byte - sender["holes"]
    sender["part"] = min(rate * round_time / controls.weight[row], 1.0)
    sender["growth"] = 0.0
    if sender["mode"] == REPAIRING:
        repairs = rate / controls.weight[row]
        soonest: float = sender["holes"] / repairs
        if unsent > LEAST and rate > repairs:
            soonest = min(soonest, unsent / (rate - repairs))
        return soonest
    pipe = sender["window"] - sender["holes"]
    if unsent <= pipe + LEAST:
        soonest = unsent / rate if sender["holes"] > 0.0 else np.inf
        return soonest
    if sender["window"] >= figures.largest_window - LEAST:
        soonest = (unsent - pipe) / rate
        return soonest
    in_slow_start = sender["window"] < sender["slow_start_end"] - LEAST
    slow, later, added = figures.slow_start_growth, figures.later_growth, figures.added_per_round
    growth = window_growth(in_slow_start, controls.weight[row], slow, later, added)
    most = figures.largest_window
    if in_slow_start:
        most = min(most, sender["slow_start_end"])
    sender["growth"] = growth
    soonest = (unsent - pipe) / (rate * (1.0 + growth))
    if growth > 0.0:
        soonest = min(soonest, (most - sender["window"]) / (growth * rate))
    return soonest


@rule
def isolated_lossy_times(
    volume: FloatArray, capacity: FloatArray, round_trip: FloatArray, figures: LossFigures, times: FloatArray
) -> None:
    """Finds how long flows deliver when they are alone on the network and nothing is lost; see ``isolated_times``."""
    for row in range(len(volume)):
        left = volume[row] / figures.packet
        fastest = capacity[row] / figures.packet
        window = figures.initial_window
        times[row] = 0.0
        while left > 0.0:
            pace = window
            rate = min(pace / round_trip[row], fastest)
            times[row] += min(left, pace) / rate
            sent = 0.0
            while sent < pace and left - sent > window + LEAST and window < figures.largest_window:
                step, most = pace - sent, figures.largest_window
                in_slow_start = window < figures.exit_window - LEAST
                slow, later, added = figures.slow_start_growth, figures.later_growth, figures.added_per_round
                growth = window_growth(in_slow_start, pace, slow, later, added)
                if in_slow_start:
                    most = min(most, figures.exit_window)
                    step = min(step, (most - window) / growth)
                step = min(step, (left - sent - window) / (1.0 + growth))
                window = min(window + growth * step, most)
                sent += step
            left -= pace


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

    A step of ``elapsed`` > 0 s ends now, at whose beginning ``next_change`` was called; rates of ended flows are 0.
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
    sender = senders.flows[row]
    return bool(state.rate[row] > 0.0 and sender["mode"] == SENDING and sender["link"] == link)


@inlined_part
def _lose(now: float, n: int, link: int, served: IntArray, num_served: int, state: FlowState, senders: Senders) -> None:
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
def _forget_crumbs(link: int, served: IntArray, num_served: int, state: FlowState, senders: Senders) -> None:
    """Takes less than a packet for no loss, when an overflow has ended."""
    flows = senders.flows
    for index in range(num_served):
        row = served[index]
        if flows["holes"][row] < 1.0 and _can_lose(row, link, state, senders):
            flows["holes"][row] = 0.0
