"""Fills what the agent of long flows observes; ``layouts`` lists the columns."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND
from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.flows import FlowUnits, show_finished, squashed_units
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsLayout, LongFlowsObservation
from flowsched_gym.systems.auto.long_flows.layouts import MOST, long_flows_layout
from flowsched_gym.systems.auto.long_flows.rules import BYTES_SCALE, TIME_SCALE, latest_long, show_long, show_paths
from flowsched_gym.systems.auto.long_flows.seen import asked_server, long_active, of_asked, on_links

FEATURES: Final = 6
"""Features of an active flow, its five-tuple and its priority (AuTO, section 5.2.2); a finished one has one more."""
LOOK_BACK: Final = 1_000
"""Deliveries that are searched first for those of long flows; then twice as many before these, and so on."""
ALL: Final = -1
"""Stands for the flows of all servers."""


class Observer:
    """Observations of one environment's configuration.

    Args:
        config: The arguments of the environment.
    """

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
