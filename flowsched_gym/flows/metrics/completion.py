"""Measures how fast flows completed and how much of the network they used."""

import math

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.clock import start_of_clock
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.records import Records


def finished_flows(records: Records) -> BoolArray:
    """Marks the flows that finished, (num_flows,) bool."""
    return np.isfinite(records.completion_time)


def percentile(ordered: FloatArray, percent: float) -> float:
    """Interpolates a percentile linearly between order statistics, as NumPy's default does, but without its overhead.

    Args:
        ordered: Values in increasing order, (num_values,) float64, no NaN.
        percent: Percentile wanted, in [0, 100].

    Returns:
        The percentile; NaN where there is no value.

    Raises:
        ConfigError: ``percent`` lies outside [0, 100].
    """
    if not 0 <= percent <= 100:
        raise ConfigError(f"percent is {percent!r}: it must lie in [0, 100]")
    if not len(ordered):
        return math.nan
    position = percent / 100 * (len(ordered) - 1)
    below = int(position)
    value = float(ordered[below])
    fraction = position - below
    if fraction > 0:
        value += fraction * (float(ordered[below + 1]) - value)
    return value


def times_on_clock(records: Records) -> tuple[FloatArray, FloatArray]:
    """Returns arrival and completion times in s, (num_flows,) each, with no digit lost where all are far from 0."""
    start = start_of_clock(records.arrival_time)
    if start == 0.0:
        return records.arrival_time, records.completion_time
    arrival = records.arrival_time - start
    return arrival, arrival + records.fct


def makespan(records: Records) -> float:
    """Returns the time from the first arrival of all flows to the last completion, in s; NaN if nothing finished."""
    arrival, completion = times_on_clock(records)
    done = completion[finished_flows(records)]
    return float(done.max() - arrival.min()) if len(done) else math.nan


def goodput(records: Records) -> float:
    """Returns the bytes of finished flows per second of makespan, in B/s; NaN if nothing finished."""
    return float(records.size[finished_flows(records)].sum()) / makespan(records)


def utilisation(goodput: float, destination: IntArray, *, capacity: float) -> float:
    """Returns the share of the receiving links' capacity that a goodput takes.

    Args:
        goodput: Bytes delivered per second to all hosts together, B/s.
        destination: Receiving host of each flow, (num_flows,) int64; each host counts once.
        capacity: Capacity of every host's link in B/s, > 0.

    Returns:
        Goodput / (capacity * hosts that receive), in [0, 1]; NaN where the goodput is.

    Raises:
        ConfigError: The capacity is not a finite number > 0.
    """
    if not (math.isfinite(capacity) and capacity > 0):
        raise ConfigError(f"capacity is {capacity!r}: it must be finite and > 0 B/s")
    num_destinations = len(np.unique(destination))
    return goodput / (capacity * num_destinations) if num_destinations else math.nan
