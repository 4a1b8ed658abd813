"""Measures packets: those per CPU second of each scheduler at one port, on both engines, and hops of a leaf-spine.

``python -m benchmarks.speed.packets`` prints a table; ``--write`` keeps the figures in ``packets.json`` and fills the
table of ``README.md`` here. All times are CPU seconds of one thread, and include everything from the columns given to
the arrays returned; compiling comes before.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import flowsched_gym
from benchmarks.paper.qcluster_studies import HOSTS_PER_LEAF, NUM_HOSTS, fabric
from benchmarks.speed.page import machine_of, run_benchmark

FIGURES: Final = Path(__file__).with_name("packets.json")

LINE_RATE: Final = 1.25e9
"""10 Gbps in B/s."""
LOAD: Final = 0.9
PAYLOAD: Final = 1_460.0
PACKET: Final = 1_500.0
FLOW_PACKETS: Final = 20
REPETITIONS: Final = 3
COUNTS: Final = {"compiled": 1_000_000, "simpy": 50_000}
"""Packets of one repetition on each engine."""
THRESHOLDS: Final = (1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7)
CASES: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "FIFO": ("fifo", {}),
    "DCTCP": ("fifo", {"transport": "dctcp", "mark_at": 65 * 1_500}),
    "PIAS": ("pias", {"thresholds": THRESHOLDS}),
    "QCluster, geometric": ("qcluster", {"disorder": "none"}),
    "QCluster, adaptive, PDA": ("qcluster", {"rule": "adaptive", "disorder": "las"}),
    "QCluster, fair queueing": ("qcluster", {"goal": "fq", "disorder": "none"}),
    "pFabric": ("pfabric", {}),
    "bit-by-bit round robin": ("fq", {}),
    "AFQ": ("afq", {}),
    "PIFO-LAS": ("pifo-las", {}),
}


SKETCH: Final[dict[str, object]] = {"arrays": 4, "buckets": 6_401}
"""The authors' sketch in ns-2, of each port of the leaf-spine."""
FABRIC_FLOWS: Final = 20_000
COLUMNS: Final = {"serve": ("FIFO", "PIAS"), "replay": tuple(CASES)}
"""What is measured at one port."""


def main() -> None:
    """Measures, prints, and writes where asked."""
    run_benchmark("Measures packets.", measure, FIGURES, table)


def measure(share: int) -> dict[str, Any]:
    """Measures all schedulers, with a part of the packets each."""
    rates: dict[str, dict[str, float]] = {}
    for name, (scheduler, parameters) in CASES.items():
        rates[name] = {
            f"{call} {engine}": rate(scheduler, parameters, engine, count // share)
            for call, rate in (("replay", replay_rate), ("serve", serve_rate))
            if name in COLUMNS[call]
            for engine, count in COUNTS.items()
        }
        rates[name]["hops"] = hop_rate(scheduler, parameters, FABRIC_FLOWS // share)
    return {"rates": rates}


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    lines = [
        f"Thousands of packets per CPU second on one core, {machine_of(figures)}; "
        f"the best of {REPETITIONS} repetitions.",
        "Load 0.9 at 10 Gbps. One port: senders with windows of 64 packets and a round trip of 40 us, or given",
        f"packets. Leaf-spine: thousands of hops, {FABRIC_FLOWS:,} flows between random pairs of {NUM_HOSTS} hosts,",
        "with sketches of 4 x 6,401 buckets at each port.",
        "",
        "| scheduler | one port, SimPy | one port, compiled | given, SimPy | given, compiled | leaf-spine, hops |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, rates in figures["rates"].items():
        columns = ("replay simpy", "replay compiled", "serve simpy", "serve compiled", "hops")
        cells = [f"{rates[column] / 1e3:,.0f}" if column in rates else "" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Command: `{figures['command']}`", ""])


def hop_rate(scheduler: str, parameters: dict[str, object], num_flows: int) -> float:
    """Measures flows between random hosts of a leaf-spine; returns transmissions per s."""
    rng = np.random.default_rng(0)
    packets = np.ceil(rng.exponential(FLOW_PACKETS, num_flows))
    source = rng.integers(0, NUM_HOSTS, num_flows)
    destination = (source + rng.integers(1, NUM_HOSTS, num_flows)) % NUM_HOSTS
    flows = {
        "flow_id": np.arange(num_flows),
        "source": source,
        "destination": destination,
        "size_bytes": packets * PAYLOAD,
        "arrival_s": np.cumsum(rng.exponential(packets.mean() * PACKET / LINE_RATE / LOAD / NUM_HOSTS, num_flows)),
    }
    sketch, topology = SKETCH if scheduler == "qcluster" else {}, fabric()

    def run() -> None:
        flowsched_gym.replay_packets(
            flows,
            scheduler=scheduler,
            topology=topology,
            parameters={"paths": "packet", **parameters, **sketch},
            engine="compiled",
        )

    hops = np.where(source // HOSTS_PER_LEAF == destination // HOSTS_PER_LEAF, 2, 4)
    return float((packets * hops).sum()) / best_time(run)


def replay_rate(scheduler: str, parameters: dict[str, object], engine: str, num_packets: int) -> float:
    """Measures flows of ``FLOW_PACKETS`` packets in the mean; returns the best of some repetitions."""
    num_flows = num_packets // FLOW_PACKETS
    rng = np.random.default_rng(0)
    packets = np.ceil(rng.exponential(FLOW_PACKETS, num_flows))
    flows = {
        "flow_id": np.arange(num_flows),
        "source": np.zeros(num_flows, dtype=np.int64),
        "destination": np.ones(num_flows, dtype=np.int64),
        "size_bytes": packets * PAYLOAD,
        "arrival_s": np.cumsum(rng.exponential(packets.mean() * PACKET / LINE_RATE / LOAD, num_flows)),
    }

    def run() -> None:
        flowsched_gym.replay_packets(
            flows, scheduler=scheduler, capacity=LINE_RATE, parameters={"delay": 2e-5, **parameters}, engine=engine
        )

    return float(packets.sum()) / best_time(run)


def serve_rate(scheduler: str, parameters: dict[str, object], engine: str, num_packets: int) -> float:
    """Measures packets of a Poisson process; returns the best of some repetitions."""
    packets = {
        "flow_id": np.arange(num_packets) // FLOW_PACKETS,
        "size_bytes": np.full(num_packets, PACKET),
        "arrival_s": np.cumsum(np.random.default_rng(0).exponential(PACKET / LINE_RATE / LOAD, num_packets)),
    }

    def run() -> None:
        flowsched_gym.serve_packets(
            packets, scheduler=scheduler, capacity=LINE_RATE, parameters=parameters, engine=engine
        )

    return num_packets / best_time(run)


def best_time(run: Callable[[], None]) -> float:
    """Returns the least CPU time in s of some repetitions, after a first one in which code is compiled."""
    run()
    times = []
    for _ in range(REPETITIONS):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


if __name__ == "__main__":
    main()
