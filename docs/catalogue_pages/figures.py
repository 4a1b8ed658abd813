"""Small pictures of what a discipline, a scheduler or a workload does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

import flowsched_gym
from flowsched_gym.evaluation.figures import CURVES
from flowsched_gym.evaluation.plots import INK, MISSED, dress
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import one_link
from flowsched_gym.workload import Workload

__all__ = ["draw_packets", "draw_rates", "draw_workload"]

DOTS_PER_INCH: Final = 110


def draw_rates(workload: Workload, discipline: str, parameters: Mapping[str, Any], path: Path) -> None:
    """Draws when each flow sends, and how fast, on one link."""
    link = one_link(capacity=125e6)
    simulation = Simulation(workload, link, make_discipline(discipline, parameters))
    times, rates = [], []
    while simulation.env.peek() < np.inf:
        simulation.env.step()
        times.append(simulation.env.now)
        rates.append(np.array(simulation.state.rate))
    records = simulation.records()
    # The rates that hold from an instant on are those after its last event.
    last = [index for index, time in enumerate(times) if index + 1 == len(times) or times[index + 1] > time]
    edges = 1000 * np.array([times[index] for index in last])
    shares = np.array([rates[index] for index in last]) / 125e6
    figure = Figure(figsize=(7.2, 0.5 * workload.num_flows + 0.7), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    tasks = workload.task_id if _has_tasks(workload) else np.arange(workload.num_flows)
    for row in range(workload.num_flows):
        colour = CURVES[int(tasks[row]) % len(CURVES)]
        end = 1000 * records.completion_time[row]
        axes.plot([1000 * workload.arrival_time[row], end], [row, row], color=colour, linewidth=1, alpha=0.6)
        axes.fill_between(
            edges, row - 0.42 * shares[:, row], row + 0.42 * shares[:, row], step="post", color=colour, linewidth=0
        )
        due = 1000 * (workload.arrival_time[row] + records.deadline_span[row])
        met = records.deadline_met[row]
        axes.plot([due], [row], "|", color=INK if met else MISSED, markersize=14, markeredgewidth=2)
    axes.set_yticks(range(workload.num_flows), [_label(workload, row) for row in range(workload.num_flows)])
    axes.set_ylim(workload.num_flows - 0.4, -0.6)
    axes.set_xlim(0, max(72.0, float(edges[-1]) + 1))
    axes.set_xlabel("time (ms)")
    _save(figure, path)


def draw_packets(
    packets: Mapping[str, Sequence[Any]], scheduler: str, parameters: Mapping[str, Any], path: Path
) -> None:
    """Draws when each packet waits and is sent."""
    trace = flowsched_gym.serve_packets(dict(packets), scheduler=scheduler, parameters=parameters)
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    for row, flow in enumerate(trace.flow_id):
        colour = CURVES[int(flow)]
        start, end = 1e6 * trace.start_time[row], 1e6 * trace.departure_time[row]
        axes.plot([1e6 * packets["arrival_s"][row], start], [row, row], color=colour, linewidth=1, alpha=0.6)
        axes.barh(row, end - start, left=start, color=colour, height=0.7)
    axes.set_yticks(range(len(trace.flow_id)), [f"packet of flow {flow}" for flow in trace.flow_id])
    axes.invert_yaxis()
    axes.set_xlabel("time (us)")
    _save(figure, path)


def draw_workload(workload: Workload, path: Path) -> None:
    """Draws the distribution of sizes, and the arrivals of the first flows."""
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    sizes, arrivals = figure.subplots(1, 2)
    for axes in (sizes, arrivals):
        dress(axes)
    ordered = np.sort(workload.size)
    sizes.step(
        np.r_[ordered[0], ordered], np.linspace(0, 1, len(ordered) + 1), where="post", color=CURVES[0], linewidth=2
    )
    sizes.set_xscale("log")
    if ordered[-1] < 10 * ordered[0]:
        middle = float(np.sqrt(ordered[0] * ordered[-1]))
        sizes.set_xlim(middle / 5, middle * 5)
    sizes.set_xlabel("flow size (bytes)")
    sizes.set_ylabel("share of flows")
    first = np.argsort(workload.arrival_time, kind="stable")[: min(100, workload.num_flows)]
    start = workload.arrival_time[first][0]
    arrivals.vlines(
        1000 * (workload.arrival_time[first] - start), 1, workload.size[first], color=CURVES[2], linewidth=1, alpha=0.7
    )
    arrivals.set_yscale("log")
    arrivals.set_ylim(bottom=max(1.0, float(workload.size[first].min()) / 3))
    arrivals.set_xlabel(f"arrival of the first {len(first)} flows (ms)")
    arrivals.set_ylabel("flow size (bytes)")
    _save(figure, path)


def _label(workload: Workload, row: int) -> str:
    size = f"flow {row}, {workload.size[row] / 1e6:g} MB"
    return f"task {workload.task_id[row]}, {size}" if _has_tasks(workload) else size


def _has_tasks(workload: Workload) -> bool:
    return bool((workload.task_id >= 0).any())


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})
