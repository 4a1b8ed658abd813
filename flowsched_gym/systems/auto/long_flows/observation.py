"""What the agent of long flows sees (AuTO, section 5.2.2; its recorded rows): which flows, and what of them.

An active flow has 6 features, its five-tuple and its priority; a finished one has 7, its five-tuple, size and
completion time. Which ports flows have, the model does not care: ``auto.flows`` says how they are numbered.

Links are those of ``topology.multi_plane``: of each plane, the hosts' uplinks and then their downlinks. A flow has a
path in each plane, whose row in the path table is the plane's number modulo the number of planes, ``num_paths``. Arrays
by link are by plane, up or down, and host, (num_paths, 2, num_hosts).
"""

import io
from importlib import resources
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE
from flowsched_gym.envs.columns import Column, Encoding, Layout, Rows
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.decision import AnyIntArray
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.systems.auto.flows import (
    FIVE_TUPLE,
    NUM_TUPLE_COLUMNS,
    FlowUnits,
    five_tuple_columns,
    write_five_tuple,
)
from flowsched_gym.systems.auto.long_flows.config import (
    AuTOLongFlowsConfig,
    LongFlowsLayout,
    LongFlowsObservation,
)

UP: Final = 0
DOWN: Final = 1
# What becomes one half: bytes, where flows begin to be long; time in s, what these take at 1 Gbps, and a little more;
# other flows on a link.
BYTES_SCALE: Final = 10 * BYTES_PER_MEGABYTE
TIME_SCALE: Final = 0.1
COUNT_SCALE: Final = 4.0
MOST: Final = {"host": 65_535.0, "port": 65_535.0, "number": 255.0, "queue": 255.0, "B": 1e12, "us": 1e12}
"""Bounds of plain columns by their unit; what is larger is cut to them, which only sizes and times could be, of a
terabyte and 12 days."""
UNITS: Final = {"source": "host", "source_port": "port", "destination": "host", "destination_port": "port"}
"""Units of plain five-tuples; that of a protocol is a number."""
FINISHED: Final = "finished_"
"""Prefix of the columns of finished flows."""
FEATURES: Final = NUM_TUPLE_COLUMNS + 1
"""Features of an active flow; a finished one has one more."""
ALL: Final = -1
"""Stands for the flows of all servers."""


@rule
def list_long(
    active: AnyIntArray,
    source: IntArray,
    attained: FloatArray,
    arrival_time: FloatArray,
    long_from: float,
    server: int,
    listed: IntArray,
) -> int:
    """Lists active flows that have sent so much, of a server or of ``ALL``, by arrival and then by row; counts them."""
    count = 0
    for index in range(len(active)):
        row = active[index]
        if attained[row] >= long_from and (server == ALL or source[row] == server):
            time, hole = arrival_time[row], count
            while hole > 0 and (
                arrival_time[listed[hole - 1]] > time
                or (arrival_time[listed[hole - 1]] == time and listed[hole - 1] > row)
            ):
                listed[hole] = listed[hole - 1]
                hole -= 1
            listed[hole] = row
            count += 1
    return count


@rule
def list_finished(
    delivered: AnyIntArray, source: IntArray, size: FloatArray, long_from: float, server: int, listed: IntArray
) -> int:
    """Lists flows that have been long among those delivered, likewise, the last one first, as many as fit."""
    count, index = 0, len(delivered) - 1
    while index >= 0 and count < len(listed):
        row = delivered[index]
        if size[row] > long_from and (server == ALL or source[row] == server):
            listed[count] = row
            count += 1
        index -= 1
    return count


@rule
def count_on_links(
    active: AnyIntArray, flows: FlowColumns, long_from: float, long_on: IntArray, all_on: IntArray
) -> None:
    """Counts long flows, and all, on links on which none has been counted."""
    num_paths = len(all_on)
    for index in range(len(active)):
        row = active[index]
        plane, source, destination = flows.path[row] % num_paths, flows.source[row], flows.destination[row]
        all_on[plane, UP, source] += 1
        all_on[plane, DOWN, destination] += 1
        if flows.attained[row] >= long_from:
            long_on[plane, UP, source] += 1
            long_on[plane, DOWN, destination] += 1


@rule
def show_long(rows: IntArray, flows: FlowColumns, units: FlowUnits, slot_at: IntArray, shown: ObservationArray) -> None:
    """Shows five-tuple and queue of active flows, slot by slot, from ``slot_at`` on."""
    for slot in range(len(rows)):
        row, at = rows[slot], slot_at[slot]
        write_five_tuple(row, flows, units, at, shown)
        shown[at + NUM_TUPLE_COLUMNS] = (flows.queue[row] + units.first_queue) / units.num_queues


@rule
def show_paths(
    rows: IntArray,
    now: float,
    flows: FlowColumns,
    long_on: IntArray,
    all_on: IntArray,
    capacity: float,
    at: IntArray,
    shown: ObservationArray,
) -> None:
    """Shows how far active flows are, and how many others are on the links up and down of each path.

    Args:
        rows: The flows, slot by slot, (count,).
        long_on: Long flows on each link, these included.
        all_on: Active flows, likewise.
        at: Where each slot begins, (num_slots,).
        shown: Receives five numbers of each flow, and four of each of its paths: long flows up and down, and all.
    """
    num_paths = len(long_on)
    for slot in range(len(rows)):
        row, index = rows[slot], at[slot]
        taken = flows.path[row] % num_paths
        attained, waiting = flows.attained[row], now - flows.arrival_time[row]
        shown[index] = attained / (attained + BYTES_SCALE)
        shown[index + 1] = waiting / (waiting + TIME_SCALE)
        shown[index + 2] = min(flows.rate[row] / capacity, 1.0)
        shown[index + 3] = min(flows.rate_cap[row] / capacity, 1.0)
        shown[index + 4] = (taken + 1) / num_paths
        index += 5
        for plane in range(num_paths):
            itself = 1 if plane == taken else 0
            for counts in (long_on, all_on):
                up = counts[plane, UP, flows.source[row]] - itself
                down = counts[plane, DOWN, flows.destination[row]] - itself
                shown[index] = up / (up + COUNT_SCALE)
                shown[index + 1] = down / (down + COUNT_SCALE)
                index += 2


def long_flows_layout(config: AuTOLongFlowsConfig) -> Layout:
    """Lists the columns of an observation."""
    further = _further(config.paths) if config.observation is LongFlowsObservation.FULL else ()
    if config.layout is LongFlowsLayout.RECORDED:
        active = _plain("", ("priority", "queue, from 0 for the highest", "queue"))
        done = _plain(FINISHED, ("size", "bytes delivered", "B"), ("fct", "completion time", "us"))
        groups = (done, config.num_finished), (active, config.n_l - 1), (further, config.n_l)
        rows = tuple(Rows(columns=columns, count=count) for columns, count in groups)
        return Layout(context=active, slot=(), num_slots=config.n_l, rows=rows)
    finished = (
        *five_tuple_columns(FINISHED),
        Column.squashed(FINISHED + "size", "bytes delivered", "B", BYTES_SCALE),
        Column.squashed(FINISHED + "fct", "completion time", "s", TIME_SCALE),
    )
    slot = (
        *five_tuple_columns(),
        Column.fraction("priority", "queue, counted from 1 for the highest, over the number of queues"),
        *further,
    )
    past = Rows(columns=finished, count=config.num_finished)
    return Layout(context=(), slot=slot, num_slots=config.n_l, rows=(past,))


def recorded_states() -> npt.NDArray[np.float32]:
    """Returns ten observations of the authors' agent (``data/README.md``), (10, 143), as in ``recorded_layout``."""
    file = resources.files("flowsched_gym.systems.auto.long_flows").joinpath("data", "recorded_states.csv")
    return np.loadtxt(io.StringIO(file.read_text(encoding="utf-8")), delimiter=",", dtype=np.float32)


def recorded_layout() -> Layout:
    """Returns the layout of the environment with ``observation="paper"`` and ``layout="recorded"``."""
    config = AuTOLongFlowsConfig(observation=LongFlowsObservation.PAPER, layout=LongFlowsLayout.RECORDED)
    return long_flows_layout(config)


def _further(paths: int) -> tuple[Column, ...]:
    """Lists what an agent is told of an active flow besides the paper's features."""
    columns = [
        Column.squashed("attained", "bytes sent", "B", BYTES_SCALE),
        Column.squashed("waiting", "time since arrival", "s", TIME_SCALE),
        Column.fraction("rate", "rate over the capacity of a link"),
        Column.fraction("rate_cap", "largest rate over it, 1 for none"),
        Column.fraction("path", "path, counted from 1, over the number of paths"),
    ]
    for path in range(paths):
        for which, flows in (("long", "other long flows"), ("all", "all other flows")):
            for way, host in (("up", "sending"), ("down", "receiving")):
                meaning = f"{flows} on the {host} host's link of path {path}"
                columns.append(Column.squashed(f"{which}_{way}_{path}", meaning, "flows", COUNT_SCALE))
    return tuple(columns)


def _plain(prefix: str, *further: tuple[str, str, str]) -> tuple[Column, ...]:
    """Makes plain columns of a five-tuple, and of further names, meanings and units."""
    five_tuple = ((name, meaning, UNITS.get(name, "number")) for name, meaning, _ in FIVE_TUPLE)
    return tuple(
        Column(name=prefix + name, meaning=meaning, unit=unit, encoding=Encoding.PLAIN, scale=MOST[unit])
        for name, meaning, unit in (*five_tuple, *further)
    )
