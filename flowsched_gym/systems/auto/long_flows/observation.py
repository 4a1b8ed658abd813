"""What the agent of long flows sees: the columns (AuTO, section 5.2.2; its recorded rows), and what fills them.

An active flow has 6 features, its five-tuple and its priority; a finished one has 7, its five-tuple, size and
completion time. Which ports flows have, the model does not care: ``auto.flows`` says how they are numbered.
"""

import io
from collections.abc import Iterable
from importlib import resources
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, SECONDS_PER_MICROSECOND
from flowsched_gym.envs import NetworkView
from flowsched_gym.envs.columns import Column, Encoding, Layout, Rows
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.systems.auto.flows import (
    NUM_TUPLE_COLUMNS,
    FlowUnits,
    show_finished,
    squashed_units,
    write_five_tuple,
)
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsLayout, LongFlowsObservation
from flowsched_gym.systems.auto.long_flows.seen import (
    DOWN,
    UP,
    asked_server,
    latest_long,
    long_active,
    of_asked,
    on_links,
)

BYTES_SCALE: Final = 10 * BYTES_PER_MEGABYTE
"""Bytes that become one half: where flows begin to be long."""
TIME_SCALE: Final = 0.1
"""Time in s that becomes one half: what these bytes take at 1 Gbps, and a little more."""
COUNT_SCALE: Final = 4.0
"""Other flows on a link that become one half."""
NUM_OWN_COLUMNS: Final = 5
"""Numbers that are shown of a flow itself, before those of its paths."""
MOST: Final = {
    "source": 65_535.0,
    "source_port": 65_535.0,
    "destination": 65_535.0,
    "destination_port": 65_535.0,
    "protocol": 255.0,
    "priority": 255.0,
    "size": 1e12,
    "fct": 1e12,
}
"""Bounds of plain columns; what is larger is cut to them, which only sizes and times could be, of a terabyte and 12
days."""
FIVE_TUPLE: Final = (
    ("source", "sending host, counted from 1, over the number of hosts"),
    ("source_port", "port that it is sent from, over 65535"),
    ("destination", "receiving host, counted from 1, over the number of hosts"),
    ("destination_port", "port that it is sent to, by its id, over 65535"),
    ("protocol", "protocol number, that of TCP, over 255"),
)
PLAIN_TUPLE: Final = (
    ("source", "sending host, counted from 1", "host"),
    ("source_port", "port that it is sent from", "port"),
    ("destination", "receiving host, counted from 1", "host"),
    ("destination_port", "port that it is sent to, by its id", "port"),
    ("protocol", "protocol number, that of TCP", "number"),
)
FINISHED: Final = "finished_"
"""Prefix of the columns of finished flows."""
FEATURES: Final = 6
"""Features of an active flow, its five-tuple and its priority (AuTO, section 5.2.2); a finished one has one more."""
LOOK_BACK: Final = 1_000
"""Deliveries that are searched first for those of long flows; then twice as many before these, and so on."""
ALL: Final = -1
"""Stands for the flows of all servers."""


@rule
def show_long(
    rows: IntArray,
    flows: FlowColumns,
    units: FlowUnits,
    first_queue: int,
    num_queues: float,
    slot_at: IntArray,
    shown: ObservationArray,
) -> None:
    """Shows active flows: five-tuple and queue of each.

    Args:
        rows: The flows, slot by slot, (count,).
        first_queue: Number of the highest queue.
        num_queues: Divides queues.
        slot_at: Where each slot begins, (num_slots,).
        shown: Receives six numbers of each flow.
    """
    for slot in range(len(rows)):
        row, at = rows[slot], slot_at[slot]
        write_five_tuple(row, flows, units, at, shown)
        shown[at + NUM_TUPLE_COLUMNS] = (flows.queue[row] + first_queue) / num_queues


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
    """Shows of active flows how far they are, and how many others are on the links up and down of each path.

    Args:
        rows: The flows, slot by slot, (count,).
        now: Time in s.
        long_on: Long flows on each link, these included: plane, up or down, host; (num_paths, 2, num_hosts).
        all_on: Active flows, likewise.
        capacity: Of each link in B/s.
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
        index += NUM_OWN_COLUMNS
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
        active = _plain(*PLAIN_TUPLE, ("priority", "queue, from 0 for the highest", "queue"))
        done = _plain(*PLAIN_TUPLE, ("size", "bytes delivered", "B"), ("fct", "completion time", "us"), prefix=FINISHED)
        groups = (done, config.num_finished), (active, config.n_l - 1), (further, config.n_l)
        rows = tuple(Rows(columns=columns, count=count) for columns, count in groups)
        return Layout(context=active, slot=(), num_slots=config.n_l, rows=rows)
    finished = (
        *_shares(FIVE_TUPLE, prefix=FINISHED),
        Column.squashed(FINISHED + "size", "bytes delivered", "B", BYTES_SCALE),
        Column.squashed(FINISHED + "fct", "completion time", "s", TIME_SCALE),
    )
    slot = (
        *_shares(FIVE_TUPLE),
        *_shares([("priority", "queue, counted from 1 for the highest, over the number of queues")]),
        *further,
    )
    past = Rows(columns=finished, count=config.num_finished)
    return Layout(context=(), slot=slot, num_slots=config.n_l, rows=(past,))


class Observer:
    """Observations of one environment's configuration."""

    def __init__(self, config: AuTOLongFlowsConfig) -> None:
        """Finds where everything is shown, and in which units."""
        self._config = config
        layout = long_flows_layout(config)
        self._size, slot = layout.size, np.arange(config.n_l)
        if config.layout is LongFlowsLayout.RECORDED:
            past = (FEATURES + 1) * config.num_finished
            behind = FEATURES * config.n_l + past
            self._slot_at, self._past_at = np.where(slot == 0, 0, past + FEATURES * slot), FEATURES
            self._further_at = behind + (layout.size - behind) // config.n_l * slot
            self._first_queue, self._num_queues = 0, 1.0
            self._units = FlowUnits(most_size=MOST["size"], fct_scale=SECONDS_PER_MICROSECOND, most_fct=MOST["fct"])
        else:
            width = layout.num_slot_features
            self._slot_at, self._past_at = width * slot, width * config.n_l
            self._further_at = self._slot_at + FEATURES
            self._first_queue, self._num_queues = 1, float(config.num_queues)
            self._units = squashed_units(config.hosts, BYTES_SCALE, TIME_SCALE)

    def __call__(self, view: NetworkView) -> ObservationArray:
        """Returns what the agent sees, (size,)."""
        config, units = self._config, self._units
        shown = np.zeros(self._size, dtype=np.float32)
        flows, long = view.columns, long_active(view, config)
        active, finished = of_asked(view, config, long)[: config.n_l], _last_finished(view, config)
        show_long(active, flows, units, self._first_queue, self._num_queues, self._slot_at, shown)
        show_finished(finished, flows, units, self._past_at, shown)
        if config.observation is LongFlowsObservation.FULL:
            long_on, all_on = on_links(view, config, long), on_links(view, config, view.active)
            show_paths(active, view.now, flows, long_on, all_on, config.capacity, self._further_at, shown)
        return shown


def recorded_states() -> npt.NDArray[np.float32]:
    """Returns ten observations of the authors' agent, (10, 143): ``data/README.md`` says where they are from.

    Their columns are those of ``recorded_layout``.
    """
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
        *_shares([("rate", "rate over the capacity of a link"), ("rate_cap", "largest rate over it, 1 for none")]),
        *_shares([("path", "path, counted from 1, over the number of paths")]),
    ]
    for path in range(paths):
        for name, meaning in (
            ("long_up", "other long flows on the sending host's link of path"),
            ("long_down", "other long flows on the receiving host's link of path"),
            ("all_up", "all other flows on the sending host's link of path"),
            ("all_down", "all other flows on the receiving host's link of path"),
        ):
            columns.append(Column.squashed(f"{name}_{path}", f"{meaning} {path}", "flows", COUNT_SCALE))
    return tuple(columns)


def _shares(columns: Iterable[tuple[str, str]], prefix: str = "") -> list[Column]:
    """Makes columns of shares of their names and meanings."""
    return [Column.fraction(prefix + name, meaning) for name, meaning in columns]


def _plain(*columns: tuple[str, str, str], prefix: str = "") -> tuple[Column, ...]:
    """Makes plain columns of their names, meanings and units."""
    return tuple(
        Column(name=prefix + name, meaning=meaning, unit=unit, encoding=Encoding.PLAIN, scale=MOST[name])
        for name, meaning, unit in columns
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
