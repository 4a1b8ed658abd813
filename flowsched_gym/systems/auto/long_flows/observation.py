"""Fills what the agent of long flows observes; ``layouts`` lists the columns."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.flows import PROTOCOL, SOURCE_PORT, destination_port
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsLayout, LongFlowsObservation
from flowsched_gym.systems.auto.long_flows.layouts import BYTES_SCALE, COUNT_SCALE, MOST, TIME_SCALE
from flowsched_gym.systems.auto.long_flows.seen import (
    asked_server,
    long_finished,
    long_live,
    others_on_links,
    path_of,
    seen_flows,
)
from flowsched_gym.units import SECONDS_PER_MICROSECOND

__all__ = ["observe"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

FEATURES: Final = 6
PRIORITY: Final = 5
"""Features of an active flow (AuTO, section 5.2.2), and the place of its priority among them, behind the five-tuple."""
LAST_PORT: Final = 65_535.0
LAST_PROTOCOL: Final = 255.0


def observe(view: NetworkView, config: AuTOLongFlowsConfig) -> npt.NDArray[np.float32]:
    """Returns what the agent sees.

    Args:
        view: The network.
        config: The arguments of the environment.
    """
    active, finished = seen_flows(view, config), _last_finished(view, config)
    slots, past = np.zeros((config.n_l, FEATURES)), np.zeros((config.num_finished, FEATURES + 1))
    _fill_five_tuples(view, active, slots)
    _fill_five_tuples(view, finished, past)
    slots[: len(active), PRIORITY] = view.queues_of(active)
    past[: len(finished), PRIORITY:] = np.stack([view.size[finished], view.fct(finished)], axis=1)
    further = np.zeros((config.n_l, 0))
    if config.observation is LongFlowsObservation.FULL:
        further = _further(view, config, active)
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
    """Returns the rows of the finished flows that are shown, latest first."""
    rows, server = long_finished(view, config, view.delivered), asked_server(view, config)
    if server is not None:
        rows = rows[view.source[rows] == server]
    return rows[::-1][: config.num_finished]


def _fill_five_tuples(view: NetworkView, rows: IntArray, table: FloatArray) -> None:
    """Writes the five-tuples of flows, hosts counted from 1, into the first columns of the first rows of a table."""
    tuples = table[: len(rows)]
    tuples[:, 0] = view.source[rows] + 1
    tuples[:, 1] = SOURCE_PORT
    tuples[:, 2] = view.destination[rows] + 1
    tuples[:, 3] = destination_port(view.flow_id[rows])
    tuples[:, 4] = PROTOCOL


def _further(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> FloatArray:
    """Returns what is told of the flows in the slots besides the paper's features, (n_l, 5 + 4 * paths)."""
    attained, waiting = view.attained[rows], view.now - view.arrival_time[rows]
    further = np.zeros((config.n_l, 5 + 4 * config.paths))
    own = further[: len(rows)]
    own[:, 0] = attained / (attained + BYTES_SCALE)
    own[:, 1] = waiting / (waiting + TIME_SCALE)
    own[:, 2] = np.minimum(view.rate[rows] / config.capacity, 1.0)
    own[:, 3] = np.minimum(view.rate_cap[rows] / config.capacity, 1.0)
    own[:, 4] = (path_of(view, config, rows) + 1) / config.paths
    long = others_on_links(view, config, rows, long_live(view, config))
    every = others_on_links(view, config, rows, view.live)
    others = np.stack([*long, *every], axis=2).reshape(len(rows), 4 * config.paths)
    own[:, 5:] = others / (others + COUNT_SCALE)
    return further
