"""Draws tasks of several flows, which run side by side, one after another or as a graph (TAFE, sections IV-A and V).

A task is what a client asks for. Its flows carry the answers of servers; how they depend on each other is its pattern,
and tasks of one client may depend on each other too. Jobs are tasks of a slice of Alibaba's public trace
(``data/alibaba_jobs.csv``): each row of a job is a flow; rows do not say how they depend on each other.
"""

import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_one_of_two,
    settle_numbers,
)
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import integers
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.drawing import FlowStreams
from flowsched_gym.workload.distributions import Distribution, Exponential, Uniform, check_distribution
from flowsched_gym.workload.poisson import poisson_arrivals
from flowsched_gym.workload.source import check_flow_count, check_given, resized, warn_if_unstable

SEQUENTIAL: Final = "sequential"
AGGREGATE: Final = "partition-aggregate"
DAG: Final = "dag"
PATTERNS: Final = ("parallel", SEQUENTIAL, AGGREGATE, DAG)
CLOSED: Final = "closed"
ARRIVALS: Final = (CLOSED, "at-once")
MOST_PAIRS: Final = 10_000_000
"""Pairs of an earlier and a later flow in a closed loop at most."""
JOBS_FILE: Final = "alibaba_jobs.csv"
BYTES_OF_PART: Final = Uniform(low=0.5, high=1.5)
"""With CPU work: the bytes of a flow over its part of the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWorkload:
    """Tasks of several flows.

    Hosts: 0 to ``num_clients - 1`` are clients, which receive; the ``num_servers`` hosts after them send. Each flow
    goes from a random server to the client of its task. In a partition-aggregate task one random server is the
    aggregator: the others send to it, and it sends the result to the client.

    Attributes:
        num_tasks: Tasks of an episode, >= 1.
        min_flows: Smallest number of flows of a task, >= 1.
        max_flows: Largest number of flows of a task, >= min_flows; all numbers between are equally likely.
        size: Distribution of the parts of a task in B, drawn for each flow on its own. Exactly one of size and total is
            given.
        total: Distribution of the totals of tasks in B; a total is split among the flows in proportion to exponential
            numbers.
        pattern: ``"parallel"``: no flow waits. ``"sequential"``: each flow comes after the one before it.
            ``"partition-aggregate"``: the last flow comes after all others, since "only when all the flows return, can
            the final result form" (section V-B). ``"dag"``: each flow but the first comes after one or two random
            earlier ones.
        load: Poisson arrivals of tasks: bytes per s offered over the capacity, > 0. With CPU work it is the load of one
            whole CPU as well. ``UnstableLoadWarning`` from 1 on. Exactly one of load and arrivals is given.
        arrivals: ``"at-once"``: all tasks arrive at 0. ``"closed"``: clients take turns, and a client's next task comes
            after all flows of its last one, as the three clients of section V-B "sent out tasks persistently"; all
            tasks arrive at 0.
        capacity: Capacity in B/s that loads, deadlines and CPU work refer to, > 0. Default: 1 Gbps.
        deadline_factor: Distribution of a task's deadline over the time that its total takes alone (total / capacity);
            each of its flows has this deadline. None for no deadlines, as in a closed loop, where tasks have no
            arrivals to count from.
        cpu_work: Whether a flow runs on its source's CPU before it sends, for part / capacity seconds; its bytes are
            then its part times a number that is uniform in 0.5 to 1.5. Without, they are its part.
        num_clients: Number of clients, >= 1.
        num_servers: Number of servers, >= 1, or 2 for partition-aggregate tasks.
    """

    num_tasks: int = 100
    min_flows: int = 2
    max_flows: int = 8
    size: Distribution | None = None
    total: Distribution | None = None
    pattern: str = "parallel"
    load: float | None = None
    arrivals: str | None = None
    capacity: float = BYTES_PER_SECOND_PER_GBPS
    deadline_factor: Distribution | None = None
    cpu_work: bool = False
    num_clients: int = 3
    num_servers: int = 6

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_integer("num_tasks", self.num_tasks, at_least=1)
        check_integer("min_flows", self.min_flows, at_least=1)
        check_integer("max_flows", self.max_flows, at_least=self.min_flows)
        what = f"num_tasks {self.num_tasks} with max_flows {self.max_flows}"
        check_flow_count(what, float(self.num_tasks) * self.max_flows)
        check_one_of_two("size", self.size, "total", self.total)
        check_given(self, check_distribution, "size", "total", "deadline_factor")
        check_choice("pattern", self.pattern, PATTERNS)
        check_one_of_two("load", self.load, "arrivals", self.arrivals)
        check_number("capacity", self.capacity, above=0)
        if self.load is not None:
            check_number("load", self.load, above=0)
            warn_if_unstable(self.load)
        else:
            check_choice("arrivals", self.arrivals, ARRIVALS)
        if self.arrivals == CLOSED:
            if self.deadline_factor is not None:
                raise ConfigError("deadline_factor is given: in a closed loop there are no arrivals to count from")
            if (pairs := float(self.num_tasks) * self.max_flows * self.max_flows) > MOST_PAIRS:
                what += f" in a closed loop may make {pairs:.3g} pairs"
                raise ConfigError(f"{what}: at most {MOST_PAIRS} are allowed")
        check_flag("cpu_work", self.cpu_work)
        check_integer("num_clients", self.num_clients, at_least=1)
        check_integer("num_servers", self.num_servers, at_least=2 if self.pattern == AGGREGATE else 1)

    @property
    def num_hosts(self) -> int:
        """Number of hosts: clients and servers."""
        return self.num_clients + self.num_servers

    @property
    def mean_total(self) -> float:
        """Mean number of bytes of a task."""
        if self.total is not None:
            return self.total.mean
        assert self.size is not None
        return 0.5 * (self.min_flows + self.max_flows) * self.size.mean

    @property
    def offered_load(self) -> float | None:
        """The load of Poisson arrivals; None for the others."""
        return self.load

    def with_num_flows(self, num_flows: int) -> "TaskWorkload":
        """Changes the number of tasks to the fewest that surely have this many flows."""
        return resized(self, num_flows, num_tasks=-(-num_flows // self.min_flows))

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode; more tasks with the same seed begin with the same flows."""
        streams = FlowStreams(seed)
        num_tasks = self.num_tasks
        counts = self.min_flows + integers(streams["counts"], self.max_flows - self.min_flows + 1, num_tasks)
        first = np.cumsum(counts) - counts
        task = np.repeat(np.arange(num_tasks), counts)
        if self.load is None:
            arrival, client = np.zeros(num_tasks), np.arange(num_tasks) % self.num_clients
        else:
            rate = self.load * self.capacity / self.mean_total
            arrival = poisson_arrivals(streams["arrivals"], rate, count=num_tasks)
            client = integers(streams["clients"], self.num_clients, num_tasks)
        part, total = self._draw_parts(streams, task)
        source, destination = self._draw_hosts(streams, task, client)
        factor = None if self.deadline_factor is None else self.deadline_factor.sample(streams["deadlines"], num_tasks)
        return Workload(
            flow_id=np.arange(len(task)),
            source=source,
            destination=destination,
            size=part * BYTES_OF_PART.sample(streams["bytes"], len(task)) if self.cpu_work else part,
            arrival_time=arrival[task],
            deadline_span=None if factor is None else (factor * (total / self.capacity))[task],
            task_id=task,
            cpu_time=part / self.capacity if self.cpu_work else None,
            after=self._draw_precedence(streams, task, first),
        )

    def _draw_parts(self, streams: FlowStreams, task: IntArray) -> tuple[FloatArray, FloatArray]:
        """Draws the part of each flow in B, (num_flows,), and adds up or draws those of each task, (num_tasks,)."""
        if self.total is None:
            assert self.size is not None
            part = self.size.sample(streams["sizes"], len(task))
            return part, np.bincount(task, weights=part).astype(np.float64)
        total = self.total.sample(streams["totals"], self.num_tasks)
        share = Exponential(mean=1.0).sample(streams["shares"], len(task))
        return total[task] * (share / np.bincount(task, weights=share)[task]), total

    def _draw_hosts(self, streams: FlowStreams, task: IntArray, client: IntArray) -> tuple[IntArray, IntArray]:
        """Draws sources and destinations, (num_flows,) each."""
        servers = streams["servers"]
        if self.pattern != AGGREGATE:
            return self.num_clients + integers(servers, self.num_servers, len(task)), client[task]
        aggregator = integers(streams["aggregators"], self.num_servers, self.num_tasks)[task]
        worker = (aggregator + 1 + integers(servers, self.num_servers - 1, len(task))) % self.num_servers
        last = _last_of_tasks(task)
        source = self.num_clients + np.where(last, aggregator, worker)
        return source, np.where(last, client[task], self.num_clients + aggregator)

    def _draw_precedence(self, streams: FlowStreams, task: IntArray, first: IntArray) -> Precedence | None:
        """Draws which flows wait for which; ``task`` is that of each flow, ``first`` the first flow of each task."""
        flow = np.arange(len(task))
        before = flow - first[task]
        if self.pattern == SEQUENTIAL:
            later = flow[before > 0]
            earlier = later - 1
        elif self.pattern == AGGREGATE:
            earlier = flow[~_last_of_tasks(task)]
            later = np.append(first[1:], len(task))[task[earlier]] - 1
        elif self.pattern == DAG:
            two = (streams["graphs"].random((len(task), 2)) * before[:, np.newaxis]).astype(np.int64)
            new = np.stack([before > 0, two[:, 0] != two[:, 1]], axis=1)
            new[:, 1] &= new[:, 0]
            later, which = np.nonzero(new)
            earlier = (first[task][:, np.newaxis] + two)[later, which]
        else:
            earlier = later = flow[:0]
        if self.arrivals == CLOSED:
            pairs = self._pairs_between_tasks(task, earlier, later)
            earlier, later = np.append(earlier, pairs[0]), np.append(later, pairs[1])
        return Precedence(earlier=earlier, later=later) if len(later) else None

    def _pairs_between_tasks(self, task: IntArray, earlier: IntArray, later: IntArray) -> tuple[IntArray, IntArray]:
        """Lets the flows that begin a client's task wait for those that end the one before it."""
        flow = np.arange(len(task))
        ending, beginning = np.delete(flow, earlier), np.delete(flow, later)
        beginning = beginning[task[beginning] >= self.num_clients]
        num_ending = np.bincount(task[ending], minlength=self.num_tasks)
        last_task = task[beginning] - self.num_clients
        counts = num_ending[last_task]
        start = (np.cumsum(num_ending) - num_ending)[last_task]
        place = np.arange(counts.sum()) + np.repeat(start - (np.cumsum(counts) - counts), counts)
        return ending[place], np.repeat(beginning, counts)


def _last_of_tasks(task: IntArray) -> BoolArray:
    """Returns which flows are the last of their tasks, (num_flows,)."""
    return np.append(task[1:] != task[:-1], True)


class _Jobs(NamedTuple):
    """The jobs of the slice, (num_jobs,), and their rows, (num_rows,); gaps, volumes and work are over their means."""

    gap: FloatArray  # time since the submission of the job before; of the first job: 1
    first: IntArray
    counts: IntArray
    volume: FloatArray  # memory of all instances of a row
    work: FloatArray  # time that an instance takes on one CPU


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
        """Draws the flows of one episode; more jobs with the same seed begin with the same flows."""
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
    return values / (math.fsum(values.tolist()) / len(values))
