"""Draws tasks from jobs that a cluster ran: a slice of Alibaba's public trace (``data/alibaba_jobs.csv``).

A job is a task, and each of its rows a flow; rows do not say how they depend on each other, so all of a job run side by
side. Three factors bring the trace to the network's scale and leave all proportions as they are: one for bytes, one for
CPU work and one for the time between submissions.
"""

import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_flag, check_integer, check_number, settle_numbers
from flowsched_gym.core.seeding import integers
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.drawing import FlowStreams
from flowsched_gym.workload.source import check_flow_count, resized, warn_if_unstable

JOBS_FILE: Final = "alibaba_jobs.csv"


class _Jobs(NamedTuple):
    """The jobs of the slice, (num_jobs,), and their rows, (num_rows,); gaps, volumes and work are over their means.

    A gap is the time since the submission of the job before (of the first job: 1), a volume the memory of all instances
    of a row, its work the time that an instance takes on one CPU.
    """

    gap: FloatArray
    first: IntArray
    counts: IntArray
    volume: FloatArray
    work: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWorkload:
    """Jobs of Alibaba's trace as tasks of parallel flows.

    Every episode begins at a random job of the slice and goes on in the order of submission; after the last job comes
    the first. A flow has as many bytes as its instances have memory together, and the CPU work of one instance
    (duration times CPUs), both multiplied so that the slice has the means below. Gaps between submissions are
    multiplied so that the slice offers the load.

    Hosts are those of ``TaskWorkload``: 0 to ``num_clients - 1`` receive, the ``num_servers`` after them send. Each
    flow goes from a random server to the client of its job, which is drawn too.

    Attributes:
        num_tasks: Jobs of an episode, >= 1.
        load: Bytes per s offered over the capacity, > 0; with CPU work it is the load of one whole CPU as well.
            ``UnstableLoadWarning`` from 1 on.
        capacity: Capacity in B/s that load and CPU work refer to, > 0. Default: 1 Gbps.
        mean_size: Mean bytes of a flow, > 0.
        cpu_work: Whether a flow runs on its source's CPU before it sends; its mean time there is that of
            ``mean_size`` on a link of the capacity.
        num_clients: Number of clients, >= 1.
        num_servers: Number of servers, >= 1.
    """

    num_tasks: int = 100
    load: float = 0.8
    capacity: float = BYTES_PER_SECOND_PER_GBPS
    mean_size: float = BYTES_PER_MEGABYTE
    cpu_work: bool = True
    num_clients: int = 3
    num_servers: int = 6

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_integer("num_tasks", self.num_tasks, at_least=1)
        for name in ("load", "capacity", "mean_size"):
            check_number(name, getattr(self, name), above=0)
        check_flag("cpu_work", self.cpu_work)
        check_integer("num_clients", self.num_clients, at_least=1)
        check_integer("num_servers", self.num_servers, at_least=1)
        check_flow_count(f"num_tasks {self.num_tasks}", float(self.num_tasks) * _jobs().counts.max())
        warn_if_unstable(self.load)

    @property
    def num_hosts(self) -> int:
        """Number of hosts: clients and servers."""
        return self.num_clients + self.num_servers

    @property
    def offered_load(self) -> float:
        """The load."""
        return self.load

    def with_num_flows(self, num_flows: int) -> "JobWorkload":
        """Changes the number of jobs to the fewest that surely have this many flows."""
        return resized(self, num_flows, num_tasks=-(-num_flows // int(_jobs().counts.min())))

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode: a pure function of the fields and the seed.

        More jobs with the same seed begin with the same flows, bit by bit.
        """
        jobs, streams = _jobs(), FlowStreams(seed)
        num_jobs = len(jobs.first)
        job = (integers(streams["jobs"], num_jobs, 1) + np.arange(self.num_tasks)) % num_jobs
        counts = jobs.counts[job]
        task = np.repeat(np.arange(self.num_tasks), counts)
        row = np.arange(len(task)) + np.repeat(jobs.first[job] - (np.cumsum(counts) - counts), counts)
        seconds = self.mean_size / self.capacity
        gap = jobs.gap[job] * (seconds / self.load * len(jobs.volume) / num_jobs)
        gap[0] = 0.0
        client = integers(streams["clients"], self.num_clients, self.num_tasks)
        return Workload(
            flow_id=np.arange(len(task)),
            source=self.num_clients + integers(streams["servers"], self.num_servers, len(task)),
            destination=client[task],
            size=jobs.volume[row] * self.mean_size,
            arrival_time=np.cumsum(gap)[task],
            task_id=task,
            cpu_time=jobs.work[row] * seconds if self.cpu_work else None,
        )


@cache
def _jobs() -> _Jobs:
    """Reads the jobs of the slice."""
    text = resources.files("flowsched_gym.workload").joinpath("data", JOBS_FILE).read_text(encoding="utf-8")
    rows = np.array([line.split(",") for line in text.splitlines()[1:]], dtype=np.float64)
    job, submitted, duration, cpus, memory, instances = rows.T
    first = np.flatnonzero(np.append(True, job[1:] != job[:-1]))
    return _Jobs(
        gap=np.append(1.0, _over_mean(np.diff(submitted[first]))),
        first=first,
        counts=np.diff(np.append(first, len(rows))),
        volume=_over_mean(memory * instances),
        work=_over_mean(duration * cpus),
    )


def _over_mean(values: FloatArray) -> FloatArray:
    """Divides values by their mean."""
    return values / (math.fsum(values.tolist()) / len(values))
