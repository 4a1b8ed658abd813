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

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, SECONDS_PER_MICROSECOND
from flowsched_gym.envs import NetworkView
from flowsched_gym.envs.columns import Column, Encoding, Layout, Rows
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.systems.auto.flows import (
    FIVE_TUPLE,
    NUM_TUPLE_COLUMNS,
    FlowUnits,
    five_tuple_columns,
    show_finished,
    squashed_units,
    write_five_tuple,
)
from flowsched_gym.systems.auto.long_flows.config import (
    AuTOLongFlowsConfig,
    LongFlowsLayout,
    LongFlowsObservation,
    Scope,
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
LOOK_BACK: Final = 1_000
"""Deliveries that are searched first for those of long flows; then twice as many before these, and so on."""
ALL: Final = -1
"""Stands for the flows of all servers."""


def long_active(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the active flows that have sent the last threshold, in the order of arrival, (count,)."""
    rows = np.empty(len(view.active), dtype=np.int64)
    return rows[: find_long(view.active, view.columns, config.long_from, rows)]


def asked_server(view: NetworkView, config: AuTOLongFlowsConfig) -> int | None:
    """Returns the server whose turn it is; ``None`` where all are asked at once."""
    return (view.num_periods - 1) % config.hosts if config.scope is Scope.SERVER else None


def of_asked(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns those of some flows that the server sends whose turn it is, in the same order."""
    server = asked_server(view, config)
    return rows if server is None else rows[view.source[rows] == server]


def seen_flows(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the flows in the slots, slot by slot, at most ``n_l``: the oldest long ones."""
    return of_asked(view, config, long_active(view, config))[: config.n_l]


def path_of(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns which of its paths each flow takes, from 0: the number of the plane, (count,)."""
    return view.path[rows].astype(np.int64) % config.paths


def usable_paths(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> BoolArray:
    """Returns which paths of flows have no failed link, or are taken already, (count, paths)."""
    usable = np.empty((len(rows), config.paths), dtype=np.bool_)
    mark_usable(rows, view.columns, view.capacity.reshape(config.paths, 2, config.hosts), usable)
    return usable


def on_links(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Counts flows on each link."""
    count = np.zeros((config.paths, 2, config.hosts), dtype=np.int64)
    count_on_links(rows, view.columns, count)
    return count


@rule
def find_long(active: IntArray, flows: FlowColumns, long_from: float, long: IntArray) -> int:
    """Finds the active flows that have sent so much, in the order of arrival, and of their rows, which increase."""
    count, arrival_time = 0, flows.arrival_time
    for index in range(len(active)):
        row = active[index]
        if flows.attained[row] >= long_from:
            hole = count
            while hole > 0 and arrival_time[long[hole - 1]] > arrival_time[row]:
                long[hole] = long[hole - 1]
                hole -= 1
            long[hole] = row
            count += 1
    return count


@rule
def latest_long(rows: IntArray, flows: FlowColumns, long_from: float, server: int, count: int, found: IntArray) -> int:
    """Finds flows that have been long among some that have finished, the last one first; returns how many in all.

    Args:
        rows: Flows in the order of their delivery, (num_rows,).
        server: The host whose flows are looked for, or ``ALL``.
        count: Flows that have been found before.
        found: Receives the rows behind these, as many as fit.
    """
    index = len(rows) - 1
    while index >= 0 and count < len(found):
        row = rows[index]
        if flows.size[row] > long_from and (server < 0 or flows.source[row] == server):
            found[count] = row
            count += 1
        index -= 1
    return count


@rule
def count_on_links(rows: IntArray, flows: FlowColumns, count: IntArray) -> None:
    """Counts flows on links, on which none has been counted."""
    num_paths = len(count)
    for index in range(len(rows)):
        row = rows[index]
        plane = flows.path[row] % num_paths
        count[plane, UP, flows.source[row]] += 1
        count[plane, DOWN, flows.destination[row]] += 1


@rule
def mark_usable(rows: IntArray, flows: FlowColumns, capacity: FloatArray, usable: BoolArray) -> None:
    """Marks the paths of flows, (count, num_paths), that have no failed link, of capacity 0, or are taken already."""
    num_paths = len(capacity)
    for index in range(len(rows)):
        row = rows[index]
        for plane in range(num_paths):
            up, down = capacity[plane, UP, flows.source[row]], capacity[plane, DOWN, flows.destination[row]]
            usable[index, plane] = (up > 0.0 and down > 0.0) or flows.path[row] % num_paths == plane


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


class Observer:
    """Observations of one environment's configuration, which says where everything is shown, and in which units."""

    def __init__(self, config: AuTOLongFlowsConfig) -> None:
        self._config = config
        layout = long_flows_layout(config)
        self._size, slot = layout.size, np.arange(config.n_l)
        if config.layout is LongFlowsLayout.RECORDED:
            past = (FEATURES + 1) * config.num_finished
            behind = FEATURES * config.n_l + past
            self._slot_at, self._past_at = np.where(slot == 0, 0, past + FEATURES * slot), FEATURES
            self._further_at = behind + (layout.size - behind) // config.n_l * slot
            self._units = FlowUnits(most_size=MOST["B"], fct_scale=SECONDS_PER_MICROSECOND, most_fct=MOST["us"])
        else:
            width = layout.num_slot_features
            self._slot_at, self._past_at = width * slot, width * config.n_l
            self._further_at = self._slot_at + FEATURES
            units = squashed_units(config.hosts, BYTES_SCALE, TIME_SCALE)
            self._units = units._replace(first_queue=1, num_queues=float(config.num_queues))

    def __call__(self, view: NetworkView) -> ObservationArray:
        """Returns what the agent sees, (size,)."""
        config, units = self._config, self._units
        shown = np.zeros(self._size, dtype=np.float32)
        flows, long = view.columns, long_active(view, config)
        active, finished = of_asked(view, config, long)[: config.n_l], _last_finished(view, config)
        show_long(active, flows, units, self._slot_at, shown)
        show_finished(finished, flows, units, self._past_at, shown)
        if config.observation is LongFlowsObservation.FULL:
            long_on, all_on = on_links(view, config, long), on_links(view, config, view.active)
            show_paths(active, view.now, flows, long_on, all_on, config.capacity, self._further_at, shown)
        return shown


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


def _last_finished(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the finished flows that are shown, latest first; looks no further back than it must."""
    server = asked_server(view, config)
    wanted = ALL if server is None else server
    found: IntArray = np.empty(config.num_finished, dtype=np.int64)
    count, end, width = 0, view.num_delivered, LOOK_BACK
    while end and count < len(found):
        first = max(end - width, 0)
        rows = view.delivered_between(first, end)
        count = latest_long(rows, view.columns, config.long_from, wanted, count, found)
        end, width = first, 2 * width
    return found[:count]
