"""Measures networks with many links: flows per second, the cost of an event, of an order, and of the decisions there.

``python -m benchmarks.speed.network`` prints the tables; ``--write`` keeps the figures in ``network.json`` and fills
the tables of ``README.md`` here. All times are CPU seconds of one thread; compiling comes before.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from benchmarks.speed.page import machine_of, run_benchmark
from benchmarks.speed.run import Case, rates_of, timed
from benchmarks.speed.vector import REPETITIONS, environment_case
from flowsched_gym.evaluation import replay
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import MATCH, virtual_deadlines, virtual_deadlines_of_many
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.topology import DEFAULT_CAPACITY, Topology, big_switch, fat_tree
from flowsched_gym.workload import Pareto, PoissonWorkload, Workload, load_cdf

FIGURES: Final = Path(__file__).with_name("network.json")
ARITY: Final = 8
SWITCH_HOSTS: Final = 32
WITHIN: Final = {"ps": "mlfq, sharing inside a queue", "fifo": "mlfq, first come first served inside a queue"}
FLOWS: Final = {"compiled": 100_000, "simpy": 20_000}
"""Flows of one repetition on each engine."""
BURSTS: Final = (20, 60, 200, 600, 2_000, 6_000)
"""Flows that arrive at one instant; half as many are active in the mean until all have finished."""
BURST_EVENTS: Final = 6_000
ORDERED: Final = (30, 300, 3_000)
ORDERS: Final = {30: 1_000, 300: 100, 3_000: 10}
STEPS: Final = 20_000
LEAST_STEPS: Final = 100
NUM_ENVS: Final = (1, 64, 1024)
ENVIRONMENTS: Final = ("flowsched/MERPOrder-v0", "flowsched/MERPRoute-v0")
CARTPOLE: Final = "CartPole-v1"
SIZE: Final = Pareto(shape=1.5, mean=1.5e6)


def main() -> None:
    """Measures, prints, and writes where asked."""
    run_benchmark("Measures networks with many links.", measured, FIGURES, tables)


def measured(share: int) -> dict[str, Any]:
    """Measures all cases, with a part of the work each."""
    flows = {engine: number // share for engine, number in FLOWS.items()}
    return {"repetitions": REPETITIONS, "flows": flows, "rates": rates_of(cases(share), REPETITIONS)}


def cases(share: int) -> dict[str, Case]:
    """Lists the cases by name."""
    return {**replays(share), **bursts(share), **orders(), **decisions(share)}


def replays(share: int) -> dict[str, Case]:
    """Lists replays of Poisson flows, MERP's on a large fat-tree and AuTO's on its switch of 32 servers."""
    fabric = fat_tree(arity=ARITY)
    switch = big_switch(num_hosts=SWITCH_HOSTS)
    merp = PoissonWorkload(size=SIZE, load=0.6, pattern="all-to-all", num_hosts=fabric.num_hosts, num_flows=1)
    auto = PoissonWorkload(
        size=load_cdf("web_search"), load=0.8, pattern="all-to-all", num_hosts=SWITCH_HOSTS, num_flows=1
    )
    thresholds = optimal_thresholds("qlas", "web_search", 0.8, 4)
    found: dict[str, Case] = {}
    for engine, number in FLOWS.items():
        for name in ("srpt", "merp", "ps"):
            flows = merp.with_num_flows(number // share).draw(0)
            found[f"fat-tree {name} {engine}"] = replay_case(flows, fabric, name, engine)
        flows = auto.with_num_flows(number // share).draw(0)
        for within in WITHIN:
            parameters = {"thresholds": thresholds, "within": within}
            found[f"switch {within} {engine}"] = replay_case(flows, switch, "mlfq", engine, **parameters)
    return found


def replay_case(flows: Workload, topology: Topology, discipline: str, engine: str, **parameters: Any) -> Case:
    """Returns what replays flows, tables and all; it counts flows."""
    return lambda: timed(
        flows.num_flows,
        lambda: replay(flows, discipline=discipline, topology=topology, engine=engine, parameters=parameters),
        time.thread_time,
    )


def bursts(share: int) -> dict[str, Case]:
    """Lists bursts of flows between random hosts of the fat-tree; they count events, an arrival or a completion each.

    Bursts come one after the other, each when all before have finished.
    """
    fabric = fat_tree(arity=ARITY)
    found: dict[str, Case] = {}
    for number in BURSTS:
        rounds = max(BURST_EVENTS // share // number, 1)
        rng = np.random.default_rng(number)
        source = rng.integers(fabric.num_hosts, size=rounds * number)
        size = SIZE.sample(rng, rounds * number)
        flows = Workload(
            flow_id=np.arange(rounds * number),
            source=source,
            destination=(source + rng.integers(1, fabric.num_hosts, size=rounds * number)) % fabric.num_hosts,
            size=size,
            arrival_time=np.repeat(np.arange(rounds) * float(size.sum()) / DEFAULT_CAPACITY, number),
        )
        for name in ("srpt", "merp", "ps"):
            found[f"burst {name} {number}"] = run_case(flows, fabric, name)
    return found


def run_case(flows: Workload, topology: Topology, discipline: str) -> Case:
    """Returns what runs the compiled event loop alone; it counts events, an arrival and a completion of each flow."""

    def play() -> tuple[int, float]:
        simulation = BatchSimulation(1, flows.num_flows, topology, make_discipline(discipline))
        simulation.load(0, flows)
        return timed(2 * flows.num_flows, lambda: simulation.run(0), time.thread_time)

    return play


def orders() -> dict[str, Case]:
    """Lists orders of the flows of one link, by Algorithm 2 as it is printed and by ours; they count orders."""
    found: dict[str, Case] = {}
    for number in ORDERED:
        rng = np.random.default_rng(number)
        size = SIZE.sample(rng, number)
        remaining = size * rng.random(number)
        columns = size, rng.random(number), remaining, np.zeros(number)
        matches = np.zeros(2 * number, dtype=MATCH)
        for name, order in (
            ("printed", printed_order),
            ("compared", virtual_deadlines),
            ("tournament", partial(virtual_deadlines_of_many, matches=matches)),
        ):
            found[f"order {name} {number}"] = order_case(order, number, columns)
    return found


def order_case(order: Callable[..., object], number: int, columns: tuple[npt.NDArray[np.float64], ...]) -> Case:
    """Returns what orders the same flows again and again."""

    def play() -> tuple[int, float]:
        return timed(
            ORDERS[number],
            lambda: [order(1.0, DEFAULT_CAPACITY, np.arange(number), *columns) for _ in range(ORDERS[number])],
            time.thread_time,
        )

    return play


@numba.njit(error_model="numpy")
def printed_order(
    now: float,
    capacity: float,
    rows: npt.NDArray[np.int64],
    size: npt.NDArray[np.float64],
    arrival: npt.NDArray[np.float64],
    remaining: npt.NDArray[np.float64],
    virtual_deadline: npt.NDArray[np.float64],
) -> None:
    """Takes the flow with the least expansion ratio if it went last, and does so again without it (Algorithm 2)."""
    total = 0.0
    for row in rows:
        total += remaining[row]
    for last in range(len(rows) - 1, -1, -1):
        chosen, least = 0, np.inf
        for place in range(last + 1):
            row = rows[place]
            ratio = ((now - arrival[row]) * capacity + total) / size[row]
            if ratio < least:
                chosen, least = place, ratio
        rows[chosen], rows[last] = rows[last], rows[chosen]
        virtual_deadline[rows[last]] = now + total / capacity
        total -= remaining[rows[last]]


def decisions(share: int) -> dict[str, Case]:
    """Lists environments that play random valid actions; they count decisions."""
    found: dict[str, Case] = {}
    for env_id in (*ENVIRONMENTS, CARTPOLE):
        for name, number in (("single", None), *((str(number), number) for number in NUM_ENVS)):
            found[f"{env_id} {name}"] = environment_case(env_id, number, STEPS // share, {}, least_steps=LEAST_STEPS)
    return found


def tables(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    rates = {name: rate["median"] for name, rate in figures["rates"].items()}
    flows = figures["flows"]
    lines = [
        f"Flows per CPU second on one core, {machine_of(figures)}; medians of",
        f"{figures['repetitions']} interleaved repetitions; {flows['compiled']:,} flows on the compiled engine,",
        f"{flows['simpy']:,} on SimPy.",
        "",
        "| network | flows | discipline | compiled | SimPy |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    networks = {
        "fat-tree": (
            f"fat-tree, k = {ARITY}, 128 hosts, ECMP",
            "Pareto 1.5, load 0.6",
            {name: name for name in ("srpt", "merp", "ps")},
        ),
        "switch": (f"switch of {SWITCH_HOSTS} hosts", "web search, load 0.8", WITHIN),
    }
    for key, (network, load, names) in networks.items():
        lines += [
            f"| {network} | {load} | {discipline} | {rates[f'{key} {name} compiled']:,.0f} "
            f"| {rates[f'{key} {name} simpy']:,.0f} |"
            for name, discipline in names.items()
        ]
    lines += [
        "",
        f"Cost of an event (arrival or completion) in us on that fat-tree, {', '.join(map(str, BURSTS[:-1]))} or",
        f"{BURSTS[-1]:,} flows arriving at one instant:",
        "",
        "| active flows, mean | srpt | merp | ps |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for number in BURSTS:
        costs = (1e6 / rates[f"burst {name} {number}"] for name in ("srpt", "merp", "ps"))
        lines.append(f"| {number // 2:,} | {' | '.join(f'{cost:,.2f}' for cost in costs)} |")
    lines += [
        "",
        "One ordering of the flows of a link by Algorithm 2, in us. The engines use comparisons for few flows and a",
        "tournament for more:",
        "",
        "| flows | as printed | compared, with the tie rules | tournament |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for number in ORDERED:
        costs = (1e6 / rates[f"order {name} {number}"] for name in ("printed", "compared", "tournament"))
        lines.append(f"| {number:,} | {' | '.join(f'{cost:,.1f}' for cost in costs)} |")
    lines += [
        "",
        "Decisions per CPU second, random valid actions, single environments (SimPy) and native vectors:",
        "",
        f"| environment | single | {' | '.join(f'{number:,}' for number in NUM_ENVS)} |",
        f"| --- | ---: {'| ---: ' * len(NUM_ENVS)}|",
    ]
    for env_id in (*ENVIRONMENTS, CARTPOLE):
        numbers = (f"{rates[f'{env_id} {size}']:,.0f}" for size in ("single", *NUM_ENVS))
        lines.append(f"| {env_id} | {' | '.join(numbers)} |")
    lines += ["", f"Command: `{figures['command']}`", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
