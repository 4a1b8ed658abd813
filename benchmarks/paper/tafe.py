"""Runs TAFE's experiments, section V, on one link and on its cluster: ``python -m benchmarks.paper.tafe``.

What the runs gave, one value for each seed, goes to ``data/tafe.json``. ``tafe_tables.py`` makes the page and its
figure from there, and from what ``coflows.py`` measured.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import flowsched_gym
from benchmarks.paper.merp import Runs, by_seed, flows_of, rounded
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.evaluation import write_json
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.flows.records import Records
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology.cpus import CPU_SHARES, machine_mix
from flowsched_gym.workload import Uniform, Workload, load_cdf, make_workload

RESULTS: Final = Path(__file__).resolve().parent / "data" / "tafe.json"
COMMAND: Final = "python -m benchmarks.paper.tafe"
SEEDS: Final = tuple(range(10))
TASKS: Final = (20, 40, 50, 60, 80, 100)
"""Tasks of Figures 4 and 5."""
QUEUES: Final = (1, 2, 3, 4, 8)
AT_ONCE: Final = "at once"
CLOSED: Final = "closed loop"
DEADLINES: Final = Uniform(low=2.0, high=10.0)
ARRIVALS: Final[Mapping[str, Mapping[str, object]]] = {
    CLOSED: {"arrivals": "closed"},
    AT_ONCE: {"arrivals": "at-once", "deadline_factor": DEADLINES},
    "load 0.8": {"load": 0.8, "deadline_factor": DEADLINES},
    "load 0.9": {"load": 0.9, "deadline_factor": DEADLINES},
}
SIZES: Final = {"short": "tafe-short", "long": "tafe-long"}
COUNTS: Final = (100, 500)
PERCENTS: Final = (0, 1, 2, *range(5, 100, 5), 98, 99, 100)
SIX: Final = "six kinds"
CLIENTS: Final = 3
MEMORY: Final = (0.5, 0.25, 0.75, 1.0, 0.25, 0.12)
MACHINES: Final[Mapping[str, Sequence[float]]] = {
    "whole CPUs": (1.0,) * 6,
    SIX: CPU_SHARES,
    "six kinds, memory": tuple(map(min, CPU_SHARES, MEMORY)),
    "six kinds, 4 times as fast": tuple(4 * share for share in CPU_SHARES),
    "drawn": (),
}
"""CPUs of the six servers (section V-B): one of each kind; no faster than their memory; as frequent as in the trace."""
WORKLOADS: Final = (*SIZES.values(), "tafe-log", "tafe-web-search", "tafe-data-mining")
EXAMPLE: Final = (("ps", "flow"), ("fifo-lm", "flow"), ("tafe", "flow"), ("tafe", "task"))
"""Discipline and barrier."""


class Scheme(NamedTuple):
    """A discipline with its parameters, or senders of packets.

    Attributes:
        discipline: Its name; that of the port's scheduler with packets.
        within: How ``tafe`` serves the flows of a task; None for other disciplines.
        thresholds: Kind of the thresholds, of bytes that a task has sent, see ``thresholds_of``; None for one queue.
        transport: Windows of the senders of packets; None for flows.
    """

    discipline: str
    within: str | None = None
    thresholds: str | None = None
    queues: int = 3
    transport: str | None = None


class Point(NamedTuple):
    """A point on the axis of a figure: named tasks, how many, what is changed of them, what is compared, and where.

    ``machines`` is a name of ``MACHINES``: clients and servers at one switch; None for one link.
    """

    workload: str
    num_tasks: int
    given: Mapping[str, object]
    schemes: Mapping[str, Scheme]
    machines: str | None = None


COMPARED: Final = {
    "D2TCP": Scheme("d2tcp"),
    "FIFO-LM": Scheme("fifo-lm"),
    "TAFE": Scheme("tafe", "remaining"),
    "TAFE, serial": Scheme("tafe", "serial"),
    "TAFE, 3 queues": Scheme("tafe", "serial", "paper"),
    "STF": Scheme("stf"),
    "TAFE, both": Scheme("tafe", "remaining", "paper"),
}
ON_MACHINES: Final = {name: COMPARED[name] for name in ("D2TCP", "FIFO-LM", "TAFE", "TAFE, 3 queues", "TAFE, both")}
QUEUED: Final = {
    f"{name}{text}": scheme._replace(thresholds=kind)
    for name, scheme in {"PIAS": Scheme("mlfq"), "TAFE, 3 queues": Scheme("tafe", "serial")}.items()
    for kind, text in {"paper": "", "quantiles": ", quantiles"}.items()
} | {"TAFE, both": COMPARED["TAFE, both"], "TAFE": COMPARED["TAFE"]}
"""Queues by what a flow has sent, as PIAS has them, and by what its task has (section IV-A)."""
SENDERS: Final = {
    name: Scheme("fifo", transport=transport)
    for name, transport in (("DCTCP", "dctcp"), ("D2TCP", "d2tcp"), ("TAFE", "tafe"))
} | {"TAFE, both": Scheme("pias", thresholds="paper", transport="tafe")}
PACKET, MARK_AT, BUFFER = 1_500, 20, 100
"""Bytes of a packet on the wire; packets that wait when the next one is marked, and for which there is room."""
PACKETS: Final[Mapping[str, object]] = {
    "delay": 2e-5,
    "initial_window": 10,
    "mark_at": MARK_AT * PACKET - 1,
    "buffer": BUFFER * PACKET,
    "min_rto": 1e-2,
}
"""Senders, and the port between them: the paper has no settings."""
THRESHOLDS: Final = {kind: Scheme("tafe", "shortest", kind) for kind in ("paper", "thirds")} | {
    f"{kind}, {queues}": Scheme("tafe", "shortest", kind, queues)
    for kind in ("spread", "quantiles")
    for queues in QUEUES
}


def studies() -> dict[str, dict[str, Point]]:
    """Describes all runs: points by name of the study."""
    found = {
        f"{size}, {count}": {name: Point(workload, count, given, COMPARED) for name, given in ARRIVALS.items()}
        for size, workload in SIZES.items()
        for count in COUNTS
    }
    open_loop = {name: given for name, given in ARRIVALS.items() if name != CLOSED}
    modes: dict[str, dict[str, object]] = {
        name: {"deadline_factor": None, **ARRIVALS[name]} for name in (CLOSED, AT_ONCE, "load 0.9")
    }
    found["log"] = {name: Point("tafe-log", 100, given, COMPARED) for name, given in open_loop.items()}
    for name, given in modes.items():
        if name != CLOSED:
            found[f"packets, {name}"] = {each: Point(each, 100, given, SENDERS) for each in WORKLOADS[:3]}
        worked, place = given | {"cpu_work": True}, SIX if name == CLOSED else None
        found[f"thresholds, {name}"] = {str(n): Point("tafe-log", n, worked, THRESHOLDS, place) for n in TASKS}
        if name != "load 0.9":
            found[f"cluster, {name}"] = {each: Point(each, 100, worked, ON_MACHINES, SIX) for each in WORKLOADS}
            found[f"machines, {name}"] = {each: Point("tafe-log", 100, worked, ON_MACHINES, each) for each in MACHINES}
        for pattern in ("sequential", "parallel"):
            ordered = given | {"pattern": pattern}
            found[f"{pattern}, {name}"] = {each: Point(each, 100, ordered, QUEUED) for each in WORKLOADS[2:]}
    for workload in WORKLOADS[3:]:
        found[workload] = {name: Point(workload, 100, given, COMPARED) for name, given in modes.items()}
    return found


def main() -> None:
    """Runs everything, and says where the results are."""
    runs: dict[str, Runs] = {}
    spread: dict[str, dict[str, dict[str, list[float]]]] = {}
    described = [(name, key, point) for name, points in studies().items() for key, point in points.items()]
    with ProgressBar("TAFE's experiments") as bar:
        for done, (name, key, point) in enumerate(described):
            runs.setdefault(name, {})[key], percentiles = measure(point)
            if name in {f"{size}, {count}" for size in SIZES for count in COUNTS}:
                spread.setdefault(name, {})[key] = percentiles
            bar(done + 1, len(described))
    head = {"command": COMMAND, "version": flowsched_gym.__version__, "example": example(), "sizes": sizes()}
    write_json(head | {"studies": runs, "percentiles": spread}, RESULTS)
    print(f"written to {RESULTS}")


def measure(
    point: Point, seeds: Sequence[int] = SEEDS
) -> tuple[dict[str, dict[str, list[float]]], dict[str, list[float]]]:
    """Runs all schemes of a point on the same tasks.

    Returns:
        Each metric of each scheme, one value for each seed; and ``PERCENTS`` of the task completion times of each
        scheme in s, of all seeds together.
    """
    found: list[dict[str, dict[str, float]]] = []
    times: dict[str, list[FloatArray]] = {}
    for seed in seeds:
        found.append({})
        tasks = make_workload(point.workload, num_tasks=point.num_tasks, **point.given).draw(seed)
        for name, scheme in point.schemes.items():
            records = replay(tasks, scheme, point.machines, seed)
            tct = task_completion_times(records).tct
            response = records.completion_time - records.ready_time
            times.setdefault(name, []).append(tct)
            metrics = {"fct": response.mean(), "tct": tct.mean(), "p95": np.percentile(tct, 95), "largest": tct.max()}
            if isinstance(records, PacketRecords):
                metrics["drops"] = records.drops.sum() / records.packets.sum()
            if point.schemes is QUEUED:
                metrics |= in_order(records)
            if point.schemes is ON_MACHINES and point.machines == SIX and point.workload == "tafe-log":
                kinds = range(CLIENTS, CLIENTS + len(CPU_SHARES))
                metrics |= {f"fct {host - CLIENTS}": response[tasks.source == host].mean() for host in kinds}
            found[-1][name] = {metric: rounded(value) for metric, value in metrics.items()}
    percentiles = {name: np.percentile(np.concatenate(each), PERCENTS) for name, each in times.items()}
    return by_seed(found), {name: [rounded(value) for value in each] for name, each in percentiles.items()}


def in_order(records: Records) -> dict[str, float]:
    """Returns which share of flows ends before an earlier one of their task, and when the mean flow has no such.

    The time, in s, is that from when a flow could start until it and all earlier flows of its task have ended.
    """
    useless, whole = 0, 0.0
    for task in np.unique(records.task_id):
        mine = records.task_id == task
        done = records.completion_time[mine]
        last = np.maximum.accumulate(done)
        useless += int((done < last).sum())
        whole += float((last - records.ready_time[mine]).sum())
    return {"useless": useless / len(records.fct), "in_order": whole / len(records.fct)}


def replay(tasks: Workload, scheme: Scheme, machines: str | None = None, seed: int = 0) -> Records:
    """Sends tasks over one link of 1 Gbps, or from machines through a switch, in the compiled engine."""
    assert tasks.task_id is not None
    parameters: dict[str, object] = {} if scheme.within is None else {"within": scheme.within}
    if scheme.thresholds is not None and scheme.queues > 1:
        by_task = np.bincount(tasks.task_id, tasks.size).astype(np.float64)
        total = tasks.size if scheme.discipline == "mlfq" else by_task
        parameters["thresholds"] = thresholds_of(scheme.thresholds, total, scheme.queues)
    if scheme.transport is not None:
        parameters |= {**PACKETS, "transport": scheme.transport}
        if scheme.thresholds is not None:
            parameters |= {"queues": scheme.queues, "messages": "task", "message_gap": None}
        where: dict[str, Any] = {"scheduler": scheme.discipline, "capacity": BYTES_PER_SECOND_PER_GBPS}
        return flowsched_gym.replay_packets(tasks, parameters=parameters, engine="compiled", **where)
    where = {"discipline": scheme.discipline}
    if machines is not None:
        cpus = MACHINES[machines] or machine_mix(len(CPU_SHARES), seed=seed)
        parameters["cpus"] = [*np.ones(CLIENTS), *cpus]
        where |= {"topology": "big-switch", "num_hosts": CLIENTS + len(CPU_SHARES)}
    return flowsched_gym.replay(tasks, parameters=parameters, engine="compiled", **where)


def thresholds_of(kind: str, total: FloatArray, queues: int) -> list[float]:
    """Finds thresholds in B.

    Args:
        kind: ``paper``: the mean and 3/4 of the largest task; ``thirds`` of the largest; ``spread``: from the mean to
            3/4 of the largest, evenly on a logarithmic scale; ``quantiles``: as many tasks end in each queue.
        total: Bytes of each task.
        queues: Number of queues, 3 for ``paper`` and ``thirds``.
    """
    first, last = total.mean(), 0.75 * total.max()
    if kind == "thirds":
        found = total.max() * np.array([1.0, 2.0]) / 3
    elif kind == "quantiles":
        found = np.quantile(total, np.arange(1, queues) / queues)
    else:
        found = np.geomspace(first, last, queues - 1)
    return [float(each) for each in found]


def sizes() -> Runs:
    """Returns, by workload, the share of bytes in the largest 30 and 4 % of flows, and of flows below 10 KB."""
    found: Runs = {}
    for name in ("web_search", "data_mining"):
        size = np.sort(load_cdf(name).sample(np.random.default_rng(0), 1_000_000))[::-1]
        values = {f"{percent} %": size[: len(size) * percent // 100].sum() / size.sum() for percent in (30, 4)}
        values["small"] = (size < 10 * BYTES_PER_KILOBYTE).mean()
        found[name] = {"flows": {key: [rounded(value)] for key, value in values.items()}}
    return found


def example() -> dict[str, list[float]]:
    """Replays the two tasks of Figure 2; returns when they end, by discipline and barrier."""
    tasks, found = flows_of([1.0] * 4, [0] * 4, [1] * 4, task_id=[0, 0, 1, 1], cpu_s=[1.0] * 4), {}
    for discipline, barrier in EXAMPLE:
        records = flowsched_gym.replay(tasks, discipline=discipline, capacity=1.0, parameters={"barrier": barrier})
        found[f"{discipline}, {barrier}"] = [rounded(value) for value in task_completion_times(records).tct]
    return found


if __name__ == "__main__":
    main()
