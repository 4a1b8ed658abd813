"""Draws episodes of bursts into networks, many in one call of machine code: what ``GatherWorkload.draw`` draws.

An episode of 1,000 flows takes 20 us so; drawn and loaded by itself, 70 us of calls of NumPy.
"""

import zlib
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.seeding import LEAST_UNIFORM
from flowsched_gym.fluid.compiled.loading import load
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.machine_code.decorators import inlined_part, threaded_function
from flowsched_gym.machine_code.drawing import LONGEST_ROW
from flowsched_gym.machine_code.generator import State, begin_stream, next_uniform
from flowsched_gym.machine_code.loops import POOL, log1p_of
from flowsched_gym.topology import Topology
from flowsched_gym.topology.topology import LEAST_PART
from flowsched_gym.workload import GatherWorkload

BURSTS, ORDER, HOSTS, SENDERS = (zlib.crc32(name) for name in (b"bursts", b"order", b"hosts", b"senders"))
"""Keys of the streams of ``GatherWorkload``."""


class Bursts(NamedTuple):
    """What episodes of bursts are drawn from, and scratch of a thread.

    Attributes:
        sizes: Sizes of the flows of a burst in B, in the order of the mix, (burst_size,).
        spans: Times in s that they are allowed, (burst_size,).
        num_bursts: Bursts of an episode.
        mean_gap: Mean time in s between bursts.
        shuffled: Whether the flows of a burst come in random order.
        num_near: Hosts at which bursts meet.
        gathers: Whether these receive.
        num_hosts: Hosts of the network, by which pairs number their paths.
        latest: Time in s before which the last burst has to come: later ones are for ``load``, which checks them.
        size: Scratch for a column of flows, (num_flows,), as the next four.
        uniform: Scratch of a burst, (num_far,): those at the far ends, all hosts that may be there.
        order: Scratch of a burst, (num_far,).
        state: Scratch of a generator.
    """

    sizes: FloatArray
    spans: FloatArray
    num_bursts: int
    mean_gap: float
    shuffled: bool
    num_near: int
    gathers: bool
    num_hosts: int
    latest: float
    size: FloatArray
    arrival_time: FloatArray
    path: IntArray
    near: IntArray
    far: IntArray
    uniform: FloatArray
    order: IntArray
    state: State


def bursts_of(source: object, topology: Topology) -> Bursts | None:
    """Returns what the episodes of a source are drawn from, or None: they, or paths, are of another kind."""
    if type(source) is not GatherWorkload or topology.pair_start is not None or topology.num_hosts < source.num_hosts:
        return None
    mix, num_bursts, num_far = source.mix, source.num_bursts, source.num_senders or source.burst_size
    if mix is None or mix.counts is None or num_bursts is None or source.request_jitter > 0 or num_far > LONGEST_ROW:
        return None
    sizes, spans = np.repeat(np.array(mix.pairs, dtype=np.float64), mix.counts, axis=0).T.copy()
    num_flows = num_bursts * source.burst_size
    path, near, far = np.zeros((3, num_flows), dtype=np.int64)
    return Bursts(
        sizes=sizes,
        spans=spans,
        num_bursts=num_bursts,
        mean_gap=1.0 / (source.rate * source.num_destinations),
        shuffled=source.shuffle,
        num_near=source.num_destinations,
        gathers=source.pattern == "gather",
        num_hosts=topology.num_hosts,
        latest=float(sizes.min() / topology.capacity.max()) / LEAST_PART,
        size=np.zeros(num_flows),
        arrival_time=np.zeros(num_flows),
        path=path,
        near=near,
        far=far,
        uniform=np.zeros(num_far),
        order=np.zeros(num_far, dtype=np.int64),
        state=np.zeros(POOL, dtype=np.uint64),
    )


@threaded_function
def load_bursts(
    t: Tables, bursts: Bursts, numbers: IntArray, seeds: IntArray, spans: FloatArray, loaded: BoolArray
) -> None:
    """Puts episodes with these seeds into networks, (count,), at time 0.

    Writes whether each could be, (count,), and the times that flows are allowed in s, (count, num_flows).
    """
    size, arrival_time, path = bursts.size, bursts.arrival_time, bursts.path
    num_flows = len(size)
    destination = bursts.near if bursts.gathers else bursts.far
    for i in range(len(numbers)):
        _draw_arrivals(bursts, seeds[i])
        _draw_order(bursts, seeds[i], spans[i])
        _draw_ends(bursts, seeds[i])
        loaded[i] = arrival_time[num_flows - 1] < bursts.latest and load(
            t, numbers[i], num_flows, size, arrival_time, spans[i], path, destination
        )


@inlined_part
def _draw_arrivals(bursts: Bursts, seed: int) -> None:
    """Draws when flows arrive."""
    begin_stream(seed, BURSTS, bursts.state)
    burst_size, time = len(bursts.sizes), 0.0
    for first in range(0, bursts.num_bursts * burst_size, burst_size):
        time += -bursts.mean_gap * log1p_of(-max(next_uniform(bursts.state), LEAST_UNIFORM))
        bursts.arrival_time[first : first + burst_size] = time


@inlined_part
def _draw_order(bursts: Bursts, seed: int, spans: FloatArray) -> None:
    """Draws sizes and the times that flows are allowed."""
    burst_size = len(bursts.sizes)
    for place in range(burst_size):
        bursts.order[place] = place
    if bursts.shuffled:
        begin_stream(seed, ORDER, bursts.state)
    for first in range(0, bursts.num_bursts * burst_size, burst_size):
        if bursts.shuffled:
            _draw_places(bursts, burst_size)
        for place in range(burst_size):
            bursts.size[first + place] = bursts.sizes[bursts.order[place]]
            spans[first + place] = bursts.spans[bursts.order[place]]


@inlined_part
def _draw_ends(bursts: Bursts, seed: int) -> None:
    """Draws the hosts of flows, and finds their paths."""
    burst_size, num_far, near = len(bursts.sizes), len(bursts.uniform), bursts.near
    near[:] = 0
    if bursts.num_near > 1:
        begin_stream(seed, HOSTS, bursts.state)
        for first in range(0, len(near), burst_size):
            near[first : first + burst_size] = int(next_uniform(bursts.state) * bursts.num_near)
    for place in range(num_far):
        bursts.order[place] = place
    if num_far > burst_size:
        begin_stream(seed, SENDERS, bursts.state)
    for first in range(0, len(near), burst_size):
        if num_far > burst_size:
            _draw_places(bursts, num_far)
        for place in range(burst_size):
            row = first + place
            far = bursts.order[place] + bursts.num_near
            bursts.far[row] = far
            source, destination = (far, near[row]) if bursts.gathers else (near[row], far)
            bursts.path[row] = source * bursts.num_hosts + destination


@inlined_part
def _draw_places(bursts: Bursts, count: int) -> None:
    """Draws a random order of 0 to ``count - 1``, as ``seeding.orders`` does."""
    uniform, order = bursts.uniform, bursts.order
    for index in range(count):
        uniform[index] = next_uniform(bursts.state)
    for index in range(count):
        rank = 0
        for other in range(count):
            rank += (uniform[other] < uniform[index]) | ((uniform[other] == uniform[index]) & (other < index))
        order[rank] = index
