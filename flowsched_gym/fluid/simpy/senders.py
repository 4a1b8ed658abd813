"""Senders with windows (TCP).

A window is sent as a burst at the flow's share of the links; then the sender waits until a round trip has passed since
the burst began. Where the links are busy for longer than that, it never waits. For senders whose packets can be lost,
see ``lossy_senders``.
"""

import math

from simpy.events import ProcessGenerator

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.rules.transport.windows import next_window
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.fluid.transport import Transport


def open_windows(
    env: NetworkEnvironment,
    row: int,
    transport: Transport,
    state: FlowState,
    controls: Controls,
    round_trip: list[float],
    links: SharedLinks,
) -> ProcessGenerator:
    """Opens one window of a flow after the other; a process that is left waiting when the flow has sent its last byte.

    Args:
        env: Environment of the simulation.
        row: The flow, which has just begun to send.
        transport: How it sends.
        state: The flows.
        controls: Their controls; ``admitted`` and ``review_at`` are written here.
        round_trip: Round-trip time in s of each flow's path, by row.
        links: The links.
    """
    window = transport.initial_window
    while True:
        round_end = env.now + round_trip[row]
        controls.review_at[row] = state.attained[row] + window * transport.packet
        yield links.window_sent(row)
        if env.now < round_end:
            controls.admitted[row] = False
            controls.review_at[row] = math.inf
            yield env.at(round_end, EventKind.RESUME, row)
            controls.admitted[row] = True
            links.request_sharing()
        window = next_window(window, transport.exit_window, transport.slow_start_growth, transport.later_growth)
