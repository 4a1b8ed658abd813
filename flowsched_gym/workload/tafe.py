"""TAFE's workloads (section V-A and V-B): tasks of three clients, by default 100 of 2 to 8 flows.

The paper prints ranges of task sizes and the names of two distributions of flow sizes; how many flows a task has, how
large they are beside each other and how loaded the network is, are ours.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.workload.distributions import LogUniform, Pareto, Uniform
from flowsched_gym.workload.empirical import load_cdf
from flowsched_gym.workload.jobs import JobWorkload
from flowsched_gym.workload.tasks import CLOSED, TaskWorkload

LOAD: Final = 0.8

LONG_TOTAL: Final = Pareto(shape=2.0, mean=20 * BYTES_PER_MEGABYTE)
"""The paper's "10M to infinity": the Pareto distribution that begins at 10 MB. No shape is printed; with 2 the largest
of 100 tasks has 120 MB at the median, so that no one task is most of the bytes."""

LOG_TOTAL: Final = LogUniform(low=100 * BYTES_PER_KILOBYTE, high=10 * BYTES_PER_MEGABYTE)
DEADLINE_FACTOR: Final = Uniform(low=2.0, high=10.0)

TAFE: Final[Mapping[str, tuple[str, TaskWorkload | JobWorkload]]] = MappingProxyType(
    {
        "tafe-short": (
            "100 tasks of 2 to 8 flows, 1 to 100 KB in all, by three clients in a closed loop",
            TaskWorkload(total=Uniform(low=BYTES_PER_KILOBYTE, high=100 * BYTES_PER_KILOBYTE), arrivals=CLOSED),
        ),
        "tafe-long": (
            "100 tasks of 2 to 8 flows, 10 MB or more in all (Pareto), by three clients in a closed loop",
            TaskWorkload(total=LONG_TOTAL, arrivals=CLOSED),
        ),
        "tafe-web-search": (
            "100 tasks of 2 to 8 flows of web search sizes on one link at load 0.8",
            TaskWorkload(size=load_cdf("web_search"), load=LOAD),
        ),
        "tafe-data-mining": (
            "100 tasks of 2 to 8 flows of data mining sizes on one link at load 0.8",
            TaskWorkload(size=load_cdf("data_mining"), load=LOAD),
        ),
        "tafe-log": (
            "100 tasks of 2 to 8 flows, 0.1 to 10 MB in all (log-uniform), with deadlines, on one link at load 0.8",
            TaskWorkload(total=LOG_TOTAL, load=LOAD, deadline_factor=DEADLINE_FACTOR),
        ),
        "tafe-alibaba": (
            "100 jobs of Alibaba's trace as tasks, with CPU work, on one link at load 0.8",
            JobWorkload(load=LOAD),
        ),
    }
)
"""Descriptions and workloads by name."""
