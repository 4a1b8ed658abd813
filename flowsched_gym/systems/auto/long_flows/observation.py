"""Fills what the agent of long flows observes; ``layouts`` lists the columns."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.flows import PROTOCOL, SOURCE_PORT, destination_port
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsLayout, LongFlowsObservation
from flowsched_gym.systems.auto.long_flows.layouts import BYTES_SCALE, COUNT_SCALE, MOST, TIME_SCALE
from flowsched_gym.systems.auto.long_flows.seen import (
    long_finished,
    long_live,
    of_asked,
    others_on_links,
    path_of,
)
from flowsched_gym.units import SECONDS_PER_MICROSECOND

__all__ = ["observe"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

FEATURES: Final = 6
PRIORITY: Final = 5
"""Features of an active flow (AuTO, section 5.2.2), and the place of its priority among them, behind the five-tuple."""
LOOK_BACK: Final = 1_000
"""Deliveries that are searched first for those of long flows; then twice as many before these, and so on."""
LAST_PORT: Final = 65_535.0
LAST_PROTOCOL: Final = 255.0


def observe(view: NetworkView, config: AuTOLongFlowsConfig) -> npt.NDArray[np.float32]:
    """Returns what the agent sees.

    Args:
        view: The network.
        config: The arguments of the environment.
    """
    long = long_live(view, config)
    active, finished = of_asked(view, config, long)[: config.n_l], _last_finished(view, config)
    slots, past = np.zeros((config.n_l, FEATURES)), np.zeros((config.num_finished, FEATURES + 1))
    _fill_five_tuples(view, active, slots)
    slots[: len(active), PRIORITY] = view.queues_of(active)
    _fill_five_tuples(view, finished, past)
    past[: len(finished), PRIORITY] = view.size[finished]
    past[: len(finished), PRIORITY + 1] = view.fct(finished)
    further = np.zeros((config.n_l, 0))
    if config.observation is LongFlowsObservation.FULL:
        further = _further(view, config, active, long)
    if config.layout is LongFlowsLayout.RECORDED:
        past[:, PRIORITY:] = np.minimum(
            past[:, PRIORITY:] / (1.0, SECONDS_PER_MICROSECOND), (MOST["size"], MOST["fct"])
        )
        parts = [slots[:1], past, slots[1:], further]
    else:
        units = config.hosts, LAST_PORT, config.hosts, LAST_PORT, LAST_PROTOCOL
        slots[: len(active), PRIORITY] += 1
        slots /= (*units, config.num_queues)
        past[:, :PRIORITY] /= units
        past[:, PRIORITY:] /= past[:, PRIORITY:] + (BYTES_SCALE, TIME_SCALE)
        parts = [np.hstack([slots, further]), past]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def _last_finished(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the finished flows that are shown, latest first; looks no further back than it must."""
    found, end, width = np.zeros(0, dtype=np.int64), view.num_delivered, LOOK_BACK
    while end and len(found) < config.num_finished:
        first = max(end - width, 0)
        rows = of_asked(view, config, long_finished(view, config, view.delivered_between(first, end)))
        found, end, width = np.concatenate([found, rows[::-1]]), first, 2 * width
    return found[: config.num_finished]


def _fill_five_tuples(view: NetworkView, rows: IntArray, table: FloatArray) -> None:
    """Writes the five-tuples of flows, hosts counted from 1, into the first columns of the first rows of a table."""
    tuples = table[: len(rows)]
    tuples[:, 0] = view.source[rows] + 1
    tuples[:, 1] = SOURCE_PORT
    tuples[:, 2] = view.destination[rows] + 1
    tuples[:, 3] = destination_port(view.flow_id[rows])
    tuples[:, 4] = PROTOCOL


def _further(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray, long: IntArray) -> FloatArray:
    """Returns what is told of the flows in the slots besides the paper's features, (n_l, 5 + 4 * paths)."""
    attained, waiting = view.attained[rows], view.now - view.arrival_time[rows]
    further = np.zeros((config.n_l, 5 + 4 * config.paths))
    own = further[: len(rows)]
    own[:, 0] = attained / (attained + BYTES_SCALE)
    own[:, 1] = waiting / (waiting + TIME_SCALE)
    own[:, 2] = np.minimum(view.rate[rows] / config.capacity, 1.0)
    own[:, 3] = np.minimum(view.rate_cap[rows] / config.capacity, 1.0)
    own[:, 4] = (path_of(view, config, rows) + 1) / config.paths
    others = np.concatenate(others_on_links(view, config, rows, long, view.live), axis=2)
    own[:, 5:] = (others / (others + COUNT_SCALE)).reshape(len(rows), 4 * config.paths)
    return further
