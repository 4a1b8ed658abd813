"""Runs TAFE's experiments, section V, on one link: ``python -m benchmarks.paper.tafe``, part of ``make paper``.

What the runs gave, one value for each seed, goes to ``data/tafe.json``. ``tafe_tables.py`` and ``tafe_figures.py`` make
the page and its figures from there, and from what ``coflows.py`` measured.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import flowsched_gym
from benchmarks.paper.merp import Runs, rounded
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.evaluation import write_json
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.flows.records import Records
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.workload import Uniform, Workload, make_workload

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
    """A point on the axis of a figure: named tasks, how many, what is changed of them, and what is compared."""

    workload: str
    num_tasks: int
    given: Mapping[str, object]
    schemes: Mapping[str, Scheme]


COMPARED: Final = {
    "D2TCP": Scheme("d2tcp"),
    "FIFO-LM": Scheme("fifo-lm"),
    "TAFE": Scheme("tafe", "remaining"),
    "TAFE, serial": Scheme("tafe", "serial"),
    "TAFE, 3 queues": Scheme("tafe", "serial", "paper"),
    "STF": Scheme("stf"),
    "TAFE, both": Scheme("tafe", "remaining", "paper"),
}
SENDERS: Final = {
    name: Scheme("fifo", transport=transport)
    for name, transport in (("DCTCP", "dctcp"), ("D2TCP", "d2tcp"), ("TAFE", "tafe"))
} | {"TAFE, both": Scheme("pias", thresholds="paper", transport="tafe")}
PACKET, MARK_AT, BUFFER = 1_500, 20, 100
"""Bytes of a packet on the wire; packets that wait when the next one is marked, and for which there is room."""
PACKETS: Final[Mapping[str, object]] = {
    "losses": "told",
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
    found["log"] = {name: Point("tafe-log", 100, given, COMPARED) for name, given in open_loop.items()}
    for name in (AT_ONCE, "load 0.9"):
        found[f"packets, {name}"] = {
            workload: Point(workload, 100, ARRIVALS[name], SENDERS) for workload in (*SIZES.values(), "tafe-log")
        }
        given = {**ARRIVALS[name], "cpu_work": True}
        found[f"thresholds, {name}"] = {str(count): Point("tafe-log", count, given, THRESHOLDS) for count in TASKS}
    return found


def main() -> None:
    """Runs everything, and says where the results are."""
    runs: dict[str, Runs] = {}
    spread: dict[str, dict[str, dict[str, list[float]]]] = {}
    described = [(name, key, point) for name, points in studies().items() for key, point in points.items()]
    with ProgressBar("TAFE's experiments") as bar:
        for done, (name, key, point) in enumerate(described):
            runs.setdefault(name, {})[key], percentiles = measure(point)
            if point.schemes is COMPARED:
                spread.setdefault(name, {})[key] = percentiles
            bar(done + 1, len(described))
    head = {"command": COMMAND, "version": flowsched_gym.__version__, "example": example()}
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
    found: dict[str, dict[str, list[float]]] = {}
    times: dict[str, list[FloatArray]] = {}
    for seed in seeds:
        tasks = make_workload(point.workload, num_tasks=point.num_tasks, **point.given).draw(seed)
        for name, scheme in point.schemes.items():
            records = replay(tasks, scheme)
            tct = task_completion_times(records).tct
            times.setdefault(name, []).append(tct)
            metrics = {
                "fct": records.fct.mean(),
                "tct": tct.mean(),
                "p95": np.percentile(tct, 95),
                "largest": tct.max(),
            }
            if isinstance(records, PacketRecords):
                metrics["drops"] = records.drops.sum() / records.packets.sum()
            for metric, value in metrics.items():
                found.setdefault(name, {}).setdefault(metric, []).append(rounded(value))
    percentiles = {
        name: [rounded(value) for value in np.percentile(np.concatenate(each), PERCENTS)]
        for name, each in times.items()
    }
    return found, percentiles


def replay(tasks: Workload, scheme: Scheme) -> Records:
    """Sends tasks over one link of 1 Gbps in the compiled engine."""
    assert tasks.task_id is not None
    parameters: dict[str, object] = {} if scheme.within is None else {"within": scheme.within}
    if scheme.thresholds is not None and scheme.queues > 1:
        total = np.bincount(tasks.task_id, tasks.size).astype(np.float64)
        parameters["thresholds"] = thresholds_of(scheme.thresholds, total, scheme.queues)
    if scheme.transport is not None:
        parameters |= {**PACKETS, "transport": scheme.transport}
        if scheme.thresholds is not None:
            parameters |= {"queues": scheme.queues, "messages": "task", "message_gap": None}
        return flowsched_gym.replay_packets(
            tasks,
            scheduler=scheme.discipline,
            capacity=BYTES_PER_SECOND_PER_GBPS,
            parameters=parameters,
            engine="compiled",
        )
    return flowsched_gym.replay(tasks, discipline=scheme.discipline, parameters=parameters, engine="compiled")


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


def example() -> dict[str, list[float]]:
    """Replays the two tasks of Figure 2; returns when they end, by discipline and barrier."""
    tasks: dict[str, Sequence[object]] = {
        "flow_id": [0, 1, 2, 3],
        "task_id": [0, 0, 1, 1],
        "source": [0] * 4,
        "destination": [1] * 4,
        "size_bytes": [1.0] * 4,
        "arrival_s": [0.0] * 4,
        "cpu_s": [1.0] * 4,
    }
    found = {}
    for discipline, barrier in EXAMPLE:
        records = flowsched_gym.replay(tasks, discipline=discipline, capacity=1.0, parameters={"barrier": barrier})
        found[f"{discipline}, {barrier}"] = [rounded(value) for value in task_completion_times(records).tct]
    return found


if __name__ == "__main__":
    main()
