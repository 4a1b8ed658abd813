"""Flows that wait for tokens before they begin, in compiled code; see ``flows.tokens``.

Each function takes the tokens last.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.decisions import NOBODY, Order
from flowsched_gym.flows.state import Controls, new_controls
from flowsched_gym.flows.tokens import (
    DESTINATION,
    asks_for_decision,
    grant_token,
    open_destination,
    postpone_request,
    queue_request,
    return_token,
)
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.heaps import Heap, new_heap, next_time, set_time
from flowsched_gym.packets.compiled.state import COMPLETED, Tables, whole
from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.topology.network import Network as Links

ASKING, LAST_ASKING, IS_DUE, RETURNED = range(4)
"""Indices of ``Tokens.numbers``."""
GRANT, POSTPONE, *_ = (int(order) for order in Order)


class Tokens(NamedTuple):
    """The tokens of destinations, and who waits for them.

    Attributes:
        destinations: Hosts, (num_hosts,) ``DESTINATION``.
        host: Destination of each flow, (num_flows,).
        requests: Rows that wait, (2 * num_flows,), and ``holders``, those that hold a token, (num_flows,).
        start_time: What a flow takes from the grant of its token until it begins, in s, (num_flows,).
        grant_time: When each flow was granted a token, in s, (num_flows,); NaN for not yet.
        starts: Flows whose token is on its way, by when it arrives.
        numbers: Destination that asks for a decision, or ``NOBODY``, and the one that asked last; whether destinations
            are looked at at the end of this instant; tokens that have been returned.
        controls: Those of paths.
        network: Links and paths, as rules know them.
        arrival_time: Absolute times in s, (num_flows,).
    """

    destinations: npt.NDArray[Any]
    host: IntArray
    requests: IntArray
    holders: IntArray
    start_time: FloatArray
    grant_time: FloatArray
    starts: Heap
    numbers: IntArray
    controls: Controls
    network: Links
    arrival_time: FloatArray


def new_tokens(network: PacketNetwork) -> Tokens:
    """Makes destinations with all their tokens."""
    assert network.num_tokens is not None
    num_flows, num_hosts = network.flows.num_flows, network.topology.num_hosts
    destinations = np.zeros(num_hosts, dtype=DESTINATION).view(np.recarray)
    counts = np.bincount(network.flows.destination, minlength=num_hosts)
    firsts = np.cumsum(counts) - counts
    for host, (count, first) in enumerate(zip(counts.tolist(), firsts.tolist(), strict=True)):
        open_destination(destinations[host], host, network.num_tokens, count, 2 * first, first)
    return Tokens(
        destinations=destinations.view(np.ndarray),
        host=network.flows.destination.copy(),
        requests=whole(2 * num_flows),
        holders=whole(num_flows),
        start_time=network.start_time,
        grant_time=np.full(num_flows, np.nan),
        starts=new_heap(num_flows),
        numbers=np.array([NOBODY, network.flows.destination.min(initial=num_hosts - 1), 0, 0]),
        controls=new_controls(network.path.copy()),
        network=network.links,
        arrival_time=network.flows.arrival_time.copy(),
    )


@inlined_part
def next_start(tokens: Tokens) -> float:
    """Returns when the next token arrives, in s, or inf."""
    return next_time(tokens.starts)


@inlined_part
def take_granted(now: float, t: Tables, senders: Any, tokens: Tokens) -> int:
    """Takes out the flow whose token arrives first, and returns it."""
    row: int = tokens.starts.items[0]
    set_time(row, np.inf, tokens.starts)
    return row


@inlined_part
def request_token(now: float, row: int, tokens: Tokens) -> bool:
    """Queues the request of a flow; returns True: it waits."""
    queue_request(tokens.destinations[tokens.host[row]], row, tokens.requests)
    tokens.numbers[IS_DUE] = 1
    return True


@inlined_part
def return_tokens(now: float, t: Tables, senders: Any, tokens: Tokens) -> None:
    """Takes back the tokens of the flows that are over."""
    while tokens.numbers[RETURNED] < t.counts[COMPLETED]:
        row = senders.order[tokens.numbers[RETURNED]]
        return_token(tokens.destinations[tokens.host[row]], row, tokens.holders)
        tokens.numbers[RETURNED] += 1
        tokens.numbers[IS_DUE] = 1


@inlined_part
def asks_for_grant(num_over: int, num_flows: int, tokens: Tokens) -> bool:
    """Returns, at the end of an instant, whether a host asks, the first one that does, or all flows are over."""
    if tokens.numbers[IS_DUE] == 0:
        return False
    tokens.numbers[IS_DUE] = 0
    for host in range(len(tokens.destinations)):
        if asks_for_decision(tokens.destinations[host]):
            tokens.numbers[ASKING] = tokens.numbers[LAST_ASKING] = host
            return True
    return num_over == num_flows


@inlined_part
def give_order(now: float, order: int, index: int, tokens: Tokens) -> None:
    """Carries out an ``Order`` about the tokens of the destination that asks."""
    d = tokens.destinations[tokens.numbers[ASKING]]
    if order == GRANT:
        row = grant_token(d, index, tokens.requests, tokens.holders)
        tokens.grant_time[row] = now
        set_time(row, now + tokens.start_time[row], tokens.starts)
    elif order == POSTPONE:
        postpone_request(d, index, tokens.requests)
    else:
        d.held = True
    tokens.numbers[ASKING] = NOBODY
    tokens.numbers[IS_DUE] = 1
