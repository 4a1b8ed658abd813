"""Measures packets at one port: packets per CPU second of each scheduler, on both engines.

``python -m benchmarks.speed.packets`` prints a table. All times are CPU seconds of one thread, and include everything
from the columns given to the arrays returned; compiling comes before.
"""

import argparse
import time
from collections.abc import Callable
from typing import Final

import numpy as np

import flowsched_gym

LINE_RATE: Final = 1.25e9
"""10 Gbps in B/s."""
LOAD: Final = 0.9
PAYLOAD: Final = 1_460.0
PACKET: Final = 1_500.0
FLOW_PACKETS: Final = 20
REPETITIONS: Final = 3
COUNTS: Final = {"compiled": 1_000_000, "simpy": 50_000}
"""Packets of one repetition on each engine."""
QUICK_SHARE: Final = 10
THRESHOLDS: Final = (1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7)
CASES: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "FIFO": ("fifo", {}),
    "DCTCP": ("fifo", {"transport": "dctcp", "mark_at": 65}),
    "PIAS": ("pias", {"thresholds": THRESHOLDS}),
    "QCluster, geometric": ("qcluster", {}),
    "QCluster, adaptive, PDA": ("qcluster", {"rule": "adaptive", "disorder": "las"}),
    "QCluster, fair queueing": ("qcluster", {"goal": "fq"}),
    "pFabric": ("pfabric", {}),
    "bit-by-bit round robin": ("fq", {}),
    "AFQ": ("afq", {}),
    "PIFO-LAS": ("pifo-las", {}),
}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Measures packets at one port.")
    parser.add_argument("--quick", action="store_true", help=f"a {QUICK_SHARE}th of the packets: a look, not a result")
    share = QUICK_SHARE if parser.parse_args().quick else 1
    print("packets per CPU second, senders with windows of 64 packets, 10 Gbps, load 0.9, round trip 40 us")
    for name, (scheduler, parameters) in CASES.items():
        rates = [replay_rate(scheduler, parameters, engine, count // share) for engine, count in COUNTS.items()]
        print(f"{name:25}" + "".join(f"{engine} {rate:12,.0f}  " for engine, rate in zip(COUNTS, rates, strict=True)))
    print("packets per CPU second, at given times, load 0.9")
    for name in ("FIFO", "PIAS"):
        scheduler, parameters = CASES[name]
        rates = [serve_rate(scheduler, parameters, engine, count // share) for engine, count in COUNTS.items()]
        print(f"{name:25}" + "".join(f"{engine} {rate:12,.0f}  " for engine, rate in zip(COUNTS, rates, strict=True)))


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
