"""Draws, reads and writes the flows that simulations serve: nothing here knows how they are served."""

from functools import partial

from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.workload.clusters import ClusterWorkload, Incast, Traffic, offered_traffic
from flowsched_gym.workload.coflows import coflow_sample, read_coflows
from flowsched_gym.workload.columns import DeadlineWarning, workload_from_columns
from flowsched_gym.workload.distributions import (
    Constant,
    Discrete,
    Distribution,
    Exponential,
    LogNormal,
    LogUniform,
    Pareto,
    Uniform,
)
from flowsched_gym.workload.empirical import CDF_NAMES, CdfWarning, Empirical, load_cdf, read_cdf
from flowsched_gym.workload.finding import (
    ReadWorkload,
    WorkloadLike,
    find_source,
    fit_workload,
    is_workload_file,
    is_workload_name,
    make_workload,
    read_workload,
    several_key,
    with_workload_read,
)
from flowsched_gym.workload.flow_file import read_flows, write_flows
from flowsched_gym.workload.gather import ARTEMIS_A1, ARTEMIS_A2, GatherWorkload, Mix
from flowsched_gym.workload.joined import InTurn, Overlay
from flowsched_gym.workload.named import MESSAGE_GAPS, WORKLOADS, NamedWorkload, draw_flows, read_named
from flowsched_gym.workload.poisson import PoissonWorkload, RandomFailures
from flowsched_gym.workload.source import (
    ONE_OF,
    FixedWorkload,
    OneOf,
    UnstableLoadWarning,
    WorkloadSource,
    first_flows,
    members_of,
    with_future,
)
from flowsched_gym.workload.tasks import JobWorkload, TaskWorkload

__all__ = [
    "ARTEMIS_A1",
    "ARTEMIS_A2",
    "CDF_NAMES",
    "MESSAGE_GAPS",
    "NO_TASK",
    "ONE_OF",
    "WORKLOADS",
    "CdfWarning",
    "ClusterWorkload",
    "Constant",
    "DeadlineWarning",
    "Discrete",
    "Distribution",
    "Empirical",
    "Exponential",
    "FixedWorkload",
    "GatherWorkload",
    "InTurn",
    "Incast",
    "JobWorkload",
    "LinkChanges",
    "LogNormal",
    "LogUniform",
    "Mix",
    "NamedWorkload",
    "OneOf",
    "Overlay",
    "Pareto",
    "PoissonWorkload",
    "Precedence",
    "RandomFailures",
    "ReadWorkload",
    "TaskWorkload",
    "Traffic",
    "Uniform",
    "UnstableLoadWarning",
    "Workload",
    "WorkloadLike",
    "WorkloadSource",
    "coflow_sample",
    "draw_flows",
    "find_source",
    "first_flows",
    "fit_workload",
    "is_workload_file",
    "is_workload_name",
    "load_cdf",
    "make_workload",
    "members_of",
    "offered_traffic",
    "read_cdf",
    "read_coflows",
    "read_flows",
    "read_workload",
    "several_key",
    "with_future",
    "with_workload_read",
    "workload_from_columns",
    "write_flows",
]

read_named(find_source)  # here, since what reads mappings knows the named workloads itself
__dir__ = partial(sorted, __all__)
